// SPDX-License-Identifier: BSD-3-Clause
// Queries and orders of an operator to a shard: walks with filters, pages and budgets, details of
// one allocation, and ending allocations.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "turn_fixture.h"

#include "turn_listing.h"

#define MANY 1500 // more than two calls look at

static struct fixture f;

static void open_wide(void)
{
	struct turn_config c = fixture_config();

	c.port_hi = 50000 + 4 * MANY;
	fixture_open(&f, &c, 7);
}

static int setup(void **state)
{
	open_wide();
	*state = &f;
	return 0;
}

static struct fixture_client allocate(const char *addr, uint16_t port)
{
	struct fixture_client c = fixture_client(addr, port);

	assert_int_equal(fixture_allocate(&f, &c, 4), 0);
	return c;
}

static void allocate_many(void)
{
	for (unsigned int i = 0; i < MANY; i++)
		allocate(i % 3 == 0 ? "198.51.100.7" : "203.0.113.9", (uint16_t)(1000 + i));
}

// All rows of a walk, in calls with room for max rows each. Returns the number of rows.
static unsigned int walk(
	const struct turn_filter *filter, uint32_t skip, struct turn_info *out, unsigned int max)
{
	struct turn_walk w = {.skip = skip};
	unsigned int n = 0, calls = 0;

	while (!w.end) {
		n += turn_listing_rows(f.shard, filter, &w, out + n, max);
		assert_true(++calls < 10000);
	}
	return n;
}

static struct turn_filter by_user(const char *name)
{
	struct turn_filter filter = {0};

	assert_true(turn_listing_user(
		&filter, f.quota, f.crypto, &(struct turn_listing_name){FIXTURE_REALM, name, 0}));
	return filter;
}

static void everything_once_by_any_page(void **state)
{
	static const unsigned int pages[] = {1, 7, 32, 2000};
	static struct turn_info all[MANY + 1];

	allocate_many();
	for (unsigned int i = 0; i < 4; i++) {
		memset(all, 0, sizeof(all));
		assert_int_equal(walk(&(struct turn_filter){0}, 0, all, pages[i]), MANY);
		for (unsigned int k = 1; k < MANY; k++)
			assert_true(all[k].id > all[k - 1].id); // by slot: each appears once
	}
}

static void skipping_is_by_what_the_filter_lets_through(void **state)
{
	const struct turn_filter all = {0},
				 some = {.wants = TURN_FILTER_CLIENT,
					 .client = {
						 addr_from_v4((uint8_t *)"\xc6\x33\x64\x00"), 120}};
	static struct turn_info rows[MANY], some_rows[MANY];
	static const uint32_t skips[] = {0, 1, 333, 499, 500, 501, 1499, 1500, 9999};

	allocate_many();
	assert_int_equal(walk(&some, 0, some_rows, MANY), MANY / 3);
	assert_int_equal(walk(&all, 0, rows, MANY), MANY);
	for (unsigned int i = 0; i < sizeof(skips) / sizeof(skips[0]); i++) {
		static struct turn_info page[MANY];
		const uint32_t k = skips[i];

		assert_int_equal(walk(&all, k, page, 64), k < MANY ? MANY - k : 0);
		if (k < MANY)
			assert_int_equal(page[0].id, rows[k].id);
		assert_int_equal(walk(&some, k, page, 64), k < MANY / 3 ? MANY / 3 - k : 0);
		if (k < MANY / 3)
			assert_int_equal(page[0].id, some_rows[k].id);
	}
}

// No RFC covers it: the budget bounds the time of a call.
static void a_call_looks_at_512_at_most(void **state)
{
	const struct turn_filter none = {
		.wants = TURN_FILTER_TRANSPORT, .transport = TURN_OVER_TLS};
	struct turn_walk w = {0};
	struct turn_info row;
	unsigned int calls = 0;

	allocate_many();
	for (; !w.end; calls++)
		assert_int_equal(turn_listing_rows(f.shard, &none, &w, &row, 1), 0);
	assert_in_range(calls, MANY / TURN_WALK_BUDGET + 1, MANY / TURN_WALK_BUDGET + 2);
}

