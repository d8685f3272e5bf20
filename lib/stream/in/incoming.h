// SPDX-License-Identifier: BSD-3-Clause
// What clients send: cuts it into messages and gives these to their workers, a turn at a time. All
// functions run on the connection's thread. Private to lib/stream.
#pragma once

struct conn;
struct thread;

// What ends a turn.
enum incoming {
	INCOMING_DRY, // there is no more now, or the connection is closed
	INCOMING_MORE, // TURNS_MESSAGES
	INCOMING_ASKS, // the next message is a request, and has to wait for room
	INCOMING_NO_ROOM, // the worker has none: the turn goes on when it has
};

// Gives the worker messages of an open connection: what it has been read already, and what there
// is to be read. c->turn and c->asked are 0 where a turn begins.
enum incoming incoming_turn(struct thread *t, struct conn *c);
