// SPDX-License-Identifier: BSD-3-Clause
// Allocations that may move survive the process: the addresses of their clients, the tickets, and
// the parties that they are counted for.
#include "mobile_world.h"
#include "restart_world.h"

#include <stdio.h>

#define PEER "10.98.0.1"
#define CHANNEL 0x4000

static struct restart r;
static struct turn_config config;

static int setup(void **state)
{
	config = mobile_config();
	config.limits.per_source = 1;
	restart_open(&r, &config, 5);
	return 0;
}

static int teardown(void **state)
{
	restart_close(&r);
	return 0;
}

static void read_ticket(struct mobile_client *c, const struct fixture *f)
{
	const struct stun_msg *m = &f->answer;

	if (stun_has(m, STUN_MOBILITY_TICKET))
		memcpy(c->ticket, m->data + m->off[STUN_MOBILITY_TICKET], TICKET);
}

// Sends a request to the client's home, and on to the worker that a redirect or the ticket names.
static unsigned int ask(struct mobile_client *c, struct fixture *f)
{
	uint8_t copy[2048];
	unsigned int code;
	uint16_t len;

	fixture_sign(f, &c->c);
	len = stun_end(&f->w);
	memcpy(copy, f->message, len);
	fixture_from_client(f, &c->c, copy, len);
	if (f->burst.plan.verdict == TURN_HANDOVER) {
		struct fixture *target = &r.worker[f->burst.plan.flow];

		target->via = f->params.worker;
		f = target;
		fixture_from_client(f, &c->c, copy, len);
		f->via = TURN_NO_WORKER;
	}
	code = fixture_code(f);
	read_ticket(c, f);
	restart_notes(&r);
	return code;
}

static unsigned int allocate(struct mobile_client *c)
{
	struct fixture *f = restart_at(&r, &c->c);
	unsigned int code;

	fixture_begin(f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put(&f->w, STUN_MOBILITY_TICKET, NULL, 0);
	code = ask(c, f);
	if (code == 0)
		c->c.relay = fixture_answer_addr(f, STUN_XOR_RELAYED_ADDRESS);
	return code;
}

static unsigned int move(struct mobile_client *c)
{
	struct fixture *f = restart_at(&r, &c->c);

	fixture_begin(f, STUN_REQUEST, STUN_REFRESH);
	stun_put(&f->w, STUN_MOBILITY_TICKET, c->ticket, TICKET);
	return ask(c, f);
}

static unsigned int end(struct mobile_client *c)
{
	struct fixture *f = restart_at(&r, &c->c);

	fixture_begin(f, STUN_REQUEST, STUN_REFRESH);
	stun_put_u32(&f->w, STUN_LIFETIME, 0);
	return ask(c, f);
}

static unsigned int bind_channel(struct mobile_client *c)
{
	const struct endpoint e = fixture_endpoint(PEER, 7000);
	struct fixture *f = restart_at(&r, &c->c);

	fixture_begin(f, STUN_REQUEST, STUN_CHANNEL_BIND);
	stun_put_u32(&f->w, STUN_CHANNEL_NUMBER, (uint32_t)CHANNEL << 16);
	stun_put_xor_addr(&f->w, STUN_XOR_PEER_ADDRESS, &e);
	return ask(c, f);
}

static bool sends(struct mobile_client *c)
{
	struct fixture *f = restart_at(&r, &c->c);
	const struct turn_plan *p = fixture_channel_data(f, &c->c, CHANNEL, "x", 1);

	restart_notes(&r);
	return p->verdict == TURN_RELAY;
}

static void assert_hears_at(const struct mobile_client *c)
{
	const struct endpoint peer = fixture_endpoint(PEER, 7000);
	struct fixture *f = restart_owner(&r, &c->c.relay);
	const struct turn_plan *p = fixture_from_peer(f, &c->c.relay, &peer, "x", 1);
	struct turn_path path;

	assert_int_equal(p->verdict, TURN_RELAY);
	turn_route_path(f->shard, p->flow, &path);
	assert_true(endpoint_eq(&path.dst, &c->c.endpoint));
}

// The next process knows the client's new address, and accepts its last ticket.
static void test_moved(void **state)
{
	struct mobile_client ivan = mobile_ivan("198.51.100.7", 5000), moved, next;
	char old[TICKET + 1];

	assert_int_equal(allocate(&ivan), 0);
	assert_int_equal(bind_channel(&ivan), 0);
	strcpy(old, ivan.ticket);
	moved = mobile_at(&ivan, "203.0.113.9", 6000);
	assert_int_equal(move(&moved), 0);
	assert_true(sends(&moved));
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.allocations, 1);
	assert_hears_at(&moved);
	assert_true(sends(&moved));
	assert_false(sends(&ivan));
	next = mobile_at(&moved, "203.0.113.10", 6001);
	strcpy(next.ticket, old);
	assert_int_equal(move(&next), 437);
	strcpy(next.ticket, moved.ticket);
	assert_int_equal(move(&next), 0);
	assert_true(sends(&next));
	assert_hears_at(&next);
}