// A user is defined as for quotas: REST names count by their id, with any expiry.
static void users_as_quota_counts_them(void **state)
{
	static const char *const names[] = {
		"1700003600:ivan", "1700007200:olga", "1700009000:olga"};
	static struct turn_info rows[8];
	struct fixture_client eve = fixture_eve("198.51.100.8", 1);
	struct turn_filter filter;

	allocate("198.51.100.7", 1);
	assert_int_equal(fixture_allocate(&f, &eve, 4), 0);
	for (unsigned int i = 0; i < 3; i++) {
		struct fixture_client c = fixture_client("198.51.100.9", (uint16_t)(1 + i));
		char password[29];

		assert_true(stun_rest_password(
			f.crypto, "s3cret", names[i], strlen(names[i]), password));
		c.user = names[i];
		c.password = password;
		assert_int_equal(fixture_allocate(&f, &c, 4), 0);
	}
	filter = by_user("ivan");
	assert_int_equal(walk(&filter, 0, rows, 8), 2); // the configured user and the REST user
	assert_int_equal(rows[0].quota_user, rows[1].quota_user);
	assert_int_equal(rows[0].rest + rows[1].rest, 1);
	filter = by_user("olga");
	assert_int_equal(walk(&filter, 0, rows, 8), 2);
	filter = by_user("1799999999:olga"); // with any expiry
	assert_int_equal(walk(&filter, 0, rows, 8), 2);
	filter = by_user("eve");
	assert_int_equal(walk(&filter, 0, rows, 8), 1);
	assert_string_equal(rows[0].user, "eve");
	filter = by_user("nobody");
	assert_int_equal(walk(&filter, 0, rows, 8), 0);
}

static void by_peer_id_and_two_at_once(void **state)
{
	struct fixture_client a = allocate("198.51.100.7", 1), b = allocate("203.0.113.9", 2);
	struct turn_filter filter = {
		.wants = TURN_FILTER_PEER, .peer = fixture_endpoint("10.99.0.9", 0)};
	static struct turn_info rows[4];
	uint64_t id;

	assert_int_equal(fixture_permit(&f, &a, "10.99.0.9"), 0);
	assert_int_equal(fixture_permit(&f, &b, "10.99.0.8"), 0);
	assert_int_equal(walk(&filter, 0, rows, 4), 1);
	assert_true(endpoint_eq(&rows[0].client, &a.endpoint));
	id = rows[0].id;
	filter = (struct turn_filter){.wants = TURN_FILTER_ID, .id = id};
	assert_int_equal(walk(&filter, 0, rows, 4), 1);
	assert_int_equal(rows[0].id, id);
	filter.id++; // the id of the slot's next allocation
	assert_int_equal(walk(&filter, 0, rows, 4), 0);
	filter.id = UINT64_MAX;
	assert_int_equal(walk(&filter, 0, rows, 4), 0);
	filter = (struct turn_filter){.wants = TURN_FILTER_ID | TURN_FILTER_PEER,
		.id = id,
		.peer = fixture_endpoint("10.99.0.8", 0)};
	assert_int_equal(walk(&filter, 0, rows, 4), 0);
}

