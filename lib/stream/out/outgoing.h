// SPDX-License-Identifier: BSD-3-Clause
// What is written to clients: the messages that came together for a connection leave together, over
// TLS each in a record of its own; and the queue of one that does not read them. All functions run
// on the connection's thread. Private to lib/stream.
#pragma once

#include "conn.h"

// Notes message i of t->gather, one for a client, to be written by outgoing_write.
void outgoing_add(struct thread *t, unsigned int i);
// Writes all that was noted. The messages are the caller's again.
void outgoing_write(struct thread *t);
// Sends the client a message that is not media. It answers a ConnectionBind, if one waits for that.
void outgoing_answer(struct thread *t, uint64_t handle, const uint8_t *data, uint16_t len);
// Writes a portion of what waits for the client. False: there is nothing, or the socket takes no
// more now, or the connection is closed.
bool outgoing_portion(struct thread *t, struct conn *c);
// Writes what waits for the client. True: nothing does any more. The connection may be closed.
bool outgoing_flush(struct thread *t, struct conn *c);
