// SPDX-License-Identifier: BSD-3-Clause
// The records of a session (RFC 6347 4.1), with an AEAD (RFC 5246 6.2.3.3).
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "dtls_hello.h"
#include "dtls_session.h"

#define VERSION 0xfefd // DTLS 1.2
#define EPOCH UINT64_C(1)
#define SEQ_MAX ((UINT64_C(1) << 48) - 1)
#define WINDOW 64
#define EXPLICIT_LEN 8 // bytes of AES-GCM's nonce in a record
#define DATAGRAM_MAX 548 // bytes, for our last flight: IPv4 and IPv6 carry it on any path (RFC 791)
// Answers to handshake messages of a session; libssl gives up after the same number.
#define ANSWERS 12

enum { HANDSHAKE_CLIENT_HELLO = 1, HANDSHAKE_FINISHED = 20 };
enum { ALERT_WARNING = 1, ALERT_FATAL = 2 };
enum { ALERT_CLOSE_NOTIFY = 0, ALERT_NO_RENEGOTIATION = 100 };
enum { CLIENT, SERVER };

struct dtls_session {
	struct aead_key *key[2]; // for the client's records, and for ours
	uint8_t salt[2][AEAD_NONCE_LEN];
	uint8_t explicit_len; // bytes of the nonce in a record
	uint8_t aead; // enum aead
	uint64_t next[2]; // our next sequence number, by epoch
	uint64_t nonce; // our next explicit nonce
	uint64_t seen_end; // the client's highest sequence number + 1
	uint64_t seen; // a bit for each received number just below seen_end
	uint16_t flight_len;
	uint8_t answers; // remaining answers to handshake messages
	uint8_t flight[]; // our last flight: plaintext records, each as struct kept and body
};

// --- one record ----------------------------------------------------------------------------------

// A parsed record header.
struct header {
	uint8_t type;
	uint16_t version, len; // len: bytes after the header
	uint64_t number; // epoch and sequence number
};

static struct header header_read(const uint8_t *p)
{
	return (struct header){.type = p[0],
		.version = load_be16(p + 1),
		.number = load_be64(p + 3),
		.len = load_be16(p + 11)};
}

static void header_write(uint8_t *p, const struct header *h)
{
	p[0] = h->type;
	store_be16(p + 1, VERSION);
	store_be64(p + 3, h->number);
	store_be16(p + 11, h->len);
}

// Makes nonce and additional data (RFC 5288 3 or RFC 7905 2, and RFC 5246 6.2.3.3). h->len is the
// length of the message, without nonce and tag.
static struct aead_with with_of(const struct dtls_session *s, unsigned int sender,
	const struct header *h, const uint8_t *explicit)
{
	struct aead_with w = {.aad_len = DTLS_RECORD_LEN};

	memcpy(w.nonce, s->salt[sender], AEAD_NONCE_LEN);
	if (s->explicit_len > 0)
		memcpy(w.nonce + 4, explicit, EXPLICIT_LEN);
	else
		store_be64(w.nonce + 4, load_be64(w.nonce + 4) ^ h->number);
	store_be64(w.aad, h->number);
	w.aad[8] = h->type;
	store_be16(w.aad + 9, VERSION);
	store_be16(w.aad + 11, h->len);
	return w;
}

// Makes the record of len bytes of data at p, which may overlap data. Returns the record's length,
// or 0 if the cipher failed. The sequence number is used up then, and the record must not be sent.
static uint16_t seal_record(
	struct dtls_session *s, uint8_t type, const uint8_t *data, uint16_t len, uint8_t *p)
{
	struct header h = {.type = type, .len = len, .number = EPOCH << 48 | s->next[EPOCH]++};
	uint8_t *body = p + DTLS_RECORD_LEN + s->explicit_len;
	struct aead_with params;

	memmove(body, data, len);
	if (s->explicit_len > 0)
		store_be64(p + DTLS_RECORD_LEN, s->nonce++);
	params = with_of(s, SERVER, &h, p + DTLS_RECORD_LEN);
	if (!aead_seal(s->key[SERVER], &params, body, len))
		return 0;
	h.len = (uint16_t)(s->explicit_len + len + AEAD_TAG_LEN);
	header_write(p, &h);
	return (uint16_t)(DTLS_RECORD_LEN + h.len);
}

// Decrypts the body of a record of epoch 1. Returns its length, with *body pointing to it, or less
// than 0 if it is forged.
static int open_record(
	struct dtls_session *s, unsigned int sender, struct header h, uint8_t *p, uint8_t **body)
{
	const unsigned int extra = s->explicit_len + AEAD_TAG_LEN;
	struct aead_with params;

