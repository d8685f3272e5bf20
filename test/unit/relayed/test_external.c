// SPDX-License-Identifier: BSD-3-Clause
// Our addresses that the network translates 1:1: clients see the public form wherever a message has
// our address, and may use either form for a peer (RFC 8656 sections 7.3, 11).
#include "addr_text.h"
#include "stun.h"
#include "turn_fixture.h"

static struct fixture f;
static struct turn_local local[3];
static struct fixture_client ivan, eve;

// The usual box behind a translator: relay addresses 10.99.0.1 and fd99::1, and 10.99.0.2, which is
// no relay address.
static struct turn_config behind_translator(void)
{
	struct turn_config c = fixture_config();

	local[0] = (struct turn_local){
		.addr = addr_text("10.99.0.1"), .external = addr_text("203.0.113.1")};
	local[1] = (struct turn_local){
		.addr = addr_text("10.99.0.2"), .external = addr_text("203.0.113.2")};
	local[2] = (struct turn_local){
		.addr = addr_text("fd99::1"), .external = addr_text("2001:db8:5::1")};
	for (int i = 0; i < 3; i++)
		local[i].subnet = (struct prefix){.addr = local[i].addr, .len = 128};
	c.local = local;
	c.nb_local = 3;
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
	const struct turn_config c = behind_translator();

	open_with(&c);
	return 0;
}

static int teardown(void **state)
{
	fixture_close(&f);
	return 0;
}

// The relayed transport address of a client, in its inside form.
static struct endpoint own_relay(const struct fixture_client *c)
{
	return (struct endpoint){addr_text("10.99.0.1"), c->relay.port};
}

// A datagram that one client sends to the relayed transport address of another, inside the process.
static const struct turn_plan *across(
	const struct fixture_client *sender, const struct fixture_client *receiver)
{
	const struct endpoint src = own_relay(sender), dst = own_relay(receiver);

	return fixture_hairpin(&f, &dst, &src, "hello", 5);
}

static const struct turn_plan *send_to(const char *addr, uint16_t port)
{
	const struct endpoint target = fixture_endpoint(addr, port);

	fixture_begin(&f, STUN_INDICATION, STUN_SEND);
	stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, &target);
	stun_put(&f.w, STUN_DATA_ATTR, "hello", 5);
	return fixture_send(&f, &ivan);
}

static void relayed_address_is_told_in_its_public_form(void **state)
{
	struct endpoint again;

	assert_addr(&ivan.relay.addr, "203.0.113.1");
	fixture_resend(&f, &eve);
	assert_int_equal(fixture_code(&f), 0);
	again = fixture_answer_addr(&f, STUN_XOR_RELAYED_ADDRESS);
	assert_true(endpoint_eq(&again, &eve.relay));
	// the mapped address is the client's, not one of our addresses
	again = fixture_answer_addr(&f, STUN_XOR_MAPPED_ADDRESS);
	assert_true(endpoint_eq(&again, &eve.endpoint));
}

static void each_family_has_its_own_public_address(void **state)
{
	struct fixture_client six = fixture_client("2001:db8::7", 5000);

	assert_int_equal(fixture_allocate(&f, &six, 6), 0);
	assert_addr(&six.relay.addr, "2001:db8:5::1");
	assert_int_equal(fixture_permit(&f, &six, "2001:db8:5::1"), 0);
	assert_int_equal(fixture_permit(&f, &six, "203.0.113.1"), 443);
}

static void an_address_without_a_public_one_is_told_as_it_is(void **state)
{
	struct turn_config c;

	fixture_close(&f);
	c = behind_translator();
	local[0].external = (struct addr){.d = {0, 0}};
	open_with(&c);
	assert_addr(&ivan.relay.addr, "10.99.0.1");
}

// Datagrams leave with the own address as their source, whichever form the client has used for its
// peer.
static void packets_have_the_own_address(void **state)
{
	struct turn_path path;
	const struct turn_plan *plan;

	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "10.99.0.9", 7000), 0);
	plan = fixture_channel_data(&f, &ivan, 0x4000, "hello", 5);
	assert_int_equal(plan->verdict, TURN_RELAY);
	turn_route_path(f.shard, plan->flow, &path);
	assert_addr(&path.src.addr, "10.99.0.1");
}

