// SPDX-License-Identifier: BSD-3-Clause
// NAT behaviour discovery: source addresses and contents of answers (RFC 5780 6.1 and table 1). Its
// attributes are unknown wherever the usage is off.
#include "addr_text.h"
#include "stun.h"
#include "turn_fixture.h"

#define NB_LISTENERS 10
#define OUTSIDE 8 // a UDP listener without the usage
#define OVER_TCP 9
#define CHANGE_REQUEST 0x0003
#define PADDING 0x0026
#define RESPONSE_PORT 0x0027

static struct fixture f;
static struct addr addresses[4];
static struct turn_config config;

// Listeners 0 to 3 are A1:P1, A1:P2, A2:P1, A2:P2 of IPv4, 4 to 7 those of IPv6.
static void open_with(uint32_t nb_discovery)
{
	static struct turn_listener listeners[NB_LISTENERS];
	static const char *const text[4] = {
		"192.0.2.1", "192.0.2.2", "2001:db8:1::1", "2001:db8:1::2"};

	for (unsigned int i = 0; i < 4; i++)
		addresses[i] = addr_text(text[i]);
	for (unsigned int i = 0; i < 8; i++)
		listeners[i] = (struct turn_listener){
			{addresses[i / 2], (uint16_t)(3478 + i % 2)}, TURN_OVER_UDP};
	listeners[OUTSIDE] = (struct turn_listener){{addresses[0], 4000}, TURN_OVER_UDP};
	listeners[OVER_TCP] = (struct turn_listener){{addresses[0], 3478}, TURN_OVER_TCP};
	config = fixture_config();
	config.listeners = listeners;
	config.nb_listeners = NB_LISTENERS;
	config.discovery.addresses = addresses;
	config.discovery.nb = nb_discovery;
	config.discovery.ports[0] = 3478;
	config.discovery.ports[1] = 3479;
	fixture_open(&f, &config, 1);
}

static int setup(void **state)
{
	*state = &f;
	open_with(4);
	return 0;
}

static struct fixture_client client(uint8_t listener)
{
	struct fixture_client c = fixture_client(
		listener >= 4 && listener < 8 ? "2001:db8::7" : "198.51.100.7", 5000);

	c.listener = listener;
	return c;
}

// Appends an attribute by its wire type.
static void put(uint16_t type, const void *value, uint16_t len)
{
	uint8_t *attr = f.message + f.w.len;

	store_be16(attr, type);
	store_be16(attr + 2, len);
	memset(attr + 4, 0, (len + 3u) & ~3u);
	memcpy(attr + 4, value, len);
	f.w.len += (uint16_t)(4 + ((len + 3u) & ~3u));
	store_be16(f.message + 2, (uint16_t)(f.w.len - STUN_HEADER_LEN));
}

static void begin(void)
{
	fixture_begin(&f, STUN_REQUEST, STUN_BINDING);
}

static void put_change(bool ip, bool port)
{
	const uint8_t flags[4] = {0, 0, 0, (uint8_t)(ip << 2 | port << 1)};

	put(CHANGE_REQUEST, flags, 4);
}

static unsigned int ask(uint8_t listener)
{
	const struct fixture_client c = client(listener);

	fixture_send(&f, &c);
	return fixture_code(&f);
}

// Reads an attribute in the format of MAPPED-ADDRESS (RFC 5780 7.1).
static struct endpoint plain(enum stun_attr a)
{
	const uint8_t *v = f.answer.data + f.answer.off[a];
	struct endpoint e = {.port = load_be16(v + 2)};

	assert_true(stun_has(&f.answer, a));
	assert_int_equal(v[0], 0);
	if (v[1] == 1)
		e.addr = addr_from_v4(v + 4);
	else
		e.addr = addr_from_v6(v + 4);
	assert_int_equal(f.answer.alen[a], v[1] == 1 ? 8 : 20);
	return e;
}

static void assert_at(struct endpoint got, unsigned int address, unsigned int port)
{
	const struct endpoint want = {addresses[address], (uint16_t)(3478 + port)};

	assert_true(endpoint_eq(&got, &want));
}

// Table 1, for each of the four addresses that a request can be sent to.
static void table_1(void **state)
{
	for (uint8_t listener = 0; listener < 8; listener++)
		for (unsigned int flags = 0; flags < 4; flags++) {
			const bool ip = (flags & 2) != 0, port = (flags & 1) != 0;
			const unsigned int a = listener / 2u, p = listener % 2u;
			const unsigned int source_index = (a ^ ip) * 2 + (p ^ port);
			const struct turn_plan *plan = &f.burst.plan;

			begin();
			put_change(ip, port);
			assert_int_equal(ask(listener), 0);
			assert_at(plain(STUN_RESPONSE_ORIGIN), a ^ ip, p ^ port);
			assert_at(plain(STUN_OTHER_ADDRESS), a ^ 1, p ^ 1);
			assert_int_equal(plan->flags, flags != 0 ? TURN_PLAN_ASIDE : 0);
			if (flags == 0)
				continue;
			assert_int_equal(plan->flow, source_index);
			assert_int_equal(plan->channel, 5000);
		}
}

