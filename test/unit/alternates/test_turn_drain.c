// SPDX-License-Identifier: BSD-3-Clause
// A shard that drains: clients with an allocation notice nothing, and new ones are sent to other
// servers (RFC 8656 7.2, RFC 8489 10, 14.15, 14.16).
#include <netinet/in.h>

#include "feature_names.h"
#include "addr_text.h"
#include "stun.h"
#include "turn_alternates.h"
#include "turn_fixture.h"

#define OTHER4 "203.0.113.9"
#define OTHER6 "2001:db8:9::9"
#define NB_LISTENERS 6

static struct fixture f;
static struct turn_alternates *drain;

static const uint8_t transports[NB_LISTENERS] = {
	TURN_OVER_UDP, TURN_OVER_UDP, TURN_OVER_TCP, TURN_OVER_TLS, TURN_OVER_DTLS, TURN_OVER_AUTO};

static int setup(void **state)
{
	static struct turn_listener listeners[NB_LISTENERS];
	struct turn_config c = fixture_config();

	for (uint8_t i = 0; i < NB_LISTENERS; i++)
		listeners[i] = (struct turn_listener){
			{c.relay[i == 1], (uint16_t)(4000 + i)}, transports[i]};
	c.listeners = listeners;
	c.nb_listeners = NB_LISTENERS;
	*state = &f;
	fixture_open(&f, &c, 1);
	return 0;
}

static int teardown(void **state)
{
	const int rc = fixture_teardown(state);

	turn_alternates_free(drain);
	drain = NULL;
	return rc;
}

// Starts a drain of the shard, with nb alternates.
static void begin(const struct turn_alternate *list, uint32_t nb)
{
	const struct turn_alternates_rule rule = {.when = TURN_ALTERNATES_DRAIN};
	struct turn_alternates *old = drain;

	drain = turn_alternates_create(&rule, list, nb);
	assert_non_null(drain);
	turn_shard_set_intake(f.shard, &(struct turn_intake){true, drain});
	turn_alternates_free(old);
}

static struct turn_alternate make_alternate(const char *addr)
{
	return (struct turn_alternate){.addr = addr_text(addr)};
}

// A client of a listener; only clients of listener 1 use IPv6.
static struct fixture_client client(uint8_t listener, uint16_t port)
{
	struct fixture_client c =
		fixture_client(listener == 1 ? "2001:db8::7" : "198.51.100.7", port);

	c.listener = listener;
	return c;
}

// ALTERNATE-SERVER number nth of the last answer, which must have `total`. They have the form of
// MAPPED-ADDRESS (RFC 8489 14.1): a zero, the family, port and address.
static struct endpoint alternate(unsigned int nth, unsigned int total)
{
	struct endpoint found = {0};
	uint16_t pos = 0, off, alen;
	unsigned int nb = 0;

	while (stun_next(&f.answer, STUN_ALTERNATE_SERVER, &pos, &off, &alen)) {
		const uint8_t *v = f.answer.data + off;

		assert_int_equal(v[0], 0);
		assert_true((v[1] == 1 && alen == 8) || (v[1] == 2 && alen == 20));
		if (nb++ != nth)
			continue;
		found.port = (uint16_t)(v[2] << 8 | v[3]);
		if (v[1] == 1)
			found.addr = addr_from_v4(v + 4);
		else
			found.addr = addr_from_v6(v + 4);
	}
	assert_int_equal(nb, total);
	return found;
}

static void assert_alternate(unsigned int nth, unsigned int total, const char *addr, uint16_t port)
{
	const struct endpoint found = alternate(nth, total), want = fixture_endpoint(addr, port);

	assert_true(endpoint_eq(&found, &want));
}

static void assert_domain(const char *name)
{
	assert_int_equal(stun_has(&f.answer, STUN_ALTERNATE_DOMAIN), name != NULL);
	if (name == NULL)
		return;
	assert_int_equal(f.answer.alen[STUN_ALTERNATE_DOMAIN], strlen(name));
	assert_memory_equal(
		f.answer.data + f.answer.off[STUN_ALTERNATE_DOMAIN], name, strlen(name));
}

