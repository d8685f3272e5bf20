// SPDX-License-Identifier: BSD-3-Clause
// Packets that an exception port lets through, and at which rate.
#include "bytes.h"
#include "dp_world.h"
#include "exception/exception.h"

#include <netinet/in.h>
#include <stdlib.h>

static struct exception_rules rules;
static struct conf conf;
static struct conf_port port;
static struct conf_address address;
static struct turn_listener listeners[2];

static void make(const struct conf_service *allow, uint32_t nb)
{
	address = (struct conf_address){
		.addr = world_endpoint("10.99.0.1", 0).addr, .prefix_len = 120};
	port = (struct conf_port){.addresses = &address,
		.nb_addresses = 1,
		.exception = {.allow = (struct conf_service *)(uintptr_t)allow,
			.nb_allow = nb,
			.client_lo = 32768,
			.client_hi = 60999}};
	listeners[0] = (struct turn_listener){world_endpoint("10.99.0.1", 5349), TURN_OVER_TCP};
	listeners[1] = (struct turn_listener){world_endpoint("10.98.0.1", 5350), TURN_OVER_TCP};
	conf = (struct conf){.ports = &port, .nb_ports = 1};
	conf.turn.listeners = listeners;
	conf.turn.nb_listeners = 2;
	assert_int_equal(exception_rules_init(&rules, &conf, 0), 0);
}

static struct exception_flow flow(uint8_t proto, uint16_t ours, uint16_t theirs)
{
	return (struct exception_flow){proto, ours, theirs, address.addr};
}

static bool in(uint8_t proto, uint16_t ours, uint16_t theirs, bool begins)
{
	const struct exception_flow f = flow(proto, ours, theirs);

	return exception_rules_in(&rules, &f, begins);
}

static bool out(uint8_t proto, uint16_t ours, uint16_t theirs)
{
	const struct exception_flow f = flow(proto, ours, theirs);

	return exception_rules_out(&rules, &f);
}

static void test_ports(void **state)
{
	static const struct conf_service allow[] = {{IPPROTO_TCP, false, 22},
		{IPPROTO_TCP, true, 179}, {IPPROTO_UDP, false, 161}, {IPPROTO_UDP, true, 53},
		{IPPROTO_UDP, false, 65535}};
	struct exception_flow foreign;

	make(allow, RTE_DIM(allow));
	assert_true(in(IPPROTO_TCP, 22, 40000, true));
	assert_true(in(IPPROTO_TCP, 22, 40000, false));
	assert_true(out(IPPROTO_TCP, 22, 40000));
	// 179 is a port of other hosts: answers come in, connections do not
	assert_true(out(IPPROTO_TCP, 40000, 179));
	assert_true(in(IPPROTO_TCP, 40000, 179, false));
	assert_false(in(IPPROTO_TCP, 40000, 179, true));
	assert_false(in(IPPROTO_TCP, 179, 40000, false));
	assert_false(out(IPPROTO_TCP, 179, 40000));
	// neither direction nor protocol is confused
	assert_false(in(IPPROTO_TCP, 40000, 22, false));
	assert_false(out(IPPROTO_TCP, 40000, 22));
	assert_false(in(IPPROTO_UDP, 22, 40000, false));
	assert_false(out(IPPROTO_UDP, 40000, 179));
	assert_true(in(IPPROTO_UDP, 161, 40000, false));
	assert_true(in(IPPROTO_UDP, 65535, 1, false));
	assert_true(in(IPPROTO_UDP, 40000, 53, false));
	assert_false(in(IPPROTO_UDP, 53, 40000, false));
	assert_false(in(IPPROTO_TCP, 161, 40000, true));
	// a listener's port on the listener's address only
	assert_true(in(IPPROTO_TCP, 5349, 40000, true));
	assert_true(out(IPPROTO_TCP, 5349, 40000));
	assert_false(in(IPPROTO_UDP, 5349, 40000, false));
	assert_false(in(IPPROTO_TCP, 5350, 40000, true)); // another port
	foreign = flow(IPPROTO_TCP, 5349, 40000);
	foreign.ours.b[15]++;
	assert_false(exception_rules_in(&rules, &foreign, true));
	exception_rules_free(&rules);
}

