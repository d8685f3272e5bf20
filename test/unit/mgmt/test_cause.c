// SPDX-License-Identifier: BSD-3-Clause
// The attempt that explains why a client cannot connect.
#include <string.h>

#include "addr_text.h"
#include "explain/cause.h"
#include "stream.h"
#include "stun.h"
#include "test.h"
#include "turn_refusal.h"

static struct attempt row(
	const char *client, const char *name, enum turn_event_kind kind, int reason)
{
	struct attempt a = {.kind = (uint8_t)kind,
		.client = {addr_text(client), 5000},
		.method = STUN_ALLOCATE,
		.proved = true,
		.reason = (uint16_t)reason,
		.name_len = (uint8_t)strlen(name)};

	memcpy(a.name, name, a.name_len);
	return a;
}

#define REFUSED(name, reason) row("192.0.2.7", name, TURN_EVENT_REFUSED, TURN_REFUSED_##reason)
#define MADE(name) row("192.0.2.7", name, TURN_EVENT_MADE, 0)
#define ENDED(name, reason) row("192.0.2.7", name, TURN_EVENT_ENDED, TURN_END_##reason)
// The attempt that is the cause among the given ones, newest first.
#define CAUSE(...)                                  \
	cause_find((struct attempt[]){__VA_ARGS__}, \
		sizeof((struct attempt[]){__VA_ARGS__}) / sizeof(struct attempt))

static void test_none(void **state)
{
	const struct cause c = cause_find(NULL, 0);

	assert_int_equal(c.row, -1);
	assert_non_null(strstr(c.text, "nothing is known"));
	assert_non_null(strstr(c.advice, "drops"));
	assert_non_null(strstr(c.advice, "records"));
	assert_non_null(strstr(c.advice, "limits."));
}

// A refusal has its own text, and the newest one counts.
static void test_refused(void **state)
{
	const struct cause c = CAUSE(REFUSED("", CHALLENGE), REFUSED("ivan", PASSWORD),
		REFUSED("ivan", REALM), REFUSED("", CHALLENGE));

	assert_int_equal(c.row, 1);
	assert_string_equal(c.text, turn_refusal_info(TURN_REFUSED_PASSWORD)->text);
	assert_string_equal(c.advice, turn_refusal_info(TURN_REFUSED_PASSWORD)->advice);
}

// The steps that every client goes through at first are no cause.
static void test_challenge(void **state)
{
	const struct cause alone = CAUSE(REFUSED("", CHALLENGE), REFUSED("", NONCE_STALE));

	assert_int_equal(alone.row, 0);
	assert_string_equal(alone.advice, "");
	assert_int_equal(CAUSE(REFUSED("", CHALLENGE), MADE("ivan")).row, 1);
}

// An allocation by that user at that address supersedes a refusal; those of others do not.
static void test_overcome(void **state)
{
	const struct attempt elsewhere = row("192.0.2.8", "ivan", TURN_EVENT_MADE, 0);
	struct cause c = CAUSE(MADE("ivan"), REFUSED("ivan", PASSWORD));

	assert_int_equal(c.row, 0);
	assert_non_null(strstr(c.advice, "nothing is wrong"));
	assert_int_equal(CAUSE(MADE("olga"), REFUSED("ivan", PASSWORD)).row, 1);
	assert_int_equal(CAUSE(elsewhere, REFUSED("ivan", PASSWORD)).row, 1);
	assert_int_equal(CAUSE(REFUSED("ivan", QUOTA_USER), MADE("ivan")).row, 0);
	// the REST names differ, the user is one
	assert_int_equal(
		CAUSE(MADE("1700000600:anna"), REFUSED("1700000000:anna", REST_EXPIRED)).row, 0);
	assert_int_equal(
		CAUSE(MADE("1700000600:anna"), REFUSED("1700000000:olga", REST_EXPIRED)).row, 1);
	// a connection has not named its user
	assert_int_equal(CAUSE(MADE("ivan"),
				 row("192.0.2.7", "", TURN_EVENT_CONNECTION, STREAM_REFUSED_SLOW))
				 .row,
		0);
}

// A new allocation does not make a denied peer reachable.
static void test_peers(void **state)
{
	struct attempt denied = REFUSED("ivan", PEER_DENIED);

	denied.method = STUN_CREATE_PERMISSION;
	assert_int_equal(CAUSE(MADE("ivan"), denied, MADE("ivan")).row, 1);
	denied.method = STUN_CHANNEL_BIND;
	assert_int_equal(CAUSE(MADE("ivan"), denied).row, 1);
}