// --- clients with an allocation ------------------------------------------------------------------

static void live_allocations_go_on(void **state)
{
	const struct turn_alternate target = make_alternate(OTHER4);
	const struct endpoint peer = fixture_endpoint("10.99.0.9", 7000);
	struct fixture_client ivan = client(0, 5000), eve = fixture_eve("198.51.100.8", 5000);

	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	begin(&target, 1);
	assert_int_equal(fixture_allocate(&f, &eve, 4), 300);
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.8"), 0);
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "10.99.0.9", 7000), 0);
	assert_int_equal(fixture_channel_data(&f, &ivan, 0x4000, "x", 1)->verdict, TURN_RELAY);
	assert_int_equal(fixture_from_peer(&f, &ivan.relay, &peer, "x", 1)->verdict, TURN_RELAY);
	assert_int_equal(fixture_refresh(&f, &ivan, 900), 0);
	assert_int_equal(ivan.lifetime_s, 900);
	fixture_begin(&f, STUN_REQUEST, STUN_BINDING);
	fixture_send(&f, &eve);
	assert_int_equal(fixture_code(&f), 0);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 437); // another Allocate, as always
	assert_int_equal(fixture_refresh(&f, &ivan, 0), 0);
	assert_int_equal(fixture_stats(&f).allocations, 0);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 300);
}

// RFC 8489 6.3.1: a client that has missed the answer asks again, and gets an equal one.
static void a_retransmission_gets_what_it_got(void **state)
{
	struct fixture_client ivan = client(0, 5000), eve = fixture_eve("198.51.100.8", 5000);
	uint8_t first[TURN_SIDE_LEN];
	uint16_t len;

	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	len = f.burst.plan.front_len;
	memcpy(first, f.burst.side.front, len);
	begin(NULL, 0);
	fixture_resend(&f, &ivan);
	assert_int_equal(f.burst.plan.front_len, len);
	assert_memory_equal(f.burst.side.front, first, len);
	assert_int_equal(fixture_allocate(&f, &eve, 4), 508);
	len = f.burst.plan.front_len;
	memcpy(first, f.burst.side.front, len);
	fixture_resend(&f, &eve);
	assert_int_equal(f.burst.plan.front_len, len);
	assert_memory_equal(f.burst.side.front, first, len);
	assert_int_equal(fixture_stats(&f).allocations, 1);
}

static void the_end_of_a_drain_takes_allocations(void **state)
{
	const struct turn_alternate target = make_alternate(OTHER4);
	struct fixture_client ivan = client(0, 5000);

	begin(&target, 1);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 300);
	begin(NULL, 0); // another drain replaces it
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 508);
	turn_shard_set_intake(f.shard, &(struct turn_intake){0});
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_ALTERNATE], 1);
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_DRAINING], 1);
}

// --- new clients ---------------------------------------------------------------------------------

static void begin_allocate(uint8_t protocol)
{
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, (uint32_t)protocol << 24);
}

#ifdef FEATURE_RESERVATIONS
// EVEN-PORT, with and without R, and a token of a port that is reserved here or elsewhere.
static void every_kind_of_allocation_is_refused(void **state)
{
	const struct turn_alternate target = make_alternate(OTHER4);
	struct fixture_client ivan = client(0, 5000), eve = fixture_eve("198.51.100.8", 5000);
	uint8_t even = 0x80, token[8];

	begin_allocate(IPPROTO_UDP);
	stun_put(&f.w, STUN_EVEN_PORT, &even, 1);
	assert_int_equal(fixture_ask(&f, &ivan), 0);
	memcpy(token, f.answer.data + f.answer.off[STUN_RESERVATION_TOKEN], 8);
	begin(&target, 1);
	for (unsigned int r = 0; r < 2; r++) {
		even = r == 0 ? 0 : 0x80;
		begin_allocate(IPPROTO_UDP);
		stun_put(&f.w, STUN_EVEN_PORT, &even, 1);
		assert_int_equal(fixture_ask(&f, &eve), 300);
	}
	for (uint8_t home = 0; home < 2; home++) {
		token[0] = home;
		begin_allocate(IPPROTO_UDP);
		stun_put(&f.w, STUN_RESERVATION_TOKEN, token, 8);
		assert_int_equal(fixture_ask(&f, &eve), 300);
	}
	assert_int_equal(fixture_stats(&f).allocations, 1);
	assert_int_equal(turn_quota_total(f.quota), 2);
}
#endif

