// SPDX-License-Identifier: BSD-3-Clause
// Further keys that change while workers relay: limits of answers, DSCP, the idle mode, routes,
// external addresses. Nothing is lost meanwhile.
#include <errno.h>
#include <stdlib.h>

#include "ask/hot.h"
#include "datapath.h"
#include "dp_world.h"
#include "feature_names.h"
#include "turn_event.h"
#include "path/worker.h"

#define CHANNEL 0x4000
#define SIDE 1
#define RELOADS 500

static struct dp_world world;
static struct conf_route route;
static struct world_client client;
static const char far_away[] = "9.9.9.9";

// Port side leads to 9.9.9.0/24, through one router, and the server has external addresses.
static void lead(struct dp_world *w)
{
	route.via = world_endpoint("10.98.0.254", 0).addr;
	assert_int_equal(addr_prefix_parse("9.9.9.0/24", &route.dst), 0);
	w->ports[SIDE].routes = &route;
	w->ports[SIDE].nb_routes = 1;
	w->addresses[0].external = world_endpoint("203.0.113.1", 0).addr;
	w->locals[0].external = w->addresses[0].external;
}

static const struct world_setup setups[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .two_ports = true, .change = lead},
	{.workers = 3, .rx_queues = 3, .tx_queues = 3, .two_ports = true, .change = lead},
	{.workers = 2,
		.rx_queues = 2,
		.tx_queues = 2,
		.two_ports = true,
		.rss = true,
		.change = lead},
};

static const struct world_setup plain[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .two_ports = true},
	{.workers = 3, .rx_queues = 3, .tx_queues = 3, .two_ports = true},
};

#ifdef FEATURE_REALMS
#include "turn_tallies.h"

static int no_number; // error for a realm that gets no number

int __real_turn_tallies_number(struct turn_tallies *t, struct turn_config *c,
	const struct turn_config *before, const struct turn_quota *q);
int __wrap_turn_tallies_number(struct turn_tallies *t, struct turn_config *c,
	const struct turn_config *before, const struct turn_quota *q);
int __wrap_turn_tallies_number(struct turn_tallies *t, struct turn_config *c,
	const struct turn_config *before, const struct turn_quota *q)
{
	return no_number != 0 ? no_number : __real_turn_tallies_number(t, c, before, q);
}
#endif

static void begin(const struct conf *c)
{
	char error[256];

	assert_int_equal(dp_reload_begin(world.dp, c, false, error, sizeof(error)), 0);
}

static void finish(void)
{
	for (unsigned int i = 0; i < 1000 && world.dp->reload != NULL; i++) {
		dp_reload_step(world.dp);
		world_round(&world);
	}
	assert_null(world.dp->reload);
}

static void reload(const struct conf *c)
{
	begin(c);
	finish();
}

// A client with a channel to a distant peer, on which it has sent already.
static void open_client(const struct world_setup *s, const struct endpoint *peer)
{
	struct world_datagram got;

	world_open(&world, s);
	world_client(&world, &client, "10.99.0.20", 41000);
	assert_int_equal(client_allocate(&world, &client, 4), 0);
	assert_int_equal(client_bind(&world, &client, CHANNEL, peer), 0);
	client_channel_data(&world, &client, CHANNEL, "x", 1);
	world_run(&world);
	assert_true(world_take(&world, peer, &got));
	assert_int_equal(got.port, SIDE);
}

// Sends a datagram with this traffic class from the client. Returns the one that arrives.
static struct world_datagram relayed(const struct endpoint *peer, uint8_t tos)
{
	struct world_datagram d = {.src = client.endpoint,
				      .dst = client.server,
				      .len = 8,
				      .tos = tos},
			      got;

	memcpy(d.data, "\x40\x00\x00\x04ping", 8);
	world_send(&world, &d);
	world_run(&world);
	assert_true(world_take(&world, peer, &got));
	return got;
}

// A configuration with other routes of port side. The caller frees its turn.routes.
static struct conf with_routes(struct conf_port ports[2], struct conf_route *r)
{
	struct conf c = world.conf;

	memcpy(ports, world.conf.ports, 2 * sizeof(*ports));
	ports[SIDE].routes = r;
	ports[SIDE].nb_routes = r != NULL ? 1 : 0;
	c.ports = ports;
	assert_true(conf_routes_gather(&c));
	return c;
}

// The routes to the distant peer: another router of port side, the gateway of port wan, the first
// router.
static const struct router_choice {
	const char *via;
	bool by_side;
} ways[] = {{"10.98.0.253", true}, {"10.99.0.254", false}, {"10.98.0.254", true}};

