// SPDX-License-Identifier: BSD-3-Clause
// Clients that move, on a server of two workers.
#include "mobile_world.h"

struct turn_config mobile_config(void)
{
	struct turn_config c = fixture_config();

	c.workers = 2;
	c.mobility.enabled = true;
	c.mobility.grace_s = 60;
	c.nonce_lifetime_s = 36000;
	return c;
}

void mobile_open(struct mobile_world *w, const struct turn_config *c)
{
	*w = (struct mobile_world){0};
	fixture_open(&w->f, c, 1);
	if (c->workers > 1)
		fixture_open_worker(&w->far, &w->f, 1);
}

int mobile_teardown(void **state)
{
	struct mobile_world *w = *state;
	const bool two = w->f.config.workers > 1;

	turn_shard_close(w->f.shard); // delivers notes about it
	mobile_notes(w);
	assert_int_equal(fixture_stats(&w->f).redirects, 0);
	if (two) {
		assert_int_equal(fixture_stats(&w->far).redirects, 0);
		fixture_close(&w->far);
	}
	fixture_close(&w->f);
	return 0;
}

struct mobile_client mobile_ivan(const char *addr, uint16_t port)
{
	return (struct mobile_client){.c = fixture_client(addr, port)};
}

struct mobile_client mobile_at(const struct mobile_client *c, const char *addr, uint16_t port)
{
	const struct fixture_client visitor = fixture_client(addr, port);
	struct mobile_client moved = *c;

	moved.c.endpoint = visitor.endpoint;
	moved.c.listener = visitor.listener;
	moved.c.nonce_len = 0;
	return moved;
}

static struct fixture *home_of(struct mobile_world *w, const struct mobile_client *c)
{
	return c->far ? &w->far : &w->f;
}

struct stun_writer *mobile_begin_request(
	struct mobile_world *w, const struct mobile_client *c, enum stun_method method)
{
	struct fixture *f = home_of(w, c);

	fixture_begin(f, STUN_REQUEST, method);
	return &f->w;
}

void mobile_notes(struct mobile_world *w)
{
	struct fixture *both[] = {&w->f, &w->far};

	for (unsigned int i = 0; i < w->f.config.workers; i++) {
		struct turn_redirect_note note[8];
		unsigned int n;

		while ((n = turn_redirect_notes(both[i]->shard, note, 8)) > 0)
			for (unsigned int k = 0; k < n; k++)
				turn_redirect_apply(both[note[k].redirect_worker]->shard, &note[k]);
	}
}

// Sends the message in the home's fixture. Returns the fixture that has the plan.
static struct fixture *deliver(
	struct mobile_world *w, const struct mobile_client *c, const void *data, size_t len)
{
	struct fixture *f = home_of(w, c);
	const struct turn_plan *p = fixture_from_client(f, &c->c, data, len);
	struct fixture *target = p->flow == 0 ? &w->f : &w->far;

	if (p->verdict != TURN_HANDOVER)
		return f;
	assert_true(target != f);
	target->via = f->params.worker;
	fixture_from_client(target, &c->c, data, len);
	target->via = TURN_NO_WORKER;
	return target;
}

static unsigned int send(
	struct mobile_world *w, struct mobile_client *c, const void *data, size_t len)
{
	struct fixture *f = deliver(w, c, data, len);
	const struct stun_msg *m = &f->answer;
	unsigned int code;

	w->answered = f->burst.plan.verdict == TURN_REPLY;
	if (!w->slow)
		mobile_notes(w);
	if (!w->answered)
		return UINT32_MAX;
	code = fixture_code(f);
	w->answer = m;
	if (!stun_has(m, STUN_MOBILITY_TICKET))
		return code;
	assert_int_equal(m->alen[STUN_MOBILITY_TICKET], TICKET);
	memcpy(c->ticket, m->data + m->off[STUN_MOBILITY_TICKET], TICKET);
	assert_int_equal(strlen(c->ticket), TICKET);
	return code;
}

unsigned int mobile_ask(struct mobile_world *w, struct mobile_client *c)
{
	struct fixture *f = home_of(w, c);
	uint8_t copy[2048];
	uint16_t len;

	fixture_sign(f, &c->c);
	len = stun_end(&f->w);
	assert_in_range(len, 20, sizeof(copy));
	memcpy(copy, f->message, len);
	return send(w, c, copy, len);
}

unsigned int mobile_repeat(struct mobile_world *w, struct mobile_client *c)
{
	struct fixture *f = home_of(w, c);
	uint8_t copy[2048];
	const uint16_t len = stun_end(&f->w);

	memcpy(copy, f->message, len);
	return send(w, c, copy, len);
}

