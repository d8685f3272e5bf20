// SPDX-License-Identifier: BSD-3-Clause
// The steering ladder end to end: real TURN traffic of both families through a software NIC, which
// follows its rules and RSS. With rules nothing is handed over; without them, or with a NIC that
// ignores them, all traffic still arrives.
#include "bytes.h"
#include "datapath.h"
#include "dp_world.h"
#include "nicmodel.h"
#include "steering/flow_ladder.h"
#include "turn_relay_map.h"
#include "conf_drivers.h"

#define CHANNEL 0x4001
#define CLIENTS_MAX 64
#define EACH 3 // datagrams of a client, and of its peer

static struct dp_world world;
static struct world_client client[CLIENTS_MAX];
static struct endpoint peer[CLIENTS_MAX];
static unsigned int clients;
static uint64_t sent[2]; // from peers, to relay addresses of a family; [is_v4]
static uint64_t astray[2]; // of these, on a queue of a worker that is not their home

// --- traffic ------------------------------------------------------------------------------------

// Every pair of families, on-link and behind the gateway; every third client has no channel.
static void cast(struct dp_world *w, unsigned int nb)
{
	static const char *const client_text[] = {
		"10.99.0.20", "fd99::20", "198.51.100.5", "2a00:db9::5"};
	static const char *const peer_text[] = {
		"10.99.0.30", "fd99::30", "198.51.100.9", "fd99::31"};

	clients = nb;
	sent[0] = sent[1] = astray[0] = astray[1] = 0;
	for (unsigned int i = 0; i < nb; i++) {
		world_client(w, &client[i], client_text[i % 4], (uint16_t)(40000 + i * 7));
		peer[i] = world_endpoint(peer_text[i / 2 % 4], (uint16_t)(7000 + i * 3));
		assert_int_equal(
			client_allocate(w, &client[i], addr_is_v4(&peer[i].addr) ? 4 : 6), 0);
		if (i % 3 == 0)
			assert_int_equal(client_permit(w, &client[i], &peer[i]), 0);
		else
			assert_int_equal(client_bind(w, &client[i], CHANNEL, &peer[i]), 0);
	}
}

static void send_up(struct dp_world *w, unsigned int i, uint32_t number)
{
	static const uint8_t zero[STUN_TID_LEN];
	uint8_t message[200], data[4];
	struct stun_writer sw;

	store_be32(data, number);
	if (i % 3 != 0) {
		client_channel_data(w, &client[i], CHANNEL, data, sizeof(data));
		return;
	}
	stun_begin(&sw, message, sizeof(message), STUN_INDICATION, STUN_SEND, zero);
	stun_put_xor_addr(&sw, STUN_XOR_PEER_ADDRESS, &peer[i]);
	stun_put(&sw, STUN_DATA_ATTR, data, sizeof(data));
	world_send_bytes(w, &client[i].endpoint, &client[i].server, message, stun_end(&sw));
}

static void send_down(struct dp_world *w, unsigned int i, uint32_t number)
{
	const struct endpoint *relayed = &client[i].relay;
	const int relay = turn_relay_map_find(w->dp->map, &relayed->addr);
	const bool is_v4 = addr_is_v4(&relayed->addr);
	struct world_datagram d = {.src = peer[i], .dst = *relayed, .len = 4};
	uint8_t frame[2048];
	unsigned int home;
	uint32_t slot, hash;
	size_t len;

	store_be32(d.data, number);
	len = world_frame(w, &d, frame);
	world_inject(w, 0, frame, len);
	assert_true(
		turn_relay_map_home(w->dp->map, (unsigned int)relay, relayed->port, &home, &slot));
	sent[is_v4]++;
	astray[is_v4] += nicmodel_queue(w->dp->port[0].port, frame, len, &hash) != home;
}

static void expect_up(struct dp_world *w, unsigned int i, uint32_t number)
{
	struct world_datagram d;

	assert_true(world_take(w, &peer[i], &d));
	assert_true(endpoint_eq(&d.src, &client[i].relay));
	assert_int_equal(d.len, 4);
	assert_int_equal(load_be32(d.data), number);
}

