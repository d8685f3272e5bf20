// SPDX-License-Identifier: BSD-3-Clause
// stun_parse and the decoders against messages written by hand from RFC 8489 and RFC 8656.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "feature_names.h"
#include "stun.h"
#include "stun_vectors.h"
#include "test.h"

// --- messages built by hand, independently of the writer -----------------------------------------

struct raw {
	uint8_t b[65600];
	size_t len;
};

static const uint8_t tid[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

static void raw_length(struct raw *r, size_t len)
{
	r->b[2] = (uint8_t)(len >> 8);
	r->b[3] = (uint8_t)len;
}

static void raw_begin(struct raw *r, uint16_t type)
{
	static const uint8_t cookie[4] = {0x21, 0x12, 0xa4, 0x42};

	r->b[0] = (uint8_t)(type >> 8);
	r->b[1] = (uint8_t)type;
	raw_length(r, 0);
	memcpy(r->b + 4, cookie, 4);
	memcpy(r->b + 8, tid, 12);
	r->len = 20;
}

static void raw_attr(struct raw *r, uint16_t type, const void *value, size_t len)
{
	uint8_t *p = r->b + r->len;

	p[0] = (uint8_t)(type >> 8);
	p[1] = (uint8_t)type;
	p[2] = (uint8_t)(len >> 8);
	p[3] = (uint8_t)len;
	p += 4;
	for (size_t i = 0; i < len; i++)
		*p++ = ((const uint8_t *)value)[i];
	for (size_t i = len; i % 4 != 0; i++)
		*p++ = 0xEE; // padding is ignored on receipt (RFC 8489 14)
	r->len = (size_t)(p - r->b);
	raw_length(r, r->len - 20);
}

// Parses a copy in an exact-size block at an odd address; the result points into r.
static int parse(const struct raw *r, struct stun_msg *m)
{
	const struct odd_copy c = stun_vectors_odd_copy(r->b, r->len);
	const int rc = stun_parse(c.data, r->len, m);

	free(c.block);
	if (rc == 0) {
		assert_ptr_equal(m->data, c.data);
		m->data = r->b;
	}
	return rc;
}

static void assert_value(const struct stun_msg *m, enum stun_attr a, const void *value, size_t len)
{
	assert_true(stun_has(m, a));
	assert_int_equal(m->alen[a], len);
	assert_memory_equal(m->data + m->off[a], value, len);
}

static struct raw r, r2; // too big for the stack of a test

// --- the header ----------------------------------------------------------------------------------

static void test_message_types(void **state)
{
	static const struct {
		uint16_t type, method;
		enum stun_class cls;
	} t[] = {
		{0x0001, STUN_BINDING, STUN_REQUEST},
		{0x0011, STUN_BINDING, STUN_INDICATION},
		{0x0101, STUN_BINDING, STUN_SUCCESS},
		{0x0111, STUN_BINDING, STUN_ERROR},
		{0x0003, STUN_ALLOCATE, STUN_REQUEST},
		{0x0113, STUN_ALLOCATE, STUN_ERROR},
		{0x0104, STUN_REFRESH, STUN_SUCCESS},
		{0x0016, STUN_SEND, STUN_INDICATION},
		{0x0017, STUN_DATA, STUN_INDICATION},
		{0x0008, STUN_CREATE_PERMISSION, STUN_REQUEST},
		{0x0009, STUN_CHANNEL_BIND, STUN_REQUEST},
		{0x0020, 0x010, STUN_REQUEST}, // RFC 8489 figure 3: M4 is bit 5
		{0x0080, 0x040, STUN_REQUEST}, // M6 is bit 7
		{0x0200, 0x080, STUN_REQUEST}, // M7 is bit 9
		{0x2000, 0x800, STUN_REQUEST}, // M11 is bit 13
		{0x3eef, 0xfff, STUN_REQUEST},
		{0x3fff, 0xfff, STUN_ERROR},
	};
	struct stun_msg m;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		raw_begin(&r, t[i].type);
		assert_int_equal(parse(&r, &m), 0);
		assert_int_equal(m.method, t[i].method);
		assert_int_equal(m.cls, t[i].cls);
		assert_int_equal(m.len, 20);
		assert_memory_equal(stun_tid(&m), tid, 12);
		assert_int_equal(m.nb_unknown, 0);
		assert_false(m.fingerprint_bad);
	}
}

