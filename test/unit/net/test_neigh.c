// SPDX-License-Identifier: BSD-3-Clause
// The neighbour table: its states and timers (RFC 4861), who may change an entry, which packets are
// held for an answer, and what happens when the table is full.
#include <stdlib.h>
#include <string.h>

#include "neigh_hosts.h"
#include "test.h"
#include "test_rand.h"

static void test_resolve(void **state)
{
	struct neigh_table *t = make_default();
	const struct addr a = host(1);
	const uint16_t i = neigh_use(t, &a, PORT, 1000);

	assert_int_not_equal(i, NEIGH_NONE);
	assert_int_equal(neigh_state(t, i), NEIGH_INCOMPLETE);
	assert_int_equal(neigh_use(t, &a, PORT, 1000), i);
	assert_int_not_equal(neigh_use(t, &a, PORT + 1, 1000), i); // another link
	assert_null(neigh_mac(t, i, 1000));
	tick(t, 1000);
	assert_int_equal(due.nb_asks, 2);
	assert_true(addr_eq(&due.ask[0].target, &a));
	assert_false(due.ask[0].unicast);
	assert_int_equal(due.ask[0].port, PORT);
	assert_int_equal(answer(t, 1, mac1, 1010), i);
	assert_memory_equal(neigh_mac(t, i, 1010), mac1, 6);
	assert_int_equal(neigh_state(t, i), NEIGH_REACHABLE);
	assert_int_equal(neigh_noted(t, neigh_note(t, i)), i);
	assert_int_equal(neigh_noted(t, 0), NEIGH_NONE);
	assert_int_equal(neigh_noted(t, neigh_note(t, i) | 0xffff), NEIGH_NONE);
	free(t);
}

// Three requests a second apart, then a second of negative cache, then resolution starts again.
static void test_fail(void **state)
{
	struct neigh_table *t = make_default();
	const struct addr a = host(1);
	const uint16_t i = neigh_use(t, &a, PORT, 5000);
	unsigned int sent = 0;
	void *packet;

	for (uint64_t now = 5000; now < 8000; now += 10) {
		tick(t, now);
		sent += due.nb_asks;
		assert_int_equal(sent, (now - 5000) / 1000 + 1);
		assert_int_equal(due.nb_failed, 0);
		neigh_use(t, &a, PORT, now); // uses cause no additional requests
	}
	assert_true(neigh_hold(t, i, &sent));
	assert_int_equal(neigh_held(t, i, &packet, 1), 0); // not yet
	tick(t, 8000);
	assert_int_equal(due.nb_asks, 0);
	assert_int_equal(due.nb_failed, 1);
	assert_int_equal(due.failed[0], i);
	assert_int_equal(neigh_state(t, i), NEIGH_FAILED);
	assert_int_equal(neigh_held(t, i, &packet, 1), 1);
	assert_ptr_equal(packet, &sent);
	assert_int_equal(neigh_held_total(t), 0);
	assert_false(neigh_hold(t, i, &sent));
	assert_int_equal(neigh_use(t, &a, PORT, 8999), i);
	assert_null(neigh_mac(t, i, 8999));
	tick(t, 8999);
	assert_int_equal(due.nb_asks + due.nb_failed, 0);
	assert_null(neigh_mac(t, i, 9000)); // a use by index is a use
	assert_int_equal(neigh_state(t, i), NEIGH_INCOMPLETE);
	tick(t, 9000);
	assert_int_equal(due.nb_asks, 1);
	free(t);
}