// Datagrams in transit while the routes change arrive on whichever route.
static void live_allocations_follow_changed_routes(void **state)
{
	const struct endpoint peer = world_endpoint(far_away, 7000);
	unsigned int sent = 0, arrived = 0;

	open_client(*state, &peer);
	world.rerouted = true;
	for (unsigned int n = 0; n < 30; n++) {
		const struct router_choice *choice = &ways[n % 3];
		struct conf_route r = {
			.dst = route.dst, .via = world_endpoint(choice->via, 0).addr};
		struct conf_port ports[2];
		struct conf c = with_routes(ports, choice->by_side ? &r : NULL);
		struct world_datagram got;

		begin(&c);
		for (; world.dp->reload != NULL; sent++) {
			client_channel_data(&world, &client, CHANNEL, "x", 1);
			dp_reload_step(world.dp);
			world_round(&world);
		}
		world_wait(&world, 20); // every line has been looked up again
		while (world_take(&world, &peer, &got))
			arrived++;
		got = relayed(&peer, 0);
		assert_int_equal(got.port, choice->by_side ? SIDE : 0);
		assert_memory_equal(got.mac + 2, r.via.b + 12, 4);
		free(c.turn.routes);
	}
	assert_int_equal(arrived, sent);
	assert_int_equal(world_drops(&world), 0);
	world_close(&world);
}

// Datagrams to a peer that has lost its route are dropped for a named reason, and another
// permission gets 403.
static void without_a_route_there_is_no_way(void **state)
{
	const struct endpoint peer = world_endpoint(far_away, 7000);
	struct conf_port ports[2];
	struct conf c;

	open_client(*state, &peer);
	world.rerouted = true;
	c = with_routes(ports, NULL);
	free(c.turn.routes);
	ports[0].nb_gateways = 0;
	assert_true(conf_routes_gather(&c));
	reload(&c);
	world_wait(&world, 20);
	client_channel_data(&world, &client, CHANNEL, "x", 1);
	world_run(&world);
	assert_int_equal(world_dropped(&world, DP_DROP_NO_ROUTE), 1);
	assert_int_equal(client_permit(&world, &client, &peer), 403);
	reload(&world.conf);
	world_wait(&world, 20);
	assert_int_equal(relayed(&peer, 0).port, SIDE);
	assert_int_equal(world_drops(&world), 1);
	free(c.turn.routes);
	world_close(&world);
}

// Clients get the new external address from then on; those with the old one continue.
static void another_external_address_is_told(void **state)
{
	const struct endpoint peer = world_endpoint(far_away, 7000);
	const struct addr new = world_endpoint("203.0.113.9", 0).addr;
	struct conf_address addresses[2 + 2 * WORLD_RELAYS];
	struct turn_local locals[3 + 2 * WORLD_RELAYS];
	struct world_client second;
	struct conf_port ports[2];
	struct conf c = world.conf;

	open_client(*state, &peer);
	c = world.conf;
	memcpy(ports, world.conf.ports, sizeof(ports));
	memcpy(addresses, world.addresses, sizeof(addresses));
	memcpy(locals, world.locals, sizeof(locals));
	ports[0].addresses = addresses;
	addresses[0].external = locals[0].external = new;
	c.ports = ports;
	c.turn.local = locals;
	reload(&c);
	world_client(&world, &second, "10.99.0.21", 41001);
	assert_int_equal(client_allocate(&world, &second, 4), 0);
	assert_true(addr_eq(&second.relay.addr, &new));
	assert_false(addr_eq(&client.relay.addr, &new));
	relayed(&peer, 0);
	assert_int_equal(world_drops(&world), 0);
	world_close(&world);
}

// --- the first external address and the last -----------------------------------------------------

// A configuration whose first address has this external address; NULL: no external address.
static void reload_translated(const char *external)
{
	struct conf_address addresses[2 + 2 * WORLD_RELAYS];
	struct turn_local locals[3 + 2 * WORLD_RELAYS];
	struct conf_port ports[2];
	struct conf c = world.conf;

	memcpy(ports, world.conf.ports, sizeof(ports));
	memcpy(addresses, world.addresses, sizeof(addresses));
	memcpy(locals, world.locals, sizeof(locals));
	ports[0].addresses = addresses;
	addresses[0].external = locals[0].external =
		external != NULL ? world_endpoint(external, 0).addr : (struct addr){.d = {0}};
	c.ports = ports;
	c.turn.local = locals;
	reload(&c);
}