// RFC 8656 9: a permission is for an address; 12: a channel is bound to address and port.
static void by_peer_with_a_port(void **state)
{
	struct fixture_client a = allocate("198.51.100.7", 1), b = allocate("203.0.113.9", 2);
	struct turn_filter filter = {
		.wants = TURN_FILTER_PEER, .peer = fixture_endpoint("10.99.0.9", 7000)};
	static struct turn_info rows[4];
	struct turn_walk w = {0};

	assert_int_equal(fixture_permit(&f, &a, "10.99.0.9"), 0);
	assert_int_equal(walk(&filter, 0, rows, 4), 0); // a permission has no port
	assert_int_equal(fixture_bind(&f, &b, 0x4000, "10.99.0.9", 7000), 0);
	assert_int_equal(walk(&filter, 0, rows, 4), 1);
	assert_true(endpoint_eq(&rows[0].client, &b.endpoint));
	filter.peer.port = 7001;
	assert_int_equal(walk(&filter, 0, rows, 4), 0);
	filter.peer.port = 7000;
	assert_int_equal(turn_listing_kill(f.shard, &filter, &w, 64), 1);
	filter.peer.port = 0;
	fixture_advance(&f, 1);
	assert_int_equal(walk(&filter, 0, rows, 4), 1);
	assert_true(endpoint_eq(&rows[0].client, &a.endpoint));
	w = (struct turn_walk){0};
	assert_int_equal(turn_listing_kill(f.shard, &filter, &w, 64), 1);
	fixture_advance(&f, 1);
	assert_int_equal(fixture_refresh(&f, &a, 600), 437);
	assert_int_equal(fixture_refresh(&f, &b, 600), 437);
}

static void keys_say_age_and_datagrams(void **state)
{
	struct fixture_client a = allocate("198.51.100.7", 1), b;
	struct turn_key keys[4];
	struct turn_walk w = {0};
	struct turn_listing_keys out = {TURN_SORT_AGE, 4, keys};
	const struct endpoint peer = fixture_endpoint("10.99.0.9", 7000);

	fixture_advance(&f, 5000);
	b = allocate("198.51.100.7", 2);
	assert_int_equal(fixture_bind(&f, &a, 0x4000, "10.99.0.9", 7000), 0);
	fixture_channel_data(&f, &a, 0x4000, "one", 3);
	fixture_channel_data(&f, &a, 0x4000, "two", 3);
	fixture_from_peer(&f, &a.relay, &peer, "three", 5);
	fixture_advance(&f, 2000);
	assert_int_equal(turn_listing_keys(f.shard, &(struct turn_filter){0}, &w, &out), 2);
	assert_int_equal(keys[0].value + keys[1].value, 7 + 2);
	assert_int_equal(keys[0].user, keys[1].user);
	out.sort = TURN_SORT_DATAGRAMS;
	w = (struct turn_walk){0};
	assert_int_equal(turn_listing_keys(f.shard, &(struct turn_filter){0}, &w, &out), 2);
	assert_int_equal(keys[0].value + keys[1].value, 3);
	assert_int_equal(fixture_refresh(&f, &b, 0), 0);
}

// RFC 8656 9: a permission lasts 300 s; 12: a channel 600 s, and so does its permission.
static void all_about_one(void **state)
{
	struct fixture_client a;
	static struct turn_detail d;
	static struct turn_info row;

	fixture_advance(&f, 5000000); // longer than 16 bits of ticks, the range of a line
	fixture_expire(&f);
	a = allocate("198.51.100.7", 1);
	assert_int_equal(fixture_permit(&f, &a, "10.99.0.8"), 0);
	fixture_advance(&f, 100000);
	assert_int_equal(fixture_bind(&f, &a, 0x4001, "10.99.0.9", 7000), 0);
	fixture_advance(&f, 50000);
	assert_int_equal(walk(&(struct turn_filter){0}, 0, &row, 1), 1);
	assert_true(turn_listing_show(f.shard, row.id, 0, &d));
	assert_int_equal(d.info.id, row.id);
	assert_int_equal(d.info.age_s, 150);
	assert_int_equal(d.info.expires_s, 600 - 150);
	assert_int_equal(d.nb_permissions, 2);
	assert_int_equal(d.nb_channels, 1);
	for (unsigned int i = 0; i < 2; i++) {
		const struct addr old = fixture_endpoint("10.99.0.8", 0).addr;

		assert_int_equal(
			d.permission[i].left_s, addr_eq(&d.permission[i].peer, &old) ? 150 : 550);
	}
	assert_int_equal(d.channel[0].number, 0x4001);
	assert_int_equal(d.channel[0].left_s, 550);
	assert_int_equal(d.channel[0].peer.port, 7000);
	assert_int_equal(d.copy_channel, 0x4001);
	assert_true(turn_listing_show(f.shard, row.id, 1, &d));
	assert_int_equal(d.nb_permissions, 1);
	assert_int_equal(d.nb_channels, 0);
	assert_false(turn_listing_show(f.shard, row.id + 1, 0, &d));
	assert_false(turn_listing_show(f.shard, UINT64_MAX, 0, &d));
	assert_int_equal(fixture_refresh(&f, &a, 0), 0);
	assert_false(turn_listing_show(f.shard, row.id, 0, &d));
}