static void test_stale_probe(void **state)
{
	struct neigh_table *t = make_default();
	const uint16_t i = reach(t, 1, mac1, 1000);

	tick(t, 30999);
	assert_int_equal(neigh_state(t, i), NEIGH_REACHABLE);
	tick(t, 31000);
	assert_int_equal(neigh_state(t, i), NEIGH_STALE);
	assert_int_equal(due.nb_asks, 0); // the entry is unused
	tick(t, 90000);
	assert_int_equal(neigh_state(t, i), NEIGH_STALE);
	assert_memory_equal(neigh_mac(t, i, 90000), mac1, 6);
	assert_int_equal(neigh_state(t, i), NEIGH_PROBE);
	tick(t, 90001);
	assert_int_equal(due.nb_asks, 1);
	assert_true(due.ask[0].unicast);
	assert_memory_equal(due.ask[0].mac, mac1, 6);
	assert_int_equal(answer(t, 1, mac1, 90002), NEIGH_NONE); // confirmed, nothing changed
	assert_int_equal(neigh_state(t, i), NEIGH_REACHABLE);
	tick(t, 120001);
	assert_int_equal(neigh_state(t, i), NEIGH_REACHABLE);
	tick(t, 120002);
	assert_int_equal(neigh_state(t, i), NEIGH_STALE);
	assert_hop(t, neigh_note(t, i), mac1); // its use would have to be recorded
	free(t);
}

static void test_probe_fails(void **state)
{
	struct neigh_table *t = make_default();
	const uint16_t i = reach(t, 1, mac1, 0);

	tick(t, 30000);
	neigh_mac(t, i, 30000);
	for (uint64_t now = 30000; now < 33000; now += 1000) {
		tick(t, now);
		assert_int_equal(due.nb_asks, 1);
		assert_true(due.ask[0].unicast);
		assert_non_null(neigh_mac(t, i, now)); // usable meanwhile
	}
	tick(t, 33000); // RFC 4861 section 7.3.3: resolution starts again, at once
	assert_int_equal(due.nb_failed, 0);
	assert_int_equal(due.nb_asks, 1);
	assert_false(due.ask[0].unicast);
	assert_null(neigh_mac(t, i, 33000));
	assert_hop(t, neigh_note(t, i), NULL);
	tick(t, 34000);
	tick(t, 35000);
	tick(t, 36000);
	assert_int_equal(due.nb_failed, 1);
	assert_int_equal(neigh_state(t, i), NEIGH_FAILED);
	free(t);
}

// Conformance section 4: no unsolicited message moves an address, in any state.
static void test_spoofs(void **state)
{
	struct neigh_table *t = make_default();
	const uint16_t i = reach(t, 1, mac1, 0);

	for (int n = 0; n < 3; n++) {
		assert_int_equal(claim(t, 1, mac2, 100), NEIGH_NONE);
		assert_int_equal(answer(t, 1, mac2, 100), NEIGH_NONE); // claims to be solicited
		assert_int_equal(asked_by(t, 1, mac2, 100), NEIGH_NONE);
		assert_int_equal(neigh_state(t, i), NEIGH_STALE); // now in doubt
	}
	assert_memory_equal(neigh_mac(t, i, 100), mac1, 6);
	assert_int_equal(neigh_state(t, i), NEIGH_PROBE);
	assert_int_equal(answer(t, 1, mac2, 100), NEIGH_NONE); // no request sent yet
	tick(t, 101);
	assert_int_equal(due.nb_asks, 1);
	assert_memory_equal(due.ask[0].mac, mac1, 6); // the known owner is asked
	assert_int_equal(claim(t, 1, mac2, 102), NEIGH_NONE);
	assert_int_equal(asked_by(t, 1, mac2, 102), NEIGH_NONE);
	assert_memory_equal(neigh_mac(t, i, 102), mac1, 6);
	assert_int_equal(answer(t, 1, mac1, 103), NEIGH_NONE);
	assert_int_equal(neigh_state(t, i), NEIGH_REACHABLE);
	assert_int_equal(claim(t, 1, mac1, 104), NEIGH_NONE); // the owner announces itself
	assert_int_equal(neigh_state(t, i), NEIGH_REACHABLE);
	assert_hop(t, neigh_note(t, i), mac1);
	assert_int_equal(answer(t, 2, mac2, 105), NEIGH_NONE); // about a host that nobody needs
	free(t);
}

// Unsolicited messages about an unresolved target: a request gives its MAC, an announcement does
// not.
static void test_unresolved(void **state)
{
	struct neigh_table *t = make_default();
	const struct addr a = host(1);
	const uint16_t i = neigh_use(t, &a, PORT, 0);

	assert_int_equal(claim(t, 1, mac1, 1), NEIGH_NONE);
	assert_int_equal(neigh_state(t, i), NEIGH_INCOMPLETE);
	assert_int_equal(asked_by(t, 1, mac1, 2), i);
	assert_int_equal(neigh_state(t, i), NEIGH_STALE);
	assert_memory_equal(neigh_mac(t, i, 3), mac1, 6);
	assert_int_equal(neigh_state(t, i), NEIGH_PROBE);
	free(t);
}

