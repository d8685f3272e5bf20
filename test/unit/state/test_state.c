// SPDX-License-Identifier: BSD-3-Clause
// Calls continue after the death of the process: the view of clients and peers (RFC 8656 7 to 12).
#include "feature_names.h"
#include "restart_world.h"
#include "shard_rows.h"

#define CHANNEL 0x4001

static struct restart r;
static struct turn_config config;
static struct fixture_client ivan;

static struct fixture *f(void)
{
	return restart_at(&r, &ivan);
}

static int setup(void **state)
{
	config = fixture_config();
	restart_open(&r, &config, 3);
	ivan = fixture_client("198.51.100.7", 5000);
	assert_int_equal(fixture_allocate(f(), &ivan, 4), 0);
	return 0;
}

static int teardown(void **state)
{
	restart_close(&r);
	return 0;
}

static void assert_nothing_lost(void)
{
	for (unsigned int i = 0; i < TURN_STATE_LOST_END; i++)
		assert_int_equal(r.adopted.lost[i], 0);
}

static struct turn_info row(void)
{
	struct turn_info info;

	assert_int_equal(shard_rows(f()->shard, &info, 1), 1);
	return info;
}

// --- surviving allocations -----------------------------------------------------------------------

static void test_allocation(void **state)
{
	const struct turn_info before = row();
	struct turn_info after;

	restart_advance(&r, 100000);
	restart_again(&r, &config, 50000);
	assert_int_equal(r.adopted.allocations, 1);
	assert_nothing_lost();
	after = row();
	assert_int_equal(after.id, before.id);
	assert_true(endpoint_eq(&after.relay, &ivan.relay));
	assert_true(endpoint_eq(&after.client, &ivan.endpoint));
	assert_string_equal(after.user, "ivan");
	assert_int_equal(after.expires_s, 600 - 150);
	assert_int_equal(after.age_s, 150);
	assert_int_equal(after.quota_user, before.quota_user);
	assert_int_equal(turn_quota_total(f()->quota), 1);
	assert_int_equal(f()->told.nb, 0); // neither made nor ended
	assert_int_equal(fixture_stats(f()).allocations_total, 0);
}

// The nonce is still valid. The creator of the allocation may continue with it, and no other client
// may.
static void test_requests(void **state)
{
	struct fixture_client eve = ivan;

	restart_again(&r, &config, 1000);
	assert_int_equal(fixture_refresh(f(), &ivan, 900), 0);
	assert_int_equal(f()->told.refused[TURN_REFUSED_NONCE_FOREIGN], 0);
	assert_int_equal(row().expires_s, 900);
	assert_int_equal(fixture_permit(f(), &ivan, "10.98.0.1"), 0);
	eve.user = "eve";
	eve.password = "evil";
	assert_int_equal(fixture_refresh(f(), &eve, 900), 441);
	assert_int_equal(fixture_allocate(f(), &ivan, 4), 437);
	assert_int_equal(fixture_refresh(f(), &ivan, 0), 0);
	assert_int_equal(fixture_allocate(f(), &ivan, 4), 0);
}

// RFC 8489 6.3.1: a retransmitted Allocate gets an equal answer.
static void test_again(void **state)
{
	struct fixture_client c = fixture_client("198.51.100.8", 5001);
	uint8_t request[512];
	struct endpoint relay;
	size_t len;

	assert_int_equal(fixture_allocate(restart_at(&r, &c), &c, 4), 0);
	len = restart_at(&r, &c)->burst.view[0].len;
	memcpy(request, restart_at(&r, &c)->datagram, len);
	restart_again(&r, &config, 100);
	fixture_from_client(restart_at(&r, &c), &c, request, len);
	memcpy(restart_at(&r, &c)->message, request, len);
	assert_int_equal(fixture_code(restart_at(&r, &c)), 0);
	relay = fixture_answer_addr(restart_at(&r, &c), STUN_XOR_RELAYED_ADDRESS);
	assert_true(endpoint_eq(&relay, &c.relay));
}

