// SPDX-License-Identifier: BSD-3-Clause
// Other hosts share an external address of the box. If peers.allow names that address, its ports
// that do not belong to the box are ordinary peers. For the box's own ports the rule changes
// nothing.
#include "addr_text.h"
#include "judged.h"
#include "stun.h"
#include "turn_fixture.h"

#define PUBLIC "203.0.113.1"
#define OWN "10.99.0.1"

static struct fixture f;
static struct turn_local local[1];
static struct turn_listener listener[2];
static struct prefix allow[2];
static struct fixture_client ivan, eve;

// 10.99.0.1 is the relay address and the address of both listeners; its external address is
// 203.0.113.1. The port of the DTLS listener lies in the relay range.
static struct turn_config behind_one_address(const char *allowed)
{
	struct turn_config c = fixture_config();

	local[0] = (struct turn_local){.addr = addr_text(OWN), .external = addr_text(PUBLIC)};
	local[0].subnet = (struct prefix){.addr = local[0].addr, .len = 128};
	listener[0] = (struct turn_listener){{addr_text(OWN), 3478}, TURN_OVER_UDP};
	listener[1] = (struct turn_listener){{addr_text(OWN), 50001}, TURN_OVER_DTLS};
	allow[0] = addr_text_prefix(allowed);
	allow[1] = addr_text_prefix("10.98.0.0/16");
	c.local = local;
	c.nb_local = 1;
	c.listeners = listener;
	c.nb_listeners = 2;
	c.allow = allow;
	c.nb_allow = 2;
	return c;
}

static void open_with(const struct turn_config *c)
{
	fixture_open(&f, c, 1);
	ivan = fixture_client("198.51.100.7", 5000);
	eve = fixture_eve("198.51.100.8", 6000);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_allocate(&f, &eve, 4), 0);
}

static int setup(void **state)
{
	const struct turn_config c = behind_one_address(PUBLIC "/32");

	open_with(&c);
	return 0;
}

static int teardown(void **state)
{
	fixture_close(&f);
	return 0;
}

static struct endpoint own_relay(const struct fixture_client *c)
{
	return (struct endpoint){addr_text(OWN), c->relay.port};
}

// Sends a datagram from one relayed transport address to the other. Returns the drop reason.
static unsigned int send_hairpin(
	const struct fixture_client *sender, const struct fixture_client *receiver)
{
	const struct endpoint src = own_relay(sender), dst = own_relay(receiver);

	return fixture_drop(fixture_hairpin(&f, &dst, &src, "hello", 5));
}

// Plan for a datagram that a host on the external address sends to ivan's relay address.
static const struct turn_plan *send_from_other_host(uint16_t port)
{
	const struct endpoint relay = own_relay(&ivan), peer = fixture_endpoint(PUBLIC, port);

	return fixture_from_peer(&f, &relay, &peer, "hello", 5);
}

// Destination of a Send indication of ivan's, or NULL if it is dropped.
static const struct endpoint *sent_to(const char *addr, uint16_t port)
{
	const struct endpoint target = fixture_endpoint(addr, port);
	static struct turn_path path;
	const struct turn_plan *plan;

	fixture_begin(&f, STUN_INDICATION, STUN_SEND);
	stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, &target);
	stun_put(&f.w, STUN_DATA_ATTR, "hello", 5);
	plan = fixture_send(&f, &ivan);
	if (plan->verdict == TURN_RELAY) { // on the fast path of the line
		turn_route_path(f.shard, plan->flow, &path);
		return &path.dst;
	}
	return plan->verdict == TURN_SEND ? &f.burst.side.dst : NULL;
}

static void assert_sent(const char *addr, uint16_t port, const char *dst_text)
{
	const struct endpoint *dst = sent_to(addr, port);

	assert_non_null(dst);
	assert_addr(&dst->addr, dst_text);
	assert_int_equal(dst->port, port);
}

// RFC 8656 9: a permission is for an address, whatever the port.
static void a_permission_covers_all_ports_of_the_address(void **state)
{
	assert_int_equal(fixture_permit(&f, &ivan, PUBLIC), 0);
	assert_sent(PUBLIC, 10000, PUBLIC);
	assert_sent(PUBLIC, 22, PUBLIC);
	assert_sent(PUBLIC, eve.relay.port, OWN);
	assert_sent(PUBLIC, 3478, OWN); // the data path drops it: it is no relay port
	assert_sent(PUBLIC, 50001, OWN);
	assert_int_equal(fixture_drop(send_from_other_host(10000)), TURN_OK);
	assert_int_equal(send_hairpin(&eve, &ivan), TURN_OK);
	// no other host has the box's own address
	assert_sent(OWN, 22, OWN);
}

static void a_channel_permits_all_ports_as_well(void **state)
{
	const uint16_t ports[] = {10000, eve.relay.port};

	for (int i = 0; i < 2; i++) {
		assert_int_equal(fixture_bind(&f, &ivan, 0x4000, PUBLIC, ports[i]), 0);
		assert_int_equal(fixture_drop(send_from_other_host(10001)), TURN_OK);
		assert_int_equal(send_hairpin(&eve, &ivan), TURN_OK);
		assert_sent(PUBLIC, 10002, PUBLIC);
		fixture_close(&f);
		setup(state);
	}
}

