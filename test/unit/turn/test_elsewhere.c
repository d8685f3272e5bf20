// SPDX-License-Identifier: BSD-3-Clause
// Any free relay port serves any client, whichever workers own the two: few ports with several
// workers, pairs, both families, ports for TCP, media in both directions, a restart. The share of a
// worker that one user can take, and that no other user is refused for it.
#include "feature_names.h"
#include "relayed/relay_map.h"
#include "restart_world.h"

#include <netinet/in.h>

#define CLIENTS 64
#define CHANNEL 0x4000

static struct restart r;
static struct turn_config config;
static struct fixture_client client[CLIENTS];
static uint16_t next_port; // of the clients

static void open(unsigned int workers, uint16_t nb_ports)
{
	config.workers = workers;
	config.port_hi = (uint16_t)(config.port_lo + nb_ports - 1);
	restart_open(&r, &config, 7);
}

static int setup(void **state)
{
	config = fixture_config();
	config.nonce_lifetime_s = 3600;
	next_port = 1024;
	return 0;
}

static int teardown(void **state)
{
	restart_close(&r);
	return 0;
}

// A client of a user whose home is the given worker, or any worker if home is -1.
static struct fixture_client client_of(const char *user, int home)
{
	struct fixture_client c;

	do {
		c = strcmp(user, "eve") == 0 ? fixture_eve("198.51.100.7", next_port)
					     : fixture_client("198.51.100.7", next_port);
		next_port++;
	} while (home >= 0 && restart_first(&r, &c)->params.worker != home);
	return c;
}

static struct fixture *begin(const struct fixture_client *c)
{
	struct fixture *f = restart_first(&r, c);

	fixture_begin(f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f->w, STUN_REQUESTED_TRANSPORT, (uint32_t)IPPROTO_UDP << 24);
	return f;
}

// Sends the prepared Allocate to the client's home. Returns the code of the answer.
static unsigned int finish(struct fixture_client *c)
{
	struct fixture *f;
	const unsigned int code = restart_ask(&r, c, &f);

	if (code == 0)
		c->relay = fixture_answer_addr(f, STUN_XOR_RELAYED_ADDRESS);
	return code;
}

static unsigned int allocate(struct fixture_client *c)
{
	begin(c);
	return finish(c);
}

static unsigned int refresh(struct fixture_client *c, uint32_t lifetime_s)
{
	struct fixture *f = restart_first(&r, c);

	fixture_begin(f, STUN_REQUEST, STUN_REFRESH);
	stun_put_u32(&f->w, STUN_LIFETIME, lifetime_s);
	return restart_ask(&r, c, NULL);
}

static uint64_t total(uint64_t counter(const struct turn_stats *s))
{
	uint64_t n = 0;

	for (unsigned int w = 0; w < r.nb; w++) {
		const struct turn_stats s = fixture_stats(&r.worker[w]);

		n += counter(&s);
	}
	return n;
}

static uint64_t redirects_of(const struct turn_stats *s)
{
	return s->redirects;
}

static uint64_t allocations_of(const struct turn_stats *s)
{
	return s->allocations;
}

// --- media ---------------------------------------------------------------------------------------

// Binds a channel, and relays through it in both directions: the client's data comes to its home
// first, the peer's data to the worker that owns the port.
static void assert_relays(struct fixture_client *c)
{
	const struct endpoint peer = fixture_endpoint("10.98.0.1", 7000);
	struct fixture *f = restart_first(&r, c), *owner = restart_owner(&r, &c->relay);
	struct turn_path path;

	fixture_begin(f, STUN_REQUEST, STUN_CHANNEL_BIND);
	stun_put_u32(&f->w, STUN_CHANNEL_NUMBER, (uint32_t)CHANNEL << 16);
	stun_put_xor_addr(&f->w, STUN_XOR_PEER_ADDRESS, &peer);
	assert_int_equal(restart_ask(&r, c, NULL), 0);
	fixture_channel_data(f, c, CHANNEL, "hello", 5);
	f = restart_carry(&r, f, c);
	assert_ptr_equal(f, owner);
	assert_int_equal(f->burst.plan.verdict, TURN_RELAY);
	turn_route_path(f->shard, f->burst.plan.flow, &path);
	assert_true(endpoint_eq(&path.src, &c->relay));
	assert_true(endpoint_eq(&path.dst, &peer));
	assert_int_equal(fixture_from_peer(owner, &c->relay, &peer, "hello", 5)->channel, CHANNEL);
	turn_route_path(owner->shard, owner->burst.plan.flow, &path);
	assert_true(endpoint_eq(&path.dst, &c->endpoint));
}

// --- few ports -----------------------------------------------------------------------------------