static void expect_down(struct dp_world *w, unsigned int i, uint32_t number)
{
	struct world_datagram d;
	struct stun_msg m;

	assert_true(world_take(w, &client[i].endpoint, &d));
	assert_true(endpoint_eq(&d.src, &client[i].server));
	if (i % 3 == 0) {
		assert_int_equal(stun_parse(d.data, d.len, &m), 0);
		assert_int_equal(m.method, STUN_DATA);
		assert_int_equal(m.alen[STUN_DATA_ATTR], 4);
		assert_int_equal(load_be32(d.data + m.off[STUN_DATA_ATTR]), number);
	} else {
		assert_int_equal(d.len, 8);
		assert_int_equal(load_be16(d.data), CHANNEL);
		assert_int_equal(load_be32(d.data + 4), number);
	}
}

// Asserts that everything sent arrives, once and in order.
static void relay(struct dp_world *w)
{
	for (unsigned int k = 0; k < EACH; k++) {
		for (unsigned int i = 0; i < clients; i++) {
			send_up(w, i, 1000 * i + k);
			send_down(w, i, 1000 * i + k);
		}
		world_run(w);
	}
	for (unsigned int i = 0; i < clients; i++) {
		for (unsigned int k = 0; k < EACH; k++) {
			expect_up(w, i, 1000 * i + k);
			expect_down(w, i, 1000 * i + k);
		}
	}
	assert_int_equal(w->nb_seen, 0);
	// answers to one worker's request tell another worker that also asked nothing new
	assert_int_equal(
		world_drops(w), world_dropped(w, DP_DROP_ARP) + world_dropped(w, DP_DROP_ICMP));
}

// --- telemetry ----------------------------------------------------------------------------------

static struct dp_steering steering(struct dp_world *w, bool is_v4)
{
	struct dp_steering s;

	assert_true(dp_steering(w->dp, 0, is_v4, &s));
	assert_false(dp_steering(w->dp, w->dp->nb_ports, is_v4, &s));
	return s;
}

static void assert_step(struct dp_world *w, const char *step, unsigned int rules)
{
	for (unsigned int v4 = 0; v4 < 2; v4++) {
		const struct dp_steering s = steering(w, v4);

		assert_string_equal(s.step, step);
		assert_int_equal(s.rules, rules);
		// a single worker need not count
		assert_int_equal(s.hits, w->dp->nb_workers == 1 ? 0 : sent[v4] - astray[v4]);
		assert_int_equal(s.handed_over, astray[v4]);
	}
	assert_int_equal(nicmodel.rules, 2 * rules);
}

static void assert_why(struct dp_world *w, const char *reason, const char *why_address)
{
	for (unsigned int v4 = 0; v4 < 2; v4++) {
		const struct dp_steering s = steering(w, v4);

		if (strstr(s.reason, reason) == NULL || strstr(s.why_address, why_address) == NULL)
			fail_msg("why '%s', why_address '%s'", s.reason, s.why_address);
		assert_int_equal(s.reason[0] == '\0', reason[0] == '\0');
		assert_int_equal(s.why_address[0] == '\0', why_address[0] == '\0');
	}
}

static uint64_t handed_over(struct dp_world *w)
{
	const struct dp_stats s = world_stats(w);

	assert_int_equal(s.handed_in, s.handed_out);
	return s.handed_out;
}

static struct world_setup nic(unsigned int workers, unsigned int relays)
{
	return (struct world_setup){.workers = workers,
		.rx_queues = workers,
		.tx_queues = workers,
		.nic = true,
		.relays = relays};
}

static void open_nic(const struct world_setup *s, struct nicmodel character)
{
	nicmodel = character;
	world_open(&world, s);
	cast(&world, s->workers > 4 ? CLIENTS_MAX : 24);
	relay(&world);
}

static void close_nic(void)
{
	world_close(&world);
	assert_int_equal(nicmodel.rules, 0);
}

// --- tests --------------------------------------------------------------------------------------

static void test_t1(void **state)
{
	for (unsigned int workers = 4; workers <= 16; workers *= 4) {
		const struct world_setup s = nic(workers, workers);

		open_nic(&s, (struct nicmodel){0});
		assert_step(&world, "address", workers);
		assert_why(&world, "", "");
		assert_int_equal(handed_over(&world), 0);
		close_nic();
	}
}

static void test_t2(void **state)
{
	for (unsigned int workers = 4; workers <= 16; workers *= 4) {
		const struct world_setup s = nic(workers, 0);

		open_nic(&s, (struct nicmodel){0});
		assert_step(&world, "port-bits", workers);
		assert_why(&world, "fewer relay addresses", "");
		assert_int_equal(handed_over(&world), 0);
		close_nic();
	}
}

