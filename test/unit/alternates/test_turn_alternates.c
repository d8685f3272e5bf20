// SPDX-License-Identifier: BSD-3-Clause
// A shard that sends clients to other servers without draining: which clients, from which load on,
// and which are served here nevertheless (RFC 8656 7.2, RFC 8489 10).
#include <netinet/in.h>

#include "feature_names.h"
#include "addr_text.h"
#include "stun.h"
#include "turn_alternates.h"
#include "turn_fixture.h"

#define OTHER4 "203.0.113.9"

static struct fixture f;
static struct turn_alternates *alternates;

static int setup(void **state)
{
	const struct turn_config c = fixture_config();

	*state = &f;
	fixture_open(&f, &c, 1);
	return 0;
}

static int teardown(void **state)
{
	const int rc = fixture_teardown(state);

	turn_alternates_free(alternates);
	alternates = NULL;
	return rc;
}

static void begin(enum turn_alternates_when when, uint32_t threshold, const char *addr)
{
	const struct turn_alternates_rule rule = {when, threshold};
	const struct turn_alternate alternate = {.addr = addr_text(addr)};
	struct turn_alternates *old = alternates;

	alternates = turn_alternates_create(&rule, &alternate, 1);
	assert_non_null(alternates);
	turn_shard_set_intake(f.shard, &(struct turn_intake){.alternates = alternates});
	turn_alternates_free(old);
}

static struct fixture_client client(uint16_t port)
{
	return fixture_client("198.51.100.7", port);
}

static int allocate(uint16_t port)
{
	struct fixture_client c = client(port);

	return fixture_allocate(&f, &c, 4);
}

static void assert_refused(uint64_t always, uint64_t allocations, uint64_t datagrams)
{
	const struct turn_stats s = fixture_stats(&f);

	assert_int_equal(s.refused[TURN_REFUSED_ALTERNATE], 0);
	assert_int_equal(s.refused[TURN_REFUSED_DRAINING], 0);
	assert_int_equal(s.refused[TURN_REFUSED_ALTERNATE_ALWAYS], always);
	assert_int_equal(s.refused[TURN_REFUSED_ALTERNATE_ALLOCATIONS], allocations);
	assert_int_equal(s.refused[TURN_REFUSED_ALTERNATE_DATAGRAMS], datagrams);
}

// RFC 8489 10: one ALTERNATE-SERVER of the request's family, and the answer is signed. Existing
// allocations are served.
static void all_clients_are_sent_away(void **state)
{
	static const enum turn_alternates_when all[] = {
		TURN_ALTERNATES_ALWAYS, TURN_ALTERNATES_DATAGRAMS};
	struct fixture_client c = client(5000), first = client(4000);

	assert_int_equal(fixture_allocate(&f, &first, 4), 0);
	for (unsigned int i = 0; i < 2; i++) {
		begin(all[i], 0, OTHER4);
		assert_int_equal(fixture_allocate(&f, &c, 4), 300);
		assert_true(fixture_signed(&f, &c));
		assert_true(stun_has(&f.answer, STUN_ALTERNATE_SERVER));
		assert_int_equal(fixture_refresh(&f, &first, 600), 0);
		assert_int_equal(fixture_permit(&f, &first, "10.99.0.9"), 0);
	}
	assert_refused(1, 0, 1);
	turn_shard_set_intake(f.shard, &(struct turn_intake){0});
	assert_int_equal(fixture_allocate(&f, &c, 4), 0);
}

// From exactly this number on, and not below it. A retransmission of a granted request is granted.
static void a_number_of_allocations_sends_clients_away(void **state)
{
	struct fixture_client third = client(5002);

	begin(TURN_ALTERNATES_ALLOCATIONS, 3, OTHER4);
	assert_int_equal(allocate(5000), 0);
	assert_int_equal(allocate(5001), 0);
	assert_int_equal(fixture_allocate(&f, &third, 4), 0);
	fixture_resend(&f, &third);
	assert_int_equal(fixture_code(&f), 0);
	assert_int_equal(allocate(5003), 300);
	assert_int_equal(allocate(5004), 300);
	assert_int_equal(fixture_stats(&f).allocations, 3);
	assert_int_equal(fixture_refresh(&f, &third, 0), 0);
	assert_int_equal(allocate(5003), 0);
	assert_int_equal(allocate(5004), 300);
	assert_refused(0, 3, 0);
}

