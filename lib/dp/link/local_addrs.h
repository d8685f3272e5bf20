// SPDX-License-Identifier: BSD-3-Clause
// local_addrs.c: which addresses are ours, what is on them, and who owns it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"
#include "turn_relay_map.h"

struct conf;

// EXTERNAL: what the network translates an own address to. Nobody else has it, so nothing comes
// from it. Nothing comes to it either, and nothing is sent there. COMMON: the same, except that
// others have it, too, at ports that are none of ours: an entry of peers.allow, or of a realm's, is
// that one address.
enum local_kind { LOCAL_FREE, LOCAL_OWN, LOCAL_BROADCAST, LOCAL_EXTERNAL, LOCAL_COMMON };

// An own address, its external address, or the broadcast address of an on-link subnet.
struct local_addr {
	struct addr addr;
	uint64_t plain4; // local_addrs_plain4 of an own IPv4 address; of any other UINT64_MAX
	// What nearly all packets are to: a relay address all of whose ports are slots of one
	// worker (else run.nb is 0), and the first listener.
	struct turn_relay_map_run run;
	uint32_t plain_mark[2]; // by leg, our part of a view's mark: the listener, or the source
	uint32_t plain_listener; // its UDP port; UINT32_MAX, which is none, without a listener
	int32_t relay; // index of the relay address that it is or stands for, -1 = none
	// its listeners, or those of what it is translated to: [from, from + nb) of
	// local_addrs.listener
	uint16_t listener_from;
	// port of an own IPv6 address; of any other UINT16_MAX: an IPv4-mapped address in IPv6
	// looks like an IPv4 address
	uint16_t plain_port6;
	uint8_t nb_listeners;
	uint8_t port;
	uint8_t kind; // enum local_kind
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct local_addr) == 64, "one cache line");

// In place of a listener's index where only DTLS is spoken: what is no DTLS is for nobody there. No
// line has this index, so no line vouches for a datagram in the clear.
#define LOCAL_ONLY_DTLS 255
#define LOCAL_NO_DTLS 255

struct local_listener {
	uint16_t port;
	uint8_t index; // in the configuration, or LOCAL_ONLY_DTLS
	uint8_t dtls; // index of the DTLS listener, or LOCAL_NO_DTLS
};

// Immutable once made; read by all workers. Open addressing at a quarter full or less, with an
// unkeyed hash: what is in it comes from the configuration, so nobody can make the chains long.
struct local_addrs {
	struct local_addr *slot; // 1 << (64 - shift)
	struct local_listener *listener;
	uint32_t mask;
	uint8_t shift; // 33 to 60
};

// NULL with errno set.
struct local_addrs *local_addrs_create(const struct conf *c, const struct turn_relay_map *map);
void local_addrs_free(struct local_addrs *t);

// An IPv4 address as it lies in a packet, and the port that it is on, in one word.
static inline uint64_t local_addrs_plain4(uint32_t v4, uint8_t port)
{
	return v4 | (uint64_t)port << 32;
}

#define LOCAL_ADDRS_FACTOR UINT64_C(0x9e3779b97f4a7c15)
#define LOCAL_ADDRS_MAPPED \
	UINT64_C(0xffff0000) // what of an IPv4 address stands before the last word

static inline uint32_t local_addrs_hash(const struct local_addrs *t, const struct addr *a)
{
	return (uint32_t)((a->d[0] ^ a->d[1] ^ LOCAL_ADDRS_MAPPED) * LOCAL_ADDRS_FACTOR >>
		t->shift);
}

// The only place where an address is likely to be, whether or not it is there.
static inline const struct local_addr *local_addrs_guess(
	const struct local_addrs *t, const struct addr *a)
{
	return &t->slot[local_addrs_hash(t, a)];
}

// The same for an IPv4 address as it lies in a packet: its hash is all in the upper half of the
// product, which takes the lower halves of the factors.
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

// Whether an address is nobody else's.
static inline bool local_addrs_ours(const struct local_addrs *t, const struct addr *a)
{
	const struct local_addr *l = local_addrs_find(t, a);

	return l != NULL && l->kind != LOCAL_COMMON;
}

// Whether a port of an address is a listener's or a relay port.
bool local_addrs_is_data_path(const struct local_addrs *t, const struct turn_relay_map *map,
	const struct local_addr *l, uint16_t port);
// Whether a port of an address is nobody else's.
bool local_addrs_ours_at(const struct local_addrs *t, const struct turn_relay_map *map,
	const struct addr *a, uint16_t port);

// Index of the listener on a port of an own address, or LOCAL_ONLY_DTLS, or -1.
static inline int local_addrs_listener(
	const struct local_addrs *t, const struct local_addr *l, uint16_t port)
{
	for (unsigned int i = 0; i < l->nb_listeners; i++)
		if (t->listener[l->listener_from + i].port == port)
			return t->listener[l->listener_from + i].index;
	return -1;
}

// Index of the DTLS listener on a port of an own address; LOCAL_NO_DTLS when there is none.
static inline uint8_t local_addrs_dtls(
	const struct local_addrs *t, const struct local_addr *l, uint16_t port)
{
	for (unsigned int i = 0; i < l->nb_listeners; i++)
		if (t->listener[l->listener_from + i].port == port)
			return t->listener[l->listener_from + i].dtls;
	return LOCAL_NO_DTLS;
}
