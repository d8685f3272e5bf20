// SPDX-License-Identifier: BSD-3-Clause
// The fold of refusals: one event at once, then one with the number of further ones; which entries
// are displaced; and that no refusal is lost or reported twice.
#include <stdlib.h>
#include <string.h>

#include "limits/refusals.h"
#include "test.h"
#include "turn_refusal.h"

#define START_MS 1000000

static struct refusals *refusals;
static uint64_t now_ms;
static uint64_t events, sum; // reported ones; a fold counts for each of its refusals
static struct turn_event last;

static void told(void *ctx, const struct turn_event *e)
{
	assert_ptr_equal(ctx, &last);
	last = *e;
	events++;
	sum += e->more > 0 ? e->more : 1;
}

static int setup(void **state)
{
	const struct hash_key key = {.k = {1, 2}};
	const size_t size = (refusals_size() + 63) & ~(size_t)63;
	void *mem = aligned_alloc(64, size);

	assert_non_null(mem);
	memset(mem, 0, size);
	refusals = refusals_create(mem, &key, told, &last);
	now_ms = START_MS;
	events = sum = 0;
	return 0;
}

static int teardown(void **state)
{
	free(refusals);
	return 0;
}

static void refuse(const struct addr *source, uint16_t port, enum turn_refusal refusal, bool proved)
{
	const struct turn_event e = {.at_ms = now_ms,
		.kind = TURN_EVENT_REFUSED,
		.client = {*source, port},
		.reason = (uint16_t)refusal,
		.proved = proved};

	refusals_take(refusals, &e);
}

static struct addr source(uint32_t n)
{
	const uint8_t be[4] = {
		(uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};

	return addr_from_v4(be);
}

static void password(uint32_t host, uint16_t port)
{
	const struct addr a = source(host);

	refuse(&a, port, TURN_REFUSED_PASSWORD, true);
}

static void expire(void)
{
	while (fold_expire(refusals_fold(refusals), now_ms))
		;
}

static void first_at_once_and_the_rest_after_ten_seconds(void **state)
{
	password(1, 1000);
	assert_int_equal(events, 1);
	assert_int_equal(last.more, 0);
	for (uint16_t i = 0; i < 4211; i++) {
		now_ms++;
		password(1, (uint16_t)(2000 + i));
	}
	assert_int_equal(events, 1);
	now_ms = START_MS + FOLD_MS - 1;
	expire();
	assert_int_equal(events, 1);
	now_ms++;
	expire();
	assert_int_equal(events, 2);
	assert_int_equal(last.more, 4211);
	assert_int_equal(last.client.port, 2000 + 4210); // the last of them
	// then it starts again
	password(1, 7);
	assert_int_equal(events, 3);
	assert_int_equal(last.more, 0);
	now_ms += FOLD_MS;
	expire();
	assert_int_equal(events, 3); // there were no more
}

static void named(const char *name)
{
	struct turn_event e = {.at_ms = now_ms,
		.kind = TURN_EVENT_REFUSED,
		.client = {source(1), 1000},
		.reason = TURN_REFUSED_PASSWORD,
		.proved = true,
		.name_len = (uint8_t)strlen(name)};

	memcpy(e.name, name, strlen(name));
	refusals_take(refusals, &e);
}

static void ten_seconds(void)
{
	now_ms += FOLD_MS;
	expire();
}

// Several users may share one address: a fold is not attributed to one of them.
static void a_fold_of_several_names_says_so(void **state)
{
	static const char *const alone[] = {"ivan", "olga", "olga"};
	static const char *const mixed[] = {"ivan", "olga", "ivan", "ivan"};
	static const char *const longer[] = {"", "iva", "ivan", "ivan", "ivan"};

	for (unsigned int i = 0; i < 3; i++)
		named(alone[i]); // ivan is reported at once, the others are olga's
	ten_seconds();
	assert_int_equal(last.more, 2);
	assert_false(last.others);
	assert_memory_equal(last.name, "olga", 4);
	for (unsigned int i = 0; i < 4; i++)
		named(mixed[i]);
	assert_false(last.others);
	ten_seconds();
	assert_int_equal(last.more, 3);
	assert_true(last.others);
	assert_memory_equal(last.name, "ivan", 4); // the last of them
	for (unsigned int i = 0; i < 5; i++)
		named(longer[i]);
	ten_seconds();
	assert_true(last.others);
	// and not forever
	named("ivan");
	named("ivan");
	ten_seconds();
	assert_false(last.others);
}

// Even if it has not been swept.
static void an_entry_past_its_time_is_over(void **state)
{
	password(1, 1);
	password(1, 2);
	now_ms += FOLD_MS;
	password(1, 3);
	assert_int_equal(events, 3);
	assert_int_equal(last.more, 0);
	assert_int_equal(last.client.port, 3);
	assert_int_equal(sum, 3);
}

static void reasons_and_sources_are_told_apart(void **state)
{
	struct addr a = source(1), b = source(2), six[3];
	static const uint8_t net[16] = {0x20, 1, 0xd, 0xb8};

	refuse(&a, 1, TURN_REFUSED_PASSWORD, true);
	refuse(&b, 1, TURN_REFUSED_PASSWORD, true);
	refuse(&a, 1, TURN_REFUSED_PEER_DENIED, true);
	refuse(&a, 1, TURN_REFUSED_PASSWORD, false);
	assert_int_equal(events, 4);
	// an IPv6 /64 is one source
	for (int i = 0; i < 3; i++)
		six[i] = addr_from_v6(net);
	six[1].b[15] = six[1].b[8] = 1;
	six[2].b[7] = 1;
	for (int i = 0; i < 3; i++)
		refuse(&six[i], 1, TURN_REFUSED_PASSWORD, true);
	assert_int_equal(events, 6);
}

// A flood of spoofed addresses makes a bounded number of events, and displaces no proved address.
static void spoofed_addresses_push_nobody_out(void **state)
{
	const uint32_t flood = 1000000;
	uint64_t before;

	for (uint32_t i = 0; i < 4; i++)
		password(i, 1);
	before = events;
	for (uint32_t i = 0; i < flood; i++) {
		const struct addr a = source(1000 + i);

		refuse(&a, 1, TURN_REFUSED_UNANSWERED, false);
	}
	assert_true(events - before <= 129);
	for (uint32_t i = 0; i < 4; i++)
		password(i, 2);
	assert_true(events - before <= 129);
	now_ms += FOLD_MS;
	expire();
	assert_true(events - before <= 2 * 129 + 4);
	assert_int_equal(sum, flood + 8);
	fold_flush(refusals_fold(refusals));
	assert_int_equal(sum, flood + 8); // nothing is left
}

// An address that is no longer distinguished is reported as ::.
static void the_rest_has_no_address(void **state)
{
	const struct addr none = {.d = {0}};
	uint64_t nameless = 0;

	for (uint32_t i = 0; i < 10000; i++) {
		const struct addr a = source(i);

		refuse(&a, 1, TURN_REFUSED_BINDING_RATE, false);
	}
	now_ms += FOLD_MS;
	for (bool more = true; more;) {
		const uint64_t before = events;

		more = fold_expire(refusals_fold(refusals), now_ms);
		assert_true(events - before <= 8); // bounded work
		if (events > before && addr_eq(&last.client.addr, &none))
			nameless += last.more;
	}
	fold_flush(refusals_fold(refusals));
	assert_int_equal(sum, 10000);
	assert_true(nameless > 9000);
}

// A client with many proved addresses makes room by a report of the oldest entry.
static void proved_sources_push_out_the_oldest(void **state)
{
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 5000; i++) {
			password(i, 1);
			password(i, 2);
		}
	fold_flush(refusals_fold(refusals));
	assert_int_equal(sum, 20000);
	assert_true(events > 10000);
}