// If no alternate has a client's family, it is served here, whatever the load: it could not reach
// an alternate.
static void other_families_are_served(void **state)
{
	static const enum turn_alternates_when all[] = {
		TURN_ALTERNATES_ALWAYS, TURN_ALTERNATES_DATAGRAMS, TURN_ALTERNATES_ALLOCATIONS};

	for (uint16_t i = 0; i < 3; i++) {
		begin(all[i], 0, "2001:db8:9::9");
		assert_int_equal(allocate(5000 + i), 0);
	}
	assert_refused(0, 0, 0);
}

#ifdef FEATURE_RESERVATIONS
// RFC 8656 7.2: a RESERVATION-TOKEN names a port of this server, which already counts. An unknown
// token gets its usual answer.
static void a_reserved_port_is_given(void **state)
{
	static const enum turn_alternates_when all[] = {
		TURN_ALTERNATES_ALWAYS, TURN_ALTERNATES_DATAGRAMS, TURN_ALTERNATES_ALLOCATIONS};
	const uint8_t even = 0x80;
	uint8_t token[8];

	for (uint16_t k = 0; k < 3; k++) {
		struct fixture_client c = client(5000 + 3 * k), second = client(5001 + 3 * k),
				      third = client(5002 + 3 * k);

		turn_shard_set_intake(f.shard, &(struct turn_intake){0});
		fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
		stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, (uint32_t)IPPROTO_UDP << 24);
		stun_put(&f.w, STUN_EVEN_PORT, &even, 1);
		assert_int_equal(fixture_ask(&f, &c), 0);
		memcpy(token, f.answer.data + f.answer.off[STUN_RESERVATION_TOKEN], 8);
		begin(all[k], 2, OTHER4); // the reservation counts
		assert_int_equal(fixture_allocate(&f, &third, 4), 300);
		for (unsigned int i = 0; i < 2; i++) {
			fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
			stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, (uint32_t)IPPROTO_UDP << 24);
			stun_put(&f.w, STUN_RESERVATION_TOKEN, token, 8);
			assert_int_equal(
				fixture_ask(&f, i == 0 ? &second : &third), i == 0 ? 0 : 508);
		}
	}
	assert_refused(1, 1, 1);
}
#endif

// An attacker without a password learns nothing about the other servers, and causes no client to be
// sent away: it makes no allocation.
static void strangers_are_told_nothing(void **state)
{
	struct fixture_client c = client(5000);

	begin(TURN_ALTERNATES_ALWAYS, 0, OTHER4);
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, (uint32_t)IPPROTO_UDP << 24);
	fixture_send(&f, &c);
	assert_int_equal(fixture_code(&f), 401);
	assert_false(stun_has(&f.answer, STUN_ALTERNATE_SERVER));
	c.password = "wrong";
	begin(TURN_ALTERNATES_ALLOCATIONS, 1, OTHER4);
	for (unsigned int i = 0; i < 10; i++) {
		assert_int_equal(fixture_allocate(&f, &c, 4), 401);
		assert_false(stun_has(&f.answer, STUN_ALTERNATE_SERVER));
	}
	assert_int_equal(allocate(5001), 0);
}

// RFC 8656 7.2 (9), (10): a client over its quota is sent to other servers first; faults of the
// request are answered before that.
static void alternates_come_before_the_quota(void **state)
{
	struct turn_config c = fixture_config();
	struct fixture_client bad = client(5001);

	fixture_close(&f);
	c.limits.allocations = 1;
	fixture_open(&f, &c, 1);
	assert_int_equal(allocate(5000), 0);
	assert_int_equal(allocate(5001), 486);
	begin(TURN_ALTERNATES_ALLOCATIONS, 1, OTHER4);
	assert_int_equal(allocate(5001), 300);
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	assert_int_equal(fixture_ask(&f, &bad), 400);
	assert_refused(0, 1, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(all_clients_are_sent_away),
		T(a_number_of_allocations_sends_clients_away),
		T(other_families_are_served),
#ifdef FEATURE_RESERVATIONS
		T(a_reserved_port_is_given),
#endif
		T(strangers_are_told_nothing),
		T(alternates_come_before_the_quota),
	};

	return cmocka_run_group_tests_name("turn_alternates", tests, NULL, NULL);
}
