// SPDX-License-Identifier: BSD-3-Clause
// The last attempts of users and addresses: look-up, and which attempts can displace others.
#include <stdio.h>
#include <string.h>

#include "addr_text.h"
#include "explain/attempts.h"
#include "test.h"
#include "turn_refusal.h"

#define MAX 32

static const struct hash_key key = {{1, 2, 3, 4}};
static struct attempts *store;
static struct attempt out[MAX];

static int open_store(void **state)
{
	store = attempts_create(&key);
	return store != NULL ? 0 : -1;
}

static int close_store(void **state)
{
	attempts_free(store);
	return 0;
}

static struct turn_event event_of(const char *client, const char *name, enum turn_refusal refusal)
{
	struct turn_event e = {.kind = TURN_EVENT_REFUSED,
		.client = {addr_text(client), 5000},
		.proved = true,
		.reason = (uint16_t)refusal,
		.method = 3,
		.name_len = (uint8_t)strlen(name)};

	memcpy(e.name, name, e.name_len);
	return e;
}

static void note(const char *client, const char *name, enum turn_refusal refusal, uint64_t now_ms)
{
	const struct turn_event e = event_of(client, name, refusal);

	attempts_note(store, &e, now_ms);
}

static unsigned int of_user(const char *name)
{
	return attempts_of_user(store, &(struct attempts_who){name, strlen(name), 0}, out, MAX);
}

static unsigned int of_source(const char *text)
{
	const struct addr a = addr_text(text);

	return attempts_of_source(store, &a, out, MAX);
}

// The last eight, newest first, found by name and by address.
static void test_found(void **state)
{
	assert_int_equal(of_user("ivan"), 0);
	assert_int_equal(of_source("192.0.2.7"), 0);
	for (unsigned int i = 1; i <= 29; i++) {
		const unsigned int want = i < ATTEMPTS_EACH ? i : ATTEMPTS_EACH;

		note("192.0.2.7", "ivan", TURN_REFUSED_PASSWORD, 1000 + i);
		assert_int_equal(of_user("ivan"), want);
		for (unsigned int k = 0; k < want; k++)
			assert_int_equal(out[k].wall_ms, 1000 + i - k);
		assert_int_equal(of_source("192.0.2.7"), want);
		assert_int_equal(out[0].wall_ms, 1000 + i);
	}
	assert_int_equal(out[0].reason, TURN_REFUSED_PASSWORD);
	assert_int_equal(out[0].client.port, 5000);
	assert_int_equal(out[0].method, 3);
	assert_memory_equal(out[0].name, "ivan", 4);
	assert_int_equal(of_user("iva"), 0);
	assert_int_equal(of_source("192.0.2.8"), 0);
	// no more than the caller has room for
	assert_int_equal(attempts_of_user(store, &(struct attempts_who){"ivan", 4, 0}, out, 3), 3);
	assert_int_equal(out[2].wall_ms, 1000 + 29 - 2);
	assert_int_equal(attempts_of_user(store, &(struct attempts_who){"ivan", 4, 0}, out, 0), 0);
}

// The application issues "time:user": the names differ, the user is one.
static void test_rest_names(void **state)
{
	note("192.0.2.7", "1700000000:anna", TURN_REFUSED_QUOTA_USER, 1);
	note("192.0.2.7", "1700000600:anna", TURN_REFUSED_REST_EXPIRED, 2);
	assert_int_equal(of_user("anna"), 2);
	assert_int_equal(of_user("1700009999:anna"), 2);
	assert_int_equal(out[0].reason, TURN_REFUSED_REST_EXPIRED);
	// no user after the time: the whole text is the name
	note("192.0.2.7", "1700000000", TURN_REFUSED_QUOTA_USER, 3);
	note("192.0.2.7", "1700000000:", TURN_REFUSED_QUOTA_USER, 4);
	assert_int_equal(of_user("1700000000"), 1);
	assert_int_equal(of_user("1700000000:"), 1);
	assert_int_equal(of_user(""), 0);
}

