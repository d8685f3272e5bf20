// SPDX-License-Identifier: BSD-3-Clause
// Path MTU discovery on both legs: which values are learnt, from which errors, how long they last,
// and what they cost others.
#include "feature_names.h"
#include "bytes.h"
#include "datapath.h"
#include "drop_of.h"
#include "icmp_frames.h"
#include "turn_line.h"
#include "turn_relay_map.h"
#include "path/worker.h"

#define CHANNEL 0x4000
#define CLIENTS 4
#define UDP4 28 // bytes of headers
#define UDP6 48

static struct dp_world world;
static struct world_client client[CLIENTS];
static struct endpoint peer; // the peer of all clients

static struct world_setup setups[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1},
	{.workers = 3, .rx_queues = 3, .tx_queues = 3},
	{.workers = 2, .rx_queues = 2, .tx_queues = 2, .nic = true},
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .shared = WORLD_SHARED(4)},
};

static void open_with(const struct world_setup *s, bool is_v4, unsigned int nb)
{
	world_open(&world, s);
	peer = world_endpoint(is_v4 ? "198.51.100.30" : "fd99::30", 7000);
	for (unsigned int i = 0; i < nb; i++) {
		world_client(&world, &client[i], is_v4 ? "10.99.0.20" : "fd99::20",
			(uint16_t)(5000 + i));
		assert_int_equal(client_allocate(&world, &client[i], is_v4 ? 4 : 6), 0);
		assert_int_equal(client_bind(&world, &client[i], CHANNEL, &peer), 0);
	}
}

// A client sends data that makes a packet of len bytes to the peer. True if it arrives; otherwise
// it is dropped as mtu-exceeded.
static bool reaches_peer(const struct world_client *c, const struct endpoint *dst, uint16_t channel,
	uint16_t len, bool df)
{
	struct world_datagram d = {.src = c->endpoint, .dst = c->server, .df = df}, got;
	const uint16_t data = (uint16_t)(len - (addr_is_v4(&dst->addr) ? UDP4 : UDP6));
	const uint64_t before = world_dropped(&world, DP_DROP_MTU);
	bool came;

	store_be16(d.data, channel);
	store_be16(d.data + 2, data);
	d.len = (uint16_t)(data + 4);
	world_send(&world, &d);
	world_run(&world);
	came = world_take(&world, dst, &got);
	if (came)
		assert_int_equal(got.len, data);
	assert_int_equal(world_dropped(&world, DP_DROP_MTU) - before, !came);
	assert_int_equal(world.nb_seen, 0);
	return came;
}

// Sends such data without DF, and asserts that our own fragments deliver it.
static void assert_cut(const struct world_client *c, uint16_t len)
{
	struct world_datagram d = {.src = c->endpoint, .dst = c->server};
	struct ip_long got;

	store_be16(d.data, CHANNEL);
	store_be16(d.data + 2, (uint16_t)(len - UDP4));
	d.len = (uint16_t)(len - UDP4 + 4);
	world_send(&world, &d);
	world_run(&world);
	assert_true(world_take_long(&world, &peer, &got));
	assert_int_equal(got.len, len - UDP4);
	assert_int_equal(world_stats(&world).fragments_out, 2);
}

static bool reaches(const struct world_client *c, uint16_t len, bool df)
{
	return reaches_peer(c, &peer, CHANNEL, len, df);
}

// A router on the path reports that a packet of len bytes was too big.
static void too_big(
	const struct endpoint *src, const struct endpoint *dst, uint32_t mtu, uint16_t len)
{
	const bool is_v4 = addr_is_v4(&src->addr);
	const struct icmp_frame e = {.reporter = is_v4 ? "203.0.113.77" : "fd99::77",
		.src = *src,
		.dst = *dst,
		.type = is_v4 ? 3 : 2,
		.code = is_v4 ? 4 : 0,
		.mtu = mtu,
		.len = len};

	icmp_frame_send(&world, &e);
	world_run(&world);
	world.nb_seen = 0; // another test covers what clients are sent
}