// So does the /48 that it was counted in, which is full: eight /64 with one allocation each.
static void test_moved_network(void **state)
{
	struct mobile_client c, first, moved, more;
	char text[32];

	for (unsigned int i = 0; i < 8; i++) {
		snprintf(text, sizeof(text), "2001:db8:1:%u::1", i);
		c = mobile_ivan(text, (uint16_t)(5000 + i));
		assert_int_equal(allocate(&c), 0);
		if (i == 0)
			first = c;
	}
	moved = mobile_at(&first, "2001:db8:2::1", 6000);
	assert_int_equal(move(&moved), 0);
	assert_int_equal(bind_channel(&moved), 0);
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.allocations, 8);
	more = mobile_ivan("2001:db8:1:8::1", 5008);
	assert_int_equal(allocate(&more), 486);
	c = mobile_ivan("2001:db8:2::1", 6001); // its current address
	assert_int_equal(allocate(&c), 0);
	assert_int_equal(end(&moved), 0);
	assert_int_equal(allocate(&more), 0);
}

// A move in progress is undone; the client has the last ticket, or asks again with it.
static void test_under_way(void **state)
{
	struct mobile_client ivan = mobile_ivan("198.51.100.7", 5000), moved;

	assert_int_equal(allocate(&ivan), 0);
	assert_int_equal(bind_channel(&ivan), 0);
	moved = mobile_at(&ivan, "203.0.113.9", 6000);
	assert_int_equal(move(&moved), 0);
	restart_again(&r, &config, 100);
	assert_hears_at(&ivan);
	assert_true(sends(&ivan));
	assert_false(sends(&moved));
	assert_int_equal(move(&moved), 0);
	assert_true(sends(&moved));
	assert_hears_at(&moved);
}

// Two that have moved behind one address count for the addresses where they were made.
static void test_counted(void **state)
{
	struct mobile_client c[2], moved[2];

	for (unsigned int i = 0; i < 2; i++) {
		c[i] = mobile_ivan(i == 0 ? "198.51.100.7" : "198.51.100.8", 5000);
		assert_int_equal(allocate(&c[i]), 0);
		assert_int_equal(bind_channel(&c[i]), 0);
		moved[i] = mobile_at(&c[i], "203.0.113.9", (uint16_t)(6000 + i));
		assert_int_equal(move(&moved[i]), 0);
		assert_true(sends(&moved[i]));
	}
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.allocations, 2);
	c[0] = mobile_ivan("198.51.100.7", 5001);
	assert_int_equal(allocate(&c[0]), 486);
	c[0] = mobile_ivan("203.0.113.9", 5001);
	assert_int_equal(allocate(&c[0]), 0);
}

// If the next process gives no tickets, they continue as ordinary allocations.
static void test_off(void **state)
{
	struct mobile_client ivan = mobile_ivan("198.51.100.7", 5000);

	assert_int_equal(allocate(&ivan), 0);
	assert_int_equal(bind_channel(&ivan), 0);
	config.mobility.enabled = false;
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.allocations, 1);
	assert_true(sends(&ivan));
	ivan = mobile_at(&ivan, "203.0.113.9", 6000);
	assert_int_equal(move(&ivan), 405);
}

// With other workers, an allocation in another place continues; its ticket names the old place.
static void test_other_workers(void **state)
{
	struct mobile_client ivan[8];
	unsigned int good = 0;

	for (unsigned int i = 0; i < 8; i++) {
		char addr[32];

		snprintf(addr, sizeof(addr), "198.51.100.%u", i + 1);
		ivan[i] = mobile_ivan(addr, 5000);
		assert_int_equal(allocate(&ivan[i]), 0);
		assert_int_equal(bind_channel(&ivan[i]), 0);
	}
	config.workers = 3;
	restart_again(&r, &config, 1000);
	assert_int_equal(r.adopted.allocations, 8);
	for (unsigned int i = 0; i < 8; i++) {
		struct mobile_client moved =
			mobile_at(&ivan[i], "203.0.113.9", (uint16_t)(6000 + i));
		unsigned int code;

		assert_true(sends(&ivan[i]));
		code = move(&moved);
		assert_true(code == 0 || code == 437);
		good += code == 0 && sends(&moved);
		if (code == 437)
			assert_true(sends(&ivan[i]));
	}
	assert_in_range(good, 0, 8);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_moved),
		T(test_moved_network),
		T(test_under_way),
		T(test_counted),
		T(test_off),
		T(test_other_workers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
