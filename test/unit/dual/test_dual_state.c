// SPDX-License-Identifier: BSD-3-Clause
// Dual allocations survive the process (lib/turn/state) as pairs, also if the next process has
// other workers, or has lost the place of one half.
#include "dual_world.h"
#include "restart_world.h"
#include "state/area.h"
#include "state/record.h"

#define CLIENTS 24

static struct restart r;
static struct turn_config config;
static struct dual_client {
	struct fixture_client c;
	struct endpoint v4, v6;
} client[CLIENTS];

static int setup(void **state)
{
	config = fixture_config();
	config.nonce_lifetime_s = 36000;
	restart_open(&r, &config, 5);
	return 0;
}

static int teardown(void **state)
{
	restart_close(&r);
	return 0;
}

// Sends a request of dual_world.h for a client of the restart world.
static unsigned int request(struct dual_client *d, enum stun_method method, int family, uint32_t s)
{
	static struct dual_world w; // reads the addresses
	struct fixture *f = restart_at(&r, &d->c);
	unsigned int code;

	fixture_begin(f, STUN_REQUEST, method);
	if (method == STUN_ALLOCATE) {
		stun_put_u32(&f->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
		stun_put_u32(&f->w, STUN_ADDITIONAL_ADDRESS_FAMILY, 2u << 24);
	} else {
		stun_put_u32(&f->w, STUN_LIFETIME, s);
		if (family != 0)
			stun_put_u32(&f->w, STUN_REQUESTED_ADDRESS_FAMILY,
				(family == 4 ? 1u : 2u) << 24);
	}
	code = fixture_ask(f, &d->c);
	if (code == 0 && method == STUN_ALLOCATE) {
		w.f.answer = f->answer;
		dual_world_read(&w);
		d->v4 = w.v4;
		d->v6 = w.v6;
		assert_true(d->v4.port != 0 && d->v6.port != 0);
	}
	restart_notes(&r);
	return code;
}

static void populate(void)
{
	for (unsigned int i = 0; i < CLIENTS; i++) {
		struct dual_client *d = &client[i];
		struct fixture *f;

		d->c = fixture_client("198.51.100.1", (uint16_t)(5000 + i));
		assert_int_equal(request(d, STUN_ALLOCATE, 0, 0), 0);
		f = restart_at(&r, &d->c);
		assert_int_equal(fixture_bind(f, &d->c, 0x4004, "10.98.0.1", 7000), 0);
		assert_int_equal(fixture_bind(f, &d->c, 0x4006, "fd99::10", 7000), 0);
	}
}

static void check_relays(struct dual_client *d, int family)
{
	const uint16_t number = (uint16_t)(0x4000 + family);
	const struct endpoint *relay = family == 4 ? &d->v4 : &d->v6;
	const struct endpoint peer = fixture_endpoint(family == 4 ? "10.98.0.1" : "fd99::10", 7000);
	struct fixture *f = restart_owner(&r, relay);
	struct turn_path path;

	assert_ptr_equal(restart_at(&r, &d->c), f);
	assert_int_equal(fixture_channel_data(f, &d->c, number, "hello", 5)->verdict, TURN_RELAY);
	turn_route_path(f->shard, f->burst.plan.flow, &path);
	assert_true(endpoint_eq(&path.src, relay) && endpoint_eq(&path.dst, &peer));
	assert_int_equal(fixture_from_peer(f, relay, &peer, "hello", 5)->channel, number);
	turn_route_path(f->shard, f->burst.plan.flow, &path);
	assert_true(endpoint_eq(&path.dst, &d->c.endpoint));
}

static void both_are_taken_up_as_one(void **state)
{
	populate();
	for (int round = 0; round < 2; round++) {
		restart_again(&r, &config, 1000);
		assert_int_equal(r.adopted.allocations, 2 * CLIENTS);
		assert_int_equal(r.adopted.channels, 2 * CLIENTS);
		assert_int_equal(turn_quota_total(r.worker[0].quota), 2 * CLIENTS);
		for (unsigned int i = 0; i < TURN_STATE_LOST_END; i++)
			assert_int_equal(r.adopted.lost[i], 0);
		for (unsigned int i = 0; i < CLIENTS; i++) {
			check_relays(&client[i], 4);
			check_relays(&client[i], 6);
			assert_int_equal(request(&client[i], STUN_REFRESH, 4, 700), 0);
			assert_int_equal(request(&client[i], STUN_REFRESH, 0, 600), 0);
		}
	}
	for (unsigned int i = 0; i < CLIENTS; i++) {
		assert_int_equal(request(&client[i], STUN_REFRESH, i % 2 != 0 ? 4 : 6, 0), 0);
		assert_int_equal(request(&client[i], STUN_REFRESH, i % 2 != 0 ? 4 : 6, 600), 443);
		check_relays(&client[i], i % 2 != 0 ? 6 : 4);
	}
	// each remaining half is an allocation like any other
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.allocations, CLIENTS);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		check_relays(&client[i], i % 2 != 0 ? 6 : 4);
		assert_int_equal(request(&client[i], STUN_REFRESH, i % 2 != 0 ? 4 : 6, 600), 443);
		assert_int_equal(request(&client[i], STUN_REFRESH, 0, 0), 0);
	}
	assert_int_equal(turn_quota_total(r.worker[0].quota), 0);
}

