// SPDX-License-Identifier: BSD-3-Clause
// Listening sockets of a thread. Private to lib/stream.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct endpoint;
struct stream_from;
struct stream_listener;
struct thread;

// Opens a thread's listeners in the network namespace of the configuration. The calling thread
// stays in that namespace. 0, or -1 with the reason in error (len bytes).
int listen_open(struct thread *t, char *error, size_t len);
// Sets the current DSCP of the configuration on the open listeners. Any thread.
void listen_mark(const struct thread *t);
// Moves listener i of a running thread to the address of l. Returns 0, or -1 with the reason in
// error (len bytes) and nothing changed. Any thread.
int listen_move(
	struct thread *t, unsigned int i, const struct stream_listener *l, char *error, size_t len);
// Moves the calling thread to the named network namespace; NULL and "" change nothing. Returns 0,
// or -1 with the reason in error.
int listen_enter(const char *name, char *error, size_t len);
void listen_close(struct thread *t);
// When descriptors have run out: listen_spare frees the reserved descriptor, listen_hold reserves
// it again.
void listen_spare(struct thread *t);
void listen_hold(struct thread *t);
// True if errno says that there is no descriptor, or no kernel memory, left.
bool listen_no_file(void);
// Accepts connections from a listener that epoll has reported.
void listen_accept(struct thread *t, unsigned int listener);
// Opens a connection of a client, within the limits of clients. False if it was refused. The new
// connection is t->youngest until something else happens on the thread.
bool listen_admit(struct thread *t, int fd, uint8_t listener, const struct endpoint *client);
// Resets a connection, so the client notices at once and the kernel keeps no state. Increments the
// counter reason.
void listen_refuse(struct thread *t, int fd, const struct stream_from *origin, uint64_t *reason);
