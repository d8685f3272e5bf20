// SPDX-License-Identifier: BSD-3-Clause
// Writing to clients (outgoing.h).
#include "out/gather.h"
#include "out/outgoing.h"

// Writes messages together. Returns the number of bytes written, or IO_LATER. IO_FAILED: the
// connection is closed now.
static int write_pieces(struct thread *t, struct conn *c, const struct iovec *v, unsigned int n)
{
	const int done = tls_io_writev(c, v, n);

	if (done < 0) {
		conn_close(t, c, &t->stats.failed);
		return IO_FAILED;
	}
	stats_add(&t->stats.tx_bytes, done);
	stats_add(&t->stats.writes, done > 0);
	return done;
}

bool outgoing_portion(struct thread *t, struct conn *c)
{
	struct iovec v[GATHER_PIECES];
	const unsigned int n = queue_pieces(&c->out, v, GATHER_PIECES, GATHER_BYTES);
	const int done = n > 0 ? write_pieces(t, c, v, n) : IO_LATER;

	if (done == IO_LATER && n > 0 && c->ssl != NULL)
		c->out.offered = true;
	if (done <= 0)
		return false;
	stats_add(&t->stats.tx, queue_wrote(&c->out, (size_t)done));
	return true;
}

bool outgoing_flush(struct thread *t, struct conn *c)
{
	while (c->out.first != NULL)
		if (!outgoing_portion(t, c))
			return false;
	return true;
}

// Queues the unwritten messages. offered: libssl was offered the first one and must get it again.
static void keep_rest(struct thread *t, struct conn *c, struct gather_at pos, bool offered)
{
	for (; pos.i != GATHER_END; pos = (struct gather_at){.i = t->gather.next[pos.i]}) {
		const struct stream_message *m = &t->gather.m[pos.i];
		const struct queue_message rest = {.data = m->data,
			.len = m->len,
			.done = pos.done,
			.offered = offered,
			.media = m->media};
		const unsigned int lost = queue_put(&c->out, t->s->conf.queue, &rest);

		stats_add(&t->stats.queue_full, lost);
		// no memory for the rest of an incomplete message, so the stream cannot continue
		if (lost > 0 && (rest.done > 0 || rest.offered)) {
			conn_close(t, c, &t->stats.failed);
			return;
		}
		offered = false;
	}
	conn_watch(t, c);
}

static void write_chain(struct thread *t, struct conn *c, struct gather_at pos)
{
	struct iovec v[GATHER_PIECES];
	bool offered = false;

	while (c->out.first == NULL && pos.i != GATHER_END) {
		const unsigned int n = gather_pieces(&t->gather, pos, v);
		const int done = write_pieces(t, c, v, n);

		if (done < 0)
			return;
		if (done == IO_LATER) {
			offered = c->ssl != NULL;
			break;
		}
		stats_add(&t->stats.tx, gather_wrote(&t->gather, &pos, (size_t)done));
	}
	if (pos.i != GATHER_END)
		keep_rest(t, c, pos, offered);
}

void outgoing_write(struct thread *t)
{
	struct gather *g = &t->gather;

	for (unsigned int k = 0; k < g->nb; k++) {
		const struct gather_at pos = {.i = g->first[k]};
		struct conn *c = conn_of(t, g->m[pos.i].conn);

		if (c == NULL) // closed since
			continue;
		c->gathered = 0;
		write_chain(t, c, pos);
	}
	g->nb = 0;
}

void outgoing_add(struct thread *t, unsigned int i)
{
	const struct stream_message *m = &t->gather.m[i];
	struct conn *c = conn_of(t, m->conn);

	if (c == NULL) {
		stats_add(&t->stats.late, 1);
		return;
	}
	if (!m->media) {
		conn_lease(t, c, m->lease_s);
		if (conn_waits_for(c, m->data, m->len)) // ignore answers to other requests
			conn_answered(t, c);
	}
	gather_add(&t->gather, i, &c->gathered);
}

void outgoing_answer(struct thread *t, uint64_t handle, const uint8_t *data, uint16_t len)
{
	const struct queue_message m = {.data = data, .len = len};
	struct conn *c = conn_of(t, handle);

	if (c == NULL) {
		stats_add(&t->stats.late, 1);
		return;
	}
	stats_add(&t->stats.queue_full, queue_put(&c->out, t->s->conf.queue, &m));
	outgoing_flush(t, c);
	conn_watch(t, c);
}
