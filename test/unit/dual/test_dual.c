// SPDX-License-Identifier: BSD-3-Clause
// Allocate with ADDITIONAL-ADDRESS-FAMILY (RFC 8656 7.2) and Refresh of the result (8.1, 8.2): the
// answers, attributes that exclude it, and one address if two are not available.
#include "feature_names.h"
#include "dual_world.h"

static struct dual_world w;

static int setup(void **state)
{
	const struct turn_config c = fixture_config();

	*state = &w;
	dual_world_open(&w, &c);
	return 0;
}

static void reopen(const struct turn_config *c)
{
	fixture_close(&w.f);
	dual_world_open(&w, c);
}

static uint32_t answer_lifetime(void)
{
	uint32_t v;

	assert_true(stun_get_u32(&w.f.answer, STUN_LIFETIME, &v));
	return v;
}

static void both_addresses_in_one_answer(void **state)
{
	struct endpoint mapped, first;
	unsigned int family;

	assert_int_equal(dual_world_allocate(&w), 0);
	first = fixture_answer_addr(&w.f, STUN_XOR_RELAYED_ADDRESS);
	assert_true(endpoint_eq(&first, &w.v4));
	assert_true(addr_eq(&w.v4.addr, &w.f.config.relay[0]));
	assert_true(addr_eq(&w.v6.addr, &w.f.config.relay[1]));
	assert_in_range(w.v4.port, w.f.config.port_lo, w.f.config.port_hi);
	assert_in_range(w.v6.port, w.f.config.port_lo, w.f.config.port_hi);
	mapped = fixture_answer_addr(&w.f, STUN_XOR_MAPPED_ADDRESS);
	assert_true(endpoint_eq(&mapped, &w.ivan.endpoint));
	assert_int_equal(answer_lifetime(), 600);
	assert_int_equal(dual_world_address_error(&w, &family), 0);
	assert_true(fixture_signed(&w.f, &w.ivan));
	assert_int_equal(fixture_stats(&w.f).allocations, 2);
	assert_int_equal(fixture_stats(&w.f).allocations_total, 2);
	// each of them counts (doc/decisions/0038)
	assert_int_equal(turn_quota_total(w.f.quota), 2);
	assert_int_equal(w.f.told.made, 2);
}

static void retransmission_gets_the_same_answer(void **state)
{
	uint8_t first[TURN_SIDE_LEN];
	uint16_t len;

	assert_int_equal(dual_world_allocate(&w), 0);
	len = w.f.burst.plan.front_len;
	memcpy(first, w.f.burst.side.front, len);
	fixture_resend(&w.f, &w.ivan);
	assert_int_equal(w.f.burst.plan.front_len, len);
	assert_memory_equal(w.f.burst.side.front, first, len);
	assert_int_equal(fixture_stats(&w.f).allocations, 2);
	// another Allocate is not a retransmission
	assert_int_equal(dual_world_allocate(&w), 437);
}

// An attribute next to ADDITIONAL-ADDRESS-FAMILY: of 1, 4 or 8 bytes.
static const struct row {
	const char *label;
	enum stun_attr attr;
	uint8_t len, value[8];
	unsigned int code;
} beside[] = {
	{"REQUESTED-ADDRESS-FAMILY IPv6 (6)", STUN_REQUESTED_ADDRESS_FAMILY, 4, {2}, 400},
	{"REQUESTED-ADDRESS-FAMILY IPv4 (6)", STUN_REQUESTED_ADDRESS_FAMILY, 4, {1}, 400},
#ifdef FEATURE_RESERVATIONS
	{"RESERVATION-TOKEN (5)", STUN_RESERVATION_TOKEN, 8, {1, 2, 3}, 400},
#endif
	{"EVEN-PORT with R (8)", STUN_EVEN_PORT, 1, {0x80}, 400},
	{"EVEN-PORT without R", STUN_EVEN_PORT, 1, {0}, 0},
	{"DONT-FRAGMENT", STUN_DONT_FRAGMENT, 0, {0}, 0},
};

static void attributes_beside_the_family(void **state)
{
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		print_message("%s\n", beside[i].label);
		w.ivan = fixture_client("198.51.100.7", (uint16_t)(5000 + i));
		dual_world_begin(&w);
		stun_put(&w.f.w, beside[i].attr, beside[i].value, beside[i].len);
		assert_int_equal(dual_world_ask(&w), beside[i].code);
		if (beside[i].attr == STUN_EVEN_PORT && beside[i].code == 0)
			assert_true(w.v4.port % 2 == 0 && w.v6.port % 2 == 0);
		assert_int_equal(fixture_refresh(&w.f, &w.ivan, 0),
			beside[i].code == 0 ? 0 : 437); // nothing was allocated
	}
	assert_int_equal(turn_quota_total(w.f.quota), 0);
}

