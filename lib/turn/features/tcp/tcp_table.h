// SPDX-License-Identifier: BSD-3-Clause
// A shard's data for TCP allocations (RFC 6062): relay ports, the allocation on each, and the
// numbers of connections. One entry for each port of relay.tcp.ports that the worker owns; no
// entries if relay.tcp is off.
#pragma once

#include <stddef.h>

#include "limits/share.h"
#include "line.h"
#include "turn_config.h"
#include "turn_refusal.h"
#include "turn_tcp.h"

struct turn_info;
struct turn_shard_params;

// One relay port. Ports are dealt to the workers one by one: the first worker has the lowest.
struct tcp_port {
	uint64_t allocation; // its ID; 0 = none. The worker writes it, stream threads read it
	uint32_t slot; // of that allocation
	// Number of its connections; a stream thread writes it, the worker reads it.
	uint32_t connections;
	// By enum turn_leg: relayed bytes that its usage record does not have yet, in the low bits;
	// above them a number that grows with each allocation (tcp_usage.c). Stream threads add,
	// the worker takes.
	uint64_t moved[2];
};
_Static_assert(sizeof(struct tcp_port) == 32, "memory of a relay port for TCP");

struct tcp_table {
	struct tcp_port *port; // nb
	uint32_t *rest; // ring of free ports: the one that has rested longest comes first
	uint32_t nb, first, free;
	struct share share; // of the ports
	uint16_t port_lo, port_hi;
	bool on; // the box has such ports, even if this worker has no port
	uint32_t fold; // the next port whose bytes are counted
	uint64_t folded_ms; // time of the last counting
};

// The number of relay ports of a worker.
uint32_t tcp_table_ports(const struct turn_shard_params *p);
// Bytes of tcp_table_init's memory.
size_t tcp_table_size(const struct turn_shard_params *p, uint32_t permissions);
void tcp_table_init(struct turn_shard *s, void *mem, const struct turn_shard_params *p);
// True if clients may have TCP allocations.
bool tcp_is_on(const struct turn_shard *s);

// Allocates a port for a user (the user half of a quota_ref); *port_index gets its index among all
// ports of the box. TURN_REFUSED_NO_PORT if no port is left, TURN_REFUSED_PORT_SHARE if the user
// has the whole share.
enum turn_refusal tcp_table_take(struct turn_shard *s, uint64_t user, uint32_t *port_index);
// Frees a port of a user that no allocation has got.
void tcp_table_give(struct turn_shard *s, uint32_t port_index, uint64_t user);
// Begins the line of a TCP allocation, on a slot of a relay address. The data path ignores it,
// because its state is ALLOC_TCP.
void tcp_table_begin(struct turn_shard *s, uint32_t slot, uint32_t port_index);
// The allocation is complete: alloc_id is valid.
void tcp_table_made(struct turn_shard *s, uint32_t slot);
// The allocation of a slot is about to end: its sockets are closed soon, and relay nothing more.
void tcp_table_close(struct turn_shard *s, uint32_t slot);
// The allocation has ended: its port rests.
void tcp_table_end(struct turn_shard *s, uint32_t slot, uint64_t user);
// Index of the relay port of a TCP allocation.
uint32_t tcp_table_port_index(const struct turn_shard *s, uint32_t slot);
// Index of a port of any worker; TURN_NONE if it is not a relay port for TCP.
uint32_t tcp_table_at(const struct turn_shard *s, uint16_t port);
// Sets the number of connections to peers of a slot's allocation, if it is a TCP allocation.
void tcp_table_show(const struct turn_shard *s, uint32_t slot, struct turn_info *out);
// Slot of the allocation that has a relay port, if it still has that ID; else TURN_NONE.
uint32_t tcp_table_slot(const struct turn_shard *s, uint32_t port_index, uint64_t allocation);
// A random CONNECTION-ID. The threads check that no other connection has it.
uint32_t tcp_table_number(struct turn_shard *s);