// Faults of a request are answered first (RFC 8656 7.2: 300 is the last check), and unauthenticated
// clients learn nothing.
static void faults_of_a_request_come_first(void **state)
{
	const struct turn_alternate target = make_alternate(OTHER4);
	struct fixture_client ivan = client(0, 5000), bad = client(0, 5001);

	begin(&target, 1);
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	assert_int_equal(fixture_ask(&f, &ivan), 400);
	begin_allocate(IPPROTO_TCP);
	assert_int_equal(fixture_ask(&f, &ivan), 442);
	begin_allocate(IPPROTO_UDP);
	fixture_send(&f, &bad);
	assert_int_equal(fixture_code(&f), 401);
	fixture_assert_challenge(&f);
	assert_false(stun_has(&f.answer, STUN_ALTERNATE_SERVER));
	bad.password = "wrong";
	assert_int_equal(fixture_allocate(&f, &bad, 4), 401);
	assert_false(stun_has(&f.answer, STUN_ALTERNATE_SERVER));
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_ALTERNATE], 0);
}

// RFC 8489 10: the first has the family of the client's address, and one of the other family should
// follow.
static void families(void **state)
{
	const struct turn_alternate both[2] = {make_alternate(OTHER6), make_alternate(OTHER4)};
	struct fixture_client by4 = client(0, 5000), by6 = client(1, 5000);

	begin(both, 2);
	assert_int_equal(fixture_allocate(&f, &by4, 6), 300); // not the relay address's family
	assert_true(fixture_signed(&f, &by4));
	assert_alternate(0, 2, OTHER4, 4000);
	assert_alternate(1, 2, OTHER6, 4000);
	assert_int_equal(fixture_allocate(&f, &by6, 4), 300);
	assert_true(fixture_signed(&f, &by6));
	assert_alternate(0, 2, OTHER6, 4001);
	assert_alternate(1, 2, OTHER4, 4001);
	begin(both, 1);
	assert_int_equal(fixture_allocate(&f, &by6, 6), 300);
	assert_alternate(0, 1, OTHER6, 4001);
	assert_int_equal(fixture_allocate(&f, &by4, 4), 508);
	assert_true(fixture_signed(&f, &by4));
	assert_false(stun_has(&f.answer, STUN_ALTERNATE_SERVER));
}

// The client keeps its transport: it gets a port where that is served.
static void ports(void **state)
{
	static const uint16_t want[2][NB_LISTENERS] = {
		{4000, 4001, 4002, 4003, 4004, 4005}, {3478, 3478, 3478, 5349, 5349, 4005}};
	struct turn_alternate list[2] = {make_alternate(OTHER4), make_alternate(OTHER6)};

	for (unsigned int given = 0; given < 2; given++) {
		for (unsigned int i = 0; i < 2; i++) {
			list[i].port = given ? 3478 : 0;
			list[i].tls_port = given ? 5349 : 0;
		}
		begin(list, 2);
		for (uint8_t i = 0; i < NB_LISTENERS; i++) {
			struct fixture_client c = client(i, (uint16_t)(5000 + i));

			assert_int_equal(fixture_allocate(&f, &c, 4), 300);
			assert_alternate(0, 2, i == 1 ? OTHER6 : OTHER4, want[given][i]);
			assert_alternate(1, 2, i == 1 ? OTHER4 : OTHER6, want[given][i]);
		}
	}
}

