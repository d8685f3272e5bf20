// SPDX-License-Identifier: BSD-3-Clause
// What a shard has beside its TCP allocations (RFC 6062): relay ports, which of them each has, and
// the numbers of connections. One entry for each port of relay.tcp.ports that the worker owns; none
// where the key is off.
#pragma once

#include <stdatomic.h>
#include <stddef.h>

#include "limits/share.h"
#include "line.h"
#include "turn_config.h"
#include "turn_refusal.h"
#include "turn_tcp.h"

// One relay port. Ports are dealt over the workers one by one: the first worker has the lowest.
struct tcp_place {
	uint64_t allocation; // its id; 0 = none. The worker writes it, stream threads read it
	uint32_t slot; // of that allocation
	uint32_t connections; // of it; a stream thread writes it, the worker reads it
	// By enum turn_leg: bytes relayed that its usage record does not have yet, below a number
	// that grows with each allocation (tcp_usage.c). Stream threads add, the worker takes.
	uint64_t moved[2];
	_Atomic uint64_t due[2]; // account.h: what it owes of its own rate; stream threads
	uint32_t account[2]; // of its user, its realm; the worker writes them, stream threads read
};
_Static_assert(sizeof(struct tcp_place) == 56, "what a relay port for TCP costs");

// The rates that hold now. The worker writes them, stream threads read them.
struct tcp_rates {
	uint32_t kbits[TURN_RATE_OF_END][2]; // by leg; 0 = not limited
	uint32_t burst_ms;
	struct turn_accounts *accounts; // does not change once it is there
};

struct tcp_table {
	struct tcp_place *place; // nb
	uint32_t *rest; // ring of places that are free: the one that has rested longest comes first
	uint32_t nb, first, free;
	struct share share; // of the ports
	uint16_t port_lo, port_hi;
	bool on; // the box has such ports, whether or not this worker has one
	struct tcp_rates rates;
	uint32_t renew; // places from the first on whose accounts are to be looked up anew
	uint32_t fold; // the place whose bytes are counted next
	uint64_t folded_ms; // when places were looked at last for that
};

// Bytes of tcp_table_init's memory for a worker of so many, with ports from lo to hi.
size_t tcp_table_size(const struct turn_config *c, unsigned int worker);
void tcp_table_init(struct turn_shard *s, void *mem, const struct turn_config *c);

// Takes a port for a user, the half of a quota_ref; *place gets its place among all of the box.
// TURN_REFUSED_NO_PORT when there is none left, TURN_REFUSED_PORT_SHARE when he has his share.
enum turn_refusal tcp_table_take(struct turn_shard *s, uint64_t user, uint32_t *place);
// Gives a port of a user back that no allocation has got.
void tcp_table_give(struct turn_shard *s, uint32_t place, uint64_t user);
// Begins the line of a TCP allocation, on a slot of a relay address. Nothing of the data path takes
// it for one: its state is ALLOC_TCP.
void tcp_table_begin(struct turn_shard *s, uint32_t slot, uint32_t place);
// Says that the allocation is made: alloc_id is good.
void tcp_table_made(struct turn_shard *s, uint32_t slot);
// The allocation of a slot is about to end: its sockets are closed soon, and relay no more.
void tcp_table_close(struct turn_shard *s, uint32_t slot);
// It has ended: its port rests.
void tcp_table_end(struct turn_shard *s, uint32_t slot, uint64_t user);
// The place of the allocation of a slot, which is one of TCP.
uint32_t tcp_table_place(const struct turn_shard *s, uint32_t slot);
// The place of a port, whichever worker has it; TURN_NONE: it is no relay port for TCP.
uint32_t tcp_table_at(const struct turn_shard *s, uint16_t port);
// How many connections with peers the allocation of a slot has, which is one of TCP.
uint32_t tcp_table_connections(const struct turn_shard *s, uint32_t slot);
// Slot of the allocation that has a place, if it still has that id; else TURN_NONE.
uint32_t tcp_table_slot(const struct turn_shard *s, uint32_t place, uint64_t allocation);
// A CONNECTION-ID, by chance. The threads know whether another connection has it.
uint32_t tcp_table_number(struct turn_shard *s);