// RFC 8656 5: a Refresh where there is no allocation gets 437.
static void killed_is_gone_and_the_others_stay(void **state)
{
	struct fixture_client a = allocate("198.51.100.7", 1), b = allocate("198.51.100.7", 2),
			      eve = fixture_eve("203.0.113.9", 3);
	const struct turn_filter ivan = by_user("ivan");
	struct turn_walk w = {0};

	assert_int_equal(fixture_allocate(&f, &eve, 4), 0);
	assert_int_equal(fixture_bind(&f, &a, 0x4000, "10.99.0.9", 7000), 0);
	assert_int_equal(turn_listing_kill(f.shard, &ivan, &w, 0), 0);
	assert_false(w.end);
	assert_int_equal(turn_listing_kill(f.shard, &ivan, &w, 1), 1);
	assert_int_equal(turn_listing_kill(f.shard, &ivan, &w, 64), 1);
	assert_true(w.end);
	assert_int_equal(turn_quota_total(f.quota), 1);
	fixture_advance(&f, 1);
	assert_int_equal(fixture_refresh(&f, &a, 600), 437);
	assert_int_equal(fixture_refresh(&f, &b, 600), 437);
	assert_int_equal(fixture_refresh(&f, &eve, 600), 0);
	assert_int_equal(fixture_allocate(&f, &a, 4), 0);
}

static void a_call_ends_64_at_most(void **state)
{
	struct turn_walk w = {0};
	unsigned int killed = 0;

	allocate_many();
	while (!w.end) {
		const unsigned int n =
			turn_listing_kill(f.shard, &(struct turn_filter){0}, &w, UINT_MAX);

		assert_in_range(n, 0, 64);
		killed += n;
		fixture_advance(&f, 1);
	}
	assert_int_equal(killed, MANY);
	assert_int_equal(fixture_stats(&f).allocations, 0);
	assert_int_equal(turn_quota_total(f.quota), 0);
}

// An object of an allocation costs as much as the allocation.
static void permissions_count_in_a_kill(void **state)
{
	struct turn_walk w = {0};
	unsigned int n;

	for (uint16_t i = 0; i < 8; i++) {
		struct fixture_client a = allocate("198.51.100.7", (uint16_t)(i + 1));

		for (unsigned int j = 0; j < 8; j++) {
			char peer[32];

			snprintf(peer, sizeof(peer), "10.99.0.%u", 100 + j);
			assert_int_equal(fixture_permit(&f, &a, peer), 0);
		}
	}
	n = turn_listing_kill(f.shard, &(struct turn_filter){0}, &w, UINT_MAX);
	assert_in_range(n, 1, 7); // nine objects each, at most 64 a call
	assert_int_equal(turn_listing_kill(f.shard, &(struct turn_filter){0}, &w, UINT_MAX), 8 - n);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(everything_once_by_any_page),
		T(skipping_is_by_what_the_filter_lets_through),
		T(a_call_looks_at_512_at_most),
		T(users_as_quota_counts_them),
		T(by_peer_id_and_two_at_once),
		T(by_peer_with_a_port),
		T(keys_say_age_and_datagrams),
		T(all_about_one),
		T(killed_is_gone_and_the_others_stay),
		T(a_call_ends_64_at_most),
		T(permissions_count_in_a_kill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