// RFC 4861 section 7.2.5: answers with another address, and without one.
static void test_answers(void **state)
{
	struct neigh_table *t = make_default();
	struct net_neigh_msg m = {NET_NEIGH_ANSWER, .target = host(1), .solicited = true};
	const struct addr a = host(1);
	const uint16_t i = neigh_use(t, &a, PORT, 0);

	tick(t, 0);
	assert_int_equal(neigh_learn(t, &m, PORT, false, 1), NEIGH_NONE); // no address
	assert_int_equal(neigh_state(t, i), NEIGH_INCOMPLETE);
	assert_int_equal(answer(t, 1, mac1, 2), i);
	tick(t, 30002);
	neigh_mac(t, i, 30002);
	tick(t, 30002);
	memcpy(m.mac, mac2, 6);
	assert_int_equal(neigh_learn(t, &m, PORT, false, 30003), NEIGH_NONE);
	assert_int_equal(neigh_state(t, i), NEIGH_PROBE); // neither moved nor confirmed
	assert_memory_equal(neigh_mac(t, i, 30003), mac1, 6);
	memset(m.mac, 0, 6);
	assert_int_equal(neigh_learn(t, &m, PORT, false, 30004), NEIGH_NONE);
	assert_int_equal(neigh_state(t, i), NEIGH_REACHABLE); // confirmed
	tick(t, 60004);
	neigh_mac(t, i, 60004);
	tick(t, 60004);
	memcpy(m.mac, mac1, 6);
	assert_int_equal(neigh_learn(t, &m, PORT, false, 60004), NEIGH_NONE);
	assert_int_equal(neigh_state(t, i), NEIGH_REACHABLE); // confirmed with its MAC
	free(t);
}

static void test_hold(void **state)
{
	struct neigh_table *t = make(&(struct neigh_config){16, 20, 16, 30000});
	const struct addr a = host(1), b = host(2);
	const uint16_t i = neigh_use(t, &a, PORT, 0), k = neigh_use(t, &b, PORT, 0);
	char packets[32];
	void *out[32];

	for (int n = 0; n < 17; n++) {
		assert_int_equal(neigh_room(t, i), 16 - (n < 16 ? n : 16));
		assert_int_equal(neigh_hold(t, i, &packets[n]), n < 16);
	}
	for (int n = 0; n < 5; n++) {
		assert_int_equal(neigh_room(t, k), 4 - (n < 4 ? n : 4));
		assert_int_equal(neigh_hold(t, k, &packets[20 + n]), n < 4);
	}
	assert_int_equal(neigh_held_total(t), 20);
	tick(t, 0);
	answer(t, 1, mac1, 1);
	assert_int_equal(neigh_held(t, i, out, 10), 10);
	assert_int_equal(neigh_held(t, i, out + 10, 10), 6);
	for (int n = 0; n < 16; n++)
		assert_ptr_equal(out[n], &packets[n]); // in order
	assert_int_equal(neigh_held(t, i, out, 10), 0);
	assert_int_equal(neigh_room(t, i), 0); // resolved: nothing to wait for
	assert_false(neigh_hold(t, i, packets));
	assert_int_equal(neigh_held(t, k, out, 10), 0);
	assert_true(neigh_hold(t, k, packets)); // the pool has room again
	assert_int_equal(neigh_held_total(t), 5);
	free(t);
}

