// SPDX-License-Identifier: BSD-3-Clause
// Our addresses, the listeners and relay ports on them, and their owners.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"
#include "turn_relay_map.h"

struct conf;

// EXTERNAL: the address that the network translates one of our addresses to. No other host has it,
// so no packet comes from it. No packet comes to it either, and none is sent there. COMMON: an
// external address that other hosts share, at ports that are not ours: an entry of peers.allow, or
// of a realm's list, is exactly this address.
enum local_kind { LOCAL_FREE, LOCAL_OWN, LOCAL_BROADCAST, LOCAL_EXTERNAL, LOCAL_COMMON };

// Our address, its external address, or the broadcast address of an on-link subnet.
struct local_addr {
	struct addr addr;
	uint64_t plain4; // local_addrs_plain4 of our IPv4 address; UINT64_MAX for all others
	// For nearly all packets: a relay address whose ports are all slots of one worker
	// (otherwise run.nb is 0), and the first listener.
	struct turn_relay_map_run run;
	uint32_t plain_mark[2]; // by leg, our part of a view's mark: the listener, or the source
	uint32_t plain_listener; // its UDP port; UINT32_MAX, which is no port, without a listener
	int32_t relay; // index of the relay address that it is or replaces; -1 = none
	// the listeners of this address, or of the address that it is translated to: the elements
	// [listener_from, listener_from + nb_listeners) of local_addrs.listener
	uint16_t listener_from;
	// port of our IPv6 address; UINT16_MAX for all others: an IPv4-mapped address in IPv6 looks
	// like an IPv4 address
	uint16_t plain_port6;
	uint8_t nb_listeners;
	uint8_t port;
	uint8_t kind; // enum local_kind
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct local_addr) == 64, "one cache line");

// Replaces a listener's index on ports that have only DTLS: datagrams without DTLS have no receiver
// there. No line has this index, so no line vouches for an unencrypted datagram.
#define LOCAL_ONLY_DTLS 255
#define LOCAL_NO_DTLS 255

struct local_listener {
	uint16_t port;
	uint8_t index; // in the configuration, or LOCAL_ONLY_DTLS
	uint8_t dtls; // index of the DTLS listener, or LOCAL_NO_DTLS
};

// Immutable after it was made; read by all workers. Open addressing, at most a quarter full, with
// an unkeyed hash: all entries come from the configuration, so no attacker can make the chains
// long.
struct local_addrs {
	struct local_addr *slot; // 1 << (64 - shift)
	struct local_listener *listener;
	uint32_t mask;
	uint8_t shift; // 33 to 60
};

// NULL with errno set on failure.
struct local_addrs *local_addrs_create(const struct conf *c, const struct turn_relay_map *map);
void local_addrs_free(struct local_addrs *t);

// An IPv4 address in network byte order, and the port that it is on, in one word.
static inline uint64_t local_addrs_plain4(uint32_t v4, uint8_t port)
{
	return v4 | (uint64_t)port << 32;
}

#define LOCAL_ADDRS_FACTOR UINT64_C(0x9e3779b97f4a7c15)
// The bytes of an IPv4-mapped address before its last word.
#define LOCAL_ADDRS_MAPPED UINT64_C(0xffff0000)

static inline uint32_t local_addrs_hash(const struct local_addrs *t, const struct addr *a)
{
	return (uint32_t)((a->d[0] ^ a->d[1] ^ LOCAL_ADDRS_MAPPED) * LOCAL_ADDRS_FACTOR >>
		t->shift);
}

// The only entry where an address is likely to be, if it is there at all.
static inline const struct local_addr *local_addrs_guess(
	const struct local_addrs *t, const struct addr *a)
{
	return &t->slot[local_addrs_hash(t, a)];
}

// Like local_addrs_guess, for an IPv4 address in network byte order: its hash is in the upper half
// of the product, which needs only the lower halves of the factors.
static inline const struct local_addr *local_addrs_guess4(const struct local_addrs *t, uint32_t v4)
{
	return &t->slot[v4 * (uint32_t)LOCAL_ADDRS_FACTOR >> (t->shift & 31)];
}

static inline const struct local_addr *local_addrs_find(
	const struct local_addrs *t, const struct addr *a)
{
	uint32_t i = local_addrs_hash(t, a);

	while (t->slot[i].kind != LOCAL_FREE) {
		if (addr_eq(&t->slot[i].addr, a))
			return &t->slot[i];
		i = (i + 1) & t->mask;
	}
	return NULL;
}

// True if no other host has this address.
static inline bool local_addrs_ours(const struct local_addrs *t, const struct addr *a)
{
	const struct local_addr *l = local_addrs_find(t, a);

	return l != NULL && l->kind != LOCAL_COMMON;
}

// True if a UDP port of an address is a listener's or a relay port.
bool local_addrs_is_data_path(const struct local_addrs *t, const struct turn_relay_map *map,
	const struct local_addr *l, uint16_t port);
// True if no other host has this address and UDP port.
bool local_addrs_ours_at(const struct local_addrs *t, const struct turn_relay_map *map,
	const struct addr *a, uint16_t port);

// Index of the listener on a port of our address, or LOCAL_ONLY_DTLS, or -1.
static inline int local_addrs_listener(
	const struct local_addrs *t, const struct local_addr *l, uint16_t port)
{
	for (unsigned int i = 0; i < l->nb_listeners; i++)
		if (t->listener[l->listener_from + i].port == port)
			return t->listener[l->listener_from + i].index;
	return -1;
}

// Index of the DTLS listener on a port of our address, or LOCAL_NO_DTLS.
static inline uint8_t local_addrs_dtls(
	const struct local_addrs *t, const struct local_addr *l, uint16_t port)
{
	for (unsigned int i = 0; i < l->nb_listeners; i++)
		if (t->listener[l->listener_from + i].port == port)
			return t->listener[l->listener_from + i].dtls;
	return LOCAL_NO_DTLS;
}
