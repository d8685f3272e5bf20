// SPDX-License-Identifier: BSD-3-Clause
// Writes STUN messages. Two invariants hold after every call: all bytes below len are set, and the
// header's length field matches the attributes written until then.
#include "hmac.h"
#include "stun_int.h"

#define PADDING 0x0026
#define REASON_MAX 509 // RFC 8489 14.8: fewer than 128 characters, which take at most 509 bytes

// RFC 8489 5, figure 3: the class bits sit at 4 and 8 between the method bits.
static uint16_t message_type(enum stun_class cls, uint16_t method)
{
	return (uint16_t)((method & 0x000F) | (method & 0x0070) << 1 | (method & 0x0F80) << 2 |
		(cls & 1) << 4 | (cls & 2) << 7);
}

static void header_write(uint8_t *buf, uint16_t type, uint16_t len, const uint8_t *tid)
{
	store_be16(buf, type);
	store_be16(buf + 2, len);
	store_be32(buf + 4, STUN_COOKIE);
	memcpy(buf + 8, tid, STUN_TID_LEN);
}

// Writes an address, XORed with mask, and returns its length, 8 or 20. mask points to the cookie of
// the header for the form of RFC 8489 14.2, and to zeros for that of 14.1.
static size_t addr_write(uint8_t *value, const struct endpoint *e, const uint8_t *mask)
{
	const bool v4 = addr_is_v4(&e->addr);
	const uint8_t *const ip = v4 ? &e->addr.b[12] : e->addr.b;
	const size_t ip_len = v4 ? 4 : 16;

	value[0] = 0;
	value[1] = v4 ? 1 : 2;
	store_be16(value + 2, e->port ^ load_be16(mask));
	for (size_t i = 0; i < ip_len; i++)
		value[4 + i] = ip[i] ^ mask[i];
	return 4 + ip_len;
}

// Appends an attribute's header and padding. Returns a pointer to its value; the caller sets all
// len bytes. Returns NULL if the attribute does not fit; the writer then writes nothing more.
static uint8_t *type_append(struct stun_writer *w, uint16_t type, size_t len)
{
	uint8_t *const p = w->buf + w->len;

	if (w->overflow || len > UINT16_MAX ||
		ATTR_HEADER_LEN + padded_len(len) > (size_t)(w->cap - w->len)) {
		w->overflow = true;
		return NULL;
	}
	store_be16(p, type);
	store_be16(p + 2, (uint16_t)len);
	// RFC 8489 14: padding is sent as zero, never as old buffer contents (CVE-2020-4067).
	memset(p + ATTR_HEADER_LEN + len, 0, padded_len(len) - len);
	w->len += (uint16_t)(ATTR_HEADER_LEN + padded_len(len));
	store_be16(w->buf + 2, w->len - STUN_HEADER_LEN);
	return p + ATTR_HEADER_LEN;
}

static uint8_t *attr_append(struct stun_writer *w, enum stun_attr a, size_t len)
{
	return type_append(w, wire_type[a], len);
}

void stun_begin(struct stun_writer *w, void *buf, size_t cap, enum stun_class cls, uint16_t method,
	const uint8_t tid[STUN_TID_LEN])
{
	*w = (struct stun_writer){
		.buf = buf,
		.cap = cap < UINT16_MAX ? (uint16_t)cap : UINT16_MAX,
		.overflow = cap < STUN_HEADER_LEN,
	};
	if (w->overflow)
		return;
	header_write(buf, message_type(cls, method), 0, tid);
	w->len = STUN_HEADER_LEN;
}

void stun_echo_rfc3489(struct stun_writer *w, const struct stun_msg *m)
{
	if (!w->overflow)
		memcpy(w->buf + 4, m->data + 4, 4);
}

void stun_put(struct stun_writer *w, enum stun_attr a, const void *value, size_t len)
{
	uint8_t *const p = attr_append(w, a, len);

	if (p != NULL && len > 0)
		memcpy(p, value, len);
}

void stun_put_padding(struct stun_writer *w, size_t len)
{
	uint8_t *const p = type_append(w, PADDING, len);

	if (p != NULL)
		memset(p, 0, len);
}

void stun_put_u32(struct stun_writer *w, enum stun_attr a, uint32_t value)
{
	uint8_t *const p = attr_append(w, a, 4);

	if (p != NULL)
		store_be32(p, value);
}

