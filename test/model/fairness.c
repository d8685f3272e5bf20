// SPDX-License-Identifier: BSD-3-Clause
// Each resource that one user can fill: the user takes as much as possible, with clients chosen so
// that all of them come to one worker. A hundred other users of that worker then ask for their
// share, and lose nothing. The table is printed.
#include <netinet/in.h>
#include <stdio.h>

#include "feature_names.h"
#include "relayed/relay_map.h"
#include "restart_world.h"

#define OTHERS 100
#define WORKERS 2
#define AIMED 0 // the worker that the greedy user has chosen
#define IN_VAIN 40 // refusals in a row after which the greedy user has everything that it can get
#define MUCH 100000

static struct restart r;
static struct turn_config config;
static struct {
	char name[32], password[32];
} victims[OTHERS];
static uint16_t next_port; // of clients
static unsigned int refused_in_a_row;
static uint64_t held; // by the greedy user

// --- clients -------------------------------------------------------------------------------------

static void make_others(void)
{
	struct stun_crypto *crypto = stun_crypto_create();

	assert_non_null(crypto);
	for (unsigned int i = 0; i < OTHERS; i++) {
		snprintf(victims[i].name, sizeof(victims[i].name), "1800000000:u%u", i);
		assert_true(stun_rest_password(crypto, "s3cret", victims[i].name,
			strlen(victims[i].name), victims[i].password));
	}
	stun_crypto_free(crypto);
}

// A new client of eve or of another user, whose home is worker `home`.
static struct fixture_client client_of(int user, unsigned int home)
{
	struct fixture_client c;

	do {
		c = fixture_eve(user < 0 ? "198.51.100.66" : "198.51.100.7", next_port++);
	} while (restart_first(&r, &c)->params.worker != home);
	if (user >= 0) {
		c.user = victims[user].name;
		c.password = victims[user].password;
	}
	return c;
}

static struct fixture *begin(const struct fixture_client *c, uint8_t protocol)
{
	struct fixture *f = restart_first(&r, c);

	fixture_begin(f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f->w, STUN_REQUESTED_TRANSPORT, (uint32_t)protocol << 24);
	return f;
}

static unsigned int finish(struct fixture_client *c, struct fixture **f)
{
	const unsigned int code = restart_ask(&r, c, f);

	if (code == 0)
		c->relay = fixture_answer_addr(*f, STUN_XOR_RELAYED_ADDRESS);
	return code;
}

static bool allocate(struct fixture_client *c)
{
	struct fixture *f;

	begin(c, IPPROTO_UDP);
	return finish(c, &f) == 0;
}

// True if the greedy user continues after such an attempt.
static bool goes_on(bool got)
{
	held += got;
	refused_in_a_row = got ? 0 : refused_in_a_row + 1;
	return refused_in_a_row < IN_VAIN && held < MUCH;
}

// --- relay ports ---------------------------------------------------------------------------------

static void ports_config(void)
{
	config.port_hi = (uint16_t)(config.port_lo + 255);
	config.limits.per_user = 64;
}

static bool takes_port(int user)
{
	struct fixture_client c = client_of(user, AIMED);

	return allocate(&c);
}

static void both_config(void)
{
	config.port_hi = (uint16_t)(config.port_lo + 255);
	config.limits.per_user = 64;
}

static bool takes_both(int user)
{
	struct fixture_client c = client_of(user, AIMED);
	struct fixture *f;
	unsigned int n = 0;
	uint16_t pos = 0, off, alen;

	stun_put_u32(&begin(&c, IPPROTO_UDP)->w, STUN_ADDITIONAL_ADDRESS_FAMILY, 2u << 24);
	if (finish(&c, &f) != 0)
		return false;
	while (stun_next(&f->answer, STUN_XOR_RELAYED_ADDRESS, &pos, &off, &alen))
		n++;
	return n == 2;
}

// --- redirects -----------------------------------------------------------------------------------

// No limit of allocations: the worker's ports are used up, and then its redirects.
static void redirects_config(void)
{
	config.port_hi = (uint16_t)(config.port_lo + 2047);
	config.limits.per_user = 0;
}

