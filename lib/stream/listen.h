// SPDX-License-Identifier: BSD-3-Clause
// The listeners of a thread. Private to lib/stream.
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
// Gives the open listeners the DSCP that they have now. Any thread.
void listen_mark(const struct thread *t);
// Has listener i of a thread that runs listen as l says, in the place of where it did. 0, or -1
// with the reason in error (len bytes), and then nothing has changed. Any thread.
int listen_move(
	struct thread *t, unsigned int i, const struct stream_listener *l, char *error, size_t len);
// Moves the calling thread to the network namespace of a name; NULL and "" are the one it is in. 0,
// or -1 with the reason in error.
int listen_enter(const char *name, char *error, size_t len);
void listen_close(struct thread *t);
// When descriptors have run out: gives up the one that is held back, and makes it anew.
void listen_spare(struct thread *t);
void listen_hold(struct thread *t);
// Whether errno says that there was no descriptor, or no memory of the kernel's.
bool listen_no_file(void);
// Accepts from a listener on which epoll has reported connections.
void listen_accept(struct thread *t, unsigned int listener);
// Makes a connection of a client, within the limits of clients. False: it was refused. The thread's
// youngest is the new one until something else happens on the thread.
bool listen_admit(struct thread *t, int fd, uint8_t listener, const struct endpoint *client);
// Resets a connection: the client learns of it at once, and the kernel keeps nothing of it. reason
// is the counter to raise.
void listen_refuse(struct thread *t, int fd, const struct stream_from *origin, uint64_t *reason);
