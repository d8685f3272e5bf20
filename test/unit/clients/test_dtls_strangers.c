// SPDX-License-Identifier: BSD-3-Clause
// Harm that strangers can try to do to clients with ClientHellos: a whole data path, and a stream
// thread's code that the test calls.
#include "bytes.h"
#include "clients/sessions.h"
#include "drop_of.h"
#include "dtls_clients_world.h"
#include "turn_event.h"

#define CLIENTS 12
#define TRIES 20000
#define BATCH 50 // a neighbour that is not known yet holds some more
#define WHOLE_MAX 200
#define FIRST_PORT 1024
#define SITE "2001:db8:1::1"
#define HELLO_LEN 64 // the shortest well-formed one: no cookie, suites or extensions

// --- hand-made ClientHellos ----------------------------------------------------------------------

// Writes a ClientHello with `cookie`, or without one if it is NULL. Only the first byte of its
// random differs. Returns its length.
static uint16_t hello_write(uint8_t *out, uint8_t random, const uint8_t *cookie)
{
	const uint8_t cookie_len = cookie != NULL ? DTLS_COOKIE_LEN : 0;
	const uint16_t len = (uint16_t)(HELLO_LEN + cookie_len);

	memset(out, 0, len);
	out[0] = DTLS_HANDSHAKE;
	store_be16(out + 1, 0xfeff);
	out[10] = out[18] = cookie_len > 0; // the second record, and message
	store_be16(out + 11, (uint16_t)(len - 13));
	out[13] = 1; // ClientHello
	store_be16(out + 15, (uint16_t)(len - 25));
	store_be16(out + 23, (uint16_t)(len - 25));
	store_be16(out + 25, 0xfefd);
	out[27] = random;
	out[60] = cookie_len;
	if (cookie != NULL)
		memcpy(out + 61, cookie, cookie_len);
	return len;
}

// Writes a ClientHello with everything that a ServerHello needs.
static uint16_t hello_write_whole(uint8_t *out, uint8_t random, const uint8_t *cookie)
{
	// a suite, no compression; groups, formats of points, signatures
	static const uint8_t rest[] = {0, 2, 0xc0, 0x2b, 1, 0, 0, 22, 0, 10, 0, 4, 0, 2, 0, 23, 0,
		11, 0, 2, 1, 0, 0, 13, 0, 4, 0, 2, 4, 3};
	const uint16_t pos = (uint16_t)(hello_write(out, random, cookie) - 3);
	const uint16_t len = (uint16_t)(pos + sizeof(rest));

	memcpy(out + pos, rest, sizeof(rest));
	store_be16(out + 11, (uint16_t)(len - 13));
	store_be16(out + 15, (uint16_t)(len - 25));
	store_be16(out + 23, (uint16_t)(len - 25));
	return len;
}

// --- reports -------------------------------------------------------------------------------------

// Refusals that events have reported, by reason; a folded event counts as the number it carries.
static unsigned int told[STREAM_REFUSAL_END];
static struct turn_event last_told;

static void hear(void)
{
	struct turn_event e[64];
	unsigned int n;

	while ((n = dp_events(world.dp, e, RTE_DIM(e))) > 0) {
		for (unsigned int i = 0; i < n; i++) {
			if (e[i].kind != TURN_EVENT_CONNECTION)
				continue;
			assert_true(e[i].reason < STREAM_REFUSAL_END);
			told[e[i].reason] += e[i].more > 0 ? e[i].more : 1;
			last_told = e[i];
		}
	}
}

// Also reads the refusals that were folded until now.
static void hear_all(void)
{
	for (unsigned int i = 0; i < 11; i++) {
		world_wait(&world, 1000);
		hear();
	}
}

// --- without a cookie ----------------------------------------------------------------------------