const struct turn_plan *mobile_send(
	struct mobile_world *w, const struct mobile_client *c, const void *data, size_t len)
{
	struct fixture *f = deliver(w, c, data, len);

	if (!w->slow)
		mobile_notes(w);
	return &f->burst.plan;
}

const struct turn_plan *mobile_channel_data(
	struct mobile_world *w, const struct mobile_client *c, uint16_t number)
{
	uint8_t packet[8] = {(uint8_t)(number >> 8), (uint8_t)number, 0, 4, 'd', 'a', 't', 'a'};

	return mobile_send(w, c, packet, sizeof(packet));
}

const struct turn_plan *mobile_indicate(
	struct mobile_world *w, const struct mobile_client *c, const char *peer, uint16_t port)
{
	const struct endpoint e = fixture_endpoint(peer, port);
	struct fixture *f = home_of(w, c);
	uint8_t copy[256];
	uint16_t len;

	fixture_begin(f, STUN_INDICATION, STUN_SEND);
	stun_put_xor_addr(&f->w, STUN_XOR_PEER_ADDRESS, &e);
	stun_put(&f->w, STUN_DATA_ATTR, "media", 5);
	len = stun_end(&f->w);
	memcpy(copy, f->message, len);
	return mobile_send(w, c, copy, len);
}

void mobile_advance(struct mobile_world *w, uint64_t ms)
{
	fixture_advance(&w->f, ms);
	fixture_expire(&w->f);
	if (w->f.config.workers > 1) {
		fixture_advance(&w->far, ms);
		fixture_expire(&w->far);
	}
	if (!w->slow)
		mobile_notes(w);
}

unsigned int mobile_allocate(struct mobile_world *w, struct mobile_client *c)
{
	struct stun_writer *out = mobile_begin_request(w, c, STUN_ALLOCATE);
	unsigned int code;

	stun_put_u32(out, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put(out, STUN_MOBILITY_TICKET, NULL, 0);
	code = mobile_ask(w, c);
	if (code == 0)
		c->c.relay = fixture_answer_addr(
			w->answer == &w->f.answer ? &w->f : &w->far, STUN_XOR_RELAYED_ADDRESS);
	return code;
}

unsigned int mobile_refresh(struct mobile_world *w, struct mobile_client *c, uint32_t lifetime_s)
{
	stun_put_u32(mobile_begin_request(w, c, STUN_REFRESH), STUN_LIFETIME, lifetime_s);
	return mobile_ask(w, c);
}

unsigned int mobile_show(struct mobile_world *w, struct mobile_client *c)
{
	stun_put(mobile_begin_request(w, c, STUN_REFRESH), STUN_MOBILITY_TICKET, c->ticket,
		strlen(c->ticket));
	return mobile_ask(w, c);
}

unsigned int mobile_bind(struct mobile_world *w, struct mobile_client *c, uint16_t number,
	const char *peer, uint16_t port)
{
	struct stun_writer *out = mobile_begin_request(w, c, STUN_CHANNEL_BIND);
	const struct endpoint e = fixture_endpoint(peer, port);

	stun_put_u32(out, STUN_CHANNEL_NUMBER, (uint32_t)number << 16);
	stun_put_xor_addr(out, STUN_XOR_PEER_ADDRESS, &e);
	return mobile_ask(w, c);
}

void assert_sends(struct mobile_world *w, const struct mobile_client *c, uint16_t number)
{
	const unsigned int verdict = mobile_channel_data(w, c, number)->verdict;

	assert_int_equal(verdict, TURN_RELAY);
}

void assert_cut_off(struct mobile_world *w, const struct mobile_client *c, uint16_t number)
{
	const struct turn_plan *p = mobile_channel_data(w, c, number);

	assert_int_equal(p->verdict, TURN_DROP);
	assert_int_equal(p->reason, TURN_DROP_NO_ALLOCATION);
}

void assert_hears(struct mobile_world *w, const struct endpoint *relay, const char *peer,
	uint16_t port, const struct mobile_client *c)
{
	const struct endpoint sender = fixture_endpoint(peer, port);
	const struct turn_plan *p = fixture_from_peer(&w->f, relay, &sender, "hello", 5);
	struct turn_path path;

	assert_int_equal(p->verdict, TURN_RELAY);
	turn_route_path(w->f.shard, p->flow, &path);
	assert_true(endpoint_eq(&path.dst, &c->c.endpoint));
	assert_true(addr_eq(&path.src.addr, &w->f.config.listeners[c->c.listener].endpoint.addr));
}
