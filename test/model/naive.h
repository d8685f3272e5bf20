// SPDX-License-Identifier: BSD-3-Clause
// A TURN server as RFC 8656 describes it, with lists that are searched from end to end, exact
// clocks and no network. It judges the actions of the real server. Where the RFC leaves a choice
// (which port, which of two errors) it accepts any allowed one and continues from there.
//
// A hold that has expired but was not swept yet may or may not still occupy its port and count in a
// quota. The model keeps such a hold until it has surely been freed, and allows both.
#pragma once

#include "model.h"

#define NAIVE_HOLDS 128
#define NAIVE_RECORDS 64
#define NAIVE_TICK_MS 16 // sweeping may lag behind expiry by at most this much

struct naive_permission {
	struct addr peer;
	uint64_t until_ms;
};

struct naive_channel {
	uint16_t number;
	struct endpoint peer;
	uint64_t until_ms;
	bool public; // how the client named the peer last
};

// State of an allocation that may move (RFC 8016).
struct naive_mobile {
	uint32_t group; // group of its tickets; 0 = it may not move
	char ticket[MODEL_TICKET + 1], before[MODEL_TICKET + 1]; // "" = none
	uint64_t before_until_ms;
	bool has_path;
	unsigned int path; // client
	uint64_t path_until_ms;
};

#define NAIVE_TICKETS 1024

// An allocation or a reservation: it occupies a port and counts in the quota.
struct naive_hold {
	bool used, reservation;
	unsigned int client, user;
	unsigned int key; // user of its current password or access token
	struct addr source;
	struct endpoint relay;
	uint64_t expires_ms;
	uint32_t tid, granted_s;
	uint8_t token[8];
	bool has_token;
	unsigned int nb_permissions, nb_channels;
	struct naive_permission permission[NAIVE_RECORDS];
	struct naive_channel channel[NAIVE_RECORDS];
	struct turn_usage usage;
	struct naive_mobile mobile; // equal for both halves of a dual allocation
	// It is or was half of a dual allocation: losses that belong to neither half may be counted
	// for either.
	bool dual;
};

// Time at which a port became free: between lo and hi.
struct naive_port {
	uint64_t lo_ms, hi_ms;
};

struct naive {
	const struct model_world *w;
	const struct turn_config *config;
	uint64_t now_ms, wall_s;
	struct naive_hold hold[NAIVE_HOLDS];
	struct naive_port port[2][MODEL_PORTS]; // by family (IPv4 first) and number
	// New allocations are refused: all of them while the server drains; else those of clients
	// with an alternate of their family, from the threshold on.
	bool sends, drains;
	uint32_t threshold;
	struct addr alternate[2];
	unsigned int nb_alternates;
	int early; // last Allocate reused a port early: 1 = surely, 0 = surely not, -1 = unsure
	uint64_t successes, errors[700], drops[TURN_DROP_END], relayed, indications;
	// Refused requests by reason, and those among them that are no retransmissions. last_tid is
	// the newest transaction id.
	uint64_t refused[TURN_REFUSAL_END], fresh[TURN_REFUSAL_END];
	uint32_t last_tid;
	uint64_t adopted; // by naive_restarted
	enum turn_refusal token_reason; // for the op that is being judged
	struct naive_ticket {
		char text[MODEL_TICKET + 1];
		uint32_t group;
	} ticket[NAIVE_TICKETS]; // the last ones given; ticket i is at i % NAIVE_TICKETS
	uint32_t nb_tickets, groups;
	uint64_t moves; // of this process
	uint64_t all_moves;
	uint64_t duals, halves; // Allocates for both families that got both, or one
};

// A set of allowed answers or drops.
struct naive_set {
	unsigned int n, member[8];
};

// Begins with nothing allocated.
void naive_init(struct naive *n, const struct model_world *w, uint64_t now_ms, uint64_t wall_s);
// Moves the clocks.
void naive_clock(struct naive *n, uint64_t now_ms, uint64_t wall_s);
// Reports that the process has died and another process has restored its state at this time.
// adopted: number of allocations that it has restored, or reported as ended. Returns how many
// reserved ports it cannot restore.
unsigned int naive_restarted(struct naive *n, uint64_t now_ms, uint64_t wall_s, uint64_t adopted);
// Reports that the server has swept everything that was due.
void naive_swept(struct naive *n);
// Judges the outcome of an op. Returns NULL when the RFC allows it, else a text that says what is
// wrong.
const char *naive_judge(struct naive *n, const struct op *op, const struct outcome *o);
// Judges the shard's listing of its allocations. Returns NULL, or a text that says what is wrong.
const char *naive_judge_listing(struct naive *n, const struct turn_shard *s, uint32_t quota_total);
// Judges the changes that an op made to the counters, which were `before`, and to the events of the
// shard.
const char *naive_judge_told(struct naive *n, const struct op *op, const struct outcome *o,
	const struct turn_stats *before, const struct fixture *f);
// Judges all events and counters of a shard, once it is closed.
const char *naive_judge_end(const struct naive *n, const struct fixture_told *told);
// Returns the next time at which something expires; UINT64_MAX = never.
uint64_t naive_edge(const struct naive *n);

