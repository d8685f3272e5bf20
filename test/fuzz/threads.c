// SPDX-License-Identifier: BSD-3-Clause
// The world's one stream thread, called in turns. DTLS handshakes run its real code; connections
// are only messages here. Also the DTLS ends of clients.
#include "clients/sessions.h"
#include "clients/streams.h"
#include "datapath.h"
#include "dtls_thread.h"
#include "dtls_world.h"
#include "framing.h"
#include "fuzz.h"
#include "path/rewrite.h"

#include <openssl/err.h>
#include <stdlib.h>

static unsigned int asleep; // rounds that it still sleeps

void fuzz_threads_open(void)
{
	asleep = 0;
	fuzz_orders_open();
	if (fuzz.setup.dtls)
		dtls_thread_open(&(struct stream_config){.workers = fuzz.world.dp->nb_workers,
			.ops = &streams_ops,
			.ctx = fuzz.world.dp,
			.dtls = sessions_config(&fuzz.world.conf)});
}

void fuzz_threads_close(void)
{
	if (fuzz.setup.dtls)
		dtls_thread_close();
}

// --- the thread ----------------------------------------------------------------------------------

static void to_connection(const struct stream_message *m)
{
	struct fuzz_client *c = &fuzz.client[(uint32_t)m->conn % FUZZ_CLIENTS];
	struct stun_framing f;

	assert_int_equal(
		stun_framing_scan(m->data, m->len, CHANNEL_MAX_RFC5766, &f), STUN_FRAMING_WHOLE);
	assert_int_equal(f.size, m->len);
	if (c->c.conn == m->conn) // otherwise the connection has closed meanwhile
		fuzz_message(c, m->data, m->len);
}

void fuzz_threads_round(void)
{
	struct dp *d = fuzz.world.dp;
	struct stream_message m[STREAM_BURST];

	if (asleep == 0 && chance(1) && chance(20))
		asleep = below(400);
	if (asleep > 0 && asleep-- > 0)
		return;
	for (unsigned int w = 0; w < d->nb_workers && d->nb_streams > 0 && !chance(10); w++) {
		const unsigned int n = streams_ops.receive(d, 0, w, m, STREAM_BURST);

		for (unsigned int i = 0; i < n; i++) {
			if (m[i].kind == STREAM_BYTES)
				to_connection(&m[i]);
			else if (!fuzz_orders_take(&m[i]))
				dtls_thread_take(w, &m[i]);
			streams_ops.release(d, 0, w, m[i].buf);
		}
	}
	fuzz_orders_act();
	if (!fuzz.setup.dtls)
		return;
	dtls_thread_round(fuzz.world.ms);
	for (unsigned int i = 0; i < fuzz.nb_clients; i++)
		if (fuzz.client[i].via == VIA_DTLS)
			fuzz_dtls_acts(&fuzz.client[i]);
}

// --- connections ---------------------------------------------------------------------------------

static struct stream_from from_of(const struct fuzz_client *c)
{
	return (struct stream_from){
		.client = c->c.endpoint, .listener = c->listener, .conn = c->c.conn};
}

// Hands over messages like a stream thread: whole, as framing has cut them, and not too long.
void fuzz_stream_send(struct fuzz_client *c, uint8_t *data, size_t len)
{
	const struct stream_from origin = from_of(c);
	const unsigned int home = streams_ops.home(fuzz.world.dp, &c->c.endpoint, c->listener);
	const size_t room = (size_t)dp_data_room(&fuzz.world.conf) - REWRITE_ANSWER_AT;
	struct rte_mbuf *buf;
	struct stream_message m;
	struct stun_framing f;

	memset(data + len, 0, 4); // padding
	if (stun_framing_scan(data, len + 4, CHANNEL_MAX_RFC5766, &f) != STUN_FRAMING_WHOLE ||
		f.len > room || f.size > len + 4)
		return;
	if ((stun_framing_is_request(data) && !streams_ops.may_ask(fuzz.world.dp, 0, home)) ||
		!streams_ops.take(fuzz.world.dp, 0, home, &m))
		return;
	fuzz_message_alone(data, f.len);
	fuzz_remember("stream", 0, data, f.len, false);
	buf = m.buf;
	memset(buf->buf_addr, FUZZ_CANARY, buf->buf_len);
	memcpy(m.data, data, f.len);
	m.len = (uint16_t)f.len;
	m.conn = c->c.conn;
	streams_ops.send(fuzz.world.dp, 0, home, &m, &origin);
}