// --- ports for TCP -------------------------------------------------------------------------------

#ifdef FEATURE_TCP
static void tcp_config(void)
{
	redirects_config();
	fixture_add_tcp(&config, 40000, 40399);
}

static bool takes_tcp(int user)
{
	struct fixture_client c;
	struct fixture *f;

	do {
		c = client_of(user, AIMED);
		c.listener = 2;
	} while (restart_first(&r, &c)->params.worker != AIMED);
	f = begin(&c, IPPROTO_TCP);
	fixture_sign(f, &c);
	fixture_send(f, &c);
	f = restart_carry(&r, f, &c);
	restart_notes(&r);
	return (f->burst.plan.flags & TURN_PLAN_ORDER) != 0;
}
#endif

// --- permissions, channels, peers on shared ports ------------------------------------------------

static void records_config(void)
{
	redirects_config();
	config.limits.permissions = config.limits.channels = 1000;
	config.pools.sure_permissions = config.pools.sure_channels = 1;
	config.pools.permissions = config.pools.channels = WORKERS * 400;
}

#ifdef FEATURE_SHARED
static void shared_config(void)
{
	records_config();
	config.shared.enabled = true;
	config.port_hi = (uint16_t)(config.port_lo + 7);
	config.limits.allocations = 2048;
	config.shared.peers = 1000;
	config.shared.peer_share = 100;
	config.pools.permissions = config.pools.channels = WORKERS * 4000;
	config.pools.endpoints = WORKERS * 400;
}
#endif

static uint32_t next_peer;

static bool permits(struct fixture_client *c)
{
	const uint8_t ip[4] = {10, 98, (uint8_t)(next_peer >> 8), (uint8_t)next_peer};
	const struct endpoint peer = {.addr = addr_from_v4(ip)};
	struct fixture *f = restart_first(&r, c);

	next_peer++;
	fixture_begin(f, STUN_REQUEST, STUN_CREATE_PERMISSION);
	stun_put_xor_addr(&f->w, STUN_XOR_PEER_ADDRESS, &peer);
	return restart_ask(&r, c, NULL) == 0;
}

static bool binds(struct fixture_client *c, unsigned int n)
{
	const uint8_t ip[4] = {10, 98, 0, 1};
	const struct endpoint peer = {addr_from_v4(ip), (uint16_t)(1000 + next_peer++)};
	struct fixture *f = restart_first(&r, c);

	fixture_begin(f, STUN_REQUEST, STUN_CHANNEL_BIND);
	stun_put_u32(&f->w, STUN_CHANNEL_NUMBER, (CHANNEL_MIN + n) << 16);
	stun_put_xor_addr(&f->w, STUN_XOR_PEER_ADDRESS, &peer);
	return restart_ask(&r, c, NULL) == 0;
}

// Eve has one allocation for everything, the other users have one each, with three records.
static bool takes_permission(int user)
{
	static struct fixture_client eve;
	struct fixture_client c;

	if (user < 0) {
		if (held == 0) {
			eve = client_of(-1, AIMED);
			assert_true(allocate(&eve));
		}
		return permits(&eve);
	}
	c = client_of(user, AIMED);
	return allocate(&c) && permits(&c) && permits(&c) && permits(&c);
}

static bool takes_channel(int user)
{
	static struct fixture_client eve;
	struct fixture_client c;

	if (user < 0) {
		if (held == 0) {
			eve = client_of(-1, AIMED);
			assert_true(allocate(&eve));
		}
		return binds(&eve, (unsigned int)held);
	}
	c = client_of(user, AIMED);
	return allocate(&c) && binds(&c, 0) && binds(&c, 1) && binds(&c, 2);
}

// --- reserved ports ------------------------------------------------------------------------------

#ifdef FEATURE_RESERVATIONS
static bool takes_pair(int user)
{
	struct fixture_client c = client_of(user, AIMED);
	struct fixture *f;

	stun_put(&begin(&c, IPPROTO_UDP)->w, STUN_EVEN_PORT, (const uint8_t[]){0x80}, 1);
	return finish(&c, &f) == 0;
}