	if (h.len < extra)
		return -1;
	h.len = (uint16_t)(h.len - extra);
	params = with_of(s, sender, &h, p);
	*body = p + s->explicit_len;
	return aead_open(s->key[sender], &params, *body, h.len) ? h.len : -1;
}

// --- replay protection (RFC 6347 4.1.2.6) --------------------------------------------------------

static bool is_new(const struct dtls_session *s, uint64_t seq)
{
	return seq >= s->seen_end ||
		(s->seen_end - seq <= WINDOW && (s->seen >> (s->seen_end - 1 - seq) & 1) == 0);
}

static void mark_seen(struct dtls_session *s, uint64_t seq)
{
	uint64_t shift;

	if (seq < s->seen_end) {
		s->seen |= UINT64_C(1) << (s->seen_end - 1 - seq);
		return;
	}
	shift = seq + 1 - s->seen_end;
	s->seen = shift < WINDOW ? s->seen << shift | 1 : 1;
	s->seen_end = seq + 1;
}

// --- alerts and flights -------------------------------------------------------------------------

static void send_out(struct dtls_wire *w, const uint8_t *data, size_t len)
{
	w->out(w->ctx, data, len);
	w->outs++;
}

static void send_alert(
	struct dtls_session *s, struct dtls_wire *w, uint8_t level, uint8_t description)
{
	const uint8_t alert[] = {level, description};
	uint8_t record[sizeof(alert) + DTLS_OVERHEAD_MAX];
	uint16_t n;

	if (s->next[EPOCH] > SEQ_MAX)
		return;
	n = seal_record(s, DTLS_ALERT, alert, sizeof(alert), record);
	if (n > 0)
		send_out(w, record, n);
	else
		w->unsealed++;
}

// A plaintext record of our last flight; its body follows it.
struct kept {
	uint8_t type, epoch;
	uint16_t len;
};

// Answers a client that has not received our last flight: sends the same messages in new records
// (RFC 6347 4.2.2).
static void send_flight(struct dtls_session *s, struct dtls_wire *w)
{
	uint8_t out[FLIGHT_MAX];
	size_t n = 0;

	for (size_t pos = 0; pos < s->flight_len;) {
		struct kept k;
		const uint8_t *body = s->flight + pos + sizeof(k);

		memcpy(&k, s->flight + pos, sizeof(k));
		pos += sizeof(k) + k.len;
		if (n > 0 && n + k.len + DTLS_OVERHEAD_MAX > DATAGRAM_MAX) {
			send_out(w, out, n);
			n = 0;
		}
		if (k.epoch == EPOCH) {
			const uint16_t len = seal_record(s, k.type, body, k.len, out + n);

			w->unsealed += len == 0;
			n += len;
			continue;
		}
		header_write(out + n,
			&(struct header){.type = k.type, .number = s->next[0]++, .len = k.len});
		memcpy(out + n + DTLS_RECORD_LEN, body, k.len);
		n += DTLS_RECORD_LEN + k.len;
	}
	if (n > 0)
		send_out(w, out, n);
}

// Reads an alert. Returns IO_LATER if the session continues.
static int alert_input(const uint8_t *alert, int len)
{
	if (len != 2)
		return IO_LATER;
	if (alert[1] == ALERT_CLOSE_NOTIFY)
		return IO_CLOSED;
	return alert[0] == ALERT_FATAL ? IO_FAILED : IO_LATER;
}

static void handshake_input(
	struct dtls_session *s, struct dtls_wire *w, const uint8_t *message, int len)
{
	if (len == 0 || s->answers == 0 ||
		s->next[EPOCH] > SEQ_MAX - FLIGHT_MAX) // a flight has fewer records than bytes
		return;
	if (message[0] == HANDSHAKE_FINISHED)
		send_flight(s, w);
	else if (message[0] == HANDSHAKE_CLIENT_HELLO)
		send_alert(s, w, ALERT_WARNING, ALERT_NO_RENEGOTIATION);
	else
		return;
	s->answers--;
}

// --- a session -----------------------------------------------------------------------------------

// Handles the body of a record; returns the same values as dtls_session_read.
static int handle_record(
	struct dtls_session *s, struct dtls_wire *w, struct header h, uint8_t *p, uint8_t **message)
{
	const uint64_t seq = h.number & SEQ_MAX;
	int n;

	if (h.version != VERSION || h.number >> 48 != EPOCH || !is_new(s, seq))
		return IO_LATER;
	w->opened++;
	n = open_record(s, CLIENT, h, p, message);
	if (n < 0)
		return IO_LATER;
	mark_seen(s, seq);
	switch (h.type) {
	case DTLS_APPLICATION:
		return n;
	case DTLS_ALERT:
		return alert_input(*message, n);
	case DTLS_HANDSHAKE:
		handshake_input(s, w, *message, n);
		break;
	}
	return IO_LATER;
}