// Losses by a rate are reported if nothing else is wrong, with the scope of the limit.
static void test_held(void **state)
{
	struct attempt made = MADE("ivan"), ended = ENDED("ivan", CLIENT);

	made.held = 1 << (TURN_LOSS_USER - TURN_LOSS_KEPT);
	assert_non_null(strstr(CAUSE(made).advice, "limits.rates,"));
	assert_int_equal(CAUSE(REFUSED("ivan", PASSWORD), made).row, 0);
	ended.held = 1 << (TURN_LOSS_ALLOCATION - TURN_LOSS_KEPT);
	assert_non_null(strstr(CAUSE(ended, MADE("ivan")).advice, "limits.rates,"));
	ended.held = 1 << (TURN_LOSS_REALM - TURN_LOSS_KEPT);
	assert_non_null(strstr(CAUSE(ended, MADE("ivan")).advice, "limits.rates,"));
	ended.held = 0;
	assert_string_equal(CAUSE(ended).advice, "");
}

// A call that took place and has ended is no fault, however it was closed.
static void test_nothing_wrong(void **state)
{
	struct attempt closed = ENDED("ivan", CONNECTION);

	assert_false(CAUSE(MADE("ivan")).wrong);
	assert_false(CAUSE(ENDED("ivan", CLIENT), MADE("ivan")).wrong);
	assert_false(CAUSE(REFUSED("", CHALLENGE)).wrong);
	assert_false(CAUSE(ENDED("ivan", CLIENT), MADE("ivan"), REFUSED("ivan", PASSWORD)).wrong);
	assert_true(CAUSE(closed, MADE("ivan")).wrong);
	closed.relayed = true;
	assert_false(CAUSE(closed, MADE("ivan")).wrong);
	assert_true(CAUSE(REFUSED("ivan", PASSWORD), MADE("ivan")).wrong);
	assert_true(CAUSE(ENDED("ivan", KILLED)).wrong);
}

// A consequence of another fault gives way to it.
static void test_follows(void **state)
{
	assert_int_equal(CAUSE(REFUSED("ivan", GUESSES), REFUSED("ivan", PASSWORD)).row, 1);
	assert_int_equal(CAUSE(REFUSED("ivan", GUESSES)).row, 0);
	assert_int_equal(CAUSE(REFUSED("ivan", NO_ALLOCATION), ENDED("ivan", EXPIRED)).row, 1);
	assert_int_equal(CAUSE(REFUSED("ivan", NO_ALLOCATION), ENDED("ivan", CLIENT)).row, 0);
	// records of a session that ended with a restart
	assert_int_equal(
		CAUSE(row("192.0.2.7", "", TURN_EVENT_CONNECTION, STREAM_REFUSED_DTLS_UNKNOWN),
			row("192.0.2.7", "", TURN_EVENT_CONNECTION, STREAM_REFUSED_DTLS_RATE))
			.row,
		1);
}

// A client that is refused because of others at its address is not told that all is well when one
// of these succeeds; nor that another user's session ended.
static void test_shared_address(void **state)
{
	const struct attempt refused =
		row("192.0.2.7", "", TURN_EVENT_CONNECTION, STREAM_REFUSED_SOURCE);
	struct attempt made = MADE("ivan");

	made.wall_ms = refused.wall_ms + 30000;
	assert_int_equal(CAUSE(made, refused).row, 1);
	assert_non_null(strstr(CAUSE(made, refused).advice, "streams.trusted"));
	assert_int_equal(CAUSE(ENDED("ivan", CONNECTION), made, refused).row, 2);
	made.wall_ms = refused.wall_ms + 3600000;
	assert_int_equal(CAUSE(made, refused).row, 0);
}

static void test_ended(void **state)
{
	assert_int_equal(CAUSE(REFUSED("ivan", NO_ALLOCATION), ENDED("ivan", KILLED),
				 REFUSED("ivan", PEER_DENIED))
				 .row,
		1);
	assert_int_equal(CAUSE(ENDED("ivan", CLIENT), MADE("ivan")).row, 0);
	assert_int_equal(CAUSE(ENDED("ivan", EXPIRED), MADE("ivan")).row, 0);
	assert_int_equal(CAUSE(MADE("ivan"), ENDED("ivan", KILLED)).row, 0);
	// the record keeps 20 bytes of a name
	assert_int_equal(
		CAUSE(MADE("1700000600:anna.longer"), ENDED("1700000000:anna.long", KILLED)).row,
		0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_challenge),
		cmocka_unit_test(test_overcome),
		cmocka_unit_test(test_peers),
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_nothing_wrong),
		cmocka_unit_test(test_follows),
		cmocka_unit_test(test_shared_address),
		cmocka_unit_test(test_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
