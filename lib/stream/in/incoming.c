// SPDX-License-Identifier: BSD-3-Clause
// From bytes to messages (incoming.h).
#include "in/incoming.h"

#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "framing.h"
#include "in/turns.h"
#include "invariant.h"
#include "stun.h"
#include "thread.h"
#include "tls.h"

// Passes a message to the worker. False if the worker has no buffer for it now.
static bool give_message(struct thread *t, struct conn *c, const uint8_t *p, uint16_t len)
{
	const struct stream_config *conf = &t->s->conf;
	const struct stream_from origin = conn_from(t, c);
	struct stream_message m;

	if (!conf->ops->take(conf->ctx, t->index, c->home, &m))
		return false;
	memcpy(m.data, p, len);
	m.len = len;
	m.conn = origin.conn;
	conf->ops->send(conf->ctx, t->index, c->home, &m, &origin);
	t->kicks |= UINT64_C(1) << c->home;
	c->given = true;
	stats_add(&t->stats.rx, 1);
	return true;
}

// True for a request that may be followed by bytes that are not messages.
static bool is_bind(const struct thread *t, const uint8_t *message)
{
	bool found = false;

#define X(type, field, waits, work, closed) found |= waits(t, message);
	STREAM_CONNS(X)
#undef X
	return found;
}

static bool may_ask(const struct thread *t, const struct conn *c)
{
	const struct stream_config *conf = &t->s->conf;

	return c->asked < TURNS_ASKS && conf->ops->may_ask(conf->ctx, t->index, c->home);
}

// Handles the whole message at p. A client whose message waits for the worker no longer has to give
// way.
static enum incoming take_message(
	struct thread *t, struct conn *c, const uint8_t *p, const struct stun_framing *f)
{
	const bool asks = stun_framing_is_request(p);

	if (asks && !may_ask(t, c)) {
		stats_add(&t->stats.stalled, 1);
		conn_young_drop(t, c);
		return INCOMING_ASKS;
	}
	if (!give_message(t, c, p, (uint16_t)f->len)) {
		stats_add(&t->stats.stalled, 1);
		conn_young_drop(t, c);
		return INCOMING_NO_ROOM;
	}
	c->asked += asks;
	c->waits = is_bind(t, p);
	if (c->waits)
		memcpy(c->bind_tid, p + CONN_TID_AT, STUN_TID_LEN);
	return INCOMING_DRY;
}

// Skips bytes of a message that is too long. Returns their number.
static size_t skip_bytes(struct conn *c, size_t n)
{
	const uint32_t k = c->skip < n ? c->skip : (uint32_t)n;

	c->skip -= k;
	return k;
}

// Passes the whole messages in n bytes to the worker. Returns the number of bytes handled, and in
// *end the reason to stop. The connection may be closed then.
static size_t take_frames(
	struct thread *t, struct conn *c, const uint8_t *p, size_t n, enum incoming *end)
{
	size_t pos = skip_bytes(c, n);

	for (*end = INCOMING_DRY; pos < n && !c->waits; pos += skip_bytes(c, n - pos)) {
		struct stun_framing f;
		const enum stun_framing_state state =
			stun_framing_scan(p + pos, n - pos, CHANNEL_MAX_RFC5766, &f);
		const bool is_long = f.len > t->s->conf.room && n - pos >= STUN_FRAMING_JUDGED;

		// no client begins with ChannelData, but HTTP's GET looks like it
		if (state == STUN_FRAMING_BAD || (!c->heard && p[pos] > STUN_FIRST_MAX)) {
			conn_close(t, c, &t->stats.garbage);
			return n;
		}
		if (!is_long && state == STUN_FRAMING_SHORT)
			break;
		if (c->turn >= TURNS_MESSAGES)
			*end = INCOMING_MORE;
		else if (!is_long)
			*end = take_message(t, c, p + pos, &f);
		if (*end != INCOMING_DRY)
			break;
		if (is_long) {
			stats_add(&t->stats.oversize, 1);
			c->skip = f.size;
		} else {
			pos += f.size;
		}
		c->turn++;
		conn_young_drop(t, c);
		c->heard = true;
		c->heard_ms = c->rest_ms = t->now_ms;
	}
	ASSERT(pos <= n && c->turn <= TURNS_MESSAGES + 1);
	return pos;
}

// Keeps the bytes that were not handled.
static void keep_rest(struct thread *t, struct conn *c, const uint8_t *p, size_t len)
{
	uint8_t *rest = NULL;

	if (c->state != CONN_OPEN)
		return;
	if (len > 0) {
		rest = malloc(len);
		if (rest == NULL) {
			conn_close(t, c, &t->stats.failed);
			return;
		}
		memcpy(rest, p, len);
		if (c->rest_len == 0 && c->skip == 0)
			c->rest_ms = t->now_ms;
	}
	free(c->rest);
	c->rest = rest;
	c->rest_at = 0;
	c->rest_len = (uint32_t)len;
}

// Handles messages in bytes read earlier.
static enum incoming take_rest(struct thread *t, struct conn *c)
{
	enum incoming end;
	const size_t used = take_frames(t, c, c->rest + c->rest_at, c->rest_len, &end);

	if (c->state != CONN_OPEN)
		return INCOMING_DRY;
	ASSERT(used <= c->rest_len);
	c->rest_at += (uint32_t)used;
	c->rest_len -= (uint32_t)used;
	if (c->rest_len == 0) {
		free(c->rest);
		c->rest = NULL;
	}
	return end;
}

// Reads one TLS record, or the available TCP bytes, after an incomplete message, if any. False if
// there was nothing to read, or the connection is closed.
static bool read_one(struct thread *t, struct conn *c, enum incoming *end)
{
	size_t n = c->rest_len, used;
	const int got = tls_io_read(c, t->scratch + n, STREAM_CHUNK);

	if (got == IO_LATER)
		return false;
	if (got < 0) {
		conn_close(t, c, got == IO_CLOSED ? &t->stats.closed : conn_failure(t, c));
		return false;
	}
	stats_add(&t->stats.rx_bytes, got);
	ASSERT(n + (size_t)got <= sizeof(t->scratch) && got <= STREAM_CHUNK);
	if (n > 0)
		memcpy(t->scratch, c->rest + c->rest_at, n);
	n += (size_t)got;
	used = take_frames(t, c, t->scratch, n, end);
	keep_rest(t, c, t->scratch + used, n - used);
	return c->state == CONN_OPEN;
}

enum incoming incoming_turn(struct thread *t, struct conn *c)
{
	enum incoming end = INCOMING_DRY;
	bool more = true;

	if (c->turn == 0)
		c->chunk = true; // one read of the socket per turn
	c->more = false;
	if (c->rest_len > 0)
		end = take_rest(t, c);
	// do not ask libssl again for bytes that it does not have
	while (end == INCOMING_DRY && more && c->state == CONN_OPEN && !c->waits &&
		conn_may_be_read(t, c)) {
		if (c->turn >= TURNS_MESSAGES)
			return INCOMING_MORE;
		more = read_one(t, c, &end) && tls_io_pending(c);
		c->turn++;
	}
	t->hungry |= c->more;
	return end;
}