static uint64_t learnt(void)
{
	return world_stats(&world).path_mtus;
}

// True if the line of a client has a path note for its peer; a line without one does not vouch.
static bool is_noted(const struct world_client *c)
{
	for (unsigned int i = 0; i < world.dp->nb_workers; i++) {
		const struct worker *w = world.dp->worker[i];

		for (uint32_t slot = 0; slot < turn_relay_map_slots(world.dp->map, i); slot++) {
			const struct turn_line *l = &w->lines[slot];

			if (l->until != 0 && l->mark[0] != 0 &&
				addr_eq(&l->end[0], &c->endpoint.addr) &&
				(uint16_t)l->mark[0] == c->endpoint.port)
				return neigh_noted(w->neigh, l->hop[1]) != NEIGH_NONE;
		}
	}
	return false;
}

static void datagrams_to_a_peer_obey(void **state)
{
	open_with(*state, true, 1);
	assert_true(reaches(&client[0], 1490, true));
	assert_true(is_noted(&client[0]));
	too_big(&client[0].relay, &peer, 1400, 1490);
	assert_int_equal(learnt(), 1);
	assert_true(reaches(&client[0], 1400, true));
	assert_false(reaches(&client[0], 1401, true));
	assert_cut(&client[0], 1490);
	assert_false(is_noted(&client[0]));
	world_close(&world);
	open_with(*state, false, 1);
	assert_true(reaches(&client[0], 1490, false));
	too_big(&client[0].relay, &peer, 1280, 1490);
	assert_true(reaches(&client[0], 1280, false));
	assert_false(reaches(&client[0], 1281, false));
	world_close(&world);
}

static void datagrams_to_a_client_obey(void **state)
{
	struct world_datagram d = {.src = world_endpoint("198.51.100.30", 7000), .df = true}, got;

	open_with(*state, true, 1);
	d.dst = client[0].relay;
	too_big(&client[0].server, &client[0].endpoint, 1400, 1490);
	assert_int_equal(learnt(), 1);
	for (unsigned int i = 0; i < 2; i++) { // with the ChannelData header 1400, 1401
		d.len = (uint16_t)(1400 - UDP4 - 4 + i);
		world_send(&world, &d);
		world_run(&world);
		assert_int_equal(world_take(&world, &client[0].endpoint, &got), i == 0);
		assert_int_equal(world_dropped(&world, DP_DROP_MTU), i);
	}
	assert_true(reaches(&client[0], 1490, true)); // the other direction is another path
	world_close(&world);
}

// True if a packet of len bytes from a peer reaches a client.
static bool reaches_client(const struct world_client *c, uint16_t len)
{
	struct world_datagram d = {.src = peer,
				      .dst = c->relay,
				      .df = true,
				      .len = (uint16_t)(len - UDP4 - 4)},
			      got;

	world_send(&world, &d);
	world_run(&world);
	return world_take(&world, &c->endpoint, &got);
}

