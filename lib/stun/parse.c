// SPDX-License-Identifier: BSD-3-Clause
// Reads STUN messages: one walk checks every length, after that values are only decoded.
#include "stun_int.h"
#include "stun_usual.h"

#include <errno.h>

#define COMPREHENSION_OPTIONAL 0x8000
// Type of ADDITIONAL-ADDRESS-FAMILY before RFC 8656; coturn's client of Debian 12 still uses it. No
// other attribute has this number.
#define ADDITIONAL_BEFORE_RFC8656 0x8032

static inline uint16_t type_now(uint16_t type)
{
	return type == ADDITIONAL_BEFORE_RFC8656 ? wire_type[STUN_ADDITIONAL_ADDRESS_FAMILY] : type;
}

// Returns the attribute of a wire type, or STUN_NB_ATTRS if it is unknown. It compiles to a jump
// table: the cost of a hostile message does not grow with the number of known attributes.
static enum stun_attr attr_of(uint16_t type)
{
	switch (type_now(type)) {
#define X(id, wire) \
	case wire:  \
		return id;
		STUN_ATTRIBUTES(X)
#undef X
	default:
		return STUN_NB_ATTRS;
	}
}

// Offset of the attribute header that follows the attribute at pos, whose value is alen bytes.
static inline size_t attr_next(size_t pos, size_t alen)
{
	return pos + ATTR_HEADER_LEN + padded_len(alen);
}

// RFC 8489 14.5, 14.6 and 9: which attributes may still follow the integrity attributes. The states
// are ordered: each accepts fewer attributes than the one before.
enum walk_state { IN_BODY, AFTER_INTEGRITY, AFTER_INTEGRITY_SHA256, AFTER_FINGERPRINT };

static bool attr_counts(enum walk_state state, enum stun_attr a)
{
	switch (state) {
	case IN_BODY:
		return true;
	case AFTER_INTEGRITY:
		return a == STUN_MESSAGE_INTEGRITY_SHA256 || a == STUN_FINGERPRINT;
	case AFTER_INTEGRITY_SHA256:
		return a == STUN_FINGERPRINT;
	default:
		return false;
	}
}

static enum walk_state state_after(enum walk_state state, enum stun_attr a)
{
	switch (a) {
	case STUN_MESSAGE_INTEGRITY:
		return AFTER_INTEGRITY;
	case STUN_MESSAGE_INTEGRITY_SHA256:
		return AFTER_INTEGRITY_SHA256;
	case STUN_FINGERPRINT:
		return AFTER_FINGERPRINT;
	default:
		return state;
	}
}

static int walk_attrs(struct stun_msg *m)
{
	enum walk_state state = IN_BODY;
	size_t pos = STUN_HEADER_LEN;

	while (pos < m->len) {
		// The length is a multiple of 4, and so is every step, so an attribute header is
		// always complete.
		const uint16_t type = load_be16(m->data + pos);
		const uint16_t alen = load_be16(m->data + pos + 2);
		const size_t next = attr_next(pos, alen);
		const enum stun_attr a = attr_of(type);

		if (next > m->len)
			return -EBADMSG;
		if (!attr_counts(state, a)) {
			// ignored, known or not
		} else if (a == STUN_NB_ATTRS) {
			if (type < COMPREHENSION_OPTIONAL)
				m->nb_unknown++;
		} else if (m->off[a] == 0) { // RFC 8489 14: the first occurrence wins
			m->off[a] = (uint16_t)(pos + ATTR_HEADER_LEN);
			m->alen[a] = alen;
			state = state_after(state, a);
		}
		pos = next;
	}
	return 0;
}

// RFC 8489 14.7: FINGERPRINT is four bytes and the last attribute (the CRC covers a length field
// that ends with it).
static bool fingerprint_ok(const struct stun_msg *m)
{
	const uint16_t off = m->off[STUN_FINGERPRINT];

	return m->alen[STUN_FINGERPRINT] == 4 && off + 4 == m->len &&
		load_be32(m->data + off) == stun_fingerprint(m->data, off - ATTR_HEADER_LEN);
}

// RFC 8489 6.3: a sensible length. The message is the whole datagram, so nothing may follow it.
static bool length_ok(const uint8_t *data, size_t len)
{
	return len >= STUN_HEADER_LEN && len <= UINT16_MAX && len % 4 == 0 &&
		load_be16(data + 2) == len - STUN_HEADER_LEN;
}