// RFC 8656 7.2 (9), 18.11: IPv6 is the only value.
static void other_values_are_400(void **state)
{
	static const struct {
		uint8_t len, value[8];
	} t[] = {{4, {1}}, {4, {0}}, {4, {3}}, {4, {255}}, {0, {0}}, {1, {2}}, {8, {2}}};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		fixture_begin(&w.f, STUN_REQUEST, STUN_ALLOCATE);
		stun_put_u32(&w.f.w, STUN_REQUESTED_TRANSPORT, 17u << 24);
		stun_put(&w.f.w, STUN_ADDITIONAL_ADDRESS_FAMILY, t[i].value, t[i].len);
		assert_int_equal(fixture_ask(&w.f, &w.ivan), 400);
	}
	assert_int_equal(fixture_stats(&w.f).allocations, 0);
}

// coturn's client of Debian 12 uses the attribute's number of a draft, 0x8032.
static void the_number_of_the_draft_is_known(void **state)
{
	dual_world_begin(&w);
	store_be16(w.f.w.buf + w.f.w.len - 8, 0x8032);
	assert_int_equal(dual_world_ask(&w), 0);
	assert_true(w.v4.port != 0 && w.v6.port != 0);
}

// --- one family of two ---------------------------------------------------------------------------

static void check_partial(unsigned int code, unsigned int family)
{
	uint8_t first[TURN_SIDE_LEN];
	unsigned int failed_family;
	uint16_t len;

	assert_int_equal(dual_world_allocate(&w), 0);
	assert_int_equal(dual_world_address_error(&w, &failed_family), code);
	assert_int_equal(failed_family, family);
	assert_int_equal(w.v4.port == 0, family == 1);
	assert_int_equal(w.v6.port == 0, family == 2);
	len = w.f.burst.plan.front_len;
	memcpy(first, w.f.burst.side.front, len);
	fixture_resend(&w.f, &w.ivan);
	assert_int_equal(w.f.burst.plan.front_len, len);
	assert_memory_equal(w.f.burst.side.front, first, len);
	// it is an allocation like any other
	assert_int_equal(dual_world_refresh(&w, family == 1 ? 4 : 6, 600), 443);
	assert_int_equal(dual_world_refresh(&w, family == 1 ? 6 : 4, 600), 0);
}

static void a_family_that_the_box_does_not_have_is_440(void **state)
{
	struct turn_config c = fixture_config();

	c.nb_relay = 1; // IPv4
	reopen(&c);
	check_partial(440, 2);
	assert_int_equal(fixture_stats(&w.f).half_family, 1);
	c.relay++; // IPv6
	reopen(&c);
	check_partial(440, 1);
}

static void a_family_without_a_free_port_is_508(void **state)
{
	for (int family = 4; family <= 6; family += 2) {
		struct turn_config c = fixture_config();

		c.port_hi = c.port_lo; // one port of each family
		reopen(&c);
		w.ivan = fixture_client("198.51.100.9", 9000);
		assert_int_equal(fixture_allocate(&w.f, &w.ivan, family), 0);
		w.ivan = fixture_client("198.51.100.7", 5000);
		check_partial(508, family == 4 ? 1 : 2);
		assert_int_equal(fixture_stats(&w.f).half_capacity, 1);
		w.ivan = fixture_client("198.51.100.8", 5000);
		assert_int_equal(dual_world_allocate(&w), 508); // no family
		assert_int_equal(turn_quota_total(w.f.quota), 2);
	}
}

// Each address counts: a request for two at a time does not get a user more ports.
static void a_quota_with_one_place_left_gives_one(void **state)
{
	struct turn_config c = fixture_config();

	c.limits.per_user = 3;
	reopen(&c);
	assert_int_equal(dual_world_allocate(&w), 0);
	assert_true(w.v6.port != 0);
	w.ivan = fixture_client("198.51.100.8", 5000);
	check_partial(508, 2);
	w.ivan = fixture_client("198.51.100.9", 5000);
	assert_int_equal(dual_world_allocate(&w), 486);
	assert_int_equal(turn_quota_total(w.f.quota), 3);
}