static void an_attempt_is_known_for_forty_seconds(void **state)
{
	const uint64_t attempt = 0x123456789abcdef0;

	assert_false(refusals_again(refusals, attempt, true, now_ms));
	assert_false(refusals_again(refusals, attempt, false, now_ms));
	// another one replaces the latter
	assert_false(refusals_again(refusals, attempt + (UINT64_C(2) << 32), false, now_ms));
	// when a client sends it (RFC 8489 6.2.1): 0.5, 1.5, 3.5, 7.5, 15.5, 31.5 s after the first
	for (uint64_t after_ms = 500; after_ms <= 31500; after_ms = 2 * after_ms + 500)
		assert_true(refusals_again(refusals, attempt, true, now_ms + after_ms));
	assert_false(refusals_again(refusals, attempt, true, now_ms + 31500 + 41000));
}

// An endless repetition becomes a new attempt nevertheless: the time is that of the first.
static void an_endless_attempt_counts_again(void **state)
{
	for (uint64_t after_ms = 0; after_ms <= 600000; after_ms += 60000) {
		assert_false(refusals_again(refusals, 7, true, now_ms + after_ms));
		assert_true(refusals_again(refusals, 7, true, now_ms + after_ms + 30000));
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

// Reasons of requests and of connections have separate numbers, up to the last ones.
static void connections_are_apart_from_requests(void **state)
{
	struct turn_event e = {
		.at_ms = now_ms, .client = {source(1), 1000}, .proved = true, .reason = 3};

	e.kind = TURN_EVENT_REFUSED;
	refusals_take(refusals, &e);
	e.kind = TURN_EVENT_CONNECTION;
	refusals_take(refusals, &e);
	assert_int_equal(events, 2);
	assert_int_equal(last.kind, TURN_EVENT_CONNECTION);
	refusals_take(refusals, &e);
	assert_int_equal(events, 2);
	e.proved = false;
	e.reason = TURN_CONNECTION_REASONS - 1;
	for (uint32_t i = 0; i < 10000; i++) {
		e.client.addr = source(i);
		refusals_take(refusals, &e);
	}
	fold_flush(refusals_fold(refusals));
	assert_int_equal(sum, 3 + 10000);
	assert_int_equal(last.reason, TURN_CONNECTION_REASONS - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(first_at_once_and_the_rest_after_ten_seconds),
		T(a_fold_of_several_names_says_so),
		T(an_entry_past_its_time_is_over),
		T(connections_are_apart_from_requests),
		T(reasons_and_sources_are_told_apart),
		T(spoofed_addresses_push_nobody_out),
		T(the_rest_has_no_address),
		T(proved_sources_push_out_the_oldest),
		T(an_attempt_is_known_for_forty_seconds),
		T(an_endless_attempt_counts_again),
	};

	return cmocka_run_group_tests_name("fold", tests, NULL, NULL);
}