static void pairs_config(void)
{
	config.port_hi = (uint16_t)(config.port_lo + 511);
	config.limits.per_user = 128;
}

static bool takes_token(int user)
{
	struct fixture_client owner, c = client_of(user, AIMED);
	uint8_t token[8] = {1, 1, 2, 3, 4, 5, 6, 7}; // the other worker's; nobody holds it
	struct fixture *f;

	if (user >= 0) {
		owner = client_of(user, 1);
		stun_put(
			&begin(&owner, IPPROTO_UDP)->w, STUN_EVEN_PORT, (const uint8_t[]){0x80}, 1);
		assert_int_equal(finish(&owner, &f), 0);
		memcpy(token, f->answer.data + f->answer.off[STUN_RESERVATION_TOKEN], 8);
	}
	f = begin(&c, IPPROTO_UDP);
	stun_put(&f->w, STUN_RESERVATION_TOKEN, token, 8);
	if (user >= 0)
		return finish(&c, &f) == 0;
	fixture_sign(f, &c); // the other worker's refusal is on its way meanwhile
	return fixture_send(f, &c)->verdict == TURN_HANDOVER;
}
#endif

// --- clients that move ---------------------------------------------------------------------------

#ifdef FEATURE_MOBILITY
static void moves_config(void)
{
	redirects_config();
	config.mobility.enabled = true;
	config.mobility.grace_s = 60;
	config.mobility.moves = WORKERS * 400;
}

static bool takes_move(int user)
{
	struct fixture_client c = client_of(user, AIMED), roamed = client_of(user, AIMED);
	uint8_t ticket[32];
	struct fixture *f;

	stun_put(&begin(&c, IPPROTO_UDP)->w, STUN_MOBILITY_TICKET, NULL, 0);
	if (finish(&c, &f) != 0)
		return false;
	memcpy(ticket, f->answer.data + f->answer.off[STUN_MOBILITY_TICKET], sizeof(ticket));
	f = restart_first(&r, &roamed);
	fixture_begin(f, STUN_REQUEST, STUN_REFRESH);
	stun_put(&f->w, STUN_MOBILITY_TICKET, ticket, sizeof(ticket));
	return restart_ask(&r, &roamed, NULL) == 0;
}
#endif

// --- the table -----------------------------------------------------------------------------------

static const struct row {
	const char *pool;
	void (*config)(void);
	bool (*takes)(int user); // one more for `user`, which is -1 for eve. False: refused
} rows[] = {
	{"relay ports", ports_config, takes_port},
	{"relay ports of both families", both_config, takes_both},
	{"redirects, for want of a port", redirects_config, takes_port},
#ifdef FEATURE_TCP
	{"relay ports for TCP", tcp_config, takes_tcp},
#endif
	{"permissions", records_config, takes_permission},
	{"channels", records_config, takes_channel},
#ifdef FEATURE_SHARED
	{"peers on shared ports", shared_config, takes_channel},
#endif
#ifdef FEATURE_RESERVATIONS
	{"relay ports, reserved", pairs_config, takes_pair},
	{"redirects, by RESERVATION-TOKEN", redirects_config, takes_token},
#endif
#ifdef FEATURE_MOBILITY
	{"moves", moves_config, takes_move},
#endif
};

static void test_fairness(void **state)
{
	make_others();
	printf("%-34s %8s %8s\n", "one user fills", "he has", "others lost");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned int lost = 0;

		config = fixture_config();
		config.nonce_lifetime_s = 3600;
		config.workers = WORKERS;
		rows[i].config();
		next_port = 1024;
		next_peer = 0;
		held = refused_in_a_row = 0;
		restart_open(&r, &config, 11);
		while (goes_on(rows[i].takes(-1)))
			;
		for (int user = 0; user < OTHERS; user++)
			lost += !rows[i].takes(user);
		printf("%-34s %8llu %8u\n", rows[i].pool, (unsigned long long)held, lost);
		assert_in_range(held, 1, MUCH - 1);
		assert_int_equal(lost, 0);
		restart_close(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_fairness)};

	return cmocka_run_group_tests_name("fairness", tests, NULL, NULL);
}