// The shortest ClientHello that is understood is longer than its answer; shorter ones get no
// answer, and have a drop name.
static void test_length(void **state)
{
	const struct endpoint src = world_endpoint("10.99.0.20", 7000);
	struct world_datagram got;
	uint8_t hello[HELLO_LEN + DTLS_COOKIE_LEN];

	clients_world_open(*state);
	world_wait(&world, 1000);
	hear();
	memset(told, 0, sizeof(told));
	for (uint16_t len = 14; len <= HELLO_LEN; len++) {
		const struct endpoint server = world.listeners[world.dtls + 2].endpoint;
		uint64_t lost;

		hello_write(hello, 0, NULL);
		// all lengths in it are right, but it is too short for the mandatory fields
		store_be16(hello + 11, (uint16_t)(len - 13));
		store_be16(hello + 15, (uint16_t)(len > 25 ? len - 25 : 0));
		store_be16(hello + 23, (uint16_t)(len > 25 ? len - 25 : 0));
		world_send_bytes(&world, &src, &server, hello, len);
		lost = world_stats(&world).drop[DP_DROP_DTLS_HELLO];
		world_run(&world);
		if (len < HELLO_LEN) {
			assert_false(world_take(&world, &src, &got));
			assert_int_equal(world_stats(&world).drop[DP_DROP_DTLS_HELLO], lost + 1);
			continue;
		}
		assert_true(world_take(&world, &src, &got));
		assert_true(got.len <= len);
		assert_int_equal(got.data[13], 3); // HelloVerifyRequest
	}
	hear_all();
	assert_int_equal(told[STREAM_REFUSED_DTLS_HELLO], HELLO_LEN - 14);
	assert_false(last_told.proved);
	assert_true(endpoint_eq(&last_told.client, &src));
	assert_int_equal(last_told.listener, world.dtls + 2);
	clients_world_close();
}

// Datagrams other than ClientHellos are reported where a client may have sent them by mistake: STUN
// in the clear, a record of a session that no longer exists. They prove no address, and a
// flood of them is reported in part.
static void test_told(void **state)
{
	static const uint8_t stun[20] = {0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42};
	static const uint8_t record[32] = {23, 0xfe, 0xfd, [12] = 19};
	const struct endpoint src = world_endpoint("10.99.0.20", 7000);
	struct endpoint server;

	clients_world_open(*state);
	server = world.listeners[world.dtls + 2].endpoint;
	world_wait(&world, 2000);
	hear();
	memset(told, 0, sizeof(told));
	world_send_bytes(&world, &src, &server, stun, sizeof(stun));
	world_send_bytes(&world, &src, &server, "\xff\xff\xff\xff", 4);
	world_run(&world);
	assert_int_equal(world_dropped(&world, DP_DROP_DTLS_PLAIN), 2);
	hear();
	assert_int_equal(told[STREAM_REFUSED_DTLS_PLAIN], 1);
	assert_false(last_told.proved);
	assert_int_equal(last_told.listener, world.dtls + 2);
	for (unsigned int i = 0; i < 1000; i++) {
		const struct endpoint forger = world_endpoint("10.99.0.20", (uint16_t)(7000 + i));

		world_send_bytes(&world, &forger, &server, record, sizeof(record));
		if (i % 20 == 0)
			world_run(&world);
	}
	world_run(&world);
	assert_int_equal(world_dropped(&world, DP_DROP_DTLS_UNKNOWN), 1000);
	hear_all();
	assert_int_equal(told[STREAM_REFUSED_DTLS_PLAIN], 1);
	// one second's worth of each worker, and some more for the time that the test takes
	assert_in_range(told[STREAM_REFUSED_DTLS_UNKNOWN], 90, 150 * world.conf.workers);
	assert_false(last_told.proved);
	clients_world_close();
}

// Thousands of spoofed ClientHellos a second with the clients' addresses: every client connects in
// time.
static void test_spoofed(void **state)
{
	const char *const hosts[] = {"10.99.0.20", "198.51.100.5", "fd99::20"};
	unsigned int done = 0, sent = 0;
	uint8_t hello[HELLO_LEN + DTLS_COOKIE_LEN];

	clients_world_open(*state);
	for (unsigned int ms = 0; ms < 1500; ms++) {
		for (unsigned int k = 0; k < 6; k++) {
			const struct endpoint src =
				world_endpoint(hosts[k % 3], (uint16_t)(1024 + sent++ % 8000));
			const struct endpoint server =
				world.listeners[world.dtls + 2 - k % 3 / 2].endpoint;

			hello_write(hello, (uint8_t)sent, NULL);
			world_send_bytes(&world, &src, &server, hello, HELLO_LEN);
		}
		if (ms >= 1000 && ms < 1000 + CLIENTS)
			client_place(hosts[ms % 3], world.dtls + 2 - ms % 3 / 2);
		done = 0;
		for (unsigned int i = 0; i < nb_clients; i++)
			done += dtls_client_handshake(&end[i]);
		step();
		world.nb_seen = 0; // the answers that no client waits for
		world_wait(&world, 1);
	}
	assert_int_equal(done, CLIENTS);
	assert_true(world_stats(&world).dtls.verify >= sent);
	assert_int_equal(world_stats(&world).drop[drop_of_turn(TURN_DROP_UNAUTHENTICATED_RATE)], 0);
	clients_world_close();
}