// All ports of a small range are given out, to clients of one home or of any; then 508. Each can be
// used and returned.
static void serve_all(unsigned int workers, uint16_t ports, int home)
{
	const unsigned int one = ports / 2u;
	struct fixture_client more;

	open(workers, ports);
	for (unsigned int i = 0; i < ports; i++) {
		client[i] = client_of("ivan", home);
		assert_int_equal(allocate(&client[i]), 0);
		for (unsigned int j = 0; j < i; j++)
			assert_false(endpoint_eq(&client[j].relay, &client[i].relay));
	}
	more = client_of("eve", home);
	assert_int_equal(allocate(&more), 508);
	assert_int_equal(total(allocations_of), ports);
	for (unsigned int i = 0; i < ports; i++)
		assert_relays(&client[i]);
	assert_int_equal(refresh(&client[one], 0), 0);
	restart_advance(&r, 2000);
	assert_int_equal(allocate(&more), 0);
	assert_true(endpoint_eq(&more.relay, &client[one].relay));
	for (unsigned int i = 0; i < ports; i++)
		assert_int_equal(refresh(&client[i], 0), i == one ? 437 : 0);
	assert_int_equal(refresh(&more, 0), 0);
	assert_int_equal(total(redirects_of), 0);
	assert_int_equal(turn_quota_total(r.worker[0].quota), 0);
	restart_close(&r);
}

static void test_few_ports(void **state)
{
	for (int home = -1; home < 2; home++) {
		serve_all(2, 41, home);
		serve_all(4, 41, home);
		serve_all(4, 16, home);
		serve_all(3, 5, home);
		serve_all(4, 1, home); // three workers have no port at all
	}
	open(1, 1);
}

// A family that the box does not have is refused with another code.
static void test_family(void **state)
{
	struct fixture_client c;

	config.nb_relay = 1;
	open(4, 3);
	for (int w = 0; w < 4; w++) {
		c = client_of("ivan", w);
		stun_put_u32(&begin(&c)->w, STUN_REQUESTED_ADDRESS_FAMILY, 2u << 24);
		assert_int_equal(finish(&c), 440);
	}
	for (int w = 0; w < 3; w++) {
		c = client_of("ivan", w);
		assert_int_equal(allocate(&c), 0);
	}
	c = client_of("ivan", 3);
	assert_int_equal(allocate(&c), 508);
}

// --- pairs and both families ---------------------------------------------------------------------

static unsigned int allocate_even(struct fixture_client *c, uint8_t reserve)
{
	stun_put(&begin(c)->w, STUN_EVEN_PORT, &reserve, 1);
	return finish(c);
}

#ifdef FEATURE_RESERVATIONS
// Every even port and every pair is found on whichever worker it is. The token leads to its port.
static void test_pairs(void **state)
{
	struct fixture_client second;
	struct fixture *f;

	open(4, 16);
	for (unsigned int i = 0; i < 8; i++) {
		client[i] = client_of("ivan", 2);
		stun_put(&begin(&client[i])->w, STUN_EVEN_PORT, (const uint8_t[]){0x80}, 1);
		assert_int_equal(restart_ask(&r, &client[i], &f), 0);
		client[i].relay = fixture_answer_addr(f, STUN_XOR_RELAYED_ADDRESS);
		assert_int_equal(client[i].relay.port % 2, 0);
		memcpy(client[i].token, f->answer.data + f->answer.off[STUN_RESERVATION_TOKEN], 8);
	}
	for (unsigned int i = 0; i < 8; i++) {
		second = client_of("ivan", 1);
		stun_put(&begin(&second)->w, STUN_RESERVATION_TOKEN, client[i].token, 8);
		assert_int_equal(finish(&second), 0);
		assert_int_equal(second.relay.port, client[i].relay.port + 1);
		assert_relays(&second);
	}
	second = client_of("ivan", 0);
	assert_int_equal(allocate_even(&second, 0), 508);
}
#endif

// Seven even ports are taken. The eighth belongs to another worker, and all workers have odd ones.
static void test_even(void **state)
{
	struct fixture_client c;

	open(4, 16);
	for (unsigned int i = 0; i < 8; i++) {
		c = client_of("ivan", -1);
		assert_int_equal(allocate_even(&c, 0), 0);
		assert_int_equal(c.relay.port % 2, 0);
	}
	c = client_of("ivan", 0);
	assert_int_equal(allocate_even(&c, 0), 508);
	for (unsigned int i = 0; i < 8; i++) {
		c = client_of("ivan", 3);
		assert_int_equal(allocate(&c), 0);
		assert_int_equal(c.relay.port % 2, 1);
	}
}

static unsigned int allocate_both(struct fixture_client *c, struct fixture **f)
{
	stun_put_u32(&begin(c)->w, STUN_ADDITIONAL_ADDRESS_FAMILY, 2u << 24);
	return restart_ask(&r, c, f);
}