// A scan of 10^5 targets takes neither the gateways in use nor more memory than configured, and
// does not delay a probe.
static void test_scan(void **state)
{
	struct neigh_table *t = make(&(struct neigh_config){256, 64, 4, 30000});
	uint16_t gateway[4];
	uint64_t now = 0;
	uint32_t refused = 0;
	void *out[4];
	char packet;

	for (uint32_t g = 0; g < 4; g++)
		gateway[g] = reach(t, g, mac1, now);
	for (uint32_t n = 0; n < 100000; n++) {
		const struct addr a = host(1000 + n);
		const uint16_t i = neigh_use(t, &a, PORT, now);

		if (i == NEIGH_NONE)
			refused++;
		else
			neigh_hold(t, i, &packet);
		now += n % 2;
		if (n % 20 != 0)
			continue;
		tick(t, now);
		for (unsigned int f = 0; f < due.nb_failed; f++)
			assert_in_range(neigh_held(t, due.failed[f], out, 4), 0, 4);
		for (uint32_t g = 0; g < 4; g++)
			assert_memory_equal(neigh_mac(t, gateway[g], now), mac1, 6);
		for (unsigned int k = 0; k < due.nb_asks; k++) // gateways answer a little later
			if (due.ask[k].unicast)
				answer(t, load_host(&due.ask[k].target), mac1, now);
	}
	assert_true(refused > 0);
	for (uint32_t g = 0; g < 4; g++) {
		const struct addr a = host(g);

		assert_int_equal(neigh_use(t, &a, PORT, now), gateway[g]);
	}
	now += 10000; // after it ends, everything is free again
	for (int n = 0; n < 2000; n++) {
		tick(t, now += 10);
		for (unsigned int f = 0; f < due.nb_failed; f++)
			neigh_held(t, due.failed[f], out, 4);
	}
	assert_int_equal(neigh_held_total(t), 0);
	free(t);
}

// A full table gives a new target the place of the least recently used entry.
static void test_reuse(void **state)
{
	struct neigh_table *t = make(&(struct neigh_config){4, 4, 4, 1000});
	struct addr a = host(100);
	uint32_t note;
	uint16_t i[4];

	for (uint32_t n = 0; n < 4; n++)
		i[n] = reach(t, n, mac1, n);
	assert_int_equal(neigh_use(t, &a, PORT, 500), NEIGH_NONE); // all REACHABLE
	tick(t, 2000);
	note = neigh_note(t, i[0]);
	assert_int_equal(neigh_use(t, &a, PORT, 2000), i[0]);
	assert_int_equal(neigh_noted(t, note), NEIGH_NONE);
	assert_int_not_equal(neigh_hops(t)[i[0]].serial, note >> 16);
	assert_null(neigh_mac(t, i[0], 2000));
	neigh_mac(t, i[1], 2000); // in use again
	a = host(101);
	assert_int_equal(neigh_use(t, &a, PORT, 2000), i[2]);
	a = host(102);
	assert_int_equal(neigh_use(t, &a, PORT, 2000), i[3]);
	a = host(103);
	assert_int_equal(neigh_use(t, &a, PORT, 2000), NEIGH_NONE); // PROBE and young INCOMPLETE
	tick(t, 2000);
	tick(t, 3000);
	assert_int_equal(neigh_use(t, &a, PORT, 3000), i[0]); // asked twice: may be replaced
	free(t);
}

// However many targets have come and gone: each new one finds a place in the index, because entries
// that were reused are removed from it.
static void test_churn(void **state)
{
	struct neigh_table *t = make(&(struct neigh_config){64, 4, 4, 1000});
	uint64_t now = 0;

	for (uint32_t n = 0; n < 64 * 100; n++) {
		const struct addr a = host(1000 + n);
		const uint16_t i = neigh_use(t, &a, PORT, now);

		assert_int_not_equal(i, NEIGH_NONE);
		assert_int_equal(neigh_state(t, i), NEIGH_INCOMPLETE);
		assert_int_equal(neigh_use(t, &a, PORT, now), i);
		if (n % 64 != 63)
			continue;
		for (unsigned int s = 0; s < 4 * 64 / NEIGH_DUE_MAX; s++) // no host answers
			tick(t, now += 1000);
		assert_int_equal(neigh_state(t, i), NEIGH_FAILED);
	}
	free(t);
}