// --- with a cookie -------------------------------------------------------------------------------

static void cookie_ask(const struct endpoint *src, uint8_t random)
{
	uint8_t hello[WHOLE_MAX];

	world_send_bytes(&world, src, &world.listeners[world.dtls + 2].endpoint, hello,
		hello_write(hello, random, NULL));
}

static void cookie_take(const struct endpoint *src, uint8_t cookie[DTLS_COOKIE_LEN])
{
	struct world_datagram got;

	assert_true(world_take(&world, src, &got));
	assert_int_equal(got.data[13], 3); // HelloVerifyRequest
	memcpy(cookie, got.data + got.len - DTLS_COOKIE_LEN, DTLS_COOKIE_LEN);
}

static void cookie_use(const struct endpoint *src, uint8_t random, const uint8_t *cookie)
{
	uint8_t hello[HELLO_LEN + DTLS_COOKIE_LEN];

	world_send_bytes(&world, src, &world.listeners[world.dtls + 2].endpoint, hello,
		hello_write(hello, random, cookie));
}

static void cookies_get(struct endpoint src, uint8_t cookies[TRIES][DTLS_COOKIE_LEN])
{
	for (unsigned int i = 0; i < TRIES; i += BATCH) {
		struct endpoint first = src;

		for (unsigned int k = 0; k < BATCH; k++, src.port++)
			cookie_ask(&src, 0);
		world_run(&world);
		for (unsigned int k = 0; k < BATCH; k++, first.port++)
			cookie_take(&first, cookies[i + k]);
	}
}

// One source begins 10,000 handshakes a second, each from another port: it gets its limit, and
// another source keeps its own.
static void test_rate(void **state)
{
	static uint8_t cookies[TRIES][DTLS_COOKIE_LEN];
	const struct limit *most = &((struct world_setup *)*state)->handshakes;
	struct endpoint src = world_endpoint("10.99.0.20", FIRST_PORT);
	unsigned int tries = 0, begun;

	clients_world_open(*state);
	memset(told, 0, sizeof(told));
	cookies_get(src, cookies);
	while (tries < TRIES) {
		for (unsigned int k = 0; k < 20; k++, tries++, src.port++)
			cookie_use(&src, 0, cookies[tries]);
		step(); // of two milliseconds
		world.nb_seen = 0;
	}
	settle(4);
	begun = TRIES - (unsigned int)world_dropped(&world, DP_DROP_DTLS_RATE);
	assert_in_range(begun, most->burst + most->rate, most->burst + most->rate * 2);
	assert_int_equal(dtls_thread_stats().dtls_failed, begun); // there is no cipher in common
	client_place("198.51.100.5", world.dtls + 2);
	handshake_all();
	hear_all();
	assert_int_equal(told[STREAM_REFUSED_DTLS_RATE], TRIES - begun); // whichever host sent them
	assert_true(last_told.proved);
	assert_true(addr_eq(&last_told.client.addr, &src.addr));
	assert_int_equal(last_told.listener, world.dtls + 2);
	clients_world_close();
}

// Begins a handshake from each of n /64 of the /48 of an address, from `first` on.
static void begin_site(const char *site, unsigned int first, unsigned int nb)
{
	const struct endpoint *server = &world.listeners[world.dtls + 1].endpoint;
	uint8_t cookie[DTLS_COOKIE_LEN], hello[WHOLE_MAX];

	for (unsigned int i = first; i < first + nb; i++) {
		struct endpoint src = world_endpoint(site, FIRST_PORT);

		src.addr.b[7] = (uint8_t)i;
		world_send_bytes(&world, &src, server, hello, hello_write_whole(hello, 1, NULL));
		world_run(&world);
		cookie_take(&src, cookie);
		world_send_bytes(&world, &src, server, hello, hello_write_whole(hello, 1, cookie));
	}
	settle(2);
}