static void lifetimes_go_on(void **state)
{
	populate();
	assert_int_equal(request(&client[0], STUN_REFRESH, 6, 900), 0);
	restart_again(&r, &config, 650000);
	assert_int_equal(r.adopted.allocations, 1);
	assert_int_equal(r.adopted.lost[TURN_STATE_LOST_EXPIRED], 2 * CLIENTS - 1);
	assert_int_equal(request(&client[0], STUN_REFRESH, 4, 600), 443);
	assert_int_equal(request(&client[0], STUN_REFRESH, 6, 600), 0);
}

// Halves that belong to two workers now cannot continue together: one does, and the end of the
// other is reported.
static void other_workers(void **state)
{
	uint64_t lost, kept = 0;

	populate();
	config.workers = 3;
	restart_again(&r, &config, 1000);
	lost = r.adopted.lost[TURN_STATE_LOST_SIBLING];
	assert_in_range(lost, 1, CLIENTS - 1);
	assert_int_equal(r.adopted.allocations, 2 * CLIENTS - lost);
	assert_int_equal(turn_quota_total(r.worker[0].quota), 2 * CLIENTS - lost);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		const unsigned int v6 = request(&client[i], STUN_REFRESH, 6, 600);
		const unsigned int v4 = request(&client[i], STUN_REFRESH, 4, 600);

		assert_true((v4 == 0 && (v6 == 0 || v6 == 443)) || (v4 == 443 && v6 == 0));
		kept += (v4 == 0) + (v6 == 0);
		if (v4 == 0)
			check_relays(&client[i], 4);
		if (v6 == 0)
			check_relays(&client[i], 6);
	}
	assert_int_equal(kept, r.adopted.allocations);
}

static void a_removed_relay_address_ends_its_halves(void **state)
{
	for (int family = 4; family <= 6; family += 2) {
		struct turn_config less = config;

		populate();
		less.nb_relay = 1;
		less.relay = config.relay + (family == 4);
		restart_again(&r, &less, 1000);
		assert_int_equal(r.adopted.allocations, CLIENTS);
		assert_int_equal(r.adopted.lost[TURN_STATE_LOST_RELAY], CLIENTS);
		for (unsigned int i = 0; i < CLIENTS; i++) {
			assert_int_equal(request(&client[i], STUN_REFRESH, family, 600), 443);
			check_relays(&client[i], 10 - family);
			assert_int_equal(request(&client[i], STUN_REFRESH, 0, 0), 0);
		}
		restart_again(&r, &config, 1000);
		assert_int_equal(r.adopted.allocations, 0);
	}
}

// A peer that is denied now ends both halves (adopt_end), whichever had it.
static void a_denied_peer(void **state)
{
	static struct prefix deny;

	populate();
	assert_int_equal(addr_prefix_parse("fd99::10", &deny), 0);
	assert_int_equal(request(&client[3], STUN_REFRESH, 6, 0), 0);
	config.deny = &deny;
	config.nb_deny = 1;
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.allocations, 1); // client 3 no longer has such a peer
	check_relays(&client[3], 4);
	assert_int_equal(turn_quota_total(r.worker[0].quota), 1);
}

// A permission record of the area; its check word is computed for another place.
static void permission_write(
	const struct state_header *h, struct state_permission *record, uint32_t index)
{
	const uint64_t digest = state_digest_permission(&h->record_key, record);

	record->word = state_word(
		&h->record_key, digest, STATE_ARRAY_PERMISSION | index, state_time(record->word));
}

// Moves the records of a client's IPv6 half, and its permission, from one worker to the other, as
// no server writes them. False if there is no such client, or no place.
static bool part_from_its_half(const struct state_part *src, const struct state_part *dst)
{
	struct state_header *h = &r.area->header;
	uint8_t *base = (uint8_t *)h;
	struct state_alloc *a = (struct state_alloc *)(base + src->alloc_at);
	struct state_alloc *b = (struct state_alloc *)(base + dst->alloc_at);
	struct state_permission *p = (struct state_permission *)(base + src->permission_at);
	struct state_permission *q = (struct state_permission *)(base + dst->permission_at);

	for (uint32_t i = 0; i < src->nb_slots && i < dst->nb_slots; i++) {
		uint32_t k = 0;

		if (a[i].word == 0 || a[i].relay2_port == 0 || b[i].word != 0 ||
			addr_is_v4(state_relay(h, a[i].relay)))
			continue;
		while (k < src->nb_permissions &&
			(p[k].word == 0 || p[k].slot != i || p[k].made != a[i].made))
			k++;
		if (k == src->nb_permissions)
			continue;
		b[i] = a[i];
		memset(&a[i], 0, sizeof(a[i]));
		q[0] = p[k];
		permission_write(h, &q[0], 0);
		return true;
	}
	return false;
}

// However such a file was made, it is treated as any file.
static void halves_of_two_workers(void **state)
{
	static struct prefix deny;
	const struct state_header *h;

	populate();
	config.workers = 2;
	restart_again(&r, &config, 1000);
	h = &r.area->header;
	assert_true(part_from_its_half(state_part(h, 0), state_part(h, 1)));
	assert_int_equal(addr_prefix_parse("fd99::10", &deny), 0);
	config.deny = &deny;
	config.nb_deny = 1;
	config.workers = 1; // both belong to one worker again
	restart_again(&r, &config, 1000);
	assert_true(r.adopted.lost[TURN_STATE_LOST_PEER] > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(both_are_taken_up_as_one),
		TEST(lifetimes_go_on),
		TEST(other_workers),
		TEST(a_removed_relay_address_ends_its_halves),
		TEST(a_denied_peer),
		TEST(halves_of_two_workers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