// On a channel of one client, to a peer and back.
static void both_ways(struct world_client *sender, uint16_t number, const struct endpoint *peer)
{
	struct world_datagram got;
	struct endpoint relay;

	client_channel_data(&world, sender, number, "ping", 4);
	world_run(&world);
	assert_true(world_take(&world, peer, &got));
	relay = got.src; // the own address, whatever the client got
	assert_true(addr_eq(&relay.addr, &world.addresses[0].addr));
	world_send_bytes(&world, peer, &relay, "pong", 4);
	world_run(&world);
	assert_true(world_take(&world, &sender->endpoint, &got));
	assert_memory_equal(got.data + CHANNEL_HEADER_LEN, "pong", 4);
}

// On a channel of one client to the relayed transport address of another, in whichever form it has
// named it.
static void across(
	struct world_client *sender, uint16_t number, const struct world_client *receiver)
{
	struct world_datagram got;

	client_channel_data(&world, sender, number, "over", 4);
	world_run(&world);
	assert_true(world_take(&world, &receiver->endpoint, &got));
}

// Old and new channels relay all the time. While a peer has two forms, each client can only use the
// one that it has named.
static void external_addresses_come_and_go(void **state)
{
	const struct endpoint peer = world_endpoint("10.99.0.200", 7000),
			      late = world_endpoint("10.99.0.200", 7001),
			      last = world_endpoint("10.99.0.200", 7002);
	const struct addr public = world_endpoint("203.0.113.1", 0).addr;
	struct world_client c[3];
	struct endpoint local;

	world_open(&world, *state);
	for (unsigned int i = 0; i < 3; i++)
		world_client(&world, &c[i], "10.99.0.20", (uint16_t)(41000 + i));
	assert_int_equal(client_allocate(&world, &c[0], 4), 0);
	assert_int_equal(client_allocate(&world, &c[1], 4), 0);
	local = c[1].relay;
	assert_int_equal(client_bind(&world, &c[0], CHANNEL, &peer), 0);
	assert_int_equal(client_bind(&world, &c[1], CHANNEL, &c[0].relay), 0);
	assert_int_equal(client_bind(&world, &c[0], CHANNEL + 1, &local), 0);

	reload_translated("203.0.113.1");
	both_ways(&c[0], CHANNEL, &peer);
	across(&c[1], CHANNEL, &c[0]);
	assert_int_equal(client_bind(&world, &c[0], CHANNEL + 2, &late), 0);
	both_ways(&c[0], CHANNEL + 2, &late);
	assert_int_equal(client_allocate(&world, &c[2], 4), 0);
	assert_true(addr_eq(&c[2].relay.addr, &public));
	assert_int_equal(client_bind(&world, &c[2], CHANNEL, &late), 0);
	both_ways(&c[2], CHANNEL, &late);
	// it continues with the old name; with the other one it would be a second channel
	assert_int_equal(client_bind(&world, &c[0], CHANNEL + 1, &local), 0);
	assert_int_equal(
		client_bind(&world, &c[0], CHANNEL + 3, &(struct endpoint){public, local.port}),
		508);
	assert_int_equal(client_bind(&world, &c[1], CHANNEL + 1, &c[2].relay), 0);
	assert_int_equal(client_permit(&world, &c[2], &(struct endpoint){public, local.port}), 0);
	across(&c[1], CHANNEL + 1, &c[2]);

	reload_translated(NULL);
	both_ways(&c[0], CHANNEL, &peer);
	both_ways(&c[0], CHANNEL + 2, &late);
	both_ways(&c[2], CHANNEL, &late);
	across(&c[1], CHANNEL, &c[0]);
	across(&c[1], CHANNEL + 1, &c[2]);
	assert_int_equal(client_bind(&world, &c[2], CHANNEL + 1, &last), 0);
	both_ways(&c[2], CHANNEL + 1, &last);
	world_close(&world);
}