// A /48 may begin as many as five sources may, from any number of its /64; another /48 has its own
// limit.
static void test_rate_network(void **state)
{
	const struct limit *most = &((struct world_setup *)*state)->handshakes;
	unsigned int begun;

	clients_world_open(*state);
	begin_site(SITE, 0, 10 * most->burst);
	begun = 10 * most->burst - (unsigned int)world_dropped(&world, DP_DROP_DTLS_RATE);
	assert_in_range(begun, 5 * most->burst, 5 * (most->burst + 2 * most->rate));
	begin_site("2001:db8:2::1", 0, most->burst);
	assert_int_equal(world_dropped(&world, DP_DROP_DTLS_RATE), 10 * most->burst - begun);
	clients_world_close();
}

// --- repeated ClientHellos -----------------------------------------------------------------------

static struct restart {
	struct endpoint src;
	uint8_t cookie[2][DTLS_COOKIE_LEN];
	uint8_t last[32]; // random of the last ServerHello
	unsigned int begun, asked; // ServerHellos with a new random, HelloVerifyRequests
} again;

static void again_send(uint8_t random, const uint8_t *cookie)
{
	uint8_t hello[WHOLE_MAX];

	world_send_bytes(&world, &again.src, &world.listeners[world.dtls + 2].endpoint, hello,
		hello_write_whole(hello, random, cookie));
}

// Runs rounds, and counts the answers.
static void again_settle(void)
{
	struct world_datagram got;

	settle(4);
	while (world_take(&world, &again.src, &got)) {
		if (got.data[13] == 3) {
			again.asked++;
			memcpy(again.cookie[0], got.data + got.len - DTLS_COOKIE_LEN,
				DTLS_COOKIE_LEN);
		} else if (got.data[13] == 2 && memcmp(again.last, got.data + 27, 32) != 0) {
			again.begun++;
			memcpy(again.last, got.data + 27, 32);
		}
	}
}

static void again_begin(void **state)
{
	clients_world_open(*state);
	memset(&again, 0, sizeof(again));
	again.src = world_endpoint("10.99.0.20", FIRST_PORT);
	for (unsigned int i = 0; i < 2; i++) {
		again_send((uint8_t)(1 - i), NULL);
		again_settle();
		if (i == 0)
			memcpy(again.cookie[1], again.cookie[0], DTLS_COOKIE_LEN);
	}
	assert_int_equal(again.asked, 2);
	again.asked = 0;
}

// Two cookies of one client, used in turn: the first begins a handshake, and no other one begins.
static void test_alternated(void **state)
{
	uint8_t first[DTLS_COOKIE_LEN];

	again_begin(state);
	memcpy(first, again.cookie[0], sizeof(first));
	for (unsigned int i = 0; i < 200; i++) {
		again_send(i % 2, i % 2 == 0 ? first : again.cookie[1]);
		again_settle();
	}
	assert_int_equal(again.begun, 1);
	assert_int_equal(again.asked, 100); // the other cookie gets a HelloVerifyRequest
	clients_world_close();
}

// Both in one round, before there is a flight.
static void test_alternated_at_once(void **state)
{
	again_begin(state);
	for (unsigned int i = 0; i < 20; i++)
		again_send(i % 2, again.cookie[i % 2]);
	again_settle();
	assert_int_equal(again.begun, 1);
	assert_int_equal(again.asked, 10);
	clients_world_close();
}

// A cookie that started a handshake starts no other one after that handshake ended. A cookie made
// later does, and its handshake replaces one that is under way.
static void test_spent(void **state)
{
	static const uint8_t alert[] = {21, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 9, 0, 2, 2, 40};
	const struct endpoint *server;

	again_begin(state);
	server = &world.listeners[world.dtls + 2].endpoint;
	again_send(0, again.cookie[0]);
	again_settle();
	assert_int_equal(again.begun, 1);
	world_send_bytes(&world, &again.src, server, alert, sizeof(alert));
	again_settle();
	assert_int_equal(sum_half_open(), 0);
	for (unsigned int i = 0; i < 2; i++) {
		again_send(0, again.cookie[0]);
		again_settle();
		// first a spent cookie; the cookie of the HelloVerifyRequest is fresh
		assert_int_equal(again.begun, 1 + i);
		assert_int_equal(again.asked, 1);
	}
	again_send(5, NULL); // its client has started again
	again_settle();
	again_send(5, again.cookie[0]);
	again_settle();
	assert_int_equal(again.begun, 3);
	assert_int_equal(sum_half_open(), 1);
	clients_world_close();
}

