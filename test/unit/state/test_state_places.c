// SPDX-License-Identifier: BSD-3-Clause
// A state area is adopted by another configuration: other numbers of workers, listeners, relay
// addresses, users, limits. Records without a place are counted by reason and reported. Nothing is
// adopted that a request could not have made.
#include "restart_world.h"
#include "alloc.h"
#include "shard_rows.h"

#define CLIENTS 60
#define CHANNEL 0x4001

static struct restart r;
static struct turn_config config;
static struct fixture_client client[CLIENTS];

static struct fixture *find_fixture(const struct fixture_client *c)
{
	return restart_at(&r, c);
}

// Each client has an allocation with a channel and a permission.
static void populate(void)
{
	for (unsigned int i = 0; i < CLIENTS; i++) {
		struct fixture_client *c = &client[i];

		*c = (i % 2 ? fixture_eve : fixture_client)("198.51.100.1", (uint16_t)(5000 + i));
		c->endpoint.addr.b[15] = (uint8_t)(i % 7);
		assert_int_equal(fixture_allocate(find_fixture(c), c, 4), 0);
		assert_int_equal(fixture_bind(find_fixture(c), c, CHANNEL, "10.98.0.1", 7000), 0);
		assert_int_equal(fixture_permit(find_fixture(c), c, "10.98.0.2"), 0);
		restart_notes(&r);
	}
}

static int setup(void **state)
{
	config = fixture_config();
	restart_open(&r, &config, 5);
	return 0;
}

static int teardown(void **state)
{
	restart_close(&r);
	return 0;
}

// --- workers -------------------------------------------------------------------------------------

// Media of a client in both directions: from its home, or the worker that the home leads it to, and
// from whichever worker owns the relay port.
static void assert_relays(struct fixture_client *c)
{
	const struct endpoint peer = fixture_endpoint("10.98.0.1", 7000);
	struct fixture *owner = restart_owner(&r, &c->relay);
	struct turn_path path;

	assert_ptr_equal(find_fixture(c), owner);
	assert_int_equal(fixture_channel_data(owner, c, CHANNEL, "hello", 5)->verdict, TURN_RELAY);
	turn_route_path(owner->shard, owner->burst.plan.flow, &path);
	assert_true(endpoint_eq(&path.src, &c->relay) && endpoint_eq(&path.dst, &peer));
	assert_int_equal(fixture_from_peer(owner, &c->relay, &peer, "hello", 5)->channel, CHANNEL);
	turn_route_path(owner->shard, owner->burst.plan.flow, &path);
	assert_true(endpoint_eq(&path.dst, &c->endpoint));
}

static uint64_t redirects(void)
{
	uint64_t n = 0;

	for (unsigned int w = 0; w < r.nb; w++)
		n += fixture_stats(&r.worker[w]).redirects;
	return n;
}

static void check_all(void)
{
	assert_int_equal(r.adopted.allocations, CLIENTS);
	assert_int_equal(r.adopted.channels, CLIENTS);
	assert_int_equal(r.adopted.permissions, 2 * CLIENTS);
	assert_int_equal(turn_quota_total(r.worker[0].quota), CLIENTS);
	assert_int_equal(redirects(), r.adopted.redirects);
	for (unsigned int i = 0; i < CLIENTS; i++)
		assert_relays(&client[i]);
}

// Ports stay where they are with both numbers of slices, and homes change: redirects compensate for
// it.
static void test_workers(void **state)
{
	static const unsigned int nb[] = {1, 3, 2, 2, 4, 1};

	populate();
	for (unsigned int i = 0; i < sizeof(nb) / sizeof(nb[0]); i++) {
		config.workers = nb[i];
		restart_again(&r, &config, 1000);
		check_all();
		assert_true(nb[i] > 1 || redirects() == 0);
		if (i == 1)
			assert_in_range(redirects(), CLIENTS / 3, CLIENTS);
	}
}

// A redirect lasts as long as its allocation, and is freed with it.
static void test_redirects_end(void **state)
{
	populate();
	config.workers = 3;
	restart_again(&r, &config, 1000);
	assert_true(redirects() > 0);
	restart_advance(&r, 250000);
	for (unsigned int w = 0; w < r.nb; w++)
		fixture_expire(&r.worker[w]);
	restart_notes(&r);
	check_all();
	for (unsigned int i = 0; i < CLIENTS; i++) {
		struct fixture *f = find_fixture(&client[i]);
		const struct turn_view v = {.src = client[i].endpoint.addr,
			.src_port = client[i].endpoint.port,
			.listener = client[i].listener};
		uint32_t left;
		const uint32_t slot = turn_shard_client(f->shard, &v, &left);

		assert_int_not_equal(slot, TURN_NONE);
		alloc_end_client(f->shard, slot, TURN_END_KILLED);
		restart_notes(&r);
	}
	assert_int_equal(redirects(), 0);
}

// --- lost allocations ----------------------------------------------------------------------------