// RFC 8489 10, 14.16: over TLS and DTLS the name in the certificate, if it differs. It applies to
// all servers in the answer.
static void names(void **state)
{
	struct turn_alternate list[3] = {
		make_alternate(OTHER4), make_alternate("2001:db8:9::8"), make_alternate(OTHER6)};
	char first[] = "turn4.example.org", second[] = "turn6.example.org";

	list[0].name = first;
	list[1].name = second;
	list[2].name = first;
	begin(list, 3);
	for (uint8_t i = 0; i < NB_LISTENERS; i++) {
		struct fixture_client c = client(i, (uint16_t)(5000 + i));
		const bool secure =
			transports[i] != TURN_OVER_UDP && transports[i] != TURN_OVER_TCP;

		c.alg = STUN_ALG_SHA256;
		assert_int_equal(fixture_allocate(&f, &c, 4), 300);
		assert_domain(secure ? first : NULL);
		if (secure)
			assert_alternate(1, 2, OTHER6, (uint16_t)(4000 + i));
	}
	begin(list, 2);
	for (uint8_t i = 0; i < NB_LISTENERS; i++) {
		struct fixture_client c = client(i, (uint16_t)(5000 + i));
		const bool secure =
			transports[i] != TURN_OVER_UDP && transports[i] != TURN_OVER_TCP;

		assert_int_equal(fixture_allocate(&f, &c, 4), 300);
		if (secure)
			assert_alternate(0, 1, OTHER4, (uint16_t)(4000 + i));
	}
	list[0].name = list[1].name = NULL; // they have this server's certificate
	begin(list, 2);
	for (uint8_t i = 2; i < NB_LISTENERS; i++) {
		struct fixture_client c = client(i, (uint16_t)(5000 + i));

		assert_int_equal(fixture_allocate(&f, &c, 4), 300);
		assert_domain(NULL);
		assert_alternate(1, 2, "2001:db8:9::8", (uint16_t)(4000 + i));
	}
}

// Each of three alternates gets its share of the clients. A client that asks again is sent to the
// same one.
static void clients_are_shared_among_alternates(void **state)
{
	const struct turn_alternate list[4] = {make_alternate("203.0.113.1"),
		make_alternate(OTHER6), make_alternate("203.0.113.2"),
		make_alternate("203.0.113.3")};
	unsigned int got[4] = {0};

	begin(list, 4);
	for (uint16_t i = 0; i < 600; i++) {
		struct fixture_client c = client(0, (uint16_t)(5000 + i));
		struct endpoint e, again;

		assert_int_equal(fixture_allocate(&f, &c, 4), 300);
		e = alternate(0, 2);
		assert_in_range(e.addr.b[15], 1, 3);
		got[e.addr.b[15]]++;
		assert_int_equal(fixture_allocate(&f, &c, 4), 300);
		again = alternate(0, 2);
		assert_true(endpoint_eq(&e, &again));
	}
	for (unsigned int i = 1; i <= 3; i++)
		assert_in_range(got[i], 140, 260); // 200 expected, plus or minus 5 times 11.5
}

// The longest name, two servers, SHA-256 and a fingerprint: it fits.
static void the_longest_answer_fits(void **state)
{
	struct turn_alternate list[2] = {make_alternate(OTHER6), make_alternate(OTHER4)};
	struct fixture_client c = client(3, 5000);
	char name[256];

	memset(name, 'x', 255);
	name[255] = '\0';
	list[0].name = list[1].name = name;
	begin(list, 2);
	c.alg = STUN_ALG_SHA256;
	assert_int_equal(fixture_allocate(&f, &c, 4), 300);
	assert_domain(name);
	assert_true(fixture_signed(&f, &c));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(live_allocations_go_on),
		T(a_retransmission_gets_what_it_got),
		T(the_end_of_a_drain_takes_allocations),
#ifdef FEATURE_RESERVATIONS
		T(every_kind_of_allocation_is_refused),
#endif
		T(faults_of_a_request_come_first),
		T(families),
		T(ports),
		T(names),
		T(clients_are_shared_among_alternates),
		T(the_longest_answer_fits),
	};

	return cmocka_run_group_tests_name("turn_drain", tests, NULL, NULL);
}