// Reads a message whose header is valid.
static int read_body(const uint8_t *data, size_t len, struct stun_msg *m)
{
	const uint16_t type = load_be16(data);

	*m = (struct stun_msg){
		.data = data,
		.len = (uint16_t)len,
		// RFC 8489 5, figure 3: class bits 4 and 8 lie between the method bits
		.method = (type & 0x000F) | (type & 0x00E0) >> 1 | (type & 0x3E00) >> 2,
		.cls = (type & 0x0010) >> 4 | (type & 0x0100) >> 7,
	};
	if (walk_attrs(m) != 0)
		return -EBADMSG;
	m->fingerprint_bad = stun_has(m, STUN_FINGERPRINT) && !fingerprint_ok(m);
	return 0;
}

int stun_parse(const uint8_t *data, size_t len, struct stun_msg *m)
{
	if (!length_ok(data, len) || (data[0] & 0xC0) != 0 || load_be32(data + 4) != STUN_COOKIE)
		return -EBADMSG;
	return read_body(data, len, m);
}

int stun_parse_rfc3489(const uint8_t *data, size_t len, struct stun_msg *m)
{
	if (!length_ok(data, len) || load_be16(data) != STUN_BINDING || // the type of a Binding
		// request
		load_be32(data + 4) == STUN_COOKIE)
		return -EBADMSG;
	return read_body(data, len, m);
}

bool stun_get_u32(const struct stun_msg *m, enum stun_attr a, uint32_t *v)
{
	if (!stun_has(m, a) || m->alen[a] != 4)
		return false;
	*v = load_be32(m->data + m->off[a]);
	return true;
}

// Decodes the form of RFC 8489 14.2: the mask is the cookie followed by the transaction ID, as in
// the header.
static inline void xor_addr_decode(
	const uint8_t *value, const uint8_t *mask, size_t ip_len, struct endpoint *out)
{
	uint8_t ip[16];

	for (size_t i = 0; i < ip_len; i++)
		ip[i] = value[4 + i] ^ mask[i];
	out->addr = ip_len == 4 ? addr_from_v4(ip) : addr_from_v6(ip);
	out->port = load_be16(value + 2) ^ load_be16(mask);
}

bool stun_decode_xor_addr(
	const struct stun_msg *m, uint16_t off, uint16_t alen, struct endpoint *out, int *family)
{
	const uint8_t *const value = m->data + off;

	if (alen == 8 && value[1] == 1) {
		xor_addr_decode(value, m->data + 4, 4, out);
		*family = 4;
	} else if (alen == 20 && value[1] == 2) {
		xor_addr_decode(value, m->data + 4, 16, out);
		*family = 6;
	} else {
		return false;
	}
	return true;
}

// Offset after the last attribute that precedes integrity and fingerprint.
static size_t body_end(const struct stun_msg *m)
{
	static const enum stun_attr trailer[] = {
		STUN_MESSAGE_INTEGRITY, STUN_MESSAGE_INTEGRITY_SHA256, STUN_FINGERPRINT};
	size_t end = m->len;

	for (size_t i = 0; i < sizeof(trailer) / sizeof(trailer[0]); i++) {
		const size_t off = m->off[trailer[i]];

		if (off != 0 && off - ATTR_HEADER_LEN < end)
			end = off - ATTR_HEADER_LEN;
	}
	return end;
}

static bool next_of(
	const struct stun_msg *m, uint16_t type, uint16_t *pos, uint16_t *off, uint16_t *alen)
{
	const size_t end = body_end(m);
	size_t p = *pos != 0 ? *pos : STUN_HEADER_LEN;

	while (p < end) {
		const uint16_t n = load_be16(m->data + p + 2);
		const size_t next = attr_next(p, n);

		if (type_now(load_be16(m->data + p)) == type) {
			*off = (uint16_t)(p + ATTR_HEADER_LEN);
			*alen = n;
			*pos = (uint16_t)next;
			return true;
		}
		p = next;
	}
	*pos = (uint16_t)p;
	return false;
}

bool stun_next(
	const struct stun_msg *m, enum stun_attr a, uint16_t *pos, uint16_t *off, uint16_t *alen)
{
	return next_of(m, wire_type[a], pos, off, alen);
}

bool stun_find(const struct stun_msg *m, uint16_t type, uint16_t *off, uint16_t *alen)
{
	uint16_t pos = 0;

	return next_of(m, type, &pos, off, alen);
}

bool stun_next_unknown(const struct stun_msg *m, uint16_t *pos, uint16_t *type)
{
	const size_t end = body_end(m);
	size_t p = *pos != 0 ? *pos : STUN_HEADER_LEN;

	while (p < end) {
		const uint16_t t = load_be16(m->data + p);

		p = attr_next(p, load_be16(m->data + p + 2));
		if (t < COMPREHENSION_OPTIONAL && attr_of(t) == STUN_NB_ATTRS) {
			*type = t;
			*pos = (uint16_t)p;
			return true;
		}
	}
	*pos = (uint16_t)p;
	return false;
}