// 6.1: without these attributes OTHER-ADDRESS and RESPONSE-ORIGIN are sent nevertheless, and both
// forms of the mapped address.
static void a_plain_request(void **state)
{
	const struct endpoint mine = client(2).endpoint;
	struct endpoint got;

	begin();
	assert_int_equal(ask(2), 0);
	assert_at(plain(STUN_RESPONSE_ORIGIN), 1, 0);
	assert_at(plain(STUN_OTHER_ADDRESS), 0, 1);
	got = plain(STUN_MAPPED_ADDRESS);
	assert_true(endpoint_eq(&got, &mine));
	got = fixture_answer_addr(&f, STUN_XOR_MAPPED_ADDRESS);
	assert_true(endpoint_eq(&got, &mine));
	assert_int_equal(f.burst.plan.flags, 0);
}

// 7.5: the response goes to that port; with padding or without.
static void response_port(void **state)
{
	const uint8_t port[4] = {0x12, 0x34};

	for (uint16_t len = 2; len <= 4; len += 2) {
		begin();
		put(RESPONSE_PORT, port, len);
		assert_int_equal(ask(0), 0);
		assert_int_equal(f.burst.plan.flags, TURN_PLAN_ASIDE);
		assert_int_equal(f.burst.plan.flow, 0);
		assert_int_equal(f.burst.plan.channel, 0x1234);
		assert_at(plain(STUN_RESPONSE_ORIGIN), 0, 0);
	}
	begin();
	put(RESPONSE_PORT, port, 4);
	put_change(true, true);
	assert_int_equal(ask(0), 0);
	assert_int_equal(f.burst.plan.flow, 3);
	assert_int_equal(f.burst.plan.channel, 0x1234);
}

// Sends a request whose answer may have PADDING, which the parser does not know.
static void ask_padded(uint8_t listener)
{
	const struct fixture_client c = client(listener);

	assert_int_equal(fixture_send(&f, &c)->verdict, TURN_REPLY);
	assert_int_equal(stun_parse(f.burst.side.front, f.burst.plan.front_len, &f.answer), 0);
	assert_int_equal(f.answer.cls, STUN_SUCCESS);
	assert_false(f.answer.fingerprint_bad);
}

// 6.1, 7.6: PADDING is answered by PADDING. No answer has more of it than its request, so that a
// short datagram never causes a long one.
static void padding(void **state)
{
	static const uint16_t lens[] = {0, 1, 3, 4, 100, 1496, 1500, 3000};
	static const uint8_t zeros[3000];

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		const uint16_t want = lens[i] < 1500 ? lens[i] : 1500;
		uint16_t off, alen;

		begin();
		put(PADDING, zeros, lens[i]);
		ask_padded(4);
		assert_true(stun_find(&f.answer, PADDING, &off, &alen));
		assert_int_equal(alen, want);
		assert_memory_equal(f.answer.data + off, zeros, want);
	}
	begin();
	put(PADDING, zeros, 1500);
	stun_put_fingerprint(&f.w);
	ask_padded(4); // the longest answer
	assert_true(stun_has(&f.answer, STUN_FINGERPRINT));
}

// 400, from the address that the request was sent to.
static void malformed(void **state)
{
	static const uint8_t value[8] = {0, 0, 0, 6};
	static const struct {
		uint16_t type, len;
	} wrong[] = {{CHANGE_REQUEST, 0}, {CHANGE_REQUEST, 3}, {CHANGE_REQUEST, 5},
		{CHANGE_REQUEST, 8}, {RESPONSE_PORT, 0}, {RESPONSE_PORT, 1}, {RESPONSE_PORT, 3},
		{RESPONSE_PORT, 4}, {RESPONSE_PORT, 8}}; // RESPONSE-PORT 4: its port is 0

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		begin();
		put(wrong[i].type, value, wrong[i].len);
		assert_int_equal(ask(0), 400);
		assert_int_equal(f.burst.plan.flags, 0);
	}
	begin(); // 6.1: RESPONSE-PORT and PADDING
	put(RESPONSE_PORT, "\x12\x34\0", 4);
	put(PADDING, value, 8);
	assert_int_equal(ask(0), 400);
	begin();
	put(PADDING, value, 8);
	put(RESPONSE_PORT, "\x12\x34\0", 4);
	assert_int_equal(ask(0), 400);
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_MALFORMED], 11);
}