static void permission_by_one_form_holds_for_the_other(void **state)
{
	static const char *const form[] = {"10.99.0.1", "203.0.113.1"};

	for (int i = 0; i < 2; i++) {
		const struct turn_plan *plan;

		assert_int_equal(fixture_permit(&f, &ivan, form[i]), 0);
		for (int j = 0; j < 2; j++) {
			plan = send_to(form[j], eve.relay.port);
			assert_int_equal(plan->verdict, TURN_SEND);
			assert_addr(&f.burst.side.dst.addr, "10.99.0.1");
			assert_int_equal(f.burst.side.dst.port, eve.relay.port);
		}
		assert_int_equal(fixture_drop(across(&eve, &ivan)), TURN_OK);
		fixture_close(&f);
		setup(state);
	}
}

static void data_of_another_client_names_its_public_address(void **state)
{
	const struct turn_plan *plan;
	struct endpoint peer;
	struct stun_msg m;
	int family;

	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.1"), 0);
	plan = across(&eve, &ivan);
	assert_int_equal(plan->verdict, TURN_RELAY);
	assert_int_equal(plan->front_len, 36);
	// the front does not contain the data, but its length counts it
	memcpy(f.burst.side.front + 36, "hello\0\0\0", 8);
	assert_int_equal(stun_parse(f.burst.side.front, 44, &m), 0);
	assert_true(stun_decode_xor_addr(
		&m, m.off[STUN_XOR_PEER_ADDRESS], m.alen[STUN_XOR_PEER_ADDRESS], &peer, &family));
	assert_true(endpoint_eq(&peer, &eve.relay));
	assert_addr(&peer.addr, "203.0.113.1");
}

static void assert_reason(const char *text)
{
	assert_int_equal(f.answer.alen[STUN_ERROR_CODE], 4 + strlen(text));
	assert_memory_equal(f.answer.data + f.answer.off[STUN_ERROR_CODE] + 4, text, strlen(text));
}

// RFC 8656 section 12.2: a peer has one channel, and both forms are one peer. A client need not
// know the latter: a 400 would tell it to start over (12.3).
static void both_forms_are_one_peer_to_channels(void **state)
{
	const char *const form[] = {"203.0.113.1", "10.99.0.1"};

	for (int i = 0; i < 2; i++) {
		const char *bound = form[i], *second = form[1 - i];

		assert_int_equal(fixture_bind(&f, &ivan, 0x4000, bound, eve.relay.port), 0);
		assert_int_equal(fixture_bind(&f, &ivan, 0x4001, second, eve.relay.port), 508);
		assert_reason("Peer Has A Channel By Another Of Its Addresses");
		assert_int_equal(fixture_stats(&f).channels, 1);
		// its data is accepted nevertheless, and the answers use the channel
		assert_int_equal(fixture_permit(&f, &ivan, second), 0);
		assert_int_equal(fixture_drop(send_to(second, eve.relay.port)), TURN_OK);
		assert_int_equal(across(&eve, &ivan)->channel, 0x4000);
		assert_int_equal(fixture_bind(&f, &ivan, 0x4000, bound, eve.relay.port), 0);
		fixture_close(&f);
		setup(state);
	}
}

// A clash that a client can see in its own requests is the client's mistake.
static void a_clash_in_the_clients_own_words_is_400(void **state)
{
	const char *const form[] = {"203.0.113.1", "10.99.0.1"};

	for (int i = 0; i < 2; i++) {
		const char *bound = form[i], *second = form[1 - i];
		const uint16_t port = eve.relay.port;

		assert_int_equal(fixture_bind(&f, &ivan, 0x4000, bound, port), 0);
		assert_int_equal(fixture_bind(&f, &ivan, 0x4001, bound, port), 400);
		assert_reason("Bad Request");
		assert_int_equal(fixture_bind(&f, &ivan, 0x4000, bound, port ^ 2), 400);
		assert_int_equal(fixture_bind(&f, &ivan, 0x4000, second, port ^ 2), 400);
		// the number is bound to another peer, and the peer to another number
		assert_int_equal(fixture_bind(&f, &ivan, 0x4002, "10.99.0.9", 7000), 0);
		assert_int_equal(fixture_bind(&f, &ivan, 0x4002, second, port), 400);
		// the channel uses the form in which it was renewed
		assert_int_equal(fixture_bind(&f, &ivan, 0x4000, second, port), 0);
		assert_int_equal(fixture_bind(&f, &ivan, 0x4001, second, port), 400);
		assert_int_equal(fixture_bind(&f, &ivan, 0x4001, bound, port), 508);
		fixture_close(&f);
		setup(state);
	}
}