// A gateway keeps its entry when it is unused for a while and when it does not answer, however many
// other targets need a place.
static void test_keep(void **state)
{
	struct neigh_table *t = make(&(struct neigh_config){8, 4, 4, 1000});
	const struct addr gateway = host(1);
	const uint16_t i = reach(t, 1, mac1, 0);
	uint32_t others = 1000;

	neigh_keep(t, i);
	for (uint64_t now = 0; now < 20000; now += 10) {
		const struct addr stranger = host(others++);

		neigh_use(t, &stranger, PORT, now);
		tick(t, now);
		if (now == 5000) { // STALE for long
			assert_int_equal(neigh_use(t, &gateway, PORT, now), i);
			assert_memory_equal(neigh_mac(t, i, now), mac1, 6); // asks
		}
	}
	assert_int_equal(neigh_state(t, i), NEIGH_FAILED);
	assert_int_equal(neigh_use(t, &gateway, PORT, 20000), i); // and again
	tick(t, 20000);
	assert_int_equal(answer(t, 1, mac2, 20010), i);
	assert_memory_equal(neigh_mac(t, i, 20010), mac2, 6);
	free(t);
}

// --- shares of the requests ---------------------------------------------------------------------

static struct addr client(uint32_t n)
{
	struct addr a = host(n);

	a.b[12] = 11;
	return a;
}

// Requests nb targets, from `first` on, for a client. Returns how many were refused.
static unsigned int ask_for(
	struct neigh_table *t, uint32_t first, uint32_t nb, const struct addr *asker, uint64_t now)
{
	const struct neigh_asker account = {asker, 0};
	unsigned int refused = 0;

	for (uint32_t n = first; n < first + nb; n++) {
		const struct addr a = host(n);

		refused += neigh_use_for(t, &a, PORT, asker != NULL ? &account : NULL, now) ==
			NEIGH_REFUSED;
	}
	return refused;
}

// Number of requests in `ms` milliseconds, in each of which a client wants one more target.
static unsigned int asked_in(struct neigh_table *t, const struct addr *asker, uint32_t first,
	uint64_t now, unsigned int ms)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < ms; i++) {
		ask_for(t, first + i, 1, asker, now + i);
		tick(t, now + i);
		n += due.nb_asks;
	}
	return n;
}

// No host answers: of 1,600 requests a second one client gets a sixteenth, including repeated ones.
static void test_share(void **state)
{
	struct neigh_table *t = make(&(struct neigh_config){.asks = 1600});
	const struct addr one = client(1);

	assert_int_equal(ask_for(t, 0, 100, &one, 1000000), 100 - 100 / 3);
	assert_in_range(asked_in(t, &one, 1000, 1000001, 10000), 10 * 99, 10 * 100 + 103);
	// without a client, as for a gateway, it is requested all the same
	assert_in_range(ask_for(t, 30000, 100, &one, 1010002), 99, 100);
	assert_int_equal(ask_for(t, 40000, 100, NULL, 1010003), 0);
	assert_int_equal(ask_for(t, 40000, 100, &one, 1010004), 0); // these have entries
	free(t);
}

// A client that requests as much as it can leaves the shares of others alone; it does not delay
// hosts that need an answer either.
static void test_share_of_others(void **state)
{
	struct neigh_table *t = make(&(struct neigh_config){.asks = 1600});
	const struct addr hog = client(0);
	unsigned int apart = 0;
	uint32_t target = 1000;

	for (uint32_t n = 1; n <= 400; n++) {
		const struct addr client_addr = client(n);

		while (ask_for(t, target++, 1, &hog, 1000) == 0)
			;
		apart += ask_for(t, target++, 1, &client_addr, 1000) == 0;
	}
	// seven of eight have another share, with 33 targets each
	assert_int_equal(apart, 7 * 33);
	assert_int_equal(ask_for(t, target, 100, &hog, 1000), 100);
	apart = 0;
	for (uint32_t n = 500; n < 1000; n++) {
		const struct addr self = host(n);

		apart += ask_for(t, n, 1, &self, 1000) == 0;
	}
	assert_int_equal(apart, 8 * 33);
	free(t);
}

