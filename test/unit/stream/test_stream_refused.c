// SPDX-License-Identifier: BSD-3-Clause
// Events of stream threads about refused clients: the first of a source and reason at once, the
// others as a number. All are counted.
#include <string.h>

#include "addr_text.h"
#include "test.h"
#include "thread.h"

static struct stream_refused got[4096];
static unsigned int nb_got;
static bool room;

static bool refused(void *ctx, unsigned int t, const struct stream_refused *r)
{
	assert_int_equal(t, 3);
	if (!room)
		return false;
	assert_true(nb_got < sizeof(got) / sizeof(got[0]));
	got[nb_got++] = *r;
	return true;
}

static const struct stream_ops ops = {.refused = refused}, deaf;
static struct streams streams;
static struct thread thread;

static int begin(void **state)
{
	memset(&thread, 0, sizeof(thread));
	streams = (struct streams){.conf.ops = &ops, .begun.key = {{5, 6, 7, 8}}};
	thread.s = &streams;
	thread.index = 3;
	thread.now_ms = 100000;
	refused_init(&thread);
	nb_got = 0;
	room = true;
	return 0;
}

static void note(const char *client, uint16_t port, enum stream_refusal refusal)
{
	const struct endpoint e = {addr_text(client), port};

	refused_note(&thread,
		&(struct stream_refused){
			.client = e, .listener = 4, .reason = (uint8_t)refusal, .offered = "1.2"});
}

static void test_folded(void **state)
{
	note("192.0.2.7", 1000, STREAM_REFUSED_RATE);
	assert_int_equal(nb_got, 1);
	assert_int_equal(got[0].client.port, 1000);
	assert_int_equal(got[0].listener, 4);
	assert_int_equal(got[0].reason, STREAM_REFUSED_RATE);
	assert_int_equal(got[0].more, 0);
	for (uint16_t i = 0; i < 4211; i++, thread.now_ms++)
		note("192.0.2.7", (uint16_t)(1001 + i), STREAM_REFUSED_RATE);
	assert_int_equal(nb_got, 1);
	// its interval has passed: the next one is reported at once, with the number
	thread.now_ms = 100000 + FOLD_MS;
	note("192.0.2.7", 9, STREAM_REFUSED_RATE);
	assert_int_equal(nb_got, 3);
	assert_int_equal(got[1].more, 4211);
	assert_int_equal(got[2].more, 0);
	// another reason, another source
	note("192.0.2.7", 9, STREAM_REFUSED_GARBAGE);
	note("192.0.2.8", 9, STREAM_REFUSED_RATE);
	assert_int_equal(nb_got, 5);
	assert_int_equal(thread.stats.untold, 0);
	// an IPv6 host has its /64
	begin(NULL);
	note("2001:db8::1", 9, STREAM_REFUSED_RATE);
	note("2001:db8::2", 9, STREAM_REFUSED_RATE);
	assert_int_equal(nb_got, 1);
	assert_int_equal(thread.stats.untold, 0);
}

// The client does not return: the folded refusals are reported nevertheless, once.
static void test_tick(void **state)
{
	for (unsigned int i = 0; i < 10; i++)
		note("192.0.2.7", (uint16_t)(1000 + i), STREAM_REFUSED_SLOW);
	thread.now_ms += FOLD_MS - 1;
	refused_tick(&thread);
	assert_int_equal(nb_got, 1);
	thread.now_ms += 1000;
	refused_tick(&thread);
	assert_int_equal(nb_got, 2);
	assert_int_equal(got[0].more, 0);
	assert_int_equal(got[1].more, 9);
	assert_int_equal(got[1].client.port, 1009); // the last of them
	for (unsigned int i = 0; i < 100; i++, thread.now_ms += 1000)
		refused_tick(&thread);
	assert_int_equal(nb_got, 2);
}