// A reused record does not keep the form of its earlier peer.
static void a_new_channel_has_its_own_form(void **state)
{
	const uint16_t port = eve.relay.port;

	for (int i = 0; i < 100; i++) {
		const char *form = i % 2 == 0 ? "203.0.113.1" : "10.99.0.1";

		assert_int_equal(fixture_bind(&f, &ivan, 0x4000, form, port), 0);
		assert_int_equal(fixture_bind(&f, &ivan, 0x4001, form, port), 400);
		assert_int_equal(fixture_refresh(&f, &ivan, 0), 0);
		fixture_advance(&f, 1);
		assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	}
}

static void public_address_without_a_relay_is_no_peer(void **state)
{
	assert_int_equal(fixture_permit(&f, &ivan, "203.0.113.2"), 403);
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "203.0.113.2", 22), 403);
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.2"), 403);
}

// A translator of IPv6 to IPv4 would bring the datagram back to the box.
static void public_address_is_no_peer_behind_nat64(void **state)
{
	struct prefix nat64 = {.addr = addr_text("2001:db8:64::"), .len = 96};
	struct fixture_client six = fixture_client("2001:db8::7", 5000);
	struct turn_config c;

	fixture_close(&f);
	c = behind_translator();
	c.nat64 = &nat64;
	c.nb_nat64 = 1;
	open_with(&c);
	assert_int_equal(fixture_allocate(&f, &six, 6), 0);
	assert_int_equal(fixture_permit(&f, &six, "2001:db8:64::198.41.0.4"), 0);
	assert_int_equal(fixture_permit(&f, &six, "2001:db8:64::203.0.113.1"), 403);
	assert_int_equal(fixture_permit(&f, &six, "2001:db8:64::203.0.113.2"), 403);
}

// The rules for peers are about other hosts; peers.hairpin alone decides on our own addresses.
static void hairpin_alone_decides_on_either_form(void **state)
{
	struct prefix denied[] = {{.addr = addr_text("203.0.113.0"), .len = 96 + 24}};
	struct turn_config c;

	for (int hairpin = 0; hairpin < 2; hairpin++) {
		fixture_close(&f);
		c = behind_translator();
		c.hairpin = hairpin;
		c.deny = denied;
		c.nb_deny = 1;
		open_with(&c);
		assert_int_equal(fixture_permit(&f, &ivan, "203.0.113.1"), hairpin ? 0 : 403);
		assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.1"), hairpin ? 0 : 403);
		assert_int_equal(fixture_permit(&f, &ivan, "203.0.113.9"), 403);
	}
}

// A line would accept datagrams from such a source without a check, but no other host may have it.
static void no_line_has_a_public_address(void **state)
{
	const struct addr inside = addr_text("10.99.0.1"), public = addr_text("203.0.113.1");

	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "203.0.113.1", eve.relay.port), 0);
	fixture_channel_data(&f, &ivan, 0x4000, "x", 1);
	send_to("203.0.113.1", eve.relay.port);
	for (uint32_t i = 0; i < turn_relay_map_slots(f.map, f.params.worker); i++) {
		const struct turn_line *l = &turn_shard_lines(f.shard)[i];

		assert_false(addr_eq(&l->end[TURN_FROM_PEER], &inside));
		assert_false(addr_eq(&l->end[TURN_FROM_PEER], &public));
	}
}

// The memory of a shard does not depend on it: a reload may bring the first external address.
static void a_shard_has_room_for_the_first_form(void **state)
{
	const struct turn_config external = behind_translator(), without = fixture_config();
	struct turn_shard_params p = f.params;
	size_t size;

	p.config = &external;
	size = turn_shard_size(&p);
	p.config = &without;
	assert_int_equal(turn_shard_size(&p), size);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(relayed_address_is_told_in_its_public_form),
		T(each_family_has_its_own_public_address),
		T(an_address_without_a_public_one_is_told_as_it_is),
		T(packets_have_the_own_address),
		T(permission_by_one_form_holds_for_the_other),
		T(data_of_another_client_names_its_public_address),
		T(both_forms_are_one_peer_to_channels),
		T(a_clash_in_the_clients_own_words_is_400),
		T(a_new_channel_has_its_own_form),
		T(public_address_without_a_relay_is_no_peer),
		T(public_address_is_no_peer_behind_nat64),
		T(hairpin_alone_decides_on_either_form),
		T(no_line_has_a_public_address),
		T(a_shard_has_room_for_the_first_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