// A cookie that started no handshake, because there was no room, stays valid: its client will use
// it again.
static void test_not_spent(void **state)
{
	const uint32_t max = 1000;

	again_begin(state);
	dtls_thread_limit(0);
	for (unsigned int i = 0; i < 3; i++) {
		again_send(0, again.cookie[0]);
		again_settle();
	}
	assert_int_equal(dtls_thread_stats().dtls_refused_total, 3);
	assert_int_equal(again.begun + again.asked, 0);
	dtls_thread_limit(max);
	again_send(0, again.cookie[0]);
	again_settle();
	assert_int_equal(again.begun, 1);
	clients_world_close();
}

// --- half-open handshakes ------------------------------------------------------------------------

static void begin_some(unsigned int first, unsigned int nb, uint8_t cookies[][DTLS_COOKIE_LEN])
{
	uint8_t hello[WHOLE_MAX];

	for (unsigned int i = first; i < first + nb; i++) {
		const struct endpoint src =
			world_endpoint("10.99.0.20", (uint16_t)(FIRST_PORT + i));

		world_send_bytes(&world, &src, &world.listeners[world.dtls + 2].endpoint, hello,
			hello_write_whole(hello, 0, cookies[i]));
	}
	settle(2);
}

// The maximum number of handshakes, none of which continues: the oldest one gives way, but not
// before its time is over.
static void test_half_open(void **state)
{
	const unsigned int most = ((struct world_setup *)*state)->half_open;
	uint8_t cookies[BATCH][DTLS_COOKIE_LEN], hello[WHOLE_MAX];
	struct endpoint src = world_endpoint("10.99.0.20", FIRST_PORT);

	clients_world_open(*state);
	memset(told, 0, sizeof(told));
	for (unsigned int i = 0; i < BATCH; i++, src.port++) {
		world_send_bytes(&world, &src, &world.listeners[world.dtls + 2].endpoint, hello,
			hello_write_whole(hello, 0, NULL));
		world_run(&world);
		cookie_take(&src, cookies[i]);
	}
	settle(1); // the thread's clock
	begin_some(0, most, cookies);
	begin_some(most, most, cookies);
	assert_int_equal(sum_half_open(), most);
	assert_int_equal(world_dropped(&world, DP_DROP_DTLS_FULL), most);
	assert_int_equal(world_stats(&world).dtls.gave_way, 0);
	world_wait(&world, 500);
	begin_some(most, 3, cookies);
	assert_int_equal(sum_half_open(), most);
	assert_int_equal(world_dropped(&world, DP_DROP_DTLS_FULL), most);
	assert_int_equal(world_stats(&world).dtls.gave_way, 3);
	client_place("198.51.100.5", world.dtls + 2);
	for (unsigned int i = 0; i < 50 && !dtls_client_handshake(&end[0]); i++)
		step();
	assert_int_equal(sum_open(), 1);
	assert_int_equal(sum_half_open(), most - 1);
	assert_int_equal(world_stats(&world).dtls.gave_way, 4);
	hear_all();
	assert_int_equal(told[STREAM_REFUSED_DTLS_FULL], most);
	assert_int_equal(told[STREAM_REFUSED_DTLS_GAVE_WAY], 4);
	clients_world_close();
}

// A /48 gets half of the places: other clients begin at once and continue, whatever it does.
static void test_half_open_network(void **state)
{
	const unsigned int half = ((struct world_setup *)*state)->half_open / 2;
	uint8_t cookies[BATCH][DTLS_COOKIE_LEN];

	clients_world_open(*state);
	cookie_ask(&(struct endpoint){world_endpoint("10.99.0.20", 0).addr, FIRST_PORT}, 0);
	world_run(&world);
	cookie_take(
		&(struct endpoint){world_endpoint("10.99.0.20", 0).addr, FIRST_PORT}, cookies[0]);
	settle(1);
	begin_some(0, 1, cookies); // the slow client, and the oldest
	for (unsigned int i = 0; i < 2; i++) {
		begin_site(SITE, 40 * i, 40);
		assert_int_equal(sum_half_open(), half + 1);
		assert_int_equal(world_stats(&world).dtls.gave_way, 0);
		world_wait(&world, 500);
	}
	client_place("198.51.100.5", world.dtls + 2);
	for (unsigned int i = 0; i < 50 && !dtls_client_handshake(&end[0]); i++)
		step();
	assert_int_equal(sum_open(), 1);
	assert_int_equal(world_stats(&world).dtls.gave_way, 0);
	clients_world_close();
}