// --- naive_tokens.c
// True if an op is refused because the time in its REST name has passed; and if that is uncertain.
bool naive_rest_past(const struct naive *n, const struct op *op);
bool naive_rest_unsure(const struct naive *n, const struct op *op);
// True if an op is authenticated by an access token, not by a password.
bool naive_by_token(const struct naive *n, const struct op *op);
// Looks at an op before it is judged: its result may be another allocation of its client.
void naive_token_look(struct naive *n, const struct op *op);
// The reason why such an op is refused unsigned; TURN_GRANTED if it is not.
enum turn_refusal naive_token_reason(const struct naive *n, const struct op *op);
// A Refresh that does not end them has given the client's allocations another key.
void naive_rekey(struct naive *n, const struct op *op, bool end);
// Returns the granted part of a lifetime.
uint32_t naive_token_lifetime(const struct naive *n, const struct op *op, uint32_t asked);
// True if a repeated Allocate has the user name that an allocation has now.
bool naive_is_same(const struct naive *n, const struct naive_hold *h, const struct op *op);
// True if an allocation does not belong to the user of an op.
bool naive_is_other(const struct naive *n, const struct naive_hold *h, const struct op *op);

// --- reload.c
// Gives the shard another policy, at random, and applies it. Returns how many allocations it ends.
unsigned int model_reload(struct model_world *w, struct fixture *f);
// True if it is certain which allocations the server has swept.
bool naive_sure(const struct naive *n);
// Ends the allocations that the policy would not allow; returns how many.
unsigned int naive_reload(struct naive *n);

// --- shared by naive.c, naive_ports.c and naive_peers.c
// True if a hold has not expired yet.
bool naive_live(const struct naive *n, const struct naive_hold *h);
// Returns the hold that occupies a port, expired or not; NULL = none.
struct naive_hold *naive_holder(struct naive *n, const struct endpoint *e);
// Ends a hold; its port becomes free.
void naive_release(struct naive *n, struct naive_hold *h);
// Ports that may be resting start to rest again from now, or continue as before.
void naive_rest_anew(struct naive *n);
// Adds the error codes that a lack of ports or of quota allows. Clears *success where an Allocate
// cannot succeed.
void naive_port_codes(
	struct naive *n, const struct op *op, struct naive_set *allowed, bool *success);
struct naive_count {
	const struct naive_hold *taken_up; // a reservation, or NULL
	unsigned int beside; // number of counted allocations that are not holds yet
};
void naive_quota_codes(struct naive *n, const struct op *op, const struct naive_count *c,
	struct naive_set *allowed, bool *success);
// Judges if the port that the server gave was allowed. Returns NULL, or a text that says what is
// wrong.
const char *naive_judge_port(struct naive *n, const struct op *op, const struct endpoint *e);
// Adds a member to a set.
void naive_may(struct naive_set *s, unsigned int member);
bool naive_has(const struct naive_set *s, unsigned int member);
// Returns a live allocation of a client, and that of a family; NULL = none.
struct naive_hold *naive_allocation(struct naive *n, unsigned int client);
struct naive_hold *naive_of_family(struct naive *n, unsigned int client, bool is_v4);
bool naive_permitted(const struct naive *n, const struct naive_hold *h, const struct addr *peer);
// The codes add the possible answers to CreatePermission and ChannelBind of a client with an
// allocation (0 = success). naive_permit and naive_bind apply their success.
void naive_permit_codes(struct naive *n, const struct op *op, struct naive_set *allowed);
void naive_bind_codes(struct naive *n, const struct op *op, struct naive_set *allowed);
void naive_permit(struct naive *n, const struct op *op);
void naive_bind(struct naive *n, const struct op *op);
// Deletes permissions and channels that the server has surely swept.
void naive_purge(const struct naive *n, struct naive_hold *h);
void naive_lost(struct naive_hold *h, unsigned int reason);
// --- naive_mobile.c
// The allocation that a client is about to move to by its 5-tuple; NULL = none.
struct naive_hold *naive_path(struct naive *n, unsigned int client);
// Gives all holds of an allocation that may move to another client.
void naive_give(struct naive *n, uint32_t group, unsigned int client);
// The allocation has moved to its path.
void naive_moved(struct naive *n, uint32_t group);
// The ticket of an Allocate: codes, and requirements of its success.
bool naive_ticket_codes(const struct naive *n, const struct op *op, struct naive_set *allowed);
const char *naive_judge_ticket(struct naive *n, const struct op *op, const struct outcome *o);
// A Refresh with a ticket: codes, and effects of its success.
void naive_move_codes(struct naive *n, const struct op *op, struct naive_set *allowed);
const char *naive_judge_move(struct naive *n, const struct op *op, const struct outcome *o);
// Judges an op from a 5-tuple with or without an allocation.
const char *naive_judge_own(struct naive *n, const struct op *op, const struct outcome *o);
// The code for a user who is not authenticated; 0 for an authenticated one.
unsigned int naive_stranger_code(const struct naive *n, const struct op *op);
// The lifetime that an Allocate or Refresh is granted.
uint32_t naive_lifetime(const struct naive *n, const struct op *op);

// Judges the outcome of Send, ChannelData and peer datagrams. Returns NULL, or a text that says
// what is wrong.
const char *naive_judge_data(struct naive *n, const struct op *op, const struct outcome *o);
