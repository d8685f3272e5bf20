// SPDX-License-Identifier: BSD-3-Clause
// The listeners of a thread. Private to lib/stream.
#pragma once

#include <stddef.h>

struct thread;

// Opens a thread's listeners, in its network namespace; the calling thread stays there. 0, or -1
// with the reason in error.
int listen_open(struct thread *t, char *error, size_t len);
void listen_close(struct thread *t);
// There is somebody on a listener.
void listen_accept(struct thread *t, unsigned int listener);