// Restarts, and asserts that this number of allocations were lost for reason `loss` and reported as
// ended for reason `end`, and none for another.
static void assert_lost(enum turn_state_loss loss, enum turn_end end, unsigned int nb)
{
	restart_again(&r, &config, 1000);
	for (unsigned int i = 0; i < TURN_STATE_LOST_PERMISSION; i++)
		assert_int_equal(r.adopted.lost[i], i == loss ? nb : 0);
	assert_int_equal(r.adopted.allocations, CLIENTS - nb);
	assert_int_equal(turn_quota_total(r.worker[0].quota), CLIENTS - nb);
	for (unsigned int i = 0; i < TURN_END_END; i++)
		assert_int_equal(r.worker[0].told.ended[i], i == end ? nb : 0);
}

static void test_listener(void **state)
{
	struct turn_listener moved[2] = {config.listeners[0], config.listeners[1]};
	const struct turn_event *e;

	populate();
	moved[0].endpoint.port = 3479;
	config.listeners = moved;
	assert_lost(TURN_STATE_LOST_LISTENER, TURN_END_RESTART, CLIENTS);
	e = fixture_event(&r.worker[0], 0);
	assert_int_equal(e->listener, 255);
	assert_int_equal(e->client.port >= 5000 && e->client.port < 5000 + CLIENTS, true);
	assert_true(addr_eq(&e->relay.addr, &config.relay[0]));
}

// The order of listeners does not matter.
static void test_listeners_move(void **state)
{
	struct turn_listener moved[3] = {
		config.listeners[1], config.listeners[1], config.listeners[0]};

	populate();
	moved[0].endpoint.port = 3479;
	config.listeners = moved;
	config.nb_listeners = 3;
	restart_again(&r, &config, 1000);
	for (unsigned int i = 0; i < CLIENTS; i++)
		client[i].listener = 2;
	check_all();
}

static void test_streams(void **state)
{
	struct turn_listener tcp[2] = {config.listeners[0], config.listeners[1]};

	restart_close(&r);
	tcp[0].transport = TURN_OVER_TCP;
	config.listeners = tcp;
	restart_open(&r, &config, 6);
	populate();
	assert_lost(TURN_STATE_LOST_STREAM, TURN_END_CONNECTION, CLIENTS);
}

static void test_relay_address(void **state)
{
	static struct addr new_relay[2];

	populate();
	new_relay[0] = fixture_endpoint("10.99.0.77", 0).addr;
	new_relay[1] = config.relay[1];
	config.relay = new_relay;
	assert_lost(TURN_STATE_LOST_RELAY, TURN_END_RESTART, CLIENTS);
}

static void test_relay_ports(void **state)
{
	unsigned int above = 0;

	populate();
	for (unsigned int i = 0; i < CLIENTS; i++)
		above += client[i].relay.port > 50127;
	config.port_hi = 50127;
	assert_lost(TURN_STATE_LOST_RELAY, TURN_END_RESTART, above);
	assert_in_range(above, 1, CLIENTS - 1);
}

// A listener may use a port that was a relayed transport address.
static void test_listener_on_port(void **state)
{
	struct turn_listener clashing[3] = {config.listeners[0], config.listeners[1]};

	populate();
	clashing[2] = (struct turn_listener){client[0].relay, TURN_OVER_UDP};
	config.listeners = clashing;
	config.nb_listeners = 3;
	assert_lost(TURN_STATE_LOST_RELAY, TURN_END_RESTART, 1);
}

static void test_user(void **state)
{
	populate();
	config.first.nb_users = 1; // only ivan
	assert_lost(TURN_STATE_LOST_USER, TURN_END_USER, CLIENTS / 2);
	assert_memory_equal(fixture_event(&r.worker[0], 0)->name, "eve", 3);
	assert_int_equal(fixture_refresh(find_fixture(&client[0]), &client[0], 600), 0);
	assert_int_equal(fixture_refresh(find_fixture(&client[1]), &client[1], 600), 401);
}

static void test_client(void **state)
{
	struct prefix deny = {.len = 128};
	unsigned int nb = 0;

	populate();
	deny.addr = client[1].endpoint.addr;
	for (unsigned int i = 0; i < CLIENTS; i++)
		nb += addr_eq(&client[i].endpoint.addr, &deny.addr);
	config.client_deny = &deny;
	config.nb_client_deny = 1;
	assert_lost(TURN_STATE_LOST_DENIED, TURN_END_DENIED, nb);
}

static void test_quota(void **state)
{
	populate();
	config.limits.per_user = 10;
	assert_lost(TURN_STATE_LOST_QUOTA, TURN_END_QUOTA, CLIENTS - 20);
}

static void test_peer(void **state)
{
	struct prefix deny = {fixture_endpoint("10.98.0.2", 0).addr, 128};

	populate();
	config.deny = &deny;
	config.nb_deny = 1;
	assert_lost(TURN_STATE_LOST_PEER, TURN_END_PEER, CLIENTS);
	assert_int_equal(fixture_stats(&r.worker[0]).permissions, 0);
}

