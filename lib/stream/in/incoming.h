// SPDX-License-Identifier: BSD-3-Clause
// Input from clients: cuts the byte streams into messages and passes these to the workers, one turn
// at a time. All functions run on the connection's thread. Private to lib/stream.
#pragma once

struct conn;
struct thread;

// Reasons to end a turn.
enum incoming {
	INCOMING_DRY, // no more bytes now, or the connection is closed
	INCOMING_MORE, // TURNS_MESSAGES messages were read
	INCOMING_ASKS, // the next message is a request, and has to wait for room
	INCOMING_NO_ROOM, // the worker has no room: the turn continues when it has
};

// Passes messages of an open connection to the worker: from bytes read earlier, then from the
// socket. c->turn and c->asked must be 0 at the start of a turn.
enum incoming incoming_turn(struct thread *t, struct conn *c);
