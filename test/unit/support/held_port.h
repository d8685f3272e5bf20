// SPDX-License-Identifier: BSD-3-Clause
// A TCP port for a server that is to share it (SO_REUSEPORT).
#pragma once

#include <netinet/in.h>

// Sets *at to a free port of 127.0.0.1. Returns a socket that does not listen, and keeps the port
// from whoever asks the kernel for a free one, as other tests do at the same time. The caller
// closes it.
int held_port(struct sockaddr_in *addr);
