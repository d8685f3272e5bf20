// SPDX-License-Identifier: BSD-3-Clause
// Writes questions and reads answers about users (lookup_records.h).
#include "features/lookup/lookup_records.h"

#include <string.h>

#include "bytes.h"
#include "turn_config.h"

#define QUESTION UINT32_C(0x534c5131) // "SLQ1"
#define ANSWER UINT32_C(0x534c4131) // "SLA1"
#define USER 1
#define NAME_AT 64
#define REALM_AT 576
#define HAS_MD5 1
#define HAS_SHA256 2
#define MD5_AT 32
#define SHA256_AT 48
#define SECRET_AT 80
#define SECRET_REALM_AT 336

_Static_assert(REALM_AT + 768 == LOOKUP_QUESTION_LEN, "the realm ends the record");
_Static_assert(SECRET_REALM_AT + 768 == LOOKUP_ANSWER_LEN, "the realm ends the record");

enum { KEYS = 1, UNKNOWN, NO_ANSWER, SECRET };

void lookup_records_put(const struct dp_lookup_question *q, uint8_t out[LOOKUP_QUESTION_LEN])
{
	// which of both a client of `auto` uses is not known here
	static const uint8_t transports[] = {[TURN_OVER_UDP] = 0,
		[TURN_OVER_TCP] = 1,
		[TURN_OVER_AUTO] = 1,
		[TURN_OVER_TLS] = 2,
		[TURN_OVER_DTLS] = 3};

	memset(out, 0, LOOKUP_QUESTION_LEN);
	store_be32(out, QUESTION);
	out[4] = USER;
	out[5] = transports[q->transport];
	store_be16(out + 6, q->name_len);
	store_be64(out + 8, q->id);
	memcpy(out + 16, q->client.addr.b, 16);
	store_be16(out + 32, q->client.port);
	store_be16(out + 34, q->realm_len);
	memcpy(out + NAME_AT, q->name, q->name_len);
	memcpy(out + REALM_AT, q->realm, q->realm_len);
}

static enum lookup_record read_keys(const uint8_t *in, struct turn_lookup_answer *a)
{
	a->result = TURN_LOOKUP_KEYS;
	a->has_md5 = (in[5] & HAS_MD5) != 0;
	a->has_sha256 = (in[5] & HAS_SHA256) != 0;
	memcpy(a->md5, in + MD5_AT, sizeof(a->md5));
	memcpy(a->sha256, in + SHA256_AT, sizeof(a->sha256));
	return a->has_md5 || a->has_sha256 ? LOOKUP_RECORD_ANSWER : LOOKUP_RECORD_BAD;
}

static enum lookup_record read_secret(const uint8_t *in, struct turn_lookup_secret *s)
{
	const uint16_t len = load_be16(in + 6), realm_len = load_be16(in + 26);

	*s = (struct turn_lookup_secret){.list = load_be64(in + 8), .index = in[24], .nb = in[25]};
	if (len > TURN_LOOKUP_SECRET_MAX || realm_len >= sizeof(s->realm) || realm_len == 0 ||
		s->nb > TURN_LOOKUP_SECRETS ||
		(s->nb == 0 ? len > 0 || s->index > 0 : len == 0 || s->index >= s->nb))
		return LOOKUP_RECORD_BAD;
	memcpy(s->secret, in + SECRET_AT, len);
	memcpy(s->realm, in + SECRET_REALM_AT, realm_len);
	return strlen(s->secret) == len && strlen(s->realm) == realm_len ? LOOKUP_RECORD_SECRET
									 : LOOKUP_RECORD_BAD;
}

enum lookup_record lookup_records_read(const uint8_t in[LOOKUP_ANSWER_LEN],
	struct turn_lookup_answer *a, struct turn_lookup_secret *s)
{
	if (load_be32(in) != ANSWER)
		return LOOKUP_RECORD_BAD;
	*a = (struct turn_lookup_answer){.id = load_be64(in + 8),
		.lifetime_s = load_be32(in + 16),
		.stale_s = load_be32(in + 20)};
	switch (in[4]) {
	case KEYS:
		return read_keys(in, a);
	case UNKNOWN:
		a->result = TURN_LOOKUP_UNKNOWN;
		return LOOKUP_RECORD_ANSWER;
	case NO_ANSWER:
		a->result = TURN_LOOKUP_NO_ANSWER;
		return LOOKUP_RECORD_ANSWER;
	case SECRET:
		return read_secret(in, s);
	default:
		return LOOKUP_RECORD_BAD;
	}
}
