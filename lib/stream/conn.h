// SPDX-License-Identifier: BSD-3-Clause
// A connection: its states, its bytes in and out, its deadlines. Private to lib/stream.
#pragma once

#include <openssl/ssl.h>

#include "addr.h"
#include "queue.h"
#include "thread.h"

#define CONN_NONE UINT32_MAX

enum conn_state {
	CONN_FREE,
	CONN_DETECT, // nothing has come yet
	CONN_HANDSHAKE,
	CONN_OPEN,
	CONN_ENDED, // closed, but there are workers to be told
};

struct conn {
	SSL *ssl; // NULL: plain
	struct endpoint client;
	int fd;
	uint32_t generation;
	uint32_t next, prev; // in the list of free, of ended or of held ones
	uint32_t younger, older; // in the list of those that have not been heard of
	uint32_t events; // that epoll watches for
	uint8_t state; // enum conn_state
	uint8_t listener; // of the configuration given to us
	uint8_t home, told; // its worker; CONN_ENDED: workers told
	bool heard; // a whole message has come
	bool young; // none has come, not even one that waits: it may have to give way
	bool given; // and was given to a worker
	bool chunk; // the socket may be read, once
	bool more; // and then was found to have more
	bool ended; // or to have reached its end
	bool held; // its next message is a request that its worker takes no more of now
	bool fresh; // epoll has it among those that are not open yet
	uint32_t skip; // bytes of an oversize message still to come
	uint32_t rest_len;
	uint8_t *rest; // received, and not a whole message yet
	struct queue out;
	uint64_t opened_ms, heard_ms, rest_ms, lease_ms; // rest_ms: since when there is a rest
};

static inline uint64_t conn_handle(const struct thread *t, const struct conn *c)
{
	return (uint64_t)c->generation << 32 | t->index << 24 | (uint32_t)(c - t->conn);
}

// Takes what accept has given and the caps have counted. False: no room or memory, and it has not.
bool conn_open(struct thread *t, int fd, uint8_t listener, const struct endpoint *client);
// reason: the counter of that.
void conn_close(struct thread *t, struct conn *c, uint64_t *reason);
// Closes the oldest of which no message has come. False: there is none.
bool conn_give_way(struct thread *t);
void conn_event(struct thread *t, struct conn *c, uint32_t events);
// Goes on with what waited for a worker's buffers.
void conn_resume(struct thread *t, struct conn *c);
// Goes on with what waited to ask a worker, in turn.
void conn_resume_held(struct thread *t, unsigned int worker);
// Sends a message of a worker.
void conn_send(struct thread *t, const struct stream_message *m);
// Closes it if one of its deadlines has passed.
void conn_judge(struct thread *t, struct conn *c);
// Tells workers of its end; true once all know, and it is free.
bool conn_tell(struct thread *t, struct conn *c);