// An IPv6 /64 is one client.
static void test_share_v6(void **state)
{
	struct neigh_table *t = make(&(struct neigh_config){.asks = 1600});
	struct addr a;
	unsigned int got = 0;

	assert_int_equal(addr_parse("fd00:1::", &a), 0);
	for (uint32_t n = 0; n < 500; n++) {
		a.b[15] = (uint8_t)n;
		a.b[14] = (uint8_t)(n >> 8);
		got += ask_for(t, n, 1, &a, 1000) == 0;
	}
	assert_int_equal(got, 33);
	free(t);
}

// A user is one client, however many addresses they have; other users of an address are other
// clients.
static void test_share_of_users(void **state)
{
	struct neigh_table *t = make(&(struct neigh_config){.asks = 1600});
	unsigned int got = 0, others = 0;

	for (uint32_t n = 0; n < 500; n++) {
		const struct addr a = host(n), client_addr = client(n % 100);
		const struct neigh_asker account = {&client_addr, 4711};

		got += neigh_use_for(t, &a, PORT, &account, 1000) != NEIGH_REFUSED;
	}
	assert_int_equal(got, 33);
	for (uint64_t user = 1; user < 100; user++) {
		const struct addr a = host(1000 + (uint32_t)user), client_addr = client(0);
		const struct neigh_asker account = {&client_addr, user};

		others += neigh_use_for(t, &a, PORT, &account, 1000) != NEIGH_REFUSED;
	}
	assert_in_range(others, 70, 98); // seven of eight
	free(t);
}

// Clients that send to many silent hosts fill only their own share of the room: clients with
// another share find room.
static void test_held_by_share(void **state)
{
	struct neigh_table *t = make_default();
	static int packet;
	unsigned int least = UINT16_MAX, held = 0;

	for (unsigned int hogs = 0; hogs < 7; hogs++) {
		for (uint32_t n = 0; n < 200; n++) {
			const struct addr a = host(1000 * hogs + n), client_addr = client(n);
			const struct neigh_asker account = {&client_addr, 1 + hogs};
			const uint16_t i = neigh_use_for(t, &a, PORT, &account, 1000);

			for (unsigned int k = 0; k < 16 && neigh_hold(t, i, &packet); k++)
				held++;
		}
	}
	assert_int_equal(neigh_held_total(t), held);
	assert_in_range(held, 500, 1000);
	for (uint32_t n = 0; n < 64; n++) { // hosts that need an answer
		const struct addr a = host(50000 + n);
		const struct neigh_asker account = {&a, 0};
		const uint16_t i = neigh_use_for(t, &a, PORT, &account, 1000);

		least = neigh_room(t, i) < least ? neigh_room(t, i) : least;
		if (n % 8 == 0)
			assert_true(neigh_hold(t, i, &packet));
	}
	assert_in_range(least, 4, 16);
	// freed packets make room again
	for (uint64_t now = 1000; now < 6000; now += 1) {
		void *out[16];
		unsigned int got;

		tick(t, now);
		for (unsigned int i = 0; i < due.nb_failed; i++)
			while ((got = neigh_held(t, due.failed[i], out, 16)) > 0)
				held -= got;
	}
	assert_int_equal(held, (unsigned int)-8);
	assert_int_equal(neigh_held_total(t), 0);
	free(t);
}