// A name has any bytes, including zeros, and may be cut at 64.
static void test_names(void **state)
{
	struct turn_event e = event_of("192.0.2.7", "", TURN_REFUSED_QUOTA_USER);

	e.name_len = TURN_EVENT_NAME_LEN;
	memset(e.name, 'x', sizeof(e.name));
	e.name[1] = '\0';
	attempts_note(store, &e, 1);
	assert_int_equal(attempts_of_user(store,
				 &(struct attempts_who){e.name, TURN_EVENT_NAME_LEN, 0}, out, MAX),
		1);
	assert_int_equal(out[0].name_len, TURN_EVENT_NAME_LEN);
	assert_int_equal(of_user("x"), 0);
	e.name_len = 255; // more than the event has
	attempts_note(store, &e, 2);
	assert_int_equal(attempts_of_user(store,
				 &(struct attempts_who){e.name, TURN_EVENT_NAME_LEN, 0}, out, MAX),
		2);
}

// Successes are attempts, too. A refresh that is recorded from time to time is not.
static void test_kinds(void **state)
{
	struct turn_event e = event_of("2001:db8::1", "ivan", TURN_GRANTED);

	e.kind = TURN_EVENT_MADE;
	e.id = 7;
	attempts_note(store, &e, 1);
	e.kind = TURN_EVENT_INTERIM;
	attempts_note(store, &e, 2);
	assert_int_equal(of_user("ivan"), 1);
	assert_int_equal(out[0].held, 0);
	e.usage.lost[TURN_LOSS_LIMIT] = 9; // not by a rate
	e.usage.lost[TURN_LOSS_USER] = 1;
	attempts_note(store, &e, 2);
	assert_int_equal(of_user("ivan"), 1);
	assert_true(attempts_held(&out[0], TURN_LOSS_USER));
	assert_false(attempts_held(&out[0], TURN_LOSS_ALLOCATION));
	assert_int_equal(of_source("2001:db8::1"), 1);
	assert_true(attempts_held(&out[0], TURN_LOSS_USER));
	e.kind = TURN_EVENT_ENDED;
	e.usage.lost[TURN_LOSS_USER] = 0;
	e.usage.lost[TURN_LOSS_REALM] = 2;
	attempts_note(store, &e, 3);
	assert_int_equal(of_user("ivan"), 2);
	assert_true(attempts_held(&out[0], TURN_LOSS_REALM));
	assert_false(attempts_held(&out[0], TURN_LOSS_USER));
	assert_int_equal(of_user("ivan"), 2);
	assert_int_equal(out[0].kind, TURN_EVENT_ENDED);
	assert_int_equal(out[1].id, 7);
	// a host has its /64
	assert_int_equal(of_source("2001:db8::ffff"), 2);
	assert_int_equal(of_source("2001:db8:0:1::1"), 0);
}

// A sender that forges addresses fills only the part of unproved addresses, and creates no users.
static void test_forged(void **state)
{
	char client[64], name[32];

	note("192.0.2.7", "ivan", TURN_REFUSED_PASSWORD, 1);
	for (unsigned int i = 0; i < 200000; i++) {
		struct turn_event e;

		snprintf(client, sizeof(client), "198.%u.%u.%u", i >> 16, i >> 8 & 255, i & 255);
		snprintf(name, sizeof(name), "forged%u", i);
		e = event_of(client, name, TURN_REFUSED_CHALLENGE);
		e.proved = false;
		if (i % 2 == 0) // a datagram to a DTLS port
			e.kind = TURN_EVENT_CONNECTION;
		attempts_note(store, &e, 2 + i);
	}
	assert_int_equal(of_user("ivan"), 1);
	assert_int_equal(of_source("192.0.2.7"), 1);
	assert_int_equal(of_user("forged199999"), 0);
	assert_int_equal(of_source(client), 1); // the newest one is there
	assert_false(out[0].proved);
}

// A Binding is never signed. Over TCP its sender's address is proved, and it may give any name.
static void test_binding_names_nobody(void **state)
{
	struct turn_event e = event_of("192.0.2.9", "ivan", TURN_REFUSED_ATTRIBUTE);

	e.method = 1; // Binding
	attempts_note(store, &e, 1);
	assert_int_equal(of_user("ivan"), 0);
	assert_int_equal(of_source("192.0.2.9"), 1);
}

