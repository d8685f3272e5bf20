// SPDX-License-Identifier: BSD-3-Clause
// Output to clients: messages that arrive together for a connection are written together, over TLS
// each in its own record. A client that does not read has a queue. All functions run on the
// connection's thread. Private to lib/stream.
#pragma once

#include "conn.h"

// Prepares message i of t->gather, a message to a client, for outgoing_write.
void outgoing_add(struct thread *t, unsigned int i);
// Writes all prepared messages. The caller owns the messages again.
void outgoing_write(struct thread *t);
// Sends a message other than media to the client. If it answers the ConnectionBind that the
// connection waits for, reading continues.
void outgoing_answer(struct thread *t, uint64_t handle, const uint8_t *data, uint16_t len);
// Writes a portion of the client's queue. False if the queue is empty, the socket accepts no more
// now, or the connection is closed.
bool outgoing_portion(struct thread *t, struct conn *c);
// Writes the client's queue. True if the queue is empty now. The connection may be closed.
bool outgoing_flush(struct thread *t, struct conn *c);