static void test_t4(void **state)
{
	for (unsigned int workers = 4; workers <= 16; workers *= 4) {
		struct world_setup s = nic(workers, workers);

		open_nic(&s, (struct nicmodel){.no_rules = true});
		assert_step(&world, "off", 0);
		assert_why(&world, "takes no rules", "");
		assert_true(handed_over(&world) > 0);
		close_nic();

		s.steering = CONF_STEERING_OFF;
		open_nic(&s, (struct nicmodel){0});
		assert_step(&world, "off", 0);
		assert_why(&world, "as configured", "");
		assert_true(handed_over(&world) > 0);
		assert_int_equal(nicmodel.calls, 0);
		close_nic();
	}
}

// Any number of workers; a NIC with one mask for all rules takes those on port bits, too.
static void test_three_workers(void **state)
{
	const struct world_setup s = nic(3, 2);

	open_nic(&s, (struct nicmodel){0});
	assert_step(&world, "port-bits", 2 * 64);
	assert_int_equal(handed_over(&world), 0);
	close_nic();

	open_nic(&s, (struct nicmodel){.one_mask = true});
	assert_step(&world, "port-bits", 2 * 64);
	assert_int_equal(handed_over(&world), 0);
	close_nic();
}

// NICs that match ports exactly or not at all can match addresses, and cannot divide an address.
static void test_exact_only(void **state)
{
	struct world_setup s = nic(4, 4);

	open_nic(&s, (struct nicmodel){.exact = true});
	assert_step(&world, "address", 4);
	close_nic();

	s.relays = 3;
	open_nic(&s, (struct nicmodel){.exact = true});
	assert_step(&world, "off", 0);
	assert_why(&world, "rule 1 of 12: soft says port mask", "fewer relay addresses");
	assert_true(handed_over(&world) > 0);
	close_nic();
}

// After one refusal the whole step is undone and the next one is tried.
static void test_refused(void **state)
{
	const struct world_setup s = nic(4, 4);

	for (unsigned int k = 1; k <= 4; k++) {
		struct dp_steering v4, v6;

		open_nic(&s, (struct nicmodel){.refuse_first = k, .refuse_last = k});
		v4 = steering(&world, true);
		v6 = steering(&world, false);
		assert_string_equal(v4.step, "port-bits");
		assert_int_equal(v4.reason[5], '0' + (int)k); // "rule K of 4: ..."
		assert_non_null(strstr(v4.reason, "of 4: soft says table full"));
		assert_string_equal(v6.step, "address"); // the other family had no refusal
		assert_int_equal(nicmodel.rules, 8);
		assert_int_equal(handed_over(&world), 0);
		close_nic();
	}
	open_nic(&s, (struct nicmodel){.refuse_first = 3, .refuse_last = UINT32_MAX});
	assert_step(&world, "off", 0);
	assert_why(&world, " of 4: soft says table full", " of 4: soft says table full");
	assert_string_equal(
		steering(&world, true).why_address, "rule 3 of 4: soft says table full");
	assert_true(handed_over(&world) > 0);
	close_nic();
}

static void test_configured(void **state)
{
	struct world_setup s = nic(4, 4);

	s.steering = CONF_STEERING_PORT_BITS;
	open_nic(&s, (struct nicmodel){0});
	assert_step(&world, "port-bits", 4); // whole addresses
	assert_why(&world, "port-bits is configured", "");
	assert_int_equal(handed_over(&world), 0);
	close_nic();

	s.steering = CONF_STEERING_ADDRESS;
	s.relays = 2;
	open_nic(&s, (struct nicmodel){0});
	assert_step(&world, "off", 0);
	assert_why(&world, "fewer relay addresses", "");
	assert_int_equal(nicmodel.calls, 0);
	close_nic();
}

