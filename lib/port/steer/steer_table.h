// SPDX-License-Identifier: BSD-3-Clause
// The table of a program that chooses queues (steer_program.h): sums derived from a hash key, the
// queue for each hash, and rules. It is in memory shared with the kernel. Private to lib/port.
#pragma once

#include <stdint.h>

struct addr;
struct port_rule;

#define STEER_TUPLE 36 // bytes that are hashed: two IPv6 addresses and two ports
#define STEER_KEY 40 // bytes of the key that are used
#define STEER_RETA 128
#define STEER_ADDRS 8 // our addresses per family that can have rules

// An IPv4 address is one word, in host byte order like all words here. 0 = a free entry.
struct steer_table {
	// By position of four bits of the tuple and by their value: their contribution to the hash,
	// which is linear.
	uint32_t sum[2 * STEER_TUPLE][16];
	uint8_t reta[STEER_RETA]; // queue by the lowest bits of the hash
	uint32_t addr4[STEER_ADDRS], addr6[STEER_ADDRS][4];
	// By address, [is_v4], and destination port: 1 + the queue of its rule, 0 = no rule.
	uint8_t port[2][STEER_ADDRS][65536];
};

// Fills sums and queues, without rules.
void steer_table_init(struct steer_table *t, const uint8_t key[STEER_KEY], uint16_t queues);
// Adds a rule. Ignores its VLAN, because each of our addresses is on one network. Returns 0, or
// -ENOSPC if the family has rules for STEER_ADDRS other addresses.
int steer_table_add(struct steer_table *t, const struct port_rule *r);
// Moves the rules of an address to another one of its family.
void steer_table_move(struct steer_table *t, const struct addr *was, const struct addr *current);
// Removes a rule.
void steer_table_remove(struct steer_table *t, const struct port_rule *r);