static unsigned int addresses(const struct fixture *f)
{
	uint16_t pos = 0, off, alen;
	unsigned int n = 0;

	while (stun_next(&f->answer, STUN_XOR_RELAYED_ADDRESS, &pos, &off, &alen))
		n++;
	return n;
}

// While a worker has both families, a client gets both; then it gets the one that is left.
static void test_dual(void **state)
{
	struct fixture_client c;
	struct fixture *f;

	open(4, 8); // two of each family on each worker
	for (unsigned int i = 0; i < 3; i++) {
		c = client_of("ivan", 1);
		stun_put_u32(&begin(&c)->w, STUN_REQUESTED_ADDRESS_FAMILY, 2u << 24);
		assert_int_equal(finish(&c), 0);
	}
	for (unsigned int i = 0; i < 5; i++) {
		client[i] = client_of("ivan", 1);
		assert_int_equal(allocate_both(&client[i], &f), 0);
		assert_int_equal(addresses(f), 2);
		client[i].relay = fixture_answer_addr(f, STUN_XOR_RELAYED_ADDRESS);
		assert_relays(&client[i]);
	}
	for (unsigned int i = 0; i < 3; i++) {
		c = client_of("ivan", 1);
		assert_int_equal(allocate_both(&c, &f), 0);
		assert_int_equal(addresses(f), 1);
		assert_true(stun_has(&f->answer, STUN_ADDRESS_ERROR_CODE));
	}
	c = client_of("ivan", 1);
	assert_int_equal(allocate_both(&c, &f), 508);
	assert_int_equal(total(allocations_of), 3 + 2 * 5 + 3);
	assert_int_equal(turn_quota_total(r.worker[0].quota), 3 + 2 * 5 + 3);
}

// --- requests that cross -------------------------------------------------------------------------

// Lets an Allocate reach the worker that the client's home has chosen.
static struct fixture *send_first(struct fixture_client *c, struct fixture **home)
{
	*home = begin(c);
	fixture_sign(*home, c);
	fixture_send(*home, c);
	assert_int_equal((*home)->burst.plan.verdict, TURN_HANDOVER);
	return &r.worker[(*home)->burst.plan.flow];
}

// Takes all ports of a worker for its own clients.
static void fill(unsigned int worker)
{
	struct fixture_client c;

	do {
		c = client_of("ivan", (int)worker);
		assert_int_equal(allocate(&c), 0);
	} while (restart_owner(&r, &c.relay)->params.worker == worker);
}

// The last port of the chosen worker is taken before the request arrives. The request goes back to
// the home, which chooses another worker.
static void test_given_back(void **state)
{
	struct fixture_client c, more;
	struct fixture *home, *chosen;

	open(4, 16);
	for (unsigned int i = 0; i < 4; i++) { // the home has no ports left
		more = client_of("ivan", 0);
		assert_int_equal(allocate(&more), 0);
	}
	c = client_of("ivan", 0);
	chosen = send_first(&c, &home);
	fill(chosen->params.worker);
	chosen = restart_carry(&r, home, &c);
	restart_notes(&r);
	assert_int_equal(fixture_code(chosen), 0);
	c.relay = fixture_answer_addr(chosen, STUN_XOR_RELAYED_ADDRESS);
	assert_ptr_equal(chosen, restart_owner(&r, &c.relay));
	assert_relays(&c);
	assert_int_equal(refresh(&c, 0), 0);
}

// If no worker has a port by then, the client gets an error, and no redirect remains.
static void test_given_back_in_vain(void **state)
{
	struct fixture_client c, more;
	struct fixture *home, *chosen;

	open(2, 8);
	for (unsigned int i = 0; i < 7; i++) {
		more = client_of("ivan", 0);
		assert_int_equal(allocate(&more), 0);
	}
	c = client_of("ivan", 0);
	chosen = send_first(&c, &home);
	assert_int_equal(total(redirects_of), 4);
	more = client_of("ivan", 1);
	assert_int_equal(allocate(&more), 0);
	chosen = restart_carry(&r, home, &c);
	restart_notes(&r);
	assert_int_equal(fixture_code(chosen), 508);
	restart_advance(&r, 1);
	assert_int_equal(total(redirects_of), 3);
	assert_int_equal(allocate(&c), 508);
	assert_int_equal(total(redirects_of), 3);
}

// A retransmitted request finds the allocation that the first one has made.
static void test_sent_again(void **state)
{
	struct fixture_client c;
	struct fixture *home, *f;
	struct endpoint relay;

	open(4, 4);
	c = client_of("ivan", 3);
	home = begin(&c);
	assert_int_equal(restart_ask(&r, &c, &f), 0);
	assert_ptr_not_equal(home, f);
	relay = fixture_answer_addr(f, STUN_XOR_RELAYED_ADDRESS);
	fixture_resend(home, &c);
	f = restart_carry(&r, home, &c);
	assert_int_equal(fixture_code(f), 0);
	c.relay = fixture_answer_addr(f, STUN_XOR_RELAYED_ADDRESS);
	assert_true(endpoint_eq(&relay, &c.relay));
	assert_int_equal(total(allocations_of), 1);
}

