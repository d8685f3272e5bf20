// SPDX-License-Identifier: BSD-3-Clause
// Holds a free TCP port for a server that shares it (SO_REUSEPORT).
#pragma once

#include <netinet/in.h>

// Sets *addr to a free port of 127.0.0.1. Returns a socket that does not listen. It keeps the port
// from other programs that ask the kernel for a free one, such as tests that run at the same time.
// The caller closes it.
int held_port(struct sockaddr_in *addr);
