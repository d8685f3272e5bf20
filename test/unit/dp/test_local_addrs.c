// SPDX-License-Identifier: BSD-3-Clause
// Recognition of our addresses, against a plain list; listeners, relay indices, broadcast
// addresses.
#include "addr_text.h"
#include "conf.h"
#include "link/local_addrs.h"
#include "test.h"
#include "test_rand.h"

#define MAX_ADDRESSES 400

static struct conf conf;
static struct conf_port ports[2];
static struct conf_address addresses[MAX_ADDRESSES];
static struct turn_listener listeners[300];
static struct addr relays[MAX_ADDRESSES];

static void conf_init(uint32_t first, uint32_t second)
{
	memset(&conf, 0, sizeof(conf));
	ports[0] = (struct conf_port){.addresses = addresses, .nb_addresses = first};
	ports[1] = (struct conf_port){.addresses = addresses + first, .nb_addresses = second};
	conf.ports = ports;
	conf.nb_ports = 2;
	conf.turn.listeners = listeners;
	conf.turn.relay = relays;
	conf.turn.port_lo = 49152;
	conf.turn.port_hi = 65535;
	conf.turn.workers = 1;
}

static void test_few(void **state)
{
	struct turn_relay_map *map;
	struct local_addrs *t;
	const struct local_addr *l;
	const struct addr broadcast = addr_text("10.99.0.255"), neighbor = addr_text("10.99.0.2"),
			  a = addr_text("10.99.0.1"), b = addr_text("fd99::1"),
			  c = addr_text("192.0.2.1"), public = addr_text("203.0.113.1");

	conf_init(2, 1);
	addresses[0] = (struct conf_address){.addr = a, .prefix_len = 96 + 24, .external = public};
	addresses[1] = (struct conf_address){.addr = b, .prefix_len = 64};
	addresses[2] = (struct conf_address){.addr = c, .prefix_len = 96 + 31};
	relays[0] = c;
	relays[1] = b;
	conf.turn.nb_relay = 2;
	listeners[0] = (struct turn_listener){{c, 3478}, TURN_OVER_UDP};
	listeners[1] = (struct turn_listener){{a, 3478}, TURN_OVER_UDP};
	listeners[2] = (struct turn_listener){{c, 80}, TURN_OVER_UDP};
	conf.turn.nb_listeners = 3;
	map = turn_relay_map_create(&conf.turn);
	t = local_addrs_create(&conf, map);
	assert_non_null(t);

	l = local_addrs_find(t, &a);
	assert_non_null(l);
	assert_int_equal(l->kind, LOCAL_OWN);
	assert_int_equal(l->port, 0);
	assert_int_equal(l->relay, -1);
	assert_int_equal(local_addrs_listener(t, l, 3478), 1);
	assert_int_equal(local_addrs_listener(t, l, 80), -1);
	l = local_addrs_find(t, &b);
	assert_int_equal(l->relay, turn_relay_map_find(map, &b));
	assert_true(l->relay >= 0);
	assert_int_equal(local_addrs_listener(t, l, 3478), -1);
	l = local_addrs_find(t, &c);
	assert_int_equal(l->port, 1);
	assert_int_equal(local_addrs_listener(t, l, 3478), 0);
	assert_int_equal(local_addrs_listener(t, l, 80), 2);
	l = local_addrs_find(t, &broadcast);
	assert_non_null(l);
	assert_int_equal(l->kind, LOCAL_BROADCAST);
	l = local_addrs_find(t, &public);
	assert_non_null(l);
	assert_int_equal(l->kind, LOCAL_EXTERNAL);
	assert_int_equal(l->relay, -1);
	assert_int_equal(local_addrs_listener(t, l, 3478), -1);
	assert_null(local_addrs_find(t, &neighbor));
	// a /31 has no broadcast address (RFC 3021); ::ffff:10.99.0.1 is IPv4, ::10.99.0.1 is not
	assert_null(local_addrs_find(t, &(struct addr){.w = {0, 0, 0, a.w[3]}}));
	local_addrs_free(t);
	turn_relay_map_free(map);
}

// An external address that peers.allow or a realm names belongs to other programs where we have no
// port.
static void test_common(void **state)
{
	const struct addr a = addr_text("10.99.0.1"), b = addr_text("10.99.0.2"),
			  external_a = addr_text("203.0.113.1"),
			  external_b = addr_text("203.0.113.2");
	struct prefix allow[2] = {addr_text_prefix("203.0.113.1/32"), addr_text_prefix("::/0")};
	struct turn_relay_map *map;
	struct local_addrs *t;

	conf_init(2, 0);
	addresses[0] = (struct conf_address){.addr = a, .prefix_len = 128, .external = external_a};
	addresses[1] = (struct conf_address){.addr = b, .prefix_len = 128, .external = external_b};
	relays[0] = b;
	conf.turn.nb_relay = 1;
	listeners[0] = (struct turn_listener){{a, 3478}, TURN_OVER_UDP};
	listeners[1] = (struct turn_listener){{a, 443}, TURN_OVER_TLS};
	conf.turn.nb_listeners = 2;
	map = turn_relay_map_create(&conf.turn);
	for (int i = 0; i < 4; i++) { // neither, the first by all realms, both, the second by one
		conf.turn.allow = allow;
		conf.turn.nb_allow = i == 1 || i == 2 ? 2 : 0;
		conf.turn.first.allow = &allow[1];
		conf.turn.first.nb_allow = 1;
		allow[1] = addr_text_prefix(i >= 2 ? "203.0.113.2/32" : "203.0.113.0/24");
		t = local_addrs_create(&conf, map);
		assert_non_null(t);
		assert_int_equal(local_addrs_ours(t, &external_a), i == 0 || i == 3);
		assert_int_equal(local_addrs_ours_at(t, map, &external_a, 50000), i == 0 || i == 3);
		assert_int_equal(local_addrs_ours_at(t, map, &external_a, 443), i == 0 || i == 3);
		assert_true(local_addrs_ours_at(t, map, &external_a, 3478));
		assert_int_equal(local_addrs_ours(t, &external_b), i < 2);
		assert_int_equal(local_addrs_ours_at(t, map, &external_b, 3478), i < 2);
		assert_true(local_addrs_ours_at(t, map, &external_b, 50000));
		assert_true(local_addrs_ours_at(t, map, &a, 1));
		assert_false(local_addrs_ours_at(t, map, &(struct addr){.d = {1, 1}}, 3478));
		local_addrs_free(t);
	}
	conf.turn.first.nb_allow = conf.turn.nb_allow = 0;
	turn_relay_map_free(map);
}