static void test_expired(void **state)
{
	populate();
	restart_die(&r);
	restart_up(&r, &config, 600000);
	assert_int_equal(r.adopted.lost[TURN_STATE_LOST_EXPIRED], CLIENTS);
	assert_int_equal(r.worker[0].told.ended[TURN_END_EXPIRED], CLIENTS);
	assert_int_equal(r.adopted.lost[TURN_STATE_LOST_PERMISSION], 0); // lost with it
}

// An allocation above its own limits stays, without the excess objects.
static void test_caps(void **state)
{
	populate();
	config.limits.permissions = 1;
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.allocations, CLIENTS);
	assert_int_equal(r.adopted.permissions, CLIENTS);
	assert_int_equal(r.adopted.lost[TURN_STATE_LOST_PERMISSION], CLIENTS);
	assert_int_equal(r.adopted.channels + r.adopted.lost[TURN_STATE_LOST_CHANNEL], CLIENTS);
	assert_int_equal(fixture_stats(&r.worker[0]).channels, r.adopted.channels);
}

static void test_lifetime(void **state)
{
	struct turn_info row;

	populate();
	config.limits.lifetime_max_s = config.limits.lifetime_default_s = 100;
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.allocations, CLIENTS);
	assert_int_equal(shard_rows(r.worker[0].shard, &row, 1), 1);
	assert_int_equal(row.expires_s, 100); // the maximum that a Refresh would get now
}

// --- shared relay ports --------------------------------------------------------------------------

#ifdef FEATURE_SHARED
static void shared_config(void)
{
	config.shared.enabled = true;
	config.port_lo = 50000;
	config.port_hi = 50063;
	config.limits.allocations = 1000;
	config.shared.peers = 8;
	config.shared.peer_share = 100;
}

// A peer on a shared address belongs to one allocation, also after a restart: to the one that has
// registered it, by a channel or by a Send.
static void test_shared(void **state)
{
	const struct endpoint peer = fixture_endpoint("10.98.0.2", 9000);
	struct fixture_client *c = &client[0];
	struct turn_path path;

	restart_close(&r);
	shared_config();
	restart_open(&r, &config, 7);
	populate();
	fixture_begin(find_fixture(c), STUN_INDICATION, STUN_SEND);
	stun_put_xor_addr(&find_fixture(c)->w, STUN_XOR_PEER_ADDRESS, &peer);
	stun_put(&find_fixture(c)->w, STUN_DATA_ATTR, "hello", 5);
	assert_int_not_equal(fixture_send(find_fixture(c), c)->verdict, TURN_DROP);
	assert_int_equal(fixture_stats(find_fixture(c)).endpoints, CLIENTS + 1);
	for (unsigned int i = 0; i < 2; i++) {
		config.workers = 1 + i;
		restart_again(&r, &config, 1000);
		assert_int_equal(r.adopted.endpoints, CLIENTS + 1);
		check_all();
		assert_int_equal(fixture_from_peer(
					 restart_owner(&r, &c->relay), &c->relay, &peer, "hello", 5)
					 ->verdict,
			TURN_RELAY);
		turn_route_path(find_fixture(c)->shard, find_fixture(c)->burst.plan.flow, &path);
		assert_true(endpoint_eq(&path.dst, &c->endpoint));
	}
}

// An exclusive port does not become a shared one, nor the reverse.
static void test_shared_no_longer(void **state)
{
	populate();
	shared_config();
	assert_lost(TURN_STATE_LOST_RELAY, TURN_END_RESTART, CLIENTS);
}
#endif

// --- forms ---------------------------------------------------------------------------------------

// The form in which a client has named a peer with several addresses survives a restart.
static void test_forms(void **state)
{
	struct turn_local local[2] = {config.local[0], config.local[1]};
	struct fixture_client *c = &client[0];

	restart_close(&r);
	local[0].external = fixture_endpoint("203.0.113.1", 0).addr;
	config.local = local;
	restart_open(&r, &config, 8);
	*c = fixture_client("198.51.100.1", 5000);
	assert_int_equal(fixture_allocate(find_fixture(c), c, 4), 0);
	assert_int_equal(fixture_bind(find_fixture(c), c, CHANNEL, "203.0.113.1", 50200), 0);
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.channels, 1);
	assert_int_equal(fixture_bind(find_fixture(c), c, CHANNEL, "203.0.113.1", 50200), 0);
	assert_int_equal(fixture_bind(find_fixture(c), c, CHANNEL + 1, "203.0.113.1", 50200), 400);
	assert_int_equal(fixture_bind(find_fixture(c), c, CHANNEL + 1, "10.99.0.1", 50200), 508);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_workers),
		T(test_redirects_end),
		T(test_listener),
		T(test_listeners_move),
		T(test_streams),
		T(test_relay_address),
		T(test_relay_ports),
		T(test_listener_on_port),
		T(test_user),
		T(test_client),
		T(test_quota),
		T(test_peer),
		T(test_expired),
		T(test_caps),
		T(test_lifetime),
#ifdef FEATURE_SHARED
		T(test_shared),
		T(test_shared_no_longer),
#endif
		T(test_forms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