// The DSCP of a listener is set, changed and removed while datagrams are in transit: each has one
// of the two, ECN stays, and none is lost.
static void marks_change_between_two_datagrams(void **state)
{
	const struct endpoint peer = world_endpoint(far_away, 7000);
	static const uint8_t dscp[] = {46, 34, 0};
	struct turn_listener listeners[7];
	struct conf c;

	open_client(*state, &peer);
	for (unsigned int n = 0; n < RELOADS; n++) {
		c = world.conf;
		memcpy(listeners, world.listeners, sizeof(listeners));
		for (unsigned int i = 0; i < c.turn.nb_listeners; i++)
			listeners[i].dscp =
				n % 4 == 3 ? TURN_DSCP_COPY : (uint8_t)(dscp[n % 4] + 1);
		c.turn.listeners = listeners;
		c.requests = 1 + n % 32;
		c.handshakes.rate = n % 5;
		begin(&c);
		while (world.dp->reload != NULL) {
			relayed(&peer, 0x21);
			dp_reload_step(world.dp);
		}
		assert_int_equal(relayed(&peer, 0x21).tos,
			n % 4 == 3 ? 0x21 : (unsigned int)dscp[n % 4] << 2 | 1);
	}
	assert_int_equal(world_drops(&world), 0);
	world_close(&world);
}

// Each number reaches the workers, as a share of it where they divide it.
static void numbers_reach_the_workers(void **state)
{
	const struct world_setup *s = *state;
	const struct worker *w;
	struct conf c;

	world_open(&world, s);
	c = world.conf;
	c.icmp_rate = 300;
	c.icmp_errors_in = 30;
	c.icmp_errors_out = 60;
	c.icmp_errors_each = 1; // at least that for each worker
	c.icmp_unreachable = true;
	c.requests = 5;
	c.handshakes = (struct limit){12, 24};
	c.idle = CONF_IDLE_SAVING;
	c.idle_sleep_us = 700;
	reload(&c);
	for (unsigned int i = 0; i < s->workers; i++) {
		w = world.dp->worker[i];
		assert_int_equal(w->hot->echoes, 300 / s->workers);
		assert_int_equal(w->hot->errors_in, 30 / s->workers);
		assert_int_equal(w->hot->errors_out, 60 / s->workers);
		assert_int_equal(w->hot->errors_each, 1);
		assert_true(w->hot->unreachable);
		assert_int_equal(w->backlog.budget, 5);
		assert_int_equal(w->hot->handshakes.rate, 12 / s->workers);
		assert_true(w->idle.saving && !w->idle.never);
		assert_int_equal(w->idle.sleep_max, 700 * w->idle.per_us);
	}
	c.idle = CONF_IDLE_BUSY;
	c.icmp_rate = 0;
	reload(&c);
	for (unsigned int i = 0; i < s->workers; i++) {
		assert_true(world.dp->worker[i]->idle.never);
		assert_int_equal(world.dp->worker[i]->hot->echoes, 0);
	}
	world_close(&world);
}

#ifdef FEATURE_REALMS
// A realm without a free number is reported, and nothing changes.
static void a_realm_without_a_number_is_told(void **state)
{
	static const struct {
		int error_code;
		const char *text;
	} cases[] = {{EAGAIN, "realms: too many were added and removed"},
		{ENOMEM, "realms: no memory left for the counters of another"}};
	struct turn_realm realm = {
		.name = (char *)"other.test", .users = world.user, .nb_users = 1};
	const struct endpoint peer = world_endpoint(far_away, 7000);
	struct conf c;

	open_client(*state, &peer);
	c = world.conf;
	c.turn.realms = &realm;
	c.turn.nb_realms = 1;
	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		char error[256] = "";

		no_number = cases[i].error_code;
		assert_int_equal(dp_reload_begin(world.dp, &c, false, error, sizeof(error)), -1);
		assert_non_null(strstr(error, cases[i].text));
		assert_null(world.dp->reload);
	}
	no_number = 0;
	reload(&c);
	relayed(&peer, 0);
	reload(&world.conf);
	world_close(&world);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_CASE(live_allocations_follow_changed_routes, setups, 0),
		WORLD_CASE(live_allocations_follow_changed_routes, setups, 1),
		WORLD_CASE(live_allocations_follow_changed_routes, setups, 2),
		WORLD_CASE(without_a_route_there_is_no_way, setups, 0),
		WORLD_CASE(without_a_route_there_is_no_way, setups, 1),
		WORLD_CASE(another_external_address_is_told, setups, 0),
		WORLD_CASE(another_external_address_is_told, setups, 1),
		WORLD_CASE(external_addresses_come_and_go, plain, 0),
		WORLD_CASE(external_addresses_come_and_go, plain, 1),
		WORLD_CASE(marks_change_between_two_datagrams, setups, 0),
		WORLD_CASE(marks_change_between_two_datagrams, setups, 1),
		WORLD_CASE(numbers_reach_the_workers, setups, 0),
		WORLD_CASE(numbers_reach_the_workers, setups, 1),
#ifdef FEATURE_REALMS
		WORLD_CASE(a_realm_without_a_number_is_told, setups, 0),
#endif
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