// Packets from the port of a server that the kernel uses reach the kernel's client ports, and none
// on which it serves; nor does the kernel send from other ports.
static void test_client_ports(void **state)
{
	static const struct conf_service allow[] = {{IPPROTO_UDP, true, 53},
		{IPPROTO_UDP, false, 161}, {IPPROTO_TCP, true, 179}, {IPPROTO_UDP, true, 161}};

	make(allow, RTE_DIM(allow));
	for (unsigned int p = 1; p < 65536; p++) {
		const bool client = p >= 32768 && p <= 60999;

		assert_int_equal(in(IPPROTO_UDP, (uint16_t)p, 53, false), client || p == 161);
		assert_int_equal(out(IPPROTO_UDP, (uint16_t)p, 53), client || p == 161);
		assert_int_equal(in(IPPROTO_UDP, (uint16_t)p, 161, false), client || p == 161);
		assert_true(in(IPPROTO_TCP, (uint16_t)p, 179, false));
		assert_true(out(IPPROTO_TCP, (uint16_t)p, 179));
	}
	rules.client_lo = rules.client_hi = 5353;
	assert_true(in(IPPROTO_UDP, 5353, 53, false));
	assert_false(in(IPPROTO_UDP, 5352, 53, false) || in(IPPROTO_UDP, 5354, 53, false));
	exception_rules_free(&rules);
}

static void test_nothing(void **state)
{
	make(NULL, 0);
	for (unsigned int p = 1; p < 65536; p++) {
		assert_int_equal(in(IPPROTO_TCP, (uint16_t)p, 40000, true), p == 5349);
		assert_false(in(IPPROTO_TCP, 40000, (uint16_t)p, false));
		assert_false(in(IPPROTO_UDP, (uint16_t)p, 40000, false));
		assert_int_equal(out(IPPROTO_TCP, (uint16_t)p, 40000), p == 5349);
		assert_false(out(IPPROTO_UDP, (uint16_t)p, 40000));
	}
	exception_rules_free(&rules);
}

// --- ICMP ---------------------------------------------------------------------------------------

struct message {
	struct net_frame f;
	uint8_t bytes[128];
};

static struct message message(bool is_v4, uint8_t type)
{
	return (struct message){
		.f = {.src = world_endpoint(is_v4 ? "10.99.0.9" : "fd99::9", 0).addr,
			.dst = world_endpoint(is_v4 ? "10.99.0.1" : "fd99::1", 0).addr,
			.payload_len = 16,
			.is_v4 = is_v4},
		.bytes = {type}};
}

// An error about a packet from our port to theirs.
static struct message error(bool is_v4, uint8_t type, uint8_t proto, uint16_t ours, uint16_t theirs)
{
	struct message m = message(is_v4, type);
	uint8_t *ip = m.bytes + 8, *l4 = ip + (is_v4 ? 20 : 40);

	ip[0] = is_v4 ? 0x45 : 0x60;
	ip[is_v4 ? 9 : 6] = proto;
	memcpy(ip + (is_v4 ? 12 : 8), m.f.dst.b + (is_v4 ? 12 : 0), is_v4 ? 4 : 16);
	store_be16(l4, ours);
	store_be16(l4 + 2, theirs);
	m.f.payload_len = is_v4 ? 36 : 56;
	return m;
}

static struct exception_flow about; // flow of the last error

static bool icmp_in(const struct message *m)
{
	// a copy of exactly that length, so that the sanitizer finds reads beyond it
	uint8_t *copy = malloc(m->f.payload_len);
	bool verdict;

	memcpy(copy, m->bytes, m->f.payload_len);
	verdict = exception_rules_icmp_in(&rules, &m->f, copy, &about);
	free(copy);
	return verdict;
}