static void test_not_stun(void **state)
{
	struct stun_msg m;

	for (int bit = 0; bit < 2; bit++) { // RFC 8489 5: the top two bits are zero
		raw_begin(&r, 0x0001);
		r.b[0] |= (uint8_t)(0x40 << bit);
		assert_int_equal(parse(&r, &m), -EBADMSG);
	}
	for (int bit = 0; bit < 32; bit++) { // every bit of the cookie counts
		raw_begin(&r, 0x0001);
		r.b[4 + bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(parse(&r, &m), -EBADMSG);
	}
	for (int bit = 0; bit < 16; bit++) { // and every bit of the length
		raw_begin(&r, 0x0001);
		r.b[2 + bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(parse(&r, &m), -EBADMSG);
	}
}

static void test_length(void **state)
{
	struct stun_msg m;

	// Length field and datagram agree, but not on a multiple of 4.
	for (size_t extra = 1; extra < 4; extra++) {
		raw_begin(&r, 0x0001);
		raw_attr(&r, 0x8022, "abcd", 4);
		r.len += extra;
		raw_length(&r, r.len - 20);
		assert_int_equal(parse(&r, &m), -EBADMSG);
	}
	// Bytes after the message: over UDP it has to fill the datagram.
	raw_begin(&r, 0x0001);
	raw_attr(&r, 0x8022, "abcd", 4);
	raw_attr(&r, 0x8022, "efgh", 4);
	raw_length(&r, 8);
	assert_int_equal(parse(&r, &m), -EBADMSG);
	// A valid length field, but a message that is longer than 16 bits can express.
	for (size_t len = 65536; len <= 65552; len += 4) {
		raw_begin(&r, 0x0001);
		raw_attr(&r, 0x0013, r2.b, len - 24);
		assert_int_equal(r.len, len);
		assert_int_equal(parse(&r, &m), -EBADMSG);
	}
	assert_int_equal(stun_parse(r.b, 0, &m), -EBADMSG);
}

// True if an attribute of a complete message ends at len.
static bool is_boundary(const uint8_t *data, size_t len)
{
	size_t pos = 20;

	while (pos < len)
		pos += 4 + (data[pos + 3] + 3u) / 4 * 4; // no attribute is longer than 255 here
	return pos == len;
}

static void test_truncations(void **state)
{
	struct stun_msg m;

	for (size_t v = 0; v < NB_VECTORS; v++) {
		for (size_t len = 0; len < vectors[v].len; len++) {
			struct odd_copy c = stun_vectors_odd_copy(vectors[v].data, len);

			assert_int_equal(stun_parse(c.data, len, &m), -EBADMSG);
			// Truncated with a matching length field: only a cut between two attributes
			// can pass now.
			if (len >= 20) {
				c.data[2] = 0;
				c.data[3] = (uint8_t)(len - 20);
				assert_int_equal(stun_parse(c.data, len, &m) == 0,
					is_boundary(vectors[v].data, len));
			}
			free(c.block);
		}
	}
}

// --- the attribute walk --------------------------------------------------------------------------

static void test_overrun(void **state)
{
	struct stun_msg m;

	for (unsigned int alen = 0; alen <= 0xffff; alen++) {
		raw_begin(&r, 0x0001);
		raw_attr(&r, 0x0006, "12345678", 8);
		r.b[22] = (uint8_t)(alen >> 8);
		r.b[23] = (uint8_t)alen;
		memset(r.b + 24, 0, 8); // the rest of the value reads as empty attributes
		// 5 to 8 bytes fill the room; fewer leave whole attributes of 4 bytes.
		assert_int_equal(parse(&r, &m), alen <= 8 ? 0 : -EBADMSG);
		if (alen <= 8) {
			assert_int_equal(m.off[STUN_USERNAME], 24);
			assert_int_equal(m.alen[STUN_USERNAME], alen);
		}
	}
}

static void test_empty_at_end(void **state)
{
	struct stun_msg m;

	raw_begin(&r, 0x0003);
	raw_attr(&r, 0x0014, "realm", 5);
	raw_attr(&r, 0x001a, NULL, 0);
	assert_int_equal(parse(&r, &m), 0);
	assert_value(&m, STUN_REALM, "realm", 5);
	assert_true(stun_has(&m, STUN_DONT_FRAGMENT));
	assert_int_equal(m.off[STUN_DONT_FRAGMENT], m.len);
	assert_int_equal(m.alen[STUN_DONT_FRAGMENT], 0);
	assert_false(stun_has(&m, STUN_USERNAME));
	assert_false(stun_has(&m, STUN_EVEN_PORT));
}

static void test_duplicates(void **state)
{
	struct stun_msg m;

	raw_begin(&r, 0x0003);
	raw_attr(&r, 0x0006, "first", 5);
	raw_attr(&r, 0x0006, "second user", 11);
	raw_attr(&r, 0x000d, "\0\0\0\1", 4);
	raw_attr(&r, 0x000d, "\0\0\0\2", 4);
	raw_attr(&r, 0x0014, NULL, 0); // empty counts as an occurrence
	raw_attr(&r, 0x0014, "realm", 5);
	assert_int_equal(parse(&r, &m), 0);
	assert_value(&m, STUN_USERNAME, "first", 5);
	assert_value(&m, STUN_LIFETIME, "\0\0\0\1", 4);
	assert_value(&m, STUN_REALM, "", 0);
}

// Every type that we claim to know, each with a different value.
static void test_known_types(void **state)
{
	// From the IANA registries of RFC 8489 18.3 and RFC 8656 18.
	static const struct {
		enum stun_attr a;
		uint16_t type;
	} t[] = {
		{STUN_MAPPED_ADDRESS, 0x0001},
		{STUN_USERNAME, 0x0006},
		{STUN_ERROR_CODE, 0x0009},
		{STUN_UNKNOWN_ATTRIBUTES, 0x000A},
		{STUN_CHANNEL_NUMBER, 0x000C},
		{STUN_LIFETIME, 0x000D},
		{STUN_XOR_PEER_ADDRESS, 0x0012},
		{STUN_DATA_ATTR, 0x0013},
		{STUN_REALM, 0x0014},
		{STUN_NONCE, 0x0015},
		{STUN_XOR_RELAYED_ADDRESS, 0x0016},
		{STUN_REQUESTED_ADDRESS_FAMILY, 0x0017},
		{STUN_EVEN_PORT, 0x0018},
		{STUN_REQUESTED_TRANSPORT, 0x0019},
		{STUN_DONT_FRAGMENT, 0x001A},
		{STUN_PASSWORD_ALGORITHM, 0x001D},
		{STUN_USERHASH, 0x001E},
		{STUN_XOR_MAPPED_ADDRESS, 0x0020},
#ifdef FEATURE_RESERVATIONS
		{STUN_RESERVATION_TOKEN, 0x0022},
#endif
		{STUN_ADDITIONAL_ADDRESS_FAMILY, 0x8000},
		{STUN_ADDRESS_ERROR_CODE, 0x8001},
		{STUN_PASSWORD_ALGORITHMS, 0x8002},
		{STUN_ALTERNATE_DOMAIN, 0x8003},
		{STUN_ICMP, 0x8004},
		{STUN_SOFTWARE, 0x8022},
		{STUN_ALTERNATE_SERVER, 0x8023},
		{STUN_RESPONSE_ORIGIN, 0x802B},
		{STUN_OTHER_ADDRESS, 0x802C},
#ifdef FEATURE_REALMS
		{STUN_ORIGIN, 0x802F}, // draft-ietf-tram-stun-origin
#endif
		{STUN_MOBILITY_TICKET, 0x8030}, // RFC 8016
#ifdef FEATURE_TCP
		{STUN_CONNECTION_ID, 0x002A}, // RFC 6062 6.2
#endif
#ifdef FEATURE_TOKENS
		{STUN_ACCESS_TOKEN, 0x001B}, // RFC 7635
		{STUN_THIRD_PARTY_AUTHORIZATION, 0x802E},
#endif
		// integrity and fingerprint last, in their order
		{STUN_MESSAGE_INTEGRITY, 0x0008},
		{STUN_MESSAGE_INTEGRITY_SHA256, 0x001C},
		{STUN_FINGERPRINT, 0x8028},
	};
	struct stun_msg m;

	assert_int_equal(sizeof(t) / sizeof(t[0]), STUN_NB_ATTRS);
	raw_begin(&r, 0x0003);
	for (uint8_t i = 0; i < STUN_NB_ATTRS; i++)
		raw_attr(&r, t[i].type, &i, 1);
	assert_int_equal(parse(&r, &m), 0);
	assert_int_equal(m.nb_unknown, 0);
	for (uint8_t i = 0; i < STUN_NB_ATTRS; i++)
		assert_value(&m, t[i].a, &i, 1);
}

// coturn's client from before RFC 8656 has another type for ADDITIONAL-ADDRESS-FAMILY: both types
// are one attribute, however often it occurs.
static void test_former_type(void **state)
{
	static const uint16_t types[] = {0x8032, 0x8000};
	uint16_t pos = 0, off, alen;
	struct stun_msg m;

	raw_begin(&r, 0x0003);
	for (uint8_t i = 0; i < 2; i++)
		raw_attr(&r, types[i], &i, 1);
	assert_int_equal(parse(&r, &m), 0);
	assert_value(&m, STUN_ADDITIONAL_ADDRESS_FAMILY, "\0", 1);
	for (uint8_t i = 0; i < 2; i++)
		assert_true(stun_next(&m, STUN_ADDITIONAL_ADDRESS_FAMILY, &pos, &off, &alen) &&
			alen == 1 && m.data[off] == i);
	assert_false(stun_next(&m, STUN_ADDITIONAL_ADDRESS_FAMILY, &pos, &off, &alen));
}

static void test_after_integrity(void **state)
{
	static const uint8_t mac[32] = {0xab};
	struct stun_msg m;

	// RFC 8489 14.5: all attributes after MESSAGE-INTEGRITY are ignored except these two.
	raw_begin(&r, 0x0003);
	raw_attr(&r, 0x0006, "user", 4);
	raw_attr(&r, 0x0008, mac, 20);
	raw_attr(&r, 0x0014, "realm", 5);
	raw_attr(&r, 0x7777, "x", 1);
	raw_attr(&r, 0x0008, "late", 4);
	raw_attr(&r, 0x001c, mac, 32);
	raw_attr(&r, 0x000d, "\0\0\0\1", 4);
	raw_attr(&r, 0x8028, "\0\0\0\0", 4);
	assert_int_equal(parse(&r, &m), 0);
	assert_value(&m, STUN_USERNAME, "user", 4);
	assert_value(&m, STUN_MESSAGE_INTEGRITY, mac, 20);
	assert_value(&m, STUN_MESSAGE_INTEGRITY_SHA256, mac, 32);
	assert_true(stun_has(&m, STUN_FINGERPRINT));
	assert_true(m.fingerprint_bad);
	assert_false(stun_has(&m, STUN_REALM));
	assert_false(stun_has(&m, STUN_LIFETIME));
	assert_int_equal(m.nb_unknown, 0);

	// RFC 8489 9: a lone MESSAGE-INTEGRITY-SHA256 ends the attributes, too.
	raw_begin(&r, 0x0003);
	raw_attr(&r, 0x001c, mac, 16);
	raw_attr(&r, 0x0008, mac, 20);
	raw_attr(&r, 0x0006, "user", 4);
	raw_attr(&r, 0x7777, "x", 1);
	assert_int_equal(parse(&r, &m), 0);
	assert_value(&m, STUN_MESSAGE_INTEGRITY_SHA256, mac, 16); // its length is unchanged
	assert_false(stun_has(&m, STUN_MESSAGE_INTEGRITY));
	assert_false(stun_has(&m, STUN_USERNAME));
	assert_int_equal(m.nb_unknown, 0);

	// Ignored attributes must still lie in the datagram.
	r.b[r.len - 6] = 0xff;
	assert_int_equal(parse(&r, &m), -EBADMSG);
}

static void test_unknown(void **state)
{
	static const uint16_t expect[] = {0x0000, 0x0024, 0x0002, 0x7fff, 0x0024};
	uint16_t pos = 0, type = 0;
	struct stun_msg m;

	raw_begin(&r, 0x0003);
	raw_attr(&r, 0x0000, "1", 1);
	raw_attr(&r, 0x0006, "user", 4);
	raw_attr(&r, 0x0024, "2", 1);
	raw_attr(&r, 0x8000, "optional", 8); // RFC 8489 14: from 0x8000 on they may be ignored
	raw_attr(&r, 0xffff, "optional", 8);
	raw_attr(&r, 0x0002, NULL, 0);
	raw_attr(&r, 0x7fff, "3", 1);
	raw_attr(&r, 0x0024, "4", 1);
	raw_attr(&r, 0x0008, "mac", 3);
	raw_attr(&r, 0x0003, "late", 4);
	assert_int_equal(parse(&r, &m), 0);
	assert_int_equal(m.nb_unknown, 5);
	for (size_t i = 0; i < 5; i++) {
		assert_true(stun_next_unknown(&m, &pos, &type));
		assert_int_equal(type, expect[i]);
	}
	assert_false(stun_next_unknown(&m, &pos, &type));
	assert_false(stun_next_unknown(&m, &pos, &type)); // and stays at the end
}

static void test_next(void **state)
{
	uint16_t pos = 0, off = 0, alen = 0;
	struct stun_msg m;

	raw_begin(&r, 0x0008);
	raw_attr(&r, 0x0012, "peer1...", 8);
	raw_attr(&r, 0x0006, "user", 4);
	raw_attr(&r, 0x0012, "pe2", 3);
	raw_attr(&r, 0x0012, NULL, 0);
	raw_attr(&r, 0x0008, "mac", 3);
	raw_attr(&r, 0x0012, "unsigned", 8);
	assert_int_equal(parse(&r, &m), 0);
	assert_true(stun_next(&m, STUN_XOR_PEER_ADDRESS, &pos, &off, &alen));
	assert_int_equal(off, m.off[STUN_XOR_PEER_ADDRESS]);
	assert_int_equal(alen, 8);
	assert_memory_equal(r.b + off, "peer1...", 8);
	assert_true(stun_next(&m, STUN_XOR_PEER_ADDRESS, &pos, &off, &alen));
	assert_int_equal(alen, 3);
	assert_memory_equal(r.b + off, "pe2", 3);
	assert_true(stun_next(&m, STUN_XOR_PEER_ADDRESS, &pos, &off, &alen));
	assert_int_equal(alen, 0);
	assert_false(stun_next(&m, STUN_XOR_PEER_ADDRESS, &pos, &off, &alen));
	assert_false(stun_next(&m, STUN_XOR_PEER_ADDRESS, &pos, &off, &alen));
	pos = 0;
	assert_false(stun_next(&m, STUN_REALM, &pos, &off, &alen));
	pos = 0;
	assert_true(stun_next(&m, STUN_USERNAME, &pos, &off, &alen));
	assert_false(stun_next(&m, STUN_USERNAME, &pos, &off, &alen));

	raw_begin(&r, 0x0008); // no integrity: FINGERPRINT ends the content, too
	raw_attr(&r, 0x0012, "peer1...", 8);
	raw_attr(&r, 0x8028, "crc.", 4);
	raw_attr(&r, 0x0012, "behind..", 8);
	assert_int_equal(parse(&r, &m), 0);
	pos = 0;
	assert_true(stun_next(&m, STUN_XOR_PEER_ADDRESS, &pos, &off, &alen));
	assert_false(stun_next(&m, STUN_XOR_PEER_ADDRESS, &pos, &off, &alen));

	raw_begin(&r, 0x0008);
	assert_int_equal(parse(&r, &m), 0);
	pos = 0;
	assert_false(stun_next(&m, STUN_XOR_PEER_ADDRESS, &pos, &off, &alen));
}

// The datagram limits the walk: as many attributes as fit, 4 bytes each.
static void test_most_attributes(void **state)
{
	const uint16_t count = (65532 - 20) / 4;
	uint16_t pos = 0, type = 0, seen = 0;
	struct stun_msg m;

	raw_begin(&r, 0x0001);
	for (uint16_t i = 0; i < count; i++)
		raw_attr(&r, 0x7000, NULL, 0);
	assert_int_equal(r.len, 65532);
	assert_int_equal(parse(&r, &m), 0);
	assert_int_equal(m.nb_unknown, count);
	while (stun_next_unknown(&m, &pos, &type))
		seen++;
	assert_int_equal(seen, count);

	raw_begin(&r, 0x0001); // one attribute of the maximum length
	memset(r2.b, 0x5a, sizeof(r2.b));
	raw_attr(&r, 0x0013, r2.b, 65532 - 24);
	assert_int_equal(parse(&r, &m), 0);
	assert_int_equal(m.alen[STUN_DATA_ATTR], 65532 - 24);
}

// --- values --------------------------------------------------------------------------------------

static void test_get_u32(void **state)
{
	uint32_t v = 7;
	struct stun_msg m;

	raw_begin(&r, 0x0003);
	assert_int_equal(parse(&r, &m), 0);
	assert_false(stun_get_u32(&m, STUN_LIFETIME, &v));
	for (size_t len = 0; len <= 8; len++) {
		raw_begin(&r, 0x0003);
		raw_attr(&r, 0x000d, "\x01\x02\x03\x84\x05\x06\x07\x08", len);
		assert_int_equal(parse(&r, &m), 0);
		v = 7;
		assert_int_equal(stun_get_u32(&m, STUN_LIFETIME, &v), len == 4);
		assert_int_equal(v, len == 4 ? 0x01020384 : 7);
	}
}

static bool decode(uint16_t len, const uint8_t *value, struct endpoint *e, int *family)
{
	struct stun_msg m;

	raw_begin(&r, 0x0008);
	raw_attr(&r, 0x0012, value, len);
	assert_int_equal(parse(&r, &m), 0);
	return stun_decode_xor_addr(
		&m, m.off[STUN_XOR_PEER_ADDRESS], m.alen[STUN_XOR_PEER_ADDRESS], e, family);
}

static void test_xor_addr_malformed(void **state)
{
	uint8_t value[24] = {0, 1};
	struct endpoint e;
	int family;

	for (uint16_t len = 0; len <= 24; len++) {
		for (unsigned int f = 0; f < 256; f++) {
			value[1] = (uint8_t)f;
			assert_int_equal(decode(len, value, &e, &family),
				(len == 8 && f == 1) || (len == 20 && f == 2));
		}
	}
	value[0] = 0xff; // RFC 8489 14.1: the first 8 bits are ignored
	value[1] = 1;
	assert_true(decode(8, value, &e, &family));
	assert_int_equal(family, 4);
}

static void test_xor_addr_mapped(void **state)
{
	// ::ffff:10.0.0.1 port 1 as an IPv6 address: the mask is cookie and transaction id.
	uint8_t value[20] = {0, 2, 0x21, 0x13};
	static const uint8_t mapped[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};
	static const uint8_t cookie[4] = {0x21, 0x12, 0xa4, 0x42};
	struct endpoint e;
	int family;

	for (int i = 0; i < 16; i++)
		value[4 + i] = mapped[i] ^ (i < 4 ? cookie[i] : tid[i - 4]);
	assert_true(decode(20, value, &e, &family));
	assert_int_equal(family, 6); // the family on the wire, so that the caller can tell
	assert_int_equal(e.port, 1);
	assert_memory_equal(&e.addr, mapped, 16);
}

// --- the published messages ----------------------------------------------------------------------

static void test_rfc5769_request(void **state)
{
	uint16_t pos = 0, type = 0;
	struct stun_msg m;

	assert_int_equal(stun_parse(rfc5769_request, sizeof(rfc5769_request), &m), 0);
	assert_int_equal(m.method, STUN_BINDING);
	assert_int_equal(m.cls, STUN_REQUEST);
	assert_memory_equal(stun_tid(&m), "\xb7\xe7\xa7\x01\xbc\x34\xd6\x86\xfa\x87\xdf\xae", 12);
	assert_value(&m, STUN_SOFTWARE, "STUN test client", 16);
	assert_value(&m, STUN_USERNAME, "evtj:h6vY", 9);
	assert_false(m.fingerprint_bad);
	// PRIORITY belongs to ICE; ICE-CONTROLLED is comprehension-optional.
	assert_int_equal(m.nb_unknown, 1);
	assert_true(stun_next_unknown(&m, &pos, &type));
	assert_int_equal(type, 0x0024);
	assert_false(stun_next_unknown(&m, &pos, &type));
}

static void test_rfc5769_responses(void **state)
{
	static const struct vector t[] = {VECTOR(rfc5769_response4), VECTOR(rfc5769_response6)};
	static const uint8_t ip4[4] = {192, 0, 2, 1};
	static const uint8_t ip6[16] = {0x20, 0x01, 0x0d, 0xb8, 0x12, 0x34, 0x56, 0x78, 0x00, 0x11,
		0x22, 0x33, 0x44, 0x55, 0x66, 0x77};

	for (int i = 0; i < 2; i++) {
		const struct addr expect = i == 0 ? addr_from_v4(ip4) : addr_from_v6(ip6);
		struct endpoint e;
		struct stun_msg m;
		int family;

		assert_int_equal(stun_parse(t[i].data, t[i].len, &m), 0);
		assert_int_equal(m.cls, STUN_SUCCESS);
		assert_value(&m, STUN_SOFTWARE, "test vector", 11);
		assert_false(m.fingerprint_bad);
		assert_true(stun_decode_xor_addr(&m, m.off[STUN_XOR_MAPPED_ADDRESS],
			m.alen[STUN_XOR_MAPPED_ADDRESS], &e, &family));
		assert_int_equal(family, i == 0 ? 4 : 6);
		assert_int_equal(e.port, 32853);
		assert_true(addr_eq(&e.addr, &expect));
	}
}

static void test_longterm(void **state)
{
	struct stun_msg m;

	assert_int_equal(stun_parse(rfc5769_longterm, sizeof(rfc5769_longterm), &m), 0);
	assert_value(&m, STUN_USERNAME, RFC5769_USER, 18);
	assert_value(&m, STUN_NONCE, "f//499k954d6OL34oL9FSTvy64sA", 28);
	assert_value(&m, STUN_REALM, RFC5769_REALM, 11);
	assert_int_equal(m.nb_unknown, 0);

	assert_int_equal(stun_parse(rfc8489_b1, sizeof(rfc8489_b1), &m), 0);
	assert_value(&m, STUN_NONCE, "obMatJos2AAACf//499k954d6OL34oL9FSTvy64sA", 41);
	assert_value(&m, STUN_REALM, RFC5769_REALM, 11);
	assert_int_equal(m.alen[STUN_USERHASH], 32);
	assert_int_equal(m.alen[STUN_MESSAGE_INTEGRITY_SHA256], 32);
	assert_false(stun_has(&m, STUN_USERNAME));

	assert_int_equal(stun_parse(rfc8489_b1_printed, sizeof(rfc8489_b1_printed), &m), -EBADMSG);
}

// FINGERPRINT must be last (RFC 8489 14.7), even if its CRC matches the present length.
static void test_fingerprint_not_last(void **state)
{
	struct stun_msg m;
	uint8_t crc[4];

	raw_begin(&r, 0x0001);
	raw_length(&r, 12);
	store_be32(crc, stun_fingerprint(r.b, 20));
	raw_attr(&r, 0x8028, crc, 4);
	raw_attr(&r, 0x8022, NULL, 0);
	assert_int_equal(parse(&r, &m), 0);
	assert_true(m.fingerprint_bad);

	raw_begin(&r, 0x0001);
	raw_length(&r, 12);
	raw_attr(&r, 0x8022, NULL, 0);
	raw_length(&r, 12);
	store_be32(crc, stun_fingerprint(r.b, 24));
	raw_attr(&r, 0x8028, crc, 4);
	assert_int_equal(parse(&r, &m), 0);
	assert_false(m.fingerprint_bad);
}

static void test_fingerprint(void **state)
{
	static const struct vector t[] = {VECTOR(rfc5769_request), VECTOR(rfc5769_response4)};
	struct stun_msg m;

	for (int i = 0; i < 2; i++) {
		const size_t n = t[i].len;

		// Wrong length: the value has 4 bytes, not 0 or 3.
		memcpy(r.b, t[i].data, r.len = n);
		r.b[n - 5] = 3;
		assert_int_equal(parse(&r, &m), 0);
		assert_true(m.fingerprint_bad);
		// Not the last attribute; the CRC itself is right up to there.
		memcpy(r.b, t[i].data, r.len = n);
		raw_attr(&r, 0x8022, NULL, 0);
		assert_int_equal(parse(&r, &m), 0);
		assert_true(m.fingerprint_bad);
		raw_length(&r, n - 20);
		r.len = n;
		assert_int_equal(parse(&r, &m), 0);
		assert_false(m.fingerprint_bad);
		// Every bit that it covers, and its own bits.
		for (size_t bit = 0; bit < n * 8; bit++) {
			const bool is_type = bit / 8 == n - 8 || bit / 8 == n - 7;

			memcpy(r.b, t[i].data, r.len = n);
			r.b[bit / 8] ^= (uint8_t)(1 << bit % 8);
			if (parse(&r, &m) != 0)
				continue;
			// With another type, or inside another attribute, there is no FINGERPRINT
			// to check. A present one is never found valid.
			assert_int_equal(m.fingerprint_bad, stun_has(&m, STUN_FINGERPRINT));
			if (is_type)
				assert_false(stun_has(&m, STUN_FINGERPRINT));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_message_types),
		cmocka_unit_test(test_not_stun),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_truncations),
		cmocka_unit_test(test_overrun),
		cmocka_unit_test(test_empty_at_end),
		cmocka_unit_test(test_duplicates),
		cmocka_unit_test(test_known_types),
		cmocka_unit_test(test_former_type),
		cmocka_unit_test(test_after_integrity),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_next),
		cmocka_unit_test(test_most_attributes),
		cmocka_unit_test(test_get_u32),
		cmocka_unit_test(test_xor_addr_malformed),
		cmocka_unit_test(test_xor_addr_mapped),
		cmocka_unit_test(test_rfc5769_request),
		cmocka_unit_test(test_rfc5769_responses),
		cmocka_unit_test(test_longterm),
		cmocka_unit_test(test_fingerprint),
		cmocka_unit_test(test_fingerprint_not_last),
	};

	return cmocka_run_group_tests_name("stun_parse", tests, NULL, NULL);
}
