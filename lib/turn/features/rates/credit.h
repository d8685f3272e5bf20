// SPDX-License-Identifier: BSD-3-Clause
// Rates of bytes that TCP allocations relay (RFC 6062); built only with TCP to peers. An
// allocation's own account is stored for its port, and the accounts of users and realms are shared
// by all threads anyway. So a stream thread draws from these accounts as a worker does, but only
// the worker opens and closes them.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "turn_config.h"

struct turn_accounts;
struct turn_shard;
struct turn_shard_params;
struct turn_tcp_bytes;
struct turn_tcp_way;

// The accounts of the allocation on one relay port for TCP.
struct credit_port {
	_Atomic uint64_t
		due[2]; // account.h: debt of its own rate, by enum turn_leg; stream threads
	// Accounts of its user and its realm. The worker writes them, stream threads read them.
	uint32_t account[2];
};

struct credit_table {
	struct credit_port *port; // by index of struct tcp_table.port
	// The current rates. The worker writes them, stream threads read them.
	uint32_t kbits[TURN_RATE_OF_END][2]; // by leg; 0 = not limited
	uint32_t burst_ms;
	struct turn_accounts *accounts; // does not change once it is set
	// Number of ports, from the first on, whose accounts must be looked up again.
	uint32_t renew;
};

// Bytes of credit_init's memory.
size_t credit_size(const struct turn_shard_params *p, uint32_t permissions);
void credit_init(struct turn_shard *s, void *mem, const struct turn_shard_params *p);
// Begins the accounts of the allocation that a port is about to get; its slot is set.
void credit_begin(struct turn_shard *s, uint32_t port_index);
// Applies the rates of the shard's policy and meters. Accounts follow in credit_tick.
void credit_policy(struct turn_shard *s);
// Looks up the accounts of some ports. True if there is more work to do at once.
bool credit_tick(struct turn_shard *s);

// --- threads of streams, for a live allocation ---------------------------------------------------

// Takes bytes from the rates of an allocation, its user and its realm, up to want. 0: there is no
// credit at present.
uint32_t credit_take(
	struct turn_shard *s, const struct turn_tcp_way *w, uint32_t want, uint64_t now_ms);
// Gives back the unused credit if n->moved is below n->taken, or takes the excess as a debt.
void credit_settle(struct turn_shard *s, const struct turn_tcp_way *w,
	const struct turn_tcp_bytes *n, uint64_t now_ms);