static void a_channel_relays_to_the_wire_and_back(void **state)
{
	const struct turn_plan *plan;
	struct turn_path path;

	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, PUBLIC, 10000), 0);
	assert_int_equal(fixture_bind(&f, &ivan, 0x4001, PUBLIC, eve.relay.port), 0);
	plan = fixture_channel_data(&f, &ivan, 0x4000, "hello", 5);
	assert_int_equal(plan->verdict, TURN_RELAY);
	turn_route_path(f.shard, plan->flow, &path);
	assert_addr(&path.src.addr, OWN);
	assert_addr(&path.dst.addr, PUBLIC);
	plan = fixture_channel_data(&f, &ivan, 0x4001, "hello", 5);
	turn_route_path(f.shard, plan->flow, &path);
	assert_addr(&path.dst.addr, OWN);
	assert_int_equal(send_from_other_host(10000)->channel, 0x4000);
	// one peer, one channel
	assert_int_equal(fixture_bind(&f, &ivan, 0x4002, PUBLIC, 10000), 400);
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, PUBLIC, 10000), 0);
}

// Data indications name the external address, to which the client may answer.
static void data_names_the_external_address(void **state)
{
	const struct turn_plan *plan;
	struct endpoint peer;
	struct stun_msg m;
	int family;

	assert_int_equal(fixture_permit(&f, &ivan, PUBLIC), 0);
	plan = send_from_other_host(10000);
	assert_int_equal(plan->verdict, TURN_RELAY);
	assert_int_equal(plan->front_len, 36);
	memcpy(f.burst.side.front + 36, "hello\0\0\0", 8);
	assert_int_equal(stun_parse(f.burst.side.front, 44, &m), 0);
	assert_true(stun_decode_xor_addr(
		&m, m.off[STUN_XOR_PEER_ADDRESS], m.alen[STUN_XOR_PEER_ADDRESS], &peer, &family));
	assert_addr(&peer.addr, PUBLIC);
	assert_int_equal(peer.port, 10000);
}

// For listeners, the box's own address and port 0 the rule changes nothing.
static void the_rule_changes_nothing_for_the_box(void **state)
{
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, PUBLIC, 3478), 403);
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, PUBLIC, 50001), 403);
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, OWN, 10000), 403);
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, PUBLIC, 0), 403);
	assert_int_equal(fixture_stats(&f).channels, 0);
	assert_int_equal(fixture_stats(&f).permissions, 0);
}

// Only a rule for exactly this address allows it. A rule for a network that contains it does not,
// as with gateways. A deny rule wins over the allow rule.
static void only_a_rule_for_the_address_itself_allows_it(void **state)
{
	struct prefix deny = addr_text_prefix(PUBLIC "/32");
	struct turn_config c;

	for (int i = 0; i < 2; i++) {
		fixture_close(&f);
		c = behind_one_address(i == 0 ? "203.0.113.0/24" : PUBLIC "/32");
		c.deny = &deny;
		c.nb_deny = (uint32_t)i;
		c.hairpin = true;
		open_with(&c);
		assert_int_equal(fixture_bind(&f, &ivan, 0x4000, PUBLIC, 10000), 403);
		assert_int_equal(fixture_permit(&f, &ivan, PUBLIC), 0); // permits its relay ports
		assert_sent(PUBLIC, 10000, OWN);
		assert_int_equal(
			fixture_drop(send_from_other_host(10000)), TURN_DROP_PEER_NO_PERMISSION);
	}
}

static void without_hairpin_only_other_hosts_are_peers(void **state)
{
	struct turn_config c;

	fixture_close(&f);
	c = behind_one_address(PUBLIC "/32");
	c.hairpin = false;
	open_with(&c);
	assert_int_equal(fixture_permit(&f, &ivan, OWN), 403);
	assert_int_equal(fixture_permit(&f, &ivan, PUBLIC), 0);
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, PUBLIC, 10000), 0);
	assert_int_equal(fixture_bind(&f, &ivan, 0x4001, PUBLIC, eve.relay.port), 403);
	assert_null(sent_to(PUBLIC, eve.relay.port));
	assert_int_equal(send_hairpin(&eve, &ivan), TURN_DROP_PEER_NO_PERMISSION);
	assert_int_equal(fixture_stats(&f).permissions, 1);
}

// A NAT64 would send the datagram back to the box, whatever its port.
static void the_address_behind_nat64_is_no_peer(void **state)
{
	struct prefix nat64 = {.addr = addr_text("2001:db8:64::"), .len = 96};
	struct fixture_client six = fixture_client("2001:db8::7", 5000);
	struct turn_config c;

	fixture_close(&f);
	c = behind_one_address(PUBLIC "/32");
	listener[1] = (struct turn_listener){{addr_text("fd99::1"), 3478}, TURN_OVER_UDP};
	c.nat64 = &nat64;
	c.nb_nat64 = 1;
	open_with(&c);
	assert_int_equal(fixture_allocate(&f, &six, 6), 0);
	assert_int_equal(fixture_bind(&f, &six, 0x4000, "2001:db8:64::203.0.113.1", 10000), 403);
}