static void test_many(void **state)
{
	struct test_rand r = test_rand_start("local");
	struct turn_relay_map *map;
	struct local_addrs *t;

	conf_init(300, 100);
	for (uint32_t i = 0; i < 400; i++) {
		// adjacent addresses, like those of a configured range
		uint8_t v4[4] = {10, 99, (uint8_t)(i >> 8), (uint8_t)i};

		addresses[i] = (struct conf_address){.addr = addr_from_v4(v4), .prefix_len = 128};
		if (i % 2 != 0) {
			addresses[i].addr = addr_text("fd99::");
			addresses[i].addr.b[14] = (uint8_t)(i >> 8);
			addresses[i].addr.b[15] = (uint8_t)i;
		}
	}
	map = turn_relay_map_create(&conf.turn);
	t = local_addrs_create(&conf, map);
	assert_non_null(t);
	for (uint32_t i = 0; i < 400; i++) {
		const struct local_addr *l = local_addrs_find(t, &addresses[i].addr);

		assert_non_null(l);
		assert_int_equal(l->port, i < 300 ? 0 : 1);
	}
	for (unsigned int i = 0; i < 1000; i++) { // on the fast path of IPv4 and on the slow one
		const uint32_t v4 = (uint32_t)test_rand(&r);
		const struct addr a = addr_from_v4(&v4);

		assert_ptr_equal(local_addrs_guess4(t, v4), local_addrs_guess(t, &a));
	}
	for (unsigned int i = 0; i < 100000; i++) {
		struct addr a = addresses[test_rand_below(&r, 400)].addr;

		a.b[test_rand_below(&r, 16)] ^= (uint8_t)(1u << test_rand_below(&r, 8));
		if (local_addrs_find(t, &a) != NULL) {
			bool known = false;

			for (uint32_t k = 0; k < 400; k++)
				known |= addr_eq(&addresses[k].addr, &a);
			assert_true(known);
		}
	}
	local_addrs_free(t);
	turn_relay_map_free(map);
}

static void test_refused(void **state)
{
	struct turn_relay_map *map;

	conf_init(1, 0);
	addresses[0] = (struct conf_address){.addr = addr_text("10.99.0.1"), .prefix_len = 120};
	listeners[0] = (struct turn_listener){{addr_text("10.99.0.2"), 3478}, TURN_OVER_UDP};
	conf.turn.nb_listeners = 1;
	map = turn_relay_map_create(&conf.turn);
	assert_null(local_addrs_create(&conf, map)); // not on any port
	for (uint16_t i = 0; i < 256; i++)
		listeners[i] = (struct turn_listener){
			{addr_text("10.99.0.1"), (uint16_t)(1000 + i)}, TURN_OVER_UDP};
	conf.turn.nb_listeners = 255;
	local_addrs_free(local_addrs_create(&conf, map));
	conf.turn.nb_listeners = 256; // more than a one-byte index can name
	assert_null(local_addrs_create(&conf, map));
	turn_relay_map_free(map);
}

// UDP and DTLS on one port are one destination for packets, and a port with DTLS alone receives
// nothing that a line could vouch for.
static void test_dtls(void **state)
{
	const struct endpoint a = {addr_text("10.99.0.1"), 3478},
			      b = {addr_text("10.99.0.1"), 5349};
	struct turn_relay_map *map;
	const struct local_addr *l;
	struct local_addrs *t;

	conf_init(1, 0);
	addresses[0] = (struct conf_address){.addr = a.addr, .prefix_len = 120};
	listeners[0] = (struct turn_listener){a, TURN_OVER_DTLS};
	listeners[1] = (struct turn_listener){b, TURN_OVER_DTLS};
	listeners[2] = (struct turn_listener){a, TURN_OVER_UDP};
	conf.turn.nb_listeners = 3;
	map = turn_relay_map_create(&conf.turn);
	t = local_addrs_create(&conf, map);
	assert_non_null(t);
	l = local_addrs_find(t, &a.addr);
	assert_int_equal(l->nb_listeners, 2);
	assert_int_equal(local_addrs_listener(t, l, 3478), 2);
	assert_int_equal(local_addrs_dtls(t, l, 3478), 0);
	assert_int_equal(local_addrs_listener(t, l, 5349), LOCAL_ONLY_DTLS);
	assert_int_equal(local_addrs_dtls(t, l, 5349), 1);
	assert_int_equal(local_addrs_dtls(t, l, 80), LOCAL_NO_DTLS);
	local_addrs_free(t);
	turn_relay_map_free(map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_common),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_dtls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