// Requests that were not sent after all are refunded; another try after a failure is charged again,
// except for a gateway.
static void test_share_back(void **state)
{
	const uint64_t t0 = 1000000;
	struct neigh_table *t =
		make(&(struct neigh_config){.asks = 16}); // one a second, six at once
	const struct addr one = client(1), a = host(1);

	assert_int_equal(ask_for(t, 1, 3, &one, t0 + 1000), 1); // two, three tokens each
	tick(t, t0 + 1000);
	assert_int_equal(due.nb_asks, 2);
	assert_int_not_equal(answer(t, 1, mac1, t0 + 1001), NEIGH_NONE);
	assert_int_equal(ask_for(t, 3, 1, &one, t0 + 1002), 1); // two tokens are too few
	assert_int_not_equal(answer(t, 2, mac1, t0 + 1003), NEIGH_NONE);
	assert_int_equal(ask_for(t, 3, 2, &one, t0 + 1004), 1); // four are enough for one target
	for (uint64_t now = t0 + 1004; now <= t0 + 4004; now += 1000)
		tick(t, now);
	assert_int_equal(due.nb_failed, 1);
	assert_int_equal(ask_for(t, 10, 1, &one, t0 + 4500), 0); // 1 left, 3 refilled in 3 s
	assert_int_equal(ask_for(t, 3, 1, &one, t0 + 5100), 0); // the failure is still cached
	tick(t, t0 + 5100);
	assert_int_equal(due.nb_asks, 1); // of host 10
	assert_int_equal(neigh_state(t, neigh_use(t, &a, PORT, t0 + 5100)), NEIGH_REACHABLE);
	ask_for(t, 3, 1, &one, t0 + 5200); // no request allowed
	tick(t, t0 + 5200);
	assert_int_equal(due.nb_asks, 0);
	neigh_keep(t,
		neigh_use_for(t, (struct addr[]){host(3)}, PORT, &(struct neigh_asker){&one, 0},
			t0 + 5201));
	ask_for(t, 3, 1, &one, t0 + 5202);
	tick(t, t0 + 5202);
	assert_int_equal(due.nb_asks, 1);
	free(t);
}

// Random operations against invariants: packets in = packets out + held, a usable entry has the MAC
// last given by its owner, a note leads to its target or nowhere.
static void test_property(void **state)
{
	struct test_rand r = test_rand_start("neigh");
	struct neigh_table *t = make(&(struct neigh_config){32, 24, 5, 3000});
	unsigned int in = 0, out_total = 0, void_notes = 0;
	uint32_t note[64] = {0};
	uint64_t now = 1;
	char packet;

	for (int step = 0; step < 300000; step++) {
		const uint32_t n = test_rand_below(&r, 64);
		const struct addr a = host(n);
		uint8_t mac[6] = {2, 0, 0, 0, 0, (uint8_t)n};
		const uint16_t noted = neigh_noted(t, note[n]);
		void *out[8];
		uint16_t i = NEIGH_NONE;

		switch (test_rand_below(&r, 6)) {
		case 0:
			i = neigh_use(t, &a, PORT, now);
			if (noted != NEIGH_NONE)
				assert_int_equal(i, noted);
			void_notes += note[n] != 0 && noted == NEIGH_NONE;
			note[n] = i != NEIGH_NONE ? neigh_note(t, i) : 0;
			if (i != NEIGH_NONE)
				in += neigh_hold(t, i, &packet);
			break;
		case 1:
			if (noted != NEIGH_NONE)
				in += neigh_hold(t, noted, &packet);
			break;
		case 2:
			i = answer(t, n, mac, now);
			break;
		case 3:
			if (test_rand_below(&r, 8) == 0)
				i = asked_by(t, n, mac, now);
			break;
		case 4:
			now += test_rand_below(&r, 400);
			tick(t, now);
			for (unsigned int f = 0; f < due.nb_failed; f++)
				out_total += neigh_held(t, due.failed[f], out, 8);
			break;
		default:
			if (noted == NEIGH_NONE)
				break;
			assert_hop(t, note[n], mac);
			if (neigh_mac(t, noted, now) != NULL)
				assert_memory_equal(neigh_mac(t, noted, now), mac, 6);
		}
		if (i != NEIGH_NONE)
			out_total += neigh_held(t, i, out, 8);
		assert_int_equal(in, out_total + neigh_held_total(t));
		assert_in_range(neigh_held_total(t), 0, 24);
	}
	assert_true(in > 1000 && void_notes > 1000);
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resolve),
		cmocka_unit_test(test_fail),
		cmocka_unit_test(test_stale_probe),
		cmocka_unit_test(test_probe_fails),
		cmocka_unit_test(test_spoofs),
		cmocka_unit_test(test_unresolved),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_hold),
		cmocka_unit_test(test_scan),
		cmocka_unit_test(test_reuse),
		cmocka_unit_test(test_churn),
		cmocka_unit_test(test_keep),
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_share_of_others),
		cmocka_unit_test(test_share_v6),
		cmocka_unit_test(test_share_of_users),
		cmocka_unit_test(test_held_by_share),
		cmocka_unit_test(test_share_back),
		cmocka_unit_test(test_property),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