// --- lifetimes -----------------------------------------------------------------------------------

static void refresh_without_a_family_is_about_both(void **state)
{
	assert_int_equal(dual_world_allocate(&w), 0);
	fixture_advance(&w.f, 500000);
	assert_int_equal(dual_world_refresh(&w, 0, 700), 0);
	assert_int_equal(answer_lifetime(), 700);
	fixture_advance(&w.f, 650000);
	fixture_expire(&w.f);
	assert_int_equal(fixture_stats(&w.f).allocations, 2);
	assert_int_equal(dual_world_refresh(&w, 0, 0), 0);
	assert_int_equal(answer_lifetime(), 0);
	assert_int_equal(fixture_stats(&w.f).allocations, 0);
	assert_int_equal(turn_quota_total(w.f.quota), 0);
	assert_int_equal(dual_world_refresh(&w, 0, 600), 437);
	assert_int_equal(w.f.told.ended[TURN_END_CLIENT], 2);
}

static void each_has_a_lifetime_of_its_own(void **state)
{
	for (int family = 4; family <= 6; family += 2) {
		w.ivan = fixture_client("198.51.100.7", (uint16_t)(5000 + family));
		assert_int_equal(dual_world_allocate(&w), 0);
		fixture_advance(&w.f, 300000);
		assert_int_equal(dual_world_refresh(&w, family, 600), 0);
		// a retransmission would get the shorter lifetime
		fixture_advance(&w.f, 300000);
		if (family == 6) // whether swept or not
			fixture_expire(&w.f);
		assert_int_equal(dual_world_refresh(&w, 10 - family, 600), 443);
		assert_int_equal(dual_world_refresh(&w, family, 600), 0);
		assert_int_equal(fixture_stats(&w.f).allocations, 1);
		assert_int_equal(dual_world_refresh(&w, 0, 0), 0);
		assert_int_equal(dual_world_refresh(&w, 0, 600), 437);
		assert_int_equal(turn_quota_total(w.f.quota), 0);
	}
}

static void one_is_deleted_and_the_other_stays(void **state)
{
	for (int family = 4; family <= 6; family += 2) {
		w.ivan = fixture_client("198.51.100.7", (uint16_t)(5000 + family));
		assert_int_equal(dual_world_allocate(&w), 0);
		assert_int_equal(dual_world_refresh(&w, family, 0), 0);
		assert_int_equal(answer_lifetime(), 0);
		assert_int_equal(dual_world_refresh(&w, family, 0), 443);
		assert_int_equal(dual_world_refresh(&w, family, 600), 443);
		assert_int_equal(fixture_stats(&w.f).allocations, 1);
		assert_int_equal(dual_world_allocate(&w), 437);
		assert_int_equal(dual_world_refresh(&w, 10 - family, 600), 0);
		assert_int_equal(dual_world_refresh(&w, 0, 0), 0);
		assert_int_equal(turn_quota_total(w.f.quota), 0);
		fixture_advance(&w.f, 1);
	}
}

// The user of a dual allocation remains its owner, whichever half is left.
static void nobody_else_may_refresh(void **state)
{
	for (int family = 4; family <= 6; family += 2) {
		struct fixture_client eve = fixture_eve("198.51.100.7", (uint16_t)(5000 + family));

		w.ivan = fixture_client("198.51.100.7", (uint16_t)(5000 + family));
		assert_int_equal(dual_world_allocate(&w), 0);
		assert_int_equal(fixture_refresh(&w.f, &eve, 0), 441);
		assert_int_equal(dual_world_refresh(&w, family, 0), 0);
		assert_int_equal(fixture_refresh(&w.f, &eve, 0), 441);
		assert_int_equal(dual_world_refresh(&w, 0, 600), 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, dual_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(both_addresses_in_one_answer),
		TEST(retransmission_gets_the_same_answer),
		TEST(attributes_beside_the_family),
		TEST(other_values_are_400),
		TEST(the_number_of_the_draft_is_known),
		TEST(a_family_that_the_box_does_not_have_is_440),
		TEST(a_family_without_a_free_port_is_508),
		TEST(a_quota_with_one_place_left_gives_one),
		TEST(refresh_without_a_family_is_about_both),
		TEST(each_has_a_lifetime_of_its_own),
		TEST(one_is_deleted_and_the_other_stays),
		TEST(nobody_else_may_refresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