void stun_put_xor_addr(struct stun_writer *w, enum stun_attr a, const struct endpoint *e)
{
	uint8_t *const p = attr_append(w, a, addr_is_v4(&e->addr) ? 8 : 20);

	if (p != NULL)
		addr_write(p, e, w->buf + 4);
}

void stun_put_addr(struct stun_writer *w, enum stun_attr a, const struct endpoint *e)
{
	static const uint8_t zeros[16];
	uint8_t *const p = attr_append(w, a, addr_is_v4(&e->addr) ? 8 : 20);

	if (p != NULL)
		addr_write(p, e, zeros);
}

// Appends a code and a reason phrase. ERROR-CODE and ADDRESS-ERROR-CODE differ in the first byte.
static void put_code(struct stun_writer *w, enum stun_attr a, uint8_t first, unsigned int code,
	const char *reason)
{
	const size_t reason_len = strlen(reason);
	uint8_t *p;

	if (code < 300 || code > 699 || reason_len > REASON_MAX) { // RFC 8489 14.8
		w->overflow = true;
		return;
	}
	p = attr_append(w, a, 4 + reason_len);
	if (p == NULL)
		return;
	store_be32(p, (uint32_t)first << 24 | code / 100 << 8 | code % 100);
	memcpy(p + 4, reason, reason_len);
}

void stun_put_error(struct stun_writer *w, unsigned int code, const char *reason)
{
	put_code(w, STUN_ERROR_CODE, 0, code, reason);
}

void stun_put_address_error(
	struct stun_writer *w, uint8_t family, unsigned int code, const char *reason)
{
	put_code(w, STUN_ADDRESS_ERROR_CODE, family, code, reason);
}

void stun_put_integrity(struct stun_writer *w, struct stun_crypto *c, enum stun_algorithm alg,
	const struct stun_key *key)
{
	const bool sha256 = alg == STUN_ALG_SHA256;
	const size_t covered = w->len; // up to and including the preceding attribute (RFC 8489
		// 14.5)
	const size_t mac_len = sha256 ? HMAC_SHA256_LEN : HMAC_SHA1_LEN;
	uint8_t *const p = attr_append(
		w, sha256 ? STUN_MESSAGE_INTEGRITY_SHA256 : STUN_MESSAGE_INTEGRITY, mac_len);

	if (p == NULL)
		return;
	memset(p, 0, mac_len);
	// A message that could not be signed must not be sent, so this counts as overflow.
	if (!stun_hmac_message(c, alg, key, w->buf, covered, p))
		w->overflow = true;
}

void stun_put_fingerprint(struct stun_writer *w)
{
	const size_t covered = w->len;
	uint8_t *const p = attr_append(w, STUN_FINGERPRINT, 4);

	// The CRC covers the length field, which counts this attribute already (RFC 8489 14.7).
	if (p != NULL)
		store_be32(p, stun_fingerprint(w->buf, covered));
}

uint16_t stun_end(struct stun_writer *w)
{
	return w->overflow ? 0 : w->len;
}

uint16_t stun_data_indication(uint8_t *buf, const uint8_t tid[STUN_TID_LEN],
	const struct endpoint *peer, uint16_t payload_len)
{
	uint8_t *const attr = buf + STUN_HEADER_LEN;
	const size_t addr_len = addr_is_v4(&peer->addr) ? 8 : 20;
	uint8_t *const data_attr = attr + ATTR_HEADER_LEN + addr_len;
	const size_t front = STUN_HEADER_LEN + 2 * ATTR_HEADER_LEN + addr_len;

	// A payload that fits into a UDP datagram after this front cannot overflow the length.
	header_write(buf, message_type(STUN_INDICATION, STUN_DATA),
		(uint16_t)(front - STUN_HEADER_LEN + padded_len(payload_len)), tid);
	store_be16(attr, wire_type[STUN_XOR_PEER_ADDRESS]);
	store_be16(attr + 2, (uint16_t)addr_len);
	addr_write(attr + ATTR_HEADER_LEN, peer, buf + 4);
	store_be16(data_attr, wire_type[STUN_DATA_ATTR]);
	store_be16(data_attr + 2, payload_len);
	return (uint16_t)front;
}
