// SPDX-License-Identifier: BSD-3-Clause
// Reserved ports (RFC 8656 7.2): for whom, how long, and on which worker.
#include "turn_fixture.h"

static struct fixture f;
static struct fixture_client ivan, eve;

static int setup(void **state)
{
	const struct turn_config c = fixture_config();

	*state = &f;
	fixture_open(&f, &c, 1);
	ivan = fixture_client("198.51.100.7", 5000);
	eve = fixture_eve("198.51.100.8", 6000);
	return 0;
}

static void begin_allocate(void)
{
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, 17u << 24);
}

// Reserves with ivan; returns the relayed port. The token goes to token.
static uint16_t reserve(uint8_t token[8])
{
	begin_allocate();
	stun_put(&f.w, STUN_EVEN_PORT, (const uint8_t[]){0x80}, 1);
	assert_int_equal(fixture_ask(&f, &ivan), 0);
	assert_int_equal(f.answer.alen[STUN_RESERVATION_TOKEN], 8);
	memcpy(token, f.answer.data + f.answer.off[STUN_RESERVATION_TOKEN], 8);
	return fixture_answer_addr(&f, STUN_XOR_RELAYED_ADDRESS).port;
}

static unsigned int claim(struct fixture_client *c, const uint8_t token[8])
{
	begin_allocate();
	stun_put(&f.w, STUN_RESERVATION_TOKEN, token, 8);
	return fixture_ask(&f, c);
}

static void reservation_is_for_any_tuple_once(void **state)
{
	struct fixture_client third = fixture_client("198.51.100.9", 9000);
	uint8_t token[8];
	const uint16_t port = reserve(token);

	assert_int_equal(port % 2, 0);
	fixture_advance(&f, 30000); // section 7.2: held at least 30 seconds
	fixture_expire(&f);
	assert_int_equal(claim(&eve, token), 0); // another user, another address
	assert_int_equal(fixture_answer_addr(&f, STUN_XOR_RELAYED_ADDRESS).port, port + 1);
	assert_int_equal(claim(&third, token), 508);
}

static void reservation_lapses(void **state)
{
	uint8_t token[8];

	reserve(token);
	assert_int_equal(turn_quota_total(f.quota), 2); // it counts while it lasts
	fixture_advance(&f, 120000);
	assert_int_equal(claim(&eve, token), 508); // swept or not
	fixture_expire(&f);
	assert_int_equal(turn_quota_total(f.quota), 1);
}

// RFC 8656 7.2 (8): a pair for which there is no room is 508, and 7.4 then lets the client ask for
// one port at once. A client over its quota gets 486.
static void a_pair_with_one_place_left_is_508(void **state)
{
	struct turn_config c = fixture_config();
	struct fixture_client two = fixture_client("198.51.100.20", 1);

	fixture_close(&f);
	c.limits.per_user = 2;
	fixture_open(&f, &c, 4);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	for (unsigned int i = 0; i < 2; i++) {
		begin_allocate();
		stun_put(&f.w, STUN_EVEN_PORT, (const uint8_t[]){0x80}, 1);
		assert_int_equal(fixture_ask(&f, &two), i == 0 ? 508 : 486);
		assert_int_equal(turn_quota_total(f.quota), 1 + i);
		if (i == 0)
			assert_int_equal(fixture_allocate(&f, &two, 4), 0);
		two.endpoint.port = 2;
		two.nonce_len = 0;
	}
}

// --- another worker's reservation ----------------------------------------------------------------

static struct turn_plan moved(struct fixture *dst, const struct fixture *src, uint8_t via)
{
	struct turn_view *v = &dst->burst.view[0];

	*v = src->burst.view[0];
	v->via = via;
	fixture_route(dst->shard, &dst->burst);
	return dst->burst.plan;
}

static void carry_notes(struct fixture *src, struct fixture *dst)
{
	struct turn_redirect_note note[8];
	const unsigned int n = turn_redirect_notes(src->shard, note, 8);

	for (unsigned int i = 0; i < n; i++)
		turn_redirect_apply(dst->shard, &note[i]);
}

// The token leads the client from its home worker (0) to the one that holds the port (1). A
// redirect leads later datagrams there while the allocation lives.
static void token_of_another_worker(void **state)
{
	struct turn_config c = fixture_config();
	struct fixture one;
	struct fixture_client owner = fixture_client("198.51.100.9", 1);

	fixture_close(&f);
	c.workers = 2;
	fixture_open(&f, &c, 9);
	fixture_open_worker(&one, &f, 1);
	fixture_begin(&one, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&one.w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put(&one.w, STUN_EVEN_PORT, (const uint8_t[]){0x80}, 1);
	assert_int_equal(fixture_ask(&one, &owner), 0);

	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	fixture_send(&f, &ivan);
	assert_int_equal(fixture_code(&f), 401);
	ivan.nonce_len = 32;
	memcpy(ivan.nonce, f.answer.data + f.answer.off[STUN_NONCE], 32);
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put(&f.w, STUN_RESERVATION_TOKEN,
		one.answer.data + one.answer.off[STUN_RESERVATION_TOKEN], 8);
	fixture_sign(&f, &ivan);
	assert_int_equal(fixture_send(&f, &ivan)->verdict, TURN_HANDOVER);
	assert_int_equal(f.burst.plan.flow, 1);
	assert_int_equal(moved(&one, &f, 0).verdict, TURN_REPLY);
	assert_int_equal(fixture_stats(&f).redirects, 1);
	carry_notes(&one, &f);

	// Six minutes later the redirect still leads there: it lives with the allocation.
	fixture_advance(&f, 360000);
	fixture_advance(&one, 360000);
	fixture_expire(&f);
	assert_int_equal(fixture_channel_data(&f, &ivan, 0x4000, "x", 1)->verdict, TURN_HANDOVER);
	assert_int_equal(moved(&one, &f, 0).reason, TURN_DROP_CHANNEL_UNBOUND);
	fixture_advance(&f, 240000);
	fixture_advance(&one, 240000);
	fixture_expire(&one);
	carry_notes(&one, &f);
	assert_int_equal(fixture_stats(&f).redirects, 0);
	assert_int_equal(
		fixture_channel_data(&f, &ivan, 0x4000, "x", 1)->reason, TURN_DROP_NO_ALLOCATION);
	fixture_close(&one);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(reservation_is_for_any_tuple_once),
		T(reservation_lapses),
		T(a_pair_with_one_place_left_is_508),
		T(token_of_another_worker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