static void assert_unknown(uint16_t type)
{
	assert_true(stun_has(&f.answer, STUN_UNKNOWN_ATTRIBUTES));
	assert_int_equal(f.answer.alen[STUN_UNKNOWN_ATTRIBUTES], 2);
	assert_int_equal(load_be16(f.answer.data + f.answer.off[STUN_UNKNOWN_ATTRIBUTES]), type);
}

// RFC 5780 6: 420 where there is no alternate address: on other listeners, over TCP, in other
// methods.
static void elsewhere_they_are_unknown(void **state)
{
	static const uint16_t types[] = {CHANGE_REQUEST, PADDING, RESPONSE_PORT};
	struct fixture_client ivan = client(0);

	for (unsigned int i = 0; i < 3; i++) {
		for (uint8_t listener = OUTSIDE; listener <= OVER_TCP; listener++) {
			begin();
			put(types[i], "\0\0\0\x6", 4);
			assert_int_equal(ask(listener), 420);
			assert_unknown(types[i]);
			begin();
			assert_int_equal(ask(listener), 0);
			assert_false(stun_has(&f.answer, STUN_OTHER_ADDRESS));
			assert_false(stun_has(&f.answer, STUN_RESPONSE_ORIGIN));
			assert_false(stun_has(&f.answer, STUN_MAPPED_ADDRESS));
		}
		fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
		put(types[i], "\0\0\0\x6", 4);
		assert_int_equal(fixture_ask(&f, &ivan), 420);
		assert_unknown(types[i]);
	}
	begin(); // an unassigned attribute next to a known one
	put_change(true, true);
	put(0x7ffe, "x", 1);
	assert_int_equal(ask(0), 420);
	assert_unknown(0x7ffe);
	assert_int_equal(f.burst.plan.flags, 0);
}

static void it_is_off_by_default(void **state)
{
	fixture_close(&f);
	open_with(0);
	begin();
	put_change(true, true);
	assert_int_equal(ask(0), 420);
	assert_unknown(CHANGE_REQUEST);
	begin();
	assert_int_equal(ask(0), 0);
	assert_int_equal(f.burst.plan.front_len, STUN_HEADER_LEN + 12); // not a byte more
}

// A family may be left out. Its listeners do not take part.
static void one_family(void **state)
{
	fixture_close(&f);
	open_with(2);
	begin();
	put_change(true, false);
	assert_int_equal(ask(0), 0);
	assert_int_equal(f.burst.plan.flow, 2);
	begin();
	put_change(true, false);
	assert_int_equal(ask(4), 420);
}

// Answers to a spoofed source count for limits.binding of that source, whichever address they come
// from.
static void the_budget_is_one(void **state)
{
	unsigned int answers = 0;

	fixture_close(&f);
	open_with(4);
	fixture_close(&f);
	config.limits.binding = (struct limit){10, 20};
	fixture_open(&f, &config, 1);
	for (unsigned int i = 0; i < 100; i++) {
		const struct fixture_client c = client((uint8_t)(i % 4));

		begin();
		put_change(i % 2 != 0, i % 3 != 0);
		answers += fixture_send(&f, &c)->verdict == TURN_REPLY;
	}
	assert_int_equal(answers, 20);
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_BINDING_RATE], 80);
}

// Behind a translator clients get the external addresses, which they can reach.
static void external_addresses(void **state)
{
	static struct turn_local local[2];
	struct endpoint got, want = {.port = 3479};

	fixture_close(&f);
	open_with(2);
	fixture_close(&f);
	for (unsigned int i = 0; i < 2; i++)
		local[i] = (struct turn_local){.addr = addresses[i],
			.subnet = addr_text_prefix("192.0.2.0/24"),
			.external = addr_text(i == 0 ? "203.0.113.1" : "203.0.113.2")};
	config.local = local;
	config.nb_local = 2;
	fixture_open(&f, &config, 1);
	begin();
	assert_int_equal(ask(0), 0);
	got = plain(STUN_OTHER_ADDRESS);
	want.addr = local[1].external;
	assert_true(endpoint_eq(&got, &want));
	got = plain(STUN_RESPONSE_ORIGIN);
	want = (struct endpoint){local[0].external, 3478};
	assert_true(endpoint_eq(&got, &want));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(table_1),
		T(a_plain_request),
		T(response_port),
		T(padding),
		T(malformed),
		T(elsewhere_they_are_unknown),
		T(it_is_off_by_default),
		T(one_family),
		T(the_budget_is_one),
		T(external_addresses),
	};

	return cmocka_run_group_tests_name("discovery", tests, NULL, NULL);
}