// Sixteen clients, each with its own reason, in any hash order: each is reported, and none is only
// counted.
static void test_few(void **state)
{
	for (uint64_t key = 0; key < 1000; key++) {
		begin(NULL);
		streams.begun.key = (struct hash_key){{key, key << 7, key << 13, ~key}};
		for (uint8_t i = 0; i < 16; i++) {
			const struct endpoint e = {addr_from_v4((uint8_t[4]){10, 99, i, 2}), 9};

			refused_note(&thread,
				&(struct stream_refused){.client = e,
					.reason = STREAM_REFUSED_TLS_CA + i % 4,
					.offered = ""});
		}
		assert_int_equal(nb_got, 16);
	}
}

// More sources than places: bounded, and refusals that are not reported are counted.
static void test_many(void **state)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < 100000; i++) {
		const uint8_t be[4] = {10, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i};
		const struct endpoint e = {addr_from_v4(be), 1};

		refused_note(&thread,
			&(struct stream_refused){.client = e,
				.listener = 4,
				.reason = STREAM_REFUSED_SOURCE,
				.offered = ""});
	}
	assert_in_range(nb_got, REFUSED_PLACES / 2, REFUSED_PLACES);
	for (unsigned int i = 0; i < 30; i++, thread.now_ms += 1000)
		refused_tick(&thread);
	for (unsigned int i = 0; i < nb_got; i++)
		sum += got[i].more > 0 ? got[i].more : 1;
	assert_int_equal(sum + thread.stats.untold, 100000);
	// no room on the ring: counted, including the folded ones
	begin(NULL);
	room = false;
	note("192.0.2.7", 1, STREAM_REFUSED_SOURCE);
	assert_int_equal(thread.stats.untold, 1);
}

// Failed TLS handshakes have one counter. Their reasons are reported with the client's offer.
static bool has_counter(unsigned int refusal)
{
	return refusal < STREAM_REFUSED_TLS_CA ||
		(refusal > STREAM_REFUSED_HANDSHAKE && refusal < STREAM_REFUSED_DTLS_RATE);
}

static void test_offered(void **state)
{
	note("192.0.2.7", 1000, STREAM_REFUSED_TLS_CA);
	note("192.0.2.7", 1001, STREAM_REFUSED_TLS_VERSION); // each reason has its own place
	assert_int_equal(nb_got, 2);
	assert_string_equal(got[0].offered, "1.2");
	assert_string_equal(got[1].offered, "1.2");
}

// Finds a refusal by the counter that was raised: all others have one, and no other counter makes a
// refusal.
static void test_counters(void **state)
{
	const unsigned int counted =
		STREAM_REFUSED_DTLS_RATE - 1 - (STREAM_REFUSED_HANDSHAKE - STREAM_REFUSED_TLS_CA);

	const struct endpoint e = {addr_text("192.0.2.7"), 9};
	uint64_t *counter = (uint64_t *)&thread.stats;
	unsigned int seen[STREAM_REFUSAL_END] = {0};

	for (size_t i = 0; i < sizeof(thread.stats) / sizeof(*counter); i++) {
		memset(&thread.refused, 0, sizeof(thread.refused));
		refused_init(&thread);
		refused_by_counter(&thread, &e, 4, &counter[i]);
	}
	assert_int_equal(nb_got, counted); // workers count those from DTLS_RATE on
	for (unsigned int i = 0; i < nb_got; i++)
		seen[got[i].reason]++;
	for (unsigned int i = 0; i < STREAM_REFUSAL_END; i++) {
		assert_int_equal(seen[i], has_counter(i));
		assert_non_null(stream_refusal_info(i));
		assert_true(strlen(stream_refusal_info(i)->advice) > 0);
	}
	assert_null(stream_refusal_info(STREAM_REFUSAL_END));
	// without a listener for events
	streams.conf.ops = &deaf;
	note("192.0.2.9", 1, STREAM_REFUSED_SOURCE);
	assert_int_equal(nb_got, counted);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup(test, begin)
	const struct CMUnitTest tests[] = {CASE(test_folded), CASE(test_tick), CASE(test_few),
		CASE(test_many), CASE(test_counters), CASE(test_offered)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
