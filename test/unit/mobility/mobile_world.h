// SPDX-License-Identifier: BSD-3-Clause
// Fixture of the tests of mobility (RFC 8016): clients that ask for tickets and move, on a server
// of two workers. Allocations are made on the first; a client that is `far` has the second as its
// home. Asserts with cmocka.
#pragma once

#include "turn_fixture.h"

#define TICKET 32 // characters

struct mobile_client {
	struct fixture_client c;
	bool far;
	char ticket[TICKET + 1]; // the last ticket that it got; "" = none yet
};

struct mobile_world {
	struct fixture f, far;
	bool slow; // notes between workers wait for mobile_notes
	bool answered; // by the last request
	const struct stun_msg *answer; // to the last request
};

// The configuration that gives tickets: fixture_config with two workers.
struct turn_config mobile_config(void);
void mobile_open(struct mobile_world *w, const struct turn_config *c);
// Closes the fixture, and asserts that no redirects and paths are left.
int mobile_teardown(void **state);
struct mobile_client mobile_ivan(const char *addr, uint16_t port);
// The client at another address, with its current ticket.
struct mobile_client mobile_at(const struct mobile_client *c, const char *addr, uint16_t port);

// Begins a request of a client. Returns the writer, for further attributes.
struct stun_writer *mobile_begin_request(
	struct mobile_world *w, const struct mobile_client *c, enum stun_method method);
// Signs and sends it, on to the other worker if needed. Returns the code of the answer. If the
// answer has a ticket, it is copied to c->ticket.
unsigned int mobile_ask(struct mobile_world *w, struct mobile_client *c);
// Sends the last request again.
unsigned int mobile_repeat(struct mobile_world *w, struct mobile_client *c);
// Sends any datagram of a client, on to the other worker if needed. Returns the plan of the last
// worker.
const struct turn_plan *mobile_send(
	struct mobile_world *w, const struct mobile_client *c, const void *data, size_t len);
const struct turn_plan *mobile_channel_data(
	struct mobile_world *w, const struct mobile_client *c, uint16_t number);
// A Send indication to a peer.
const struct turn_plan *mobile_indicate(
	struct mobile_world *w, const struct mobile_client *c, const char *peer, uint16_t port);
// Delivers the workers' notes about redirects.
void mobile_notes(struct mobile_world *w);
// Advances both clocks, and sweeps expired objects.
void mobile_advance(struct mobile_world *w, uint64_t ms);

// Whole requests.
unsigned int mobile_allocate(struct mobile_world *w, struct mobile_client *c);
unsigned int mobile_refresh(struct mobile_world *w, struct mobile_client *c, uint32_t lifetime_s);
// A Refresh with the client's ticket.
unsigned int mobile_show(struct mobile_world *w, struct mobile_client *c);
unsigned int mobile_bind(struct mobile_world *w, struct mobile_client *c, uint16_t number,
	const char *peer, uint16_t port);

// Asserts that ChannelData of a channel reaches the client's peer, or is dropped because the client
// has no allocation.
void assert_sends(struct mobile_world *w, const struct mobile_client *c, uint16_t number);
void assert_cut_off(struct mobile_world *w, const struct mobile_client *c, uint16_t number);
// Asserts that a peer's datagram to ivan's relayed transport address reaches a client.
void assert_hears(struct mobile_world *w, const struct endpoint *relay, const char *peer,
	uint16_t port, const struct mobile_client *c);