static void test_rest_user(void **state)
{
	struct fixture_client bob = fixture_client("198.51.100.9", 5002);
	struct stun_crypto *crypto = stun_crypto_create();
	static char name[] = "1700005400:bob", password[64];

	assert_true(stun_rest_password(crypto, "s3cret", name, strlen(name), password));
	stun_crypto_free(crypto);
	bob.user = name;
	bob.password = password;
	assert_int_equal(fixture_allocate(restart_at(&r, &bob), &bob, 4), 0);
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.allocations, 2);
	assert_int_equal(fixture_refresh(restart_at(&r, &bob), &bob, 600), 0);
	config.first.nb_secrets = 0; // no REST credentials are valid any longer
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.allocations, 1);
	assert_int_equal(r.adopted.lost[TURN_STATE_LOST_USER], 1);
	assert_int_equal(r.worker[0].told.ended[TURN_END_USER], 1);
}

// --- permissions and channels --------------------------------------------------------------------

static const struct turn_plan *from_peer(const char *addr, uint16_t port)
{
	const struct endpoint peer = fixture_endpoint(addr, port);

	return fixture_from_peer(f(), &ivan.relay, &peer, "hello", 5);
}

static void test_media(void **state)
{
	const struct endpoint peer = fixture_endpoint("10.98.0.1", 7000);
	struct turn_path path;

	assert_int_equal(fixture_bind(f(), &ivan, CHANNEL, "10.98.0.1", 7000), 0);
	assert_int_equal(fixture_permit(f(), &ivan, "10.98.0.2"), 0);
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.permissions, 2);
	assert_int_equal(r.adopted.channels, 1);
	assert_nothing_lost();
	assert_int_equal(
		fixture_channel_data(f(), &ivan, CHANNEL, "hello", 5)->verdict, TURN_RELAY);
	turn_route_path(f()->shard, f()->burst.plan.flow, &path);
	assert_true(endpoint_eq(&path.src, &ivan.relay) && endpoint_eq(&path.dst, &peer));
	assert_int_equal(from_peer("10.98.0.1", 7000)->channel, CHANNEL);
	turn_route_path(f()->shard, f()->burst.plan.flow, &path);
	assert_true(endpoint_eq(&path.dst, &ivan.endpoint));
	assert_int_equal(from_peer("10.98.0.2", 1)->verdict, TURN_RELAY); // any port (9)
	assert_int_equal(fixture_drop(from_peer("10.98.0.3", 7000)), TURN_DROP_PEER_NO_PERMISSION);
	assert_int_equal(fixture_bind(f(), &ivan, CHANNEL, "10.98.0.2", 7000), 400); // bound (12.2)
	assert_int_equal(fixture_bind(f(), &ivan, CHANNEL + 1, "10.98.0.1", 7000), 400);
}

// RFC 8656 9: a permission lasts 300 s; 12: a channel lasts 600 s, and so does the permission that
// it has made, from the last refresh on.
static void test_times(void **state)
{
	assert_int_equal(fixture_refresh(f(), &ivan, 3600), 0);
	assert_int_equal(fixture_bind(f(), &ivan, CHANNEL, "10.98.0.1", 7000), 0);
	assert_int_equal(fixture_permit(f(), &ivan, "10.98.0.2"), 0);
	restart_advance(&r, 100000);
	assert_int_equal(fixture_permit(f(), &ivan, "10.98.0.1"), 0); // shortens nothing
	restart_again(&r, &config, 199999);
	assert_int_equal(from_peer("10.98.0.2", 1)->verdict, TURN_RELAY); // one more millisecond
	restart_advance(&r, 1);
	assert_int_equal(fixture_drop(from_peer("10.98.0.2", 1)), TURN_DROP_PEER_NO_PERMISSION);
	restart_again(&r, &config, 200000);
	assert_int_equal(r.adopted.channels, 1);
	assert_int_equal(fixture_permit(f(), &ivan, "10.98.0.1"), 0);
	restart_again(&r, &config, 99999);
	assert_int_equal(from_peer("10.98.0.1", 7000)->channel, CHANNEL);
	restart_again(&r, &config, 1); // 600 s since the ChannelBind
	assert_int_equal(r.adopted.channels, 0);
	assert_int_equal(r.adopted.permissions, 1);
	assert_int_equal(from_peer("10.98.0.1", 7000)->channel, 0);
	assert_int_equal(f()->burst.plan.verdict, TURN_RELAY);
	assert_int_equal(row().expires_s, 3600 - 600);
}