// A place that the /48 has held for long goes to another handshake of that /48.
static void test_half_open_site(void **state)
{
	const unsigned int half = ((struct world_setup *)*state)->half_open / 2;

	clients_world_open(*state);
	settle(1); // the thread's clock
	begin_site(SITE, 0, half);
	world_wait(&world, 500);
	begin_site(SITE, half, 2);
	assert_int_equal(sum_half_open(), half);
	assert_int_equal(world_stats(&world).dtls.gave_way, 2);
	clients_world_close();
}

// --- on the thread -------------------------------------------------------------------------------

// Waiting datagrams are processed one by one, in turn; an excess is dropped, and those of
// handshakes that end meanwhile are freed.
static void test_waiting(void **state)
{
	const uint8_t none[DTLS_COOKIE_LEN] = {0}; // the thread does not ask
	const unsigned int nb = 30;
	struct stream_message m = {.source = world_endpoint("10.99.0.20", 1).addr};
	uint8_t hello[WHOLE_MAX];

	clients_world_open(*state);
	m.data = hello;
	for (unsigned int i = 0; i < nb; i++) {
		m.len = hello_write_whole(hello, 0, none);
		m.conn = UINT64_C(7) << 32 | i;
		m.kind = STREAM_HELLO;
		dtls_thread_take(0, &m);
		m.kind = STREAM_HANDSHAKE;
		for (unsigned int k = 0; k < 20; k++)
			dtls_thread_take(0, &m);
		memset(hello, 0xff, sizeof(hello)); // it was only borrowed
	}
	assert_int_equal(dtls_thread_stats().dtls_overrun, nb * (20 - 7));
	m.kind = STREAM_GONE;
	m.conn = (UINT64_C(7) << 32) + 1;
	dtls_thread_take(0, &m);
	assert_true(dtls_thread_work()); // the first handshake's
	m.conn = UINT64_C(7) << 32;
	dtls_thread_take(0, &m);
	for (unsigned int left = 8 * (nb - 2); left > 0; left--)
		assert_int_equal(dtls_thread_work(), left > 1);
	assert_int_equal(dtls_thread_stats().dtls_sessions, nb - 2);
	assert_int_equal(dtls_thread_stats().dtls_failed, 0);
	clients_world_close(); // closing frees the waiting datagrams
}

static struct world_setup setups[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .dtls = true, .unauthenticated = {20, 100}},
	{.workers = 3, .rx_queues = 3, .tx_queues = 3, .dtls = true, .unauthenticated = {20, 100}},
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .dtls = true, .handshakes = {50, 100}},
	{.workers = 3, .rx_queues = 3, .tx_queues = 3, .dtls = true, .handshakes = {51, 99}},
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .dtls = true, .half_open = 8},
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .dtls = true, .handshakes = {5, 20}},
};

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_CASE(test_length, setups, 0),
		WORLD_CASE(test_told, setups, 0),
		WORLD_CASE(test_told, setups, 1),
		WORLD_CASE(test_spoofed, setups, 0),
		WORLD_CASE(test_spoofed, setups, 1),
		WORLD_CASE(test_rate, setups, 2),
		WORLD_CASE(test_rate, setups, 3),
		WORLD_CASE(test_rate_network, setups, 5),
		WORLD_CASE(test_alternated, setups, 0),
		WORLD_CASE(test_alternated, setups, 1),
		WORLD_CASE(test_alternated_at_once, setups, 0),
		WORLD_CASE(test_spent, setups, 0),
		WORLD_CASE(test_spent, setups, 1),
		WORLD_CASE(test_not_spent, setups, 0),
		WORLD_CASE(test_half_open, setups, 4),
		WORLD_CASE(test_half_open_network, setups, 4),
		WORLD_CASE(test_half_open_site, setups, 4),
		WORLD_CASE(test_waiting, setups, 0),
	};

	dtls_client_timer_us = 1000000; // no datagram is lost here
	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
