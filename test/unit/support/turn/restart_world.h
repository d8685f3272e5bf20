// SPDX-License-Identifier: BSD-3-Clause
// A server of one or more workers that writes a state area. It can be discarded at any moment, and
// another one, with another configuration, adopts the area. Asserts with cmocka.
#pragma once

#include "turn_fixture.h"
#include "turn_state.h"

#define RESTART_WORKERS 4

struct restart {
	struct fixture worker[RESTART_WORKERS]; // nb of them
	unsigned int nb;
	struct turn_state *area; // size bytes; after a server has died: the area that it left
	size_t size;
	bool shared; // in shared memory, for a child process
	struct turn_state_keys keys;
	uint8_t boot_id[TURN_STATE_BOOT_ID_LEN];
	uint64_t boot_ms; // CLOCK_BOOTTIME, which continues while no server runs
	uint64_t wall_s;
	struct turn_state_adopted adopted; // result of the last restart_up
	double took_s; // seconds of CPU time that turn_state_adopt took
	uint64_t progress; // last value reported by turn_state_adoption.progress
	uint32_t lives; // number of workers made
	struct test_rand rand;
};

// Starts a server with an empty area.
void restart_open(struct restart *r, const struct turn_config *c, uint64_t seed);
// Starts a server with an area that a fork shares with its parent. Do not restart such a server:
// restart_look adopts a copy.
void restart_open_shared(struct restart *r, const struct turn_config *c, uint64_t seed);
// Starts another server that adopts a copy of an area of r, r->size bytes at mem. r continues.
void restart_look(const struct restart *r, const void *mem, struct restart *out);
// The process dies: only the area remains.
void restart_die(struct restart *r);
// Starts another server with this configuration after gone_ms, which adopts the area.
void restart_up(struct restart *r, const struct turn_config *c, uint64_t gone_ms);
// restart_die(), then restart_up().
void restart_again(struct restart *r, const struct turn_config *c, uint64_t gone_ms);
// Shuts the server down in order, and asserts that everything was released.
void restart_close(struct restart *r);
// Advances all clocks; all workers begin a round.
void restart_advance(struct restart *r, uint64_t ms);
// Delivers notes about redirects. Call it after each request.
void restart_notes(struct restart *r);
// The worker that is home to a client: the client's datagrams reach it first.
struct fixture *restart_first(struct restart *r, const struct fixture_client *c);
// Signs and sends the request that was begun there, hands it over as the data path does, and
// delivers notes. Returns the code of the answer. *answerer, unless NULL, is set to the worker that
// answered.
unsigned int restart_ask(struct restart *r, struct fixture_client *c, struct fixture **answerer);
// Sends an Allocate for a family, 4 or 6, by restart_ask(), and notes the relayed transport
// address.
unsigned int restart_allocate(struct restart *r, struct fixture_client *c, int family);
// Carries a datagram that the client's home hands over to the next worker, until one has an answer.
// Returns that worker.
struct fixture *restart_carry(struct restart *r, struct fixture *f, const struct fixture_client *c);
// The worker that is home to a client, or the worker that a redirect leads it to. restart_at marks
// the client's next datagrams as led there.
unsigned int restart_home(const struct restart *r, const struct fixture_client *c);
struct fixture *restart_at(struct restart *r, const struct fixture_client *c);
// The worker that owns a relayed transport address.
struct fixture *restart_owner(struct restart *r, const struct endpoint *relay);