void fuzz_stream_end(struct fuzz_client *c)
{
	const struct stream_from origin = from_of(c);

	for (unsigned int w = 0; w < fuzz.world.dp->nb_workers; w++)
		for (unsigned int n = 0; !streams_ops.ended(fuzz.world.dp, 0, w, &origin); n++) {
			assert_true(n < 10000);
			// packets that wait for a neighbour may have all buffers
			fuzz.world.ms += n > 100;
			fuzz_round();
		}
}

// --- DTLS ends -----------------------------------------------------------------------------------

void fuzz_dtls_free(struct fuzz_client *c)
{
	if (c->end == NULL)
		return;
	dtls_client_close(c->end);
	free(c->end);
	c->end = NULL;
}

static void flush(struct fuzz_client *c)
{
	uint8_t frame[FUZZ_FRAME];
	struct datagram d;

	while (wire_take(&c->end->out, &d)) {
		size_t len = d.len;

		if (chance(fuzz.mutate / 4))
			len = fuzz_mutate_message(d.data, len, sizeof(d.data));
		len = fuzz_udp(
			frame, 0, &(struct fuzz_path){c->c.endpoint, c->c.server}, d.data, len);
		fuzz_send("dtls", 0, frame, len);
	}
}

void fuzz_dtls_again(struct fuzz_client *c)
{
	struct wire *out = &c->end->out;
	struct datagram d;
	uint8_t data[64];
	size_t len;

	len = fuzz_client_message(c, data, sizeof(data));
	if (len > 0 && chance(80))
		SSL_write(c->end->ssl, data, (int)len);
	if (chance(70))
		SSL_shutdown(c->end->ssl);
	if (chance(50) && out->n >= 2) { // the last one overtakes the first
		d = out->d[0];
		out->d[0] = out->d[out->n - 1];
		out->d[out->n - 1] = d;
	}
	flush(c);
	fuzz_dtls_renew(c);
	c->handshake_done = false;
}

void fuzz_dtls_renew(struct fuzz_client *c)
{
	fuzz_dtls_free(c);
	c->end = calloc(1, sizeof(*c->end));
	assert_non_null(c->end);
	dtls_client_open(c->end, NULL);
}

static bool fatal(const struct fuzz_client *c, int rc)
{
	const int error = SSL_get_error(c->end->ssl, rc);

	return rc <= 0 && error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE;
}

static void shake(struct fuzz_client *c)
{
	int rc;

	ERR_clear_error();
	DTLSv1_handle_timeout(c->end->ssl);
	rc = SSL_do_handshake(c->end->ssl);
	c->handshake_done = rc == 1;
	if (fatal(c, rc) || chance(1))
		fuzz_client_renew(c);
}

static void read_all(struct fuzz_client *c)
{
	uint8_t data[DATAGRAM_MAX];
	int n;

	ERR_clear_error();
	while ((n = SSL_read(c->end->ssl, data, sizeof(data))) > 0)
		fuzz_message(c, data, (size_t)n);
	if (fatal(c, n))
		fuzz_client_renew(c);
}

void fuzz_dtls_acts(struct fuzz_client *c)
{
	if (c->handshake_done)
		read_all(c);
	else
		shake(c);
	flush(c);
}

void fuzz_dtls_write(struct fuzz_client *c, const uint8_t *data, size_t len)
{
	if (len == 0 || len > 1400)
		return;
	ERR_clear_error();
	SSL_write(c->end->ssl, data, (int)len);
	flush(c);
}