// CreatePermission for the external address makes two permissions, for it and for the box's own
// address, or neither. Each counts once, however often the request names it.
static void both_permissions_fit_or_none(void **state)
{
	struct turn_config c;

	fixture_close(&f);
	c = behind_one_address(PUBLIC "/32");
	c.limits.permissions = 3;
	open_with(&c);
	fixture_begin(&f, STUN_REQUEST, STUN_CREATE_PERMISSION);
	for (int i = 0; i < 9; i++) {
		const char *const name[] = {PUBLIC, OWN, "10.98.0.1"};
		const struct endpoint peer = fixture_endpoint(name[i % 3], (uint16_t)i);

		stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, &peer);
	}
	assert_int_equal(fixture_ask(&f, &ivan), 0);
	assert_int_equal(fixture_stats(&f).permissions, 3);
	assert_int_equal(fixture_permit(&f, &eve, "10.98.0.1"), 0);
	assert_int_equal(fixture_permit(&f, &eve, "10.98.0.2"), 0);
	assert_int_equal(fixture_permit(&f, &eve, PUBLIC), 508);
	assert_int_equal(fixture_stats(&f).permissions, 5);
}

// A channel permits the address as CreatePermission does: with both permissions, or the bind fails.
static void a_channel_needs_both_permissions(void **state)
{
	const uint16_t ports[] = {10000, eve.relay.port};
	struct turn_config c;

	for (int i = 0; i < 4; i++) {
		fixture_close(&f);
		c = behind_one_address(PUBLIC "/32");
		if (i % 2 == 0)
			c.limits.permissions = 3;
		else // each allocation is sure of two; ivan takes one of the two others
			c.pools = (struct turn_pools){.sure_permissions = 2,
				.sure_channels = 1,
				.permissions = 2,
				.channels = 1,
				.per_user = 100};
		open_with(&c);
		assert_int_equal(fixture_permit(&f, &ivan, "10.98.0.1"), 0);
		assert_int_equal(fixture_bind(&f, &ivan, 0x4000, PUBLIC, ports[i / 2]), 0);
		assert_int_equal(fixture_stats(&f).permissions, 3);
		assert_int_equal(fixture_bind(&f, &ivan, 0x4000, PUBLIC, ports[i / 2]), 0);
		assert_int_equal(fixture_permit(&f, &eve, "10.98.0.1"), 0);
		assert_int_equal(fixture_permit(&f, &eve, "10.98.0.2"), 0);
		assert_int_equal(fixture_bind(&f, &eve, 0x4000, PUBLIC, 10000), 508);
		assert_int_equal(fixture_stats(&f).permissions, 5);
		assert_int_equal(fixture_stats(&f).channels, 1);
	}
}

static void a_line_vouches_for_another_host(void **state)
{
	const struct addr public = addr_text(PUBLIC);
	bool found = false;

	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, PUBLIC, 10000), 0);
	assert_int_equal(fixture_bind(&f, &eve, 0x4000, PUBLIC, ivan.relay.port), 0);
	for (uint32_t i = 0; i < turn_relay_map_slots(f.map, f.params.worker); i++) {
		const struct turn_line *l = &turn_shard_lines(f.shard)[i];

		if (l->until == 0)
			continue;
		assert_true(addr_eq(&l->end[TURN_FROM_PEER], &public));
		assert_int_equal(turn_mark_port(l->mark[TURN_FROM_PEER]), 10000);
		found = true;
	}
	assert_true(found);
}

// When the rule is removed, allocations with such a peer end: the peer is denied now.
static void removing_the_rule_ends_allocations_with_such_peers(void **state)
{
	struct turn_config c = behind_one_address("203.0.113.0/24");
	struct turn_policy *fresh;
	unsigned int ended;

	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, PUBLIC, 10000), 0);
	assert_int_equal(fixture_permit(&f, &eve, OWN), 0);
	fresh = judged_by(&f, f.policy, &c, false, &ended);
	assert_int_equal(ended, 1);
	assert_int_equal(f.told.ended[TURN_END_PEER], 1);
	fixture_close(&f);
	turn_policy_free(fresh);
	setup(state);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_permission_covers_all_ports_of_the_address),
		T(a_channel_permits_all_ports_as_well),
		T(a_channel_relays_to_the_wire_and_back),
		T(data_names_the_external_address),
		T(the_rule_changes_nothing_for_the_box),
		T(only_a_rule_for_the_address_itself_allows_it),
		T(without_hairpin_only_other_hosts_are_peers),
		T(the_address_behind_nat64_is_no_peer),
		T(both_permissions_fit_or_none),
		T(a_channel_needs_both_permissions),
		T(a_line_vouches_for_another_host),
		T(removing_the_rule_ends_allocations_with_such_peers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