static bool has_time(const struct dtls_wire *w)
{
	return w->most == 0 || w->opened < w->most;
}

int dtls_session_read(struct dtls_session *s, struct dtls_wire *w, uint8_t **message)
{
	int n = IO_LATER;

	while (n == IO_LATER && has_time(w) && w->in_len >= DTLS_RECORD_LEN) {
		const struct header h = header_read(w->in);
		uint8_t *body = w->in + DTLS_RECORD_LEN;

		if (h.len > w->in_len - DTLS_RECORD_LEN)
			break;
		w->in = body + h.len;
		w->in_len = (uint16_t)(w->in_len - DTLS_RECORD_LEN - h.len);
		n = handle_record(s, w, h, body, message);
	}
	if (n < 0 || (n == IO_LATER && has_time(w)))
		w->in_len = 0;
	return n;
}

const char *dtls_session_cipher(const struct dtls_session *s)
{
	static const char *const names[AEAD_NB] = {[AEAD_AES_128_GCM] = "AES128-GCM",
		[AEAD_AES_256_GCM] = "AES256-GCM",
		[AEAD_CHACHA20_POLY1305] = "CHACHA20-POLY1305"};

	return names[s->aead];
}

uint16_t dtls_session_overhead(const struct dtls_session *s)
{
	return (uint16_t)(DTLS_RECORD_LEN + s->explicit_len + AEAD_TAG_LEN);
}

int dtls_session_write(struct dtls_session *s, const uint8_t *message, size_t len, uint8_t *record)
{
	if (s->next[EPOCH] > SEQ_MAX)
		return IO_FAILED;
	return seal_record(s, DTLS_APPLICATION, message, (uint16_t)len, record);
}

void dtls_session_close(struct dtls_session *s, struct dtls_wire *w)
{
	send_alert(s, w, ALERT_WARNING, ALERT_CLOSE_NOTIFY);
}

// --- creation -----------------------------------------------------------------------------------

// Keeps a record of our last flight. False if it does not belong to the flight.
static bool keep_record(struct dtls_session *s, const struct header *h, const uint8_t *p)
{
	struct kept k = {.type = h->type, .epoch = (uint8_t)(h->number >> 48), .len = h->len};
	uint8_t copy[FLIGHT_MAX], *body = copy;
	int n = h->len;

	memcpy(copy, p, h->len);
	if (k.epoch == EPOCH)
		n = open_record(s, SERVER, *h, copy, &body);
	if (n < 0 || k.epoch > EPOCH)
		return false;
	k.len = (uint16_t)n;
	memcpy(s->flight + s->flight_len, &k, sizeof(k));
	memcpy(s->flight + s->flight_len + sizeof(k), body, k.len);
	s->flight_len = (uint16_t)(s->flight_len + sizeof(k) + k.len);
	return true;
}

static void keep_flight(struct dtls_session *s, const uint8_t *p, size_t len)
{
	while (len >= DTLS_RECORD_LEN) {
		const struct header h = header_read(p);
		const size_t size = DTLS_RECORD_LEN + (size_t)h.len;

		if (size > len || !keep_record(s, &h, p + DTLS_RECORD_LEN)) {
			s->flight_len = 0;
			return;
		}
		p += size;
		len -= size;
	}
}

struct dtls_session *dtls_session_create(const struct dtls_keys *k)
{
	struct dtls_session *s = calloc(1, sizeof(*s) + k->flight_len);

	if (s == NULL)
		return NULL;
	s->aead = (uint8_t)k->aead;
	s->explicit_len = k->aead == AEAD_CHACHA20_POLY1305 ? 0 : EXPLICIT_LEN;
	s->next[0] = k->next[0];
	s->next[EPOCH] = k->next[EPOCH];
	s->nonce = k->nonce;
	s->answers = ANSWERS;
	memcpy(s->salt, k->salt, sizeof(s->salt));
	for (unsigned int i = CLIENT; i <= SERVER; i++) {
		s->key[i] = aead_key_create(k->aead, k->key[i]);
		if (s->key[i] == NULL) {
			dtls_session_free(s);
			return NULL;
		}
	}
	keep_flight(s, k->flight, k->flight_len);
	return s;
}

void dtls_session_free(struct dtls_session *s)
{
	if (s == NULL)
		return;
	aead_key_free(s->key[CLIENT]);
	aead_key_free(s->key[SERVER]);
	explicit_bzero(s->salt, sizeof(s->salt));
	free(s);
}