static void test_pings(void **state)
{
	static const struct conf_service both = {IPPROTO_ICMP, false, 0},
					 ours = {IPPROTO_ICMP, true, 0};

	for (unsigned int v4 = 0; v4 < 2; v4++) {
		const struct message request = message(v4, v4 ? 8 : 128),
				     reply = message(v4, v4 ? 0 : 129);

		make(NULL, 0);
		assert_false(icmp_in(&request) || icmp_in(&reply));
		assert_false(exception_rules_icmp_out(&rules, &request.f, request.bytes));
		assert_false(exception_rules_icmp_out(&rules, &reply.f, reply.bytes));
		exception_rules_free(&rules);
		make(&both, 1);
		assert_true(icmp_in(&request) && icmp_in(&reply));
		assert_true(exception_rules_icmp_out(&rules, &request.f, request.bytes));
		assert_true(exception_rules_icmp_out(&rules, &reply.f, reply.bytes));
		exception_rules_free(&rules);
		make(&ours, 1);
		assert_true(!icmp_in(&request) && icmp_in(&reply));
		assert_true(exception_rules_icmp_out(&rules, &request.f, request.bytes));
		assert_false(exception_rules_icmp_out(&rules, &reply.f, reply.bytes));
		// never: redirects, router discovery, MLD, timestamps, source quench
		for (unsigned int type = 0; type < 256; type++) {
			const struct message m = message(v4, (uint8_t)type);
			const bool err =
				v4 ? type == 3 || type == 11 || type == 12 : type >= 1 && type <= 4;

			assert_int_equal(icmp_in(&m), type == (v4 ? 0 : 129));
			assert_int_equal(exception_rules_icmp_out(&rules, &m.f, m.bytes),
				err || type == (v4 ? 8 : 128));
		}
		exception_rules_free(&rules);
	}
}

// RFC 1122 3.2.2, RFC 4443 2.4: an error goes to the sender of the packet, recognized by the quote.
static void test_errors(void **state)
{
	static const struct conf_service allow[] = {
		{IPPROTO_TCP, false, 22}, {IPPROTO_UDP, true, 53}};

	make(allow, RTE_DIM(allow));
	for (unsigned int v4 = 0; v4 < 2; v4++) {
		const uint8_t too_big = v4 ? 3 : 2; // of the former, code 4
		struct message m = error(v4, too_big, IPPROTO_TCP, 22, 40000);

		assert_true(icmp_in(&m));
		assert_int_equal(about.proto, IPPROTO_TCP);
		assert_int_equal(about.our_port, 22);
		assert_int_equal(about.their_port, 40000);
		m.f.payload_len--; // too short to contain the ports
		assert_false(icmp_in(&m));
		for (uint16_t len = 8; len < m.f.payload_len; len++) {
			struct message cut = m;

			cut.f.payload_len = len;
			assert_false(icmp_in(&cut));
		}
		m = error(v4, too_big, IPPROTO_TCP, 23, 40000); // not a flow of the kernel's
		assert_false(icmp_in(&m));
		m = error(v4, too_big, IPPROTO_UDP, 40000, 53);
		assert_true(icmp_in(&m));
		m = error(v4, too_big, IPPROTO_UDP, 53, 40000);
		assert_false(icmp_in(&m));
		m = error(v4, too_big, 50, 22, 40000);
		assert_false(icmp_in(&m));
		m = error(v4, too_big, IPPROTO_TCP, 22, 40000);
		m.bytes[8 + (v4 ? 15 : 23)] ^= 1; // about another host
		assert_false(icmp_in(&m));
		m = error(v4, too_big, IPPROTO_TCP, 22, 40000);
		m.bytes[8] ^= 0x20; // with another IP version
		assert_false(icmp_in(&m));
		m = error(v4, v4 ? 5 : 137, IPPROTO_TCP, 22, 40000); // a redirect
		assert_false(icmp_in(&m));
		// about an echo request, which only the kernel could have sent
		m = error(v4, too_big, v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6, v4 ? 0x0800 : 0x8000, 0);
		assert_false(icmp_in(&m));
		rules.ping_out = true;
		assert_true(icmp_in(&m));
		rules.ping_out = false;
	}
	struct message later = error(true, 3, IPPROTO_TCP, 22, 40000);
	later.bytes[8 + 7] = 1; // a fragment without ports
	assert_false(icmp_in(&later));
	later = error(true, 3, IPPROTO_TCP, 22, 40000);
	later.bytes[8] = 0x4f; // 60 bytes of header, but only 20 are there
	assert_false(icmp_in(&later));
	later.bytes[8] = 0x41;
	assert_false(icmp_in(&later));
	exception_rules_free(&rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_client_ports),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_pings),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