// The process dies. Its successor leads clients to the workers of their ports.
static void test_restart(void **state)
{
	open(4, 16);
	for (unsigned int i = 0; i < 16; i++) {
		client[i] = client_of("ivan", 0);
		assert_int_equal(allocate(&client[i]), 0);
	}
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.allocations, 16);
	assert_int_equal(r.adopted.redirects, 12);
	for (unsigned int i = 0; i < 16; i++)
		assert_relays(&client[i]);
}

// --- an address that is lost ---------------------------------------------------------------------

static void test_lost(void **state)
{
	static struct addr relay[2];
	struct fixture_client c;

	relay[0] = fixture_endpoint("10.99.0.1", 0).addr;
	relay[1] = fixture_endpoint("10.99.0.2", 0).addr;
	config.relay = relay;
	config.nb_relay = 2; // each worker has one
	open(2, 4);
	turn_relay_map_lose(r.worker[0].map, 0, true);
	for (unsigned int i = 0; i < 4; i++) {
		c = client_of("ivan", 0);
		assert_int_equal(allocate(&c), 0);
		assert_true(addr_eq(&c.relay.addr, &relay[1]));
	}
	c = client_of("ivan", 1);
	assert_int_equal(allocate(&c), 508);
	turn_relay_map_lose(r.worker[0].map, 0, false);
	assert_int_equal(allocate(&c), 0);
	assert_true(addr_eq(&c.relay.addr, &relay[0]));
}

#ifdef FEATURE_SHARED
// --- shared ports --------------------------------------------------------------------------------

// Places on shared ports belong to workers, too.
static void test_shared(void **state)
{
	struct fixture_client c;

	config.shared.enabled = true;
	config.limits.allocations = 8192; // 4096 places on each of four workers
	config.shared.peers = 4;
	config.shared.peer_share = 100;
	config.pools.per_user = 100;
	open(4, 4);
	for (unsigned int n = 0; n < 4096 + 1024; n++) {
		c = client_of("ivan", 0);
		assert_int_equal(allocate(&c), 0);
	}
	assert_int_equal(total(redirects_of), 1024);
}
#endif

// --- ports for TCP -------------------------------------------------------------------------------

#ifdef FEATURE_TCP
static unsigned int allocate_tcp(struct fixture_client *c)
{
	struct fixture *f;

	c->listener = 2;
	f = begin(c);
	fixture_begin(f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f->w, STUN_REQUESTED_TRANSPORT, (uint32_t)IPPROTO_TCP << 24);
	fixture_sign(f, c);
	fixture_send(f, c);
	f = restart_carry(&r, f, c);
	restart_notes(&r);
	return (f->burst.plan.flags & TURN_PLAN_ORDER) != 0 ? 0 : fixture_code(f);
}

static void test_tcp_ports(void **state)
{
	struct fixture_client c;

	fixture_add_tcp(&config, 40000, 40004);
	config.pools.per_user = 100;
	open(4, 64);
	for (unsigned int i = 0; i < 5; i++) {
		c = client_of("ivan", -1);
		assert_int_equal(allocate_tcp(&c), 0);
	}
	c = client_of("ivan", -1);
	assert_int_equal(allocate_tcp(&c), 508);
}

// One user takes at most a share of them, whatever number they ask for (limits.pool.per-user).
static void test_tcp_share(void **state)
{
	unsigned int of_ivan = 0, of_eve = 0;
	struct fixture_client c;

	fixture_add_tcp(&config, 40000, 40099);
	open(2, 256);
	for (unsigned int i = 0; i < 200; i++) {
		c = client_of("ivan", -1);
		of_ivan += allocate_tcp(&c) == 0;
	}
	assert_int_equal(of_ivan, 24); // a quarter of 50, on each worker
	assert_int_equal(allocate_tcp(&c), 486);
	for (unsigned int i = 0; i < 24; i++) {
		c = client_of("eve", -1);
		of_eve += allocate_tcp(&c) == 0;
	}
	assert_int_equal(of_eve, 24);
}
#endif

#define EACH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(test_few_ports),
		EACH(test_family),
#ifdef FEATURE_RESERVATIONS
		EACH(test_pairs),
#endif
		EACH(test_even),
		EACH(test_dual),
		EACH(test_given_back),
		EACH(test_given_back_in_vain),
		EACH(test_sent_again),
		EACH(test_restart),
		EACH(test_lost),
#ifdef FEATURE_SHARED
		EACH(test_shared),
#endif
#ifdef FEATURE_TCP
		EACH(test_tcp_ports),
		EACH(test_tcp_share),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