// A profile decides where the port's entry is silent.
static void test_profile(void **state)
{
	char *names[] = {"soft"};
	struct conf_driver profile = {.names = names, .nb_names = 1};
	struct conf_drivers drivers = {.list = &profile, .nb = 1};
	struct world_setup s = nic(4, 4);

	s.drivers = &drivers;
	open_nic(&s, (struct nicmodel){0});
	assert_step(&world, "address", 4); // the entry is silent
	close_nic();
	profile.steering = CONF_STEERING_PORT_BITS;
	open_nic(&s, (struct nicmodel){0});
	assert_step(&world, "port-bits", 4);
	assert_int_equal(handed_over(&world), 0);
	close_nic();
	profile.steering = CONF_STEERING_OFF;
	open_nic(&s, (struct nicmodel){0});
	assert_step(&world, "off", 0);
	assert_why(&world, "by the profile of its driver", "");
	assert_int_equal(nicmodel.calls, 0);
	close_nic();
	s.steering = CONF_STEERING_ADDRESS;
	open_nic(&s, (struct nicmodel){0});
	assert_step(&world, "address", 4);
	close_nic();
}

static void test_nothing_to_steer(void **state)
{
	struct world_setup s = nic(1, 0);

	open_nic(&s, (struct nicmodel){0});
	assert_step(&world, "none", 0);
	assert_why(&world, "one worker", "");
	close_nic();

	s = nic(2, 0);
	s.two_ports = true;
	open_nic(&s, (struct nicmodel){0});
	for (unsigned int v4 = 0; v4 < 2; v4++) {
		struct dp_steering side;

		assert_true(dp_steering(world.dp, 1, v4, &side));
		assert_string_equal(side.step, "none");
		assert_string_equal(side.reason, "no relay address");
	}
	assert_step(&world, "port-bits", 2);
	close_nic();
}

static void test_few_queues(void **state)
{
	struct world_setup s = nic(4, 4);

	s.rx_queues = 3;
	open_nic(&s, (struct nicmodel){0});
	assert_step(&world, "off", 0);
	assert_why(&world, "3 receive queues for 4 workers", "");
	// clients are handed over, too, in this case, which is not counted here
	assert_true(handed_over(&world) > astray[0] + astray[1]);
	close_nic();
}

// A VLAN tag does not hide a packet from the rules.
static void test_vlan(void **state)
{
	struct world_setup s = nic(4, 4);

	s.vlan = 7;
	open_nic(&s, (struct nicmodel){0});
	assert_step(&world, "address", 4);
	assert_int_equal(handed_over(&world), 0);
	close_nic();
}

// A NIC that accepts rules but ignores them: nothing is lost, and telemetry shows it.
static void test_misdelivered(void **state)
{
	for (unsigned int relays = 0; relays <= 4; relays += 4) {
		const struct world_setup s = nic(4, relays);
		const char *step = relays > 0 ? "address" : "port-bits";

		open_nic(&s, (struct nicmodel){.misdeliver = true});
		assert_step(&world, step, 4);
		assert_int_equal(handed_over(&world), sent[0] + sent[1]);
		assert_int_equal(steering(&world, true).hits, 0);
		flow_ladder_watch(world.dp, 1);
		for (unsigned int i = 1; i <= 10; i++) {
			assert_false(steering(&world, true).degraded);
			relay(&world);
			flow_ladder_watch(world.dp, 1 + 1000 * i);
		}
		assert_true(steering(&world, true).degraded);
		assert_true(steering(&world, false).degraded);
		nicmodel.misdeliver = false;
		for (unsigned int i = 11; i <= 20; i++) {
			assert_true(steering(&world, true).degraded);
			relay(&world);
			flow_ladder_watch(world.dp, 1 + 1000 * i);
		}
		assert_false(steering(&world, true).degraded);
		assert_false(steering(&world, false).degraded);
		close_nic();
	}
}

// Without rules there are only hand-overs: it is never degraded.
static void test_t4_is_well(void **state)
{
	struct world_setup s = nic(4, 0);

	s.steering = CONF_STEERING_OFF;
	open_nic(&s, (struct nicmodel){0});
	for (unsigned int i = 0; i < 20; i++) {
		flow_ladder_watch(world.dp, 1 + 1000 * i);
		relay(&world);
	}
	assert_false(steering(&world, true).degraded);
	close_nic();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_t1),
		cmocka_unit_test(test_t2),
		cmocka_unit_test(test_t4),
		cmocka_unit_test(test_three_workers),
		cmocka_unit_test(test_exact_only),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_configured),
		cmocka_unit_test(test_profile),
		cmocka_unit_test(test_nothing_to_steer),
		cmocka_unit_test(test_few_queues),
		cmocka_unit_test(test_vlan),
		cmocka_unit_test(test_misdelivered),
		cmocka_unit_test(test_t4_is_well),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
