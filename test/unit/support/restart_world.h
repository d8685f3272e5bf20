// SPDX-License-Identifier: BSD-3-Clause
// A server of one or more workers that writes a state area. It can be thrown away at any moment,
// and another one, of another configuration, takes up what it has left. Asserts with cmocka.
#pragma once

#include "turn_fixture.h"
#include "turn_state.h"

#define RESTART_WORKERS 4

struct restart {
	struct fixture worker[RESTART_WORKERS]; // nb
	unsigned int nb;
	struct turn_state *area; // size bytes; of a server that has died: what it has left
	size_t size;
	bool shared; // mapped, for a child too
	struct turn_state_keys keys;
	uint8_t boot_id[TURN_STATE_BOOT_ID_LEN];
	uint64_t boot_ms; // CLOCK_BOOTTIME, which goes on while no server runs
	uint64_t wall_s;
	struct turn_state_adopted adopted; // by the last restart_up
	double took_s; // seconds of CPU time that turn_state_adopt took
	uint64_t progress; // the last call of turn_state_adoption.progress said so
	uint32_t lives; // workers that there were so far
	struct test_rand rand;
};

// Starts a server with an empty area.
void restart_open(struct restart *r, const struct turn_config *c, uint64_t seed);
// The same with an area that a fork shares with its parent. Whoever opens it so lets it be and does
// not restart it: restart_look takes up a copy.
void restart_open_shared(struct restart *r, const struct turn_config *c, uint64_t seed);
// Starts another server that takes up a copy of an area of r, r->size bytes at mem. r goes on.
void restart_look(const struct restart *r, const void *mem, struct restart *out);
// The process dies: all is gone but the area.
void restart_die(struct restart *r);
// Another one starts with this configuration after so long, and takes the area up.
void restart_up(struct restart *r, const struct turn_config *c, uint64_t gone_ms);
// Both.
void restart_again(struct restart *r, const struct turn_config *c, uint64_t gone_ms);
// Ends the server in an orderly way, and asserts that all was given back.
void restart_close(struct restart *r);
// Moves all clocks; all workers begin a round.
void restart_advance(struct restart *r, uint64_t ms);
// Hands notes about redirects to whom they are for. Call it after each request.
void restart_notes(struct restart *r);
// The worker that is home to a client: what the client sends comes there first.
struct fixture *restart_first(struct restart *r, const struct fixture_client *c);
// Sends the request begun there, signed, and hands it over as the data path does; notes arrive.
// Returns the answer's code; *at, unless NULL, gets the worker that has answered.
unsigned int restart_ask(struct restart *r, struct fixture_client *c, struct fixture **answerer);
// The same for an Allocate of a family, 4 or 6; notes the relayed transport address.
unsigned int restart_allocate(struct restart *r, struct fixture_client *c, int family);
// Takes what the client's home hands over to the worker that it is for, until one has an answer.
// Returns that worker.
struct fixture *restart_carry(struct restart *r, struct fixture *f, const struct fixture_client *c);
// The worker that is home to a client; where a redirect leads it, that worker. restart_at has it
// take what the client sends next as led there.
unsigned int restart_home(const struct restart *r, const struct fixture_client *c);
struct fixture *restart_at(struct restart *r, const struct fixture_client *c);
// The worker that owns a relayed transport address.
struct fixture *restart_owner(struct restart *r, const struct endpoint *relay);
