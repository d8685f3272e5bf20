// SPDX-License-Identifier: BSD-3-Clause
// The part of the world's stream thread for TCP allocations (RFC 6062): it takes orders, and
// connects nobody.
#include "fuzz.h"

#ifdef FEATURE_TCP
#include "clients/streams.h"
#include "features/tcp/relay_tcp.h"

// The last order about a TCP allocation.
static struct {
	struct stream_order o;
	uint64_t conn;
} about;

// Bytes of some allocation are relayed, or would be. It does not change other random numbers.
static void relay(void)
{
	static uint32_t turns;
	const uint32_t n = turns++ * UINT32_C(0x9e3779b1), want = n >> 16;
	const struct stream_flow f = {
		.owner = about.o.owner, .worker = about.o.worker, .to_client = (n & 1) != 0};
	uint32_t allowed;

	if (f.worker >= fuzz.world.dp->nb_workers) // from an earlier configuration
		return;
	allowed = relay_tcp_ops.allow(fuzz.world.dp, &f, want);
	assert_true(allowed <= want);
	relay_tcp_ops.relayed(fuzz.world.dp, &f, allowed, (n & 6) != 0 ? allowed / 2 : want);
	fuzz.seen.relayed += allowed > 0;
}

// A peer connects, or the port could not be opened.
static void news(void)
{
	struct stream_attempt a = {
		.owner = about.o.owner, .number = below(1000), .conn = about.conn};
	struct fuzz_client *c = &fuzz.client[(uint32_t)about.conn % FUZZ_CLIENTS];
	struct stream_message m;

	if (about.conn == 0 || !chance(30) ||
		!streams_ops.take(fuzz.world.dp, 0, about.o.worker, &m))
		return;
	a.peer = c->peer[below(FUZZ_PEERS)];
	if (chance(10))
		relay_tcp_ops.unopened(fuzz.world.dp, 0, about.o.worker, &m, &a.owner);
	else
		relay_tcp_ops.attempt(fuzz.world.dp, 0, about.o.worker, &m, &a);
	about.conn = 0;
}

// Takes an order, and gives one of its answers at random; the other answers are well-formed, too.
static void to_order(const struct stream_message *m)
{
	struct fuzz_client *c = &fuzz.client[(uint32_t)m->conn % FUZZ_CLIENTS];
	const uint8_t *answer_pos = m->data + sizeof(struct stream_order);
	struct stream_order o;
	struct stun_msg answer;
	unsigned int nb = 0, which;

	assert_true(m->len >= sizeof(o));
	memcpy(&o, m->data, sizeof(o));
	assert_in_range(o.kind, STREAM_ORDER_LISTEN, STREAM_ORDER_REKEY);
	for (unsigned int i = 0; i < STREAM_ANSWER_END; i++)
		nb += o.len[i] > 0;
	assert_true(nb > 0 || (o.kind == STREAM_ORDER_ADMIT && o.id == 0));
	which = below(nb + 1);
	for (unsigned int i = 0; i < STREAM_ANSWER_END; answer_pos += o.len[i++]) {
		if (o.len[i] == 0)
			continue;
		assert_int_equal(stun_parse(answer_pos, o.len[i], &answer), 0);
		if (c->c.conn == m->conn && o.kind != STREAM_ORDER_ADMIT && which-- == 0)
			fuzz_message(c, answer_pos, o.len[i]);
	}
	assert_ptr_equal(answer_pos, m->data + m->len);
	fuzz.seen.orders[o.kind]++;
	if (o.kind != STREAM_ORDER_BIND) {
		about.o = o;
		about.conn = m->conn;
	}
}

void fuzz_orders_open(void)
{
	about.conn = 0;
}

bool fuzz_orders_take(const struct stream_message *m)
{
	if (m->kind != STREAM_ORDER)
		return false;
	to_order(m);
	return true;
}

void fuzz_orders_act(void)
{
	relay();
	news();
}
#else
void fuzz_orders_open(void)
{
}

bool fuzz_orders_take(const struct stream_message *m)
{
	return false;
}

void fuzz_orders_act(void)
{
}
#endif
