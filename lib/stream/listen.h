// SPDX-License-Identifier: BSD-3-Clause
// The listeners of a thread. Private to lib/stream.
#pragma once

#include <stddef.h>

struct thread;

// Opens a thread's listeners in the network namespace of the configuration. The calling thread
// stays in that namespace. 0, or -1 with the reason in error (len bytes).
int listen_open(struct thread *t, char *error, size_t len);
// Gives the open listeners the DSCP that they have now. Any thread.
void listen_mark(const struct thread *t);
void listen_close(struct thread *t);
// Accepts from a listener on which epoll has reported connections.
void listen_accept(struct thread *t, unsigned int listener);