// An ended allocation and its objects do not come back with a later one in its slot.
static void test_ended(void **state)
{
	restart_close(&r);
	config.port_hi = config.port_lo; // there is a single port
	restart_open(&r, &config, 4);
	ivan.nonce_len = 0;
	assert_int_equal(fixture_allocate(f(), &ivan, 4), 0);
	assert_int_equal(fixture_bind(f(), &ivan, CHANNEL, "10.98.0.1", 7000), 0);
	assert_int_equal(fixture_refresh(f(), &ivan, 0), 0);
	restart_advance(&r, 2000);
	assert_int_equal(fixture_allocate(f(), &ivan, 4), 0);
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.allocations, 1);
	assert_int_equal(r.adopted.permissions, 0);
	assert_int_equal(r.adopted.channels, 0);
	assert_nothing_lost();
	assert_int_equal(fixture_drop(from_peer("10.98.0.1", 7000)), TURN_DROP_PEER_NO_PERMISSION);
}

// --- reservations --------------------------------------------------------------------------------

#ifdef FEATURE_RESERVATIONS
static struct fixture_client pair(void)
{
	struct fixture_client c = fixture_client("198.51.100.20", 5003);
	const uint8_t even = 0x80;

	fixture_begin(f(), STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f()->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put(&f()->w, STUN_EVEN_PORT, &even, 1);
	assert_int_equal(fixture_ask(f(), &c), 0);
	c.relay = fixture_answer_addr(f(), STUN_XOR_RELAYED_ADDRESS);
	memcpy(c.token, f()->answer.data + f()->answer.off[STUN_RESERVATION_TOKEN], 8);
	return c;
}

static unsigned int take_up(struct fixture_client *c, const uint8_t token[8])
{
	fixture_begin(f(), STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f()->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put(&f()->w, STUN_RESERVATION_TOKEN, token, 8);
	return fixture_ask(f(), c);
}

// RFC 8656 7.2: the other port of a pair is kept for the holder of its token.
static void test_reservation(void **state)
{
	const struct fixture_client first = pair();
	struct fixture_client second = fixture_client("198.51.100.21", 5004);
	struct endpoint relay;

	restart_again(&r, &config, 20000);
	assert_int_equal(r.adopted.reservations, 1);
	assert_int_equal(turn_quota_total(f()->quota), 3);
	assert_int_equal(take_up(&second, first.token), 0);
	relay = fixture_answer_addr(f(), STUN_XOR_RELAYED_ADDRESS);
	assert_int_equal(relay.port, first.relay.port + 1);
	assert_int_equal(take_up(&second, first.token), 437);
	restart_again(&r, &config, 20000);
	assert_int_equal(r.adopted.allocations, 3);
	assert_int_equal(r.adopted.reservations, 0);
	assert_nothing_lost();
}

static void test_reservation_lapses(void **state)
{
	const struct fixture_client first = pair();
	struct fixture_client second = fixture_client("198.51.100.21", 5004);

	restart_again(&r, &config, 59999);
	assert_int_equal(r.adopted.reservations, 1);
	restart_advance(&r, 1);
	assert_int_equal(take_up(&second, first.token), 508);
	restart_advance(&r, 16); // the timer may lag this much
	fixture_expire(f());
	assert_int_equal(turn_quota_total(f()->quota), 2);
}
#endif

// --- ports, usage --------------------------------------------------------------------------------

// RFC 8656 7.2: no client should get a port soon after its last owner.
static void test_resting(void **state)
{
	struct fixture_client eve = fixture_eve("198.51.100.30", 5005);

	config.port_lo = ivan.relay.port & ~1u;
	config.port_hi = config.port_lo + 1;
	config.quarantine_s = 60;
	restart_again(&r, &config, 0);
	assert_int_equal(fixture_refresh(f(), &ivan, 0), 0);
	restart_again(&r, &config, 30000);
	assert_int_equal(r.adopted.resting, 1);
	assert_int_equal(fixture_allocate(f(), &eve, 4), 0);
	assert_int_not_equal(eve.relay.port, ivan.relay.port);
	assert_int_equal(fixture_stats(f()).port_reused_early, 0);
}

// A port rests across several deaths, even if its allocation or reservation ended while no process
// ran.
static void test_resting_on(void **state)
{
	unsigned int nb = 1;

#ifdef FEATURE_RESERVATIONS
	pair();
	nb = 3;
#endif
	config.quarantine_s = 60;
	restart_again(&r, &config, 600000);
	assert_int_equal(r.adopted.lost[TURN_STATE_LOST_EXPIRED], (nb + 1) / 2);
	assert_int_equal(r.adopted.resting, nb);
	restart_again(&r, &config, 59999);
	assert_int_equal(r.adopted.resting, nb);
	restart_again(&r, &config, 60000);
	assert_int_equal(r.adopted.resting, 0);
}

static void test_usage(void **state)
{
	struct turn_usage before, after;

	assert_int_equal(fixture_bind(f(), &ivan, CHANNEL, "10.98.0.1", 7000), 0);
	for (unsigned int i = 0; i < 200; i++)
		fixture_channel_data(f(), &ivan, CHANNEL, "hello", 5);
	fixture_drop(from_peer("10.98.0.3", 7000));
	before = row().usage;
	assert_int_equal(before.leg[TURN_FROM_CLIENT].datagrams, 200);
	restart_again(&r, &config, 1000);
	after = row().usage;
	// counts that were not spilled are lost: less than 64 datagrams
	assert_in_range(after.leg[TURN_FROM_CLIENT].datagrams, 200 - 63, 200);
	assert_memory_equal(after.lost, before.lost, sizeof(after.lost));
	assert_int_equal(fixture_stats(f()).sums.datagrams[TURN_FROM_CLIENT], 0);
}

// An orderly shutdown that leaves the state to the next process reports no end of a call.
static void test_keep(void **state)
{
	turn_shard_keep(f()->shard);
	assert_int_equal(f()->told.ended[TURN_END_STOPPED], 0);
	restart_again(&r, &config, 500);
	assert_int_equal(r.adopted.allocations, 1);
}

// Death after death, with work in between.
static void test_often(void **state)
{
	for (unsigned int i = 0; i < 50; i++) {
		struct fixture_client c = fixture_client("203.0.113.5", (uint16_t)(6000 + i));

		assert_int_equal(fixture_allocate(restart_at(&r, &c), &c, i % 2 ? 4 : 6), 0);
		assert_int_equal(fixture_refresh(f(), &ivan, 600), 0);
		restart_again(&r, &config, 1000);
		assert_int_equal(r.adopted.allocations, i + 2);
		assert_nothing_lost();
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_allocation),
		T(test_requests),
		T(test_again),
		T(test_rest_user),
		T(test_media),
		T(test_times),
		T(test_ended),
#ifdef FEATURE_RESERVATIONS
		T(test_reservation),
		T(test_reservation_lapses),
#endif
		T(test_resting),
		T(test_resting_on),
		T(test_usage),
		T(test_keep),
		T(test_often),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