// Packets to the client of a dual allocation take one path, whichever relayed transport address
// they came by.
static void both_of_a_dual_allocation_obey(void **state)
{
	const struct endpoint peers[] = {
		world_endpoint("198.51.100.30", 7000), world_endpoint("fd99::30", 7000)};
	struct world_client *const c = &client[0];
	uint16_t pos = 0, off, alen;
	struct world_datagram d = {.df = true, .len = 1300}, got;
	struct endpoint relay[2];
	int family;

	open_with(*state, true, 0);
	world_client(&world, c, "10.99.0.20", 5000);
	client_begin(&world, c, STUN_ALLOCATE);
	stun_put_u32(&c->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put_u32(&c->w, STUN_ADDITIONAL_ADDRESS_FAMILY, 2u << 24);
	assert_int_equal(client_ask(&world, c), 0);
	for (unsigned int i = 0; i < 2; i++) {
		assert_true(stun_next(&c->reply, STUN_XOR_RELAYED_ADDRESS, &pos, &off, &alen));
		assert_true(stun_decode_xor_addr(&c->reply, off, alen, &relay[i], &family));
		assert_int_equal(family, i == 0 ? 4 : 6);
	}
	for (uint16_t i = 0; i < 2; i++)
		assert_int_equal(client_bind(&world, c, CHANNEL + i, &peers[i]), 0);
	for (unsigned int n = 0; n < 44; n++) {
		// both lines vouch by now, where they can; the recent datagrams used the translated
		// one
		for (unsigned int i = 0; n == 40 && i < 80; i++)
			assert_true(reaches_peer(c, &peers[1], CHANNEL + 1, 100, false));
		if (n == 40)
			too_big(&c->server, &c->endpoint, 1000, 1490);
		d.src = peers[n % 2];
		d.dst = relay[n % 2];
		world_send(&world, &d);
		world_run(&world);
		assert_int_equal(world_take(&world, &c->endpoint, &got), n < 40);
	}
	assert_int_equal(learnt(), 1);
	world_close(&world);
}

// A false error about one's own flow is believed for that flow only: to the same peer, a conference
// server, all other clients' packets pass as before, and their lines vouch. Clients that share one
// address are separate, too.
static void a_path_mtu_belongs_to_one_allocation(void **state)
{
	open_with(*state, true, 3); // that share one address
	for (unsigned int i = 0; i < 3; i++) {
		assert_true(reaches(&client[i], 1490, true));
		assert_true(reaches_client(&client[i], 1490));
		assert_true(is_noted(&client[i]));
	}
	for (uint32_t mtu = 1400; mtu >= 600; mtu -= 200) { // each value is new
		too_big(&client[0].relay, &peer, mtu, 1490);
		too_big(&client[0].server, &client[0].endpoint, mtu, 1490);
		for (unsigned int i = 1; i < 3; i++)
			assert_true(is_noted(&client[i])); // their datagrams are fast
	}
	assert_int_equal(learnt(), 2 * 5);
	assert_false(is_noted(&client[0]));
	assert_false(reaches(&client[0], 601, true));
	assert_false(reaches_client(&client[0], 601));
	for (unsigned int i = 1; i < 3; i++) {
		assert_true(reaches(&client[i], 1490, true));
		assert_true(reaches_client(&client[i], 1490));
	}
	// a new allocation has its own path
	world_client(&world, &client[3], "10.99.0.20", 6000);
	assert_int_equal(client_allocate(&world, &client[3], 4), 0);
	assert_int_equal(client_bind(&world, &client[3], CHANNEL, &peer), 0);
	assert_true(is_noted(&client[3]));
	assert_true(reaches(&client[3], 1490, true));
	assert_true(reaches_client(&client[3], 1490));
	world_close(&world);
}

// A path applies to all ports of a peer's address, so a user with one permission cannot fill the
// table with ports. On shared relay ports the peer's port tells which allocation the path belongs
// to.
static void ports_of_a_peer_share_a_path_unless_relay_ports_are_shared(void **state)
{
	const struct world_setup *s = *state;
	struct endpoint second_port;

	open_with(s, true, 1);
	second_port = peer;
	second_port.port++;
	assert_int_equal(client_bind(&world, &client[0], CHANNEL + 1, &second_port), 0);
	too_big(&client[0].relay, &peer, 1400, 1490);
	assert_false(reaches(&client[0], 1490, true));
	assert_int_equal(
		reaches_peer(&client[0], &second_port, CHANNEL + 1, 1490, true), s->shared != 0);
	if (s->shared == 0) {
		for (uint16_t port = 1; port < 1000; port++) {
			second_port.port = port;
			too_big(&client[0].relay, &second_port, 1400, 1490);
		}
		assert_int_equal(learnt(), 1);
	}
	world_close(&world);
}

static void one_error_a_second(struct dp_world *w)
{
	w->conf.turn.limits.icmp = (struct limit){1, 1};
	w->conf.turn.icmp_tell = TURN_ICMP_TELL_ALL;
}

// False errors that use up the client's notifications do not stop path learning: a value that is
// not new costs nothing.
static void lies_do_not_hide_the_truth(void **state)
{
	struct world_setup s = *(const struct world_setup *)*state;

	s.change = one_error_a_second;
	open_with(&s, true, 1);
	for (unsigned int i = 0; i < 10; i++) {
		too_big(&client[0].relay, &peer, 1490, 1490);
		too_big(&client[0].server, &client[0].endpoint, 1490, 1490);
	}
	assert_int_equal(world_dropped(&world, drop_of_turn(TURN_DROP_ICMP_RATE)), 2 * 10 - 1);
	too_big(&client[0].relay, &peer, 1400, 1490);
	assert_int_equal(learnt(), 1);
	assert_false(reaches(&client[0], 1490, true));
	too_big(&client[0].server, &client[0].endpoint, 1400, 1490);
	assert_int_equal(learnt(), 2);
	assert_false(reaches_client(&client[0], 1490));
	world_close(&world);
}

#ifdef FEATURE_RESERVATIONS
// An allocation on a reserved port is not always on its client's worker, and errors about datagrams
// to the client come in on that worker.
static void the_worker_that_sends_to_a_redirected_client_learns(void **state)
{
	uint64_t redirected = 0;
	int family;

	open_with(*state, true, 0);
	for (uint16_t i = 0; i < 16; i++) {
		struct world_client *a = &client[0], *b = &client[1];

		world_client(&world, a, "10.99.0.20", (uint16_t)(42000 + 2 * i));
		// Toeplitz is linear: with adjacent ports, the homes would differ for all pairs or
		// for none
		world_client(&world, b, "10.99.0.20", (uint16_t)(43001 + 37 * i));
		client_begin(&world, a, STUN_ALLOCATE);
		stun_put_u32(&a->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
		stun_put(&a->w, STUN_EVEN_PORT, "\x80", 1);
		assert_int_equal(client_ask(&world, a), 0);
		memcpy(b->token, a->answer + a->reply.off[STUN_RESERVATION_TOKEN], 8);
		client_begin(&world, b, STUN_ALLOCATE);
		stun_put_u32(&b->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
		stun_put(&b->w, STUN_RESERVATION_TOKEN, b->token, 8);
		assert_int_equal(client_ask(&world, b), 0);
		assert_true(stun_decode_xor_addr(&b->reply, b->reply.off[STUN_XOR_RELAYED_ADDRESS],
			b->reply.alen[STUN_XOR_RELAYED_ADDRESS], &b->relay, &family));
		assert_int_equal(client_bind(&world, b, CHANNEL, &peer), 0);
		redirected = world_stats(&world).turn.redirects;
		assert_true(reaches_client(b, 1490));
		too_big(&b->server, &b->endpoint, 1400, 1490);
		assert_int_equal(learnt(), i + 1);
		assert_false(reaches_client(b, 1490));
		assert_true(reaches_client(b, 1400));
	}
	assert_true(redirected > 0); // by chance about half of them, or two in three
	assert_int_equal(world_dropped(&world, drop_of_turn(TURN_DROP_ICMP_NO_ALLOCATION)), 0);
	world_close(&world);
}
#endif

static void implausible_reports_are_ignored(void **state)
{
	struct endpoint target;

	open_with(*state, true, 1);
	too_big(&client[0].relay, &peer, 68, 1490);
	too_big(&client[0].relay, &peer, 575, 1490);
	too_big(&client[0].relay, &peer, 1490, 1490);
	too_big(&client[0].relay, &peer, 1500, 1501);
	too_big(&client[0].relay, &peer, 1400, 1400);
	target = peer;
	target.addr.b[15]++; // no permission
	too_big(&client[0].relay, &target, 1400, 1490);
	target = client[0].relay;
	target.port = (uint16_t)(target.port + (target.port < 50256 ? 128 : -128)); // no allocation
	too_big(&target, &peer, 1400, 1490);
	target = client[0].endpoint;
	target.port++; // not our client
	too_big(&client[0].server, &target, 1400, 1490);
	assert_int_equal(learnt(), 0);
	assert_true(reaches(&client[0], 1490, true));
	assert_true(is_noted(&client[0]));
	// never more than the known value
	too_big(&client[0].relay, &peer, 1300, 1490);
	too_big(&client[0].relay, &peer, 1400, 1490);
	assert_int_equal(learnt(), 1);
	assert_false(reaches(&client[0], 1301, true));
	world_close(&world);
	open_with(*state, false, 1);
	too_big(&client[0].relay, &peer, 1279, 1490);
	assert_int_equal(learnt(), 0);
	world_close(&world);
}

static void after_ten_minutes_a_larger_size_is_tried(void **state)
{
	struct world_client *c = &client[0];

	open_with(*state, true, 1);
	too_big(&c->relay, &peer, 1400, 1490);
	for (unsigned int i = 0; i < 3; i++) {
		assert_false(reaches(c, 1490, true));
		world_wait(&world, 199 * 1000);
		client_begin(&world, c, STUN_REFRESH);
		assert_int_equal(client_ask(&world, c), 0);
		assert_int_equal(client_bind(&world, c, CHANNEL, &peer), 0);
	}
	world_wait(&world, 4000);
	assert_true(reaches(c, 1490, true));
	assert_true(reaches(c, 1490, true));
	assert_true(is_noted(c));
	world_close(&world);
}

static void remember_four(struct dp_world *w)
{
	w->conf.path_mtus = 4;
}

static void remember_none(struct dp_world *w)
{
	w->conf.path_mtus = 0;
}

// One user causes errors about their own peers until these fill the table: it then forgets a path
// that another user needs, so routers report that path again; the other user's flow continues.
static void a_user_who_fills_the_table_makes_others_learn_again(void **state)
{
	struct world_setup s = *(const struct world_setup *)*state;

	s.change = remember_four;
	open_with(&s, true, 1);
	world_client(&world, &client[1], "10.99.0.21", 6000);
	assert_int_equal(client_allocate(&world, &client[1], 4), 0);
	too_big(&client[0].relay, &peer, 1400, 1490);
	assert_false(reaches(&client[0], 1490, true));
	for (uint8_t i = 0; i < 4; i++) {
		const struct endpoint first_peer =
			world_endpoint("198.51.100.100", (uint16_t)(7000 + i));
		struct endpoint target = first_peer;

		target.addr.b[15] += i;
		assert_int_equal(client_permit(&world, &client[1], &target), 0);
		too_big(&client[1].relay, &target, 600, 1490);
	}
	assert_int_equal(learnt(), 5);
	assert_true(reaches(&client[0], 1490, true)); // like before the path was known
	too_big(&client[0].relay, &peer, 1400, 1490);
	assert_false(reaches(&client[0], 1490, true));
	assert_true(reaches(&client[0], 1400, true));
	world_close(&world);
	s.change = remember_none;
	open_with(&s, true, 1);
	too_big(&client[0].relay, &peer, 1400, 1490);
	assert_int_equal(learnt(), 0);
	assert_true(reaches(&client[0], 1490, true));
	world_close(&world);
}

// One user for each client.
static struct turn_user people[CLIENTS] = {{.name = "ivan", .password = "pw"},
	{.name = "olga", .password = "pw"}, {.name = "anna", .password = "pw"},
	{.name = "otto", .password = "pw"}};

static void permit_many(struct dp_world *w)
{
	w->conf.turn.limits.permissions = 256;
	w->conf.turn.first.users = people;
	w->conf.turn.first.nb_users = CLIENTS;
}

// An error about one of the first client's many peers.
static void lie(unsigned int peer_nb, uint32_t mtu)
{
	const struct endpoint target = {
		.addr = {.b = {[10] = 0xff, 0xff, 198, 51, 100, (uint8_t)(100 + peer_nb)}},
		.port = 7000};

	too_big(&client[0].relay, &target, mtu, 1490);
}

// New paths of a user are learnt at 10 a second, 50 at once: each may replace another one. Paths
// that other users need are still learnt, unless their users share a bucket: three users rarely all
// do.
static void new_paths_are_learnt_at_a_bounded_rate(void **state)
{
	struct world_setup s = *(const struct world_setup *)*state;
	unsigned int others = 0;
	uint64_t before, refused;

	s.change = permit_many;
	open_with(&s, true, 1);
	for (unsigned int i = 1; i < CLIENTS; i++) {
		world_client(&world, &client[i], "10.99.0.20", (uint16_t)(5000 + i));
		client_user(&world, &client[i], people[i].name);
		assert_int_equal(client_allocate(&world, &client[i], 4), 0);
		assert_int_equal(client_bind(&world, &client[i], CHANNEL, &peer), 0);
	}
	for (unsigned int i = 0; i < 100; i++) {
		struct endpoint target = world_endpoint("198.51.100.100", 7000);

		target.addr.b[15] += (uint8_t)i;
		assert_int_equal(client_permit(&world, &client[0], &target), 0);
	}
	world_wait(&world, 100 * 1000);
	for (unsigned int i = 0; i < 100; i++) {
		for (unsigned int again = 0; again < 2; again++) // a lower value is not a new path
			lie(i, 1400 - again);
	}
	assert_in_range(learnt(), 2 * 50, 2 * 60);
	refused = world_stats(&world).path_mtus_refused;
	assert_int_equal(refused, 2 * 100 - learnt());
	for (unsigned int i = 99; world_stats(&world).path_mtus_refused == refused; i--)
		lie(i, 1398); // until no token is left
	before = learnt();
	for (unsigned int i = 1; i < CLIENTS; i++) {
		too_big(&client[i].relay, &peer, 1400, 1490);
		others += !reaches(&client[i], 1490, true);
	}
	assert_in_range(others, 1, CLIENTS - 1);
	assert_int_equal(learnt(), before + others);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_CASE(datagrams_to_a_peer_obey, setups, 0),
		WORLD_CASE(datagrams_to_a_peer_obey, setups, 1),
		WORLD_CASE(datagrams_to_a_client_obey, setups, 0),
		WORLD_CASE(datagrams_to_a_client_obey, setups, 1),
		WORLD_CASE(datagrams_to_a_client_obey, setups, 2),
		WORLD_CASE(both_of_a_dual_allocation_obey, setups, 0),
		WORLD_CASE(both_of_a_dual_allocation_obey, setups, 1),
		WORLD_CASE(a_path_mtu_belongs_to_one_allocation, setups, 0),
		WORLD_CASE(a_path_mtu_belongs_to_one_allocation, setups, 1),
		WORLD_CASE(ports_of_a_peer_share_a_path_unless_relay_ports_are_shared, setups, 0),
		WORLD_CASE(ports_of_a_peer_share_a_path_unless_relay_ports_are_shared, setups, 3),
		WORLD_CASE(lies_do_not_hide_the_truth, setups, 0),
		WORLD_CASE(lies_do_not_hide_the_truth, setups, 1),
#ifdef FEATURE_RESERVATIONS
		WORLD_CASE(the_worker_that_sends_to_a_redirected_client_learns, setups, 1),
		WORLD_CASE(the_worker_that_sends_to_a_redirected_client_learns, setups, 2),
#endif
		WORLD_CASE(implausible_reports_are_ignored, setups, 0),
		WORLD_CASE(implausible_reports_are_ignored, setups, 1),
		WORLD_CASE(after_ten_minutes_a_larger_size_is_tried, setups, 0),
		WORLD_CASE(a_user_who_fills_the_table_makes_others_learn_again, setups, 0),
		WORLD_CASE(new_paths_are_learnt_at_a_bounded_rate, setups, 0),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