// A network that invents names, from all its addresses, displaces names and addresses of its own
// set, and no user.
static void test_invented(void **state)
{
	unsigned int kept = 0;
	char client[64], name[32];

	note("192.0.2.7", "ivan", TURN_REFUSED_PASSWORD, 1);
	for (unsigned int i = 0; i < 100; i++) {
		snprintf(client, sizeof(client), "10.%u.1.1", i);
		snprintf(name, sizeof(name), "stranger%u", i);
		note(client, name, TURN_REFUSED_USER_UNKNOWN, 2 + i);
	}
	for (unsigned int i = 0; i < 200000; i++) {
		snprintf(client, sizeof(client), "2001:db8:5:%x::1", i & 0xffff);
		snprintf(name, sizeof(name), "invented%u", i);
		note(client, name, TURN_REFUSED_USER_UNKNOWN, 1000 + i);
	}
	assert_int_equal(of_user("ivan"), 1);
	assert_int_equal(of_user("invented199999"), 1);
	for (unsigned int i = 0; i < 100; i++) {
		snprintf(client, sizeof(client), "10.%u.1.1", i);
		snprintf(name, sizeof(name), "stranger%u", i);
		// the network has one set of 64, and one of 256 for addresses
		kept += of_user(name) == 1 && of_source(client) == 1;
	}
	assert_in_range(kept, 85, 100);
}

// More users than there are places: the busy ones stay.
static void test_users_full(void **state)
{
	char name[32];

	for (unsigned int i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "user%u", i);
		note("192.0.2.7", name, TURN_REFUSED_QUOTA_USER, 2 * i);
		note("192.0.2.7", "busy", TURN_REFUSED_QUOTA_USER, 2 * i + 1);
	}
	assert_int_equal(of_user("busy"), ATTEMPTS_EACH);
	assert_int_equal(of_user("user19999"), 1);
	assert_int_equal(of_user("user0"), 0);
}

static void note_life(enum turn_event_kind kind, uint64_t id, uint64_t now_ms)
{
	struct turn_event e = event_of("192.0.2.7", "ivan", TURN_REFUSED_CHALLENGE);

	e.kind = (uint8_t)kind;
	e.id = id;
	e.reason = TURN_END_CONNECTION;
	attempts_note(store, &e, now_ms);
}

// A client that retries constantly makes and ends allocations: refusals in between are kept.
static void test_ends_push_out_no_refusal(void **state)
{
	bool found = false;
	unsigned int n;

	note("192.0.2.7", "ivan", TURN_REFUSED_PEER_DENIED, 1);
	for (unsigned int i = 1; i <= 100; i++) {
		note_life(TURN_EVENT_MADE, i, 1000 * i);
		note_life(TURN_EVENT_ENDED, i, 1000 * i); // at one time, and later
	}
	n = of_user("ivan");
	assert_int_equal(n, 1 + ATTEMPTS_LIVES);
	assert_int_equal(out[0].kind, TURN_EVENT_ENDED);
	assert_int_equal(out[1].kind, TURN_EVENT_MADE);
	for (unsigned int i = 0; i < n; i++)
		found |= out[i].kind == TURN_EVENT_REFUSED &&
			out[i].reason == TURN_REFUSED_PEER_DENIED;
	assert_true(found);
	assert_int_equal(of_source("192.0.2.7"), 1 + ATTEMPTS_LIVES);
	// and refusals displace no allocation's start
	for (unsigned int i = 0; i < 100; i++)
		note("192.0.2.7", "ivan", TURN_REFUSED_PASSWORD, 200000 + i);
	assert_int_equal(of_user("ivan"), ATTEMPTS_EACH + ATTEMPTS_LIVES);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, open_store, close_store)
	const struct CMUnitTest tests[] = {
		CASE(test_found),
		CASE(test_rest_names),
		CASE(test_names),
		CASE(test_kinds),
		CASE(test_forged),
		CASE(test_binding_names_nobody),
		CASE(test_invented),
		CASE(test_users_full),
		CASE(test_ends_push_out_no_refusal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
