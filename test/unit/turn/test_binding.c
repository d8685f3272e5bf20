// SPDX-License-Identifier: BSD-3-Clause
// Binding requests of RFC 3489, which have no magic cookie, and listeners that answer fewer kinds.
#include <string.h>

#include "addr_text.h"
#include "feature_names.h"
#include "turn_fixture.h"

#define CHANGE_REQUEST 0x0003
#define RESPONSE_ADDRESS 0x0002

// The transaction id of a client of RFC 3489 takes all 16 bytes.
static const uint8_t tid[16] = "sixteen  of them";
static struct fixture f;
static uint8_t message[64];
static uint16_t message_len;

static void begin(uint16_t type)
{
	memset(message, 0, sizeof(message));
	store_be16(message, type);
	memcpy(message + 4, tid, sizeof(tid));
	message_len = 20;
}

static void put(uint16_t type, uint32_t value)
{
	store_be16(message + message_len, type);
	store_be16(message + message_len + 2, 4);
	store_be32(message + message_len + 4, value);
	message_len = (uint16_t)(message_len + 8);
	store_be16(message + 2, (uint16_t)(message_len - 20));
}

static const struct turn_plan *ask(const struct fixture_client *c)
{
	return fixture_from_client(&f, c, message, message_len);
}

// The attributes of the answer, after a header of this type with the whole id of the request.
static const uint8_t *answer(const struct fixture_client *c, uint16_t type, uint16_t len)
{
	const struct turn_plan *plan = ask(c);
	const uint8_t *a = f.burst.side.front;

	assert_int_equal(plan->verdict, TURN_REPLY);
	assert_int_equal(plan->flags, 0); // back to the client's address
	assert_int_equal(plan->front_len, len);
	assert_int_equal(load_be16(a), type);
	assert_int_equal(load_be16(a + 2), len - 20);
	assert_memory_equal(a + 4, tid, sizeof(tid));
	return a + 20;
}

static void test_mapped(void **state)
{
	static const uint8_t v4[] = {0, 1, 0, 8, 0, 1, 0x13, 0x88, 198, 51, 100, 7};
	static const uint8_t v6[] = {
		0, 1, 0, 20, 0, 2, 0, 99, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7};
	const struct fixture_client ivan = fixture_open_ivan(&f);
	const struct fixture_client six = fixture_client("2001:db8::7", 99);

	(void)state;
	begin(STUN_BINDING);
	assert_memory_equal(answer(&ivan, 0x0101, 32), v4, sizeof(v4));
	assert_memory_equal(answer(&six, 0x0101, 44), v6, sizeof(v6));
#ifdef FEATURE_DISCOVERY
	put(CHANGE_REQUEST, 0); // asks for no change
	assert_memory_equal(answer(&ivan, 0x0101, 32), v4, sizeof(v4));
#endif
	fixture_close(&f);
}

// No request makes us answer from another address or send to a third party.
static void test_unknown(void **state)
{
	static const struct {
		uint16_t type;
		uint32_t value;
	} rows[] = {{CHANGE_REQUEST, 6}, {CHANGE_REQUEST, 2}, {RESPONSE_ADDRESS, 0x00011389}};
	const struct fixture_client ivan = fixture_open_ivan(&f);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const uint8_t *a;

		begin(STUN_BINDING);
		put(rows[i].type, rows[i].value);
		a = answer(&ivan, 0x0111, 36);
		assert_memory_equal(
			a, ((const uint8_t[]){0, 9, 0, 4, 0, 0, 4, 20, 0, 10, 0, 2}), 12);
		assert_int_equal(load_be16(a + 12), rows[i].type);
	}
	fixture_close(&f);
}

// Without the cookie only this request is understood.
static void test_nothing_else(void **state)
{
	static const uint16_t types[] = {0x0003, 0x0004, 0x0008, 0x0009, 0x0011, 0x0016, 0x0101,
		0x0111, 0x0002, 0x000a, 0x0200};
	struct fixture_client ivan = fixture_open_ivan(&f);

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		begin(types[i]);
		assert_int_equal(fixture_drop(ask(&ivan)), TURN_DROP_MALFORMED);
	}
	begin(STUN_BINDING);
	message[3] = 4; // differs from the datagram's length
	assert_int_equal(fixture_drop(ask(&ivan)), TURN_DROP_MALFORMED);
	begin(STUN_BINDING);
	put(CHANGE_REQUEST, 0);
	message[23] = 8; // an attribute beyond the end
	assert_int_equal(fixture_drop(ask(&ivan)), TURN_DROP_MALFORMED);
	begin(STUN_BINDING);
	message_len = 19;
	assert_int_equal(fixture_drop(ask(&ivan)), TURN_DROP_MALFORMED);
	fixture_close(&f);
}

// Over streams and DTLS such a request is not answered (RFC 8489 11).
static void test_over_udp_alone(void **state)
{
	static const uint8_t transports[] = {TURN_OVER_TCP, TURN_OVER_TLS, TURN_OVER_DTLS};
	const struct fixture_client ivan = fixture_client("198.51.100.7", 5000);

	(void)state;
	for (size_t i = 0; i < sizeof(transports); i++) {
		struct turn_config c = fixture_config();

		c.listeners[0].transport = transports[i];
		fixture_open(&f, &c, 1);
		begin(STUN_BINDING);
		assert_int_equal(fixture_drop(ask(&ivan)), TURN_DROP_MALFORMED);
		fixture_close(&f);
	}
}

// An attacker who spoofs an address directs as few bytes there as by any Binding request.
static void test_limit(void **state)
{
	struct turn_config c = fixture_config();
	const struct fixture_client ivan = fixture_client("198.51.100.7", 5000);
	unsigned int answers = 0;

	(void)state;
	c.limits.binding = (struct limit){.rate = 5, .burst = 5};
	fixture_open(&f, &c, 1);
	for (unsigned int i = 0; i < 100; i++) {
		begin(STUN_BINDING);
		if (i % 2 == 0) {
			answers += ask(&ivan)->verdict == TURN_REPLY;
		} else {
			fixture_begin(&f, STUN_REQUEST, STUN_BINDING);
			answers += fixture_send(&f, &ivan)->verdict == TURN_REPLY;
		}
	}
	assert_int_equal(answers, 5);
	assert_int_equal(fixture_drop(&f.burst.plan), TURN_DROP_BINDING_RATE);
	fixture_close(&f);
}

static unsigned int with_cookie(const struct fixture_client *c)
{
	fixture_begin(&f, STUN_REQUEST, STUN_BINDING);
	return fixture_drop(fixture_send(&f, c));
}

// A listener with STUN off is still a TURN server; the other listener has its own setting.
static void test_listeners(void **state)
{
	struct turn_config c = fixture_config();
	struct fixture_client ivan = fixture_client("198.51.100.7", 5000);
	const struct fixture_client six = fixture_client("2001:db8::7", 99);

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		const enum turn_drop off = i == TURN_BINDING_ALL ? TURN_OK : TURN_DROP_BINDING_OFF;

		c.listeners[0].binding = (uint8_t)i;
		fixture_open(&f, &c, 1);
		begin(STUN_BINDING);
		assert_int_equal(fixture_drop(ask(&ivan)), off);
		assert_int_equal(with_cookie(&ivan), i == TURN_BINDING_NONE ? off : TURN_OK);
		begin(STUN_BINDING);
		assert_int_equal(fixture_drop(ask(&six)), TURN_OK);
		ivan.nonce_len = 0;
		assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
		fixture_close(&f);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mapped),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_nothing_else),
		cmocka_unit_test(test_over_udp_alone),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_listeners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
