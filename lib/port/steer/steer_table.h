// SPDX-License-Identifier: BSD-3-Clause
// What a program that chooses queues (steer_program.h) reads: a hash key made into sums, the queue
// for each result, and rules. It lies in memory that the kernel and we share. Private to lib/port.
#pragma once

#include <stdint.h>

struct addr;
struct port_rule;

#define STEER_TUPLE 36 // bytes that are hashed: two IPv6 addresses and two ports
#define STEER_KEY 40 // bytes of the key that this takes
#define STEER_RETA 128
#define STEER_ADDRS 8 // own addresses of a family that can have rules

// An address of IPv4 is one word, in host byte order like all words here. 0 = a free place.
struct steer_table {
	// By four bits of the tuple and their value: what they add to the hash, which is linear.
	uint32_t sum[2 * STEER_TUPLE][16];
	uint8_t reta[STEER_RETA]; // queue by the lowest bits of the hash
	uint32_t addr4[STEER_ADDRS], addr6[STEER_ADDRS][4];
	// By address, [is_v4], and destination port: 1 + the queue of its rule, 0 = there is none.
	uint8_t port[2][STEER_ADDRS][65536];
};

// Fills sums and queues; there are no rules.
void steer_table_init(struct steer_table *t, const uint8_t key[STEER_KEY], uint16_t queues);
// Adds a rule. Its tag is not looked at, as an address of ours is on one network. 0, or -ENOSPC:
// the family has rules for as many addresses as there can be.
int steer_table_add(struct steer_table *t, const struct port_rule *r);
// Has the rules of an address hold for another one of its family.
void steer_table_move(struct steer_table *t, const struct addr *was, const struct addr *current);
// Takes a rule back that was added.
void steer_table_remove(struct steer_table *t, const struct port_rule *r);
