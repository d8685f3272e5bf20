// SPDX-License-Identifier: BSD-3-Clause
// Parses and writes fragments of IPv4 and IPv6.
#include "fragment.h"
#include "bytes.h"
#include "invariant.h"
#include "net_int.h"

#define MORE_V4 0x2000 // in the field of flags and offset, which counts units
#define MORE_V6 0x0001 // in the field of the offset, which counts bytes
#define ID_ROUNDS 10

static void read_v4(const uint8_t *ip, struct net_fragment *out)
{
	const uint16_t field = load_be16(ip + NET_IP4_FRAGMENT_AT);

	out->id = load_be16(ip + NET_IP4_ID_AT);
	out->off = (uint16_t)((field & 0x1fff) * NET_FRAGMENT_UNIT);
	out->more = (field & MORE_V4) != 0;
	out->proto = ip[NET_IP4_PROTO_AT];
}

static void read_v6(const uint8_t *header, struct net_fragment *out)
{
	const uint16_t field = load_be16(header + 2);

	out->id = load_be32(header + 4);
	out->off = field & 0xfff8;
	out->more = (field & MORE_V6) != 0;
	out->proto = header[0];
}

enum net_drop net_fragment_read(
	const uint8_t *data, const struct net_frame *f, struct net_fragment *out)
{
	const uint16_t header = f->is_v4 ? 0 : NET_FRAGMENT_HEADER_LEN;

	if (f->payload_len < header)
		return NET_DROP_FRAGMENT_MALFORMED;
	*out = (struct net_fragment){.src = f->src,
		.dst = f->dst,
		.data = data + f->l4_off + header,
		.len = (uint16_t)(f->payload_len - header),
		.tos = f->tos,
		.ttl = f->ttl};
	if (f->is_v4)
		read_v4(data + f->l3_off, out);
	else
		read_v6(data + f->l4_off, out);
	if (out->proto != NET_PROTO_UDP)
		return NET_DROP_FRAGMENT;
	// a first fragment has at least one unit, which is the whole UDP header (RFC 1858, RFC
	// 7112)
	if (out->len == 0 || (out->more && out->len % NET_FRAGMENT_UNIT != 0))
		return NET_DROP_FRAGMENT_MALFORMED;
	// RFC 791 and 8200: no packet is longer than its length field allows, nor is UDP
	if ((uint32_t)out->off + out->len > UINT16_MAX - (f->is_v4 ? NET_IP4_LEN : 0))
		return NET_DROP_FRAGMENT_MALFORMED;
	return NET_OK;
}

uint16_t net_fragment_room(bool is_v4, uint16_t mtu)
{
	const uint16_t most = is_v4 || mtu < NET_IP6_MTU_MIN ? mtu : NET_IP6_MTU_MIN;
	const uint16_t headers = is_v4 ? NET_IP4_LEN : NET_IP6_LEN + NET_FRAGMENT_HEADER_LEN;

	if (most < headers + NET_FRAGMENT_UNIT)
		return NET_FRAGMENT_UNIT;
	return (uint16_t)((most - headers) & ~(NET_FRAGMENT_UNIT - 1));
}

static void write_v4(uint8_t *ip, const struct net_fragment_cut *c)
{
	store_be16(ip + NET_IP4_LENGTH_AT, (uint16_t)(NET_IP4_LEN + c->len));
	store_be16(ip + NET_IP4_ID_AT, (uint16_t)c->id);
	store_be16(ip + NET_IP4_FRAGMENT_AT,
		(uint16_t)(c->off / NET_FRAGMENT_UNIT | (c->more ? MORE_V4 : 0)));
	ip4_write_checksum(ip);
}

static void write_v6(uint8_t *ip, const struct net_fragment_cut *c)
{
	uint8_t *header = ip + NET_IP6_LEN;

	store_be16(ip + NET_IP6_LENGTH_AT, (uint16_t)(NET_FRAGMENT_HEADER_LEN + c->len));
	header[0] = ip[NET_IP6_NEXT_AT];
	header[1] = 0;
	store_be16(header + 2, (uint16_t)(c->off | (c->more ? MORE_V6 : 0)));
	store_be32(header + 4, c->id);
	ip[NET_IP6_NEXT_AT] = NET_PROTO_FRAGMENT;
}

// A Feistel network. With fewer rounds it can be distinguished from random on halves of 8 bits.
uint32_t net_fragment_id(
	const struct hash_key *key, const struct addr *src, const struct addr *dst, uint32_t n)
{
	const unsigned int half = addr_is_v4(dst) ? 8 : 16;
	const uint32_t mask = (1u << half) - 1;
	uint32_t left = n >> half & mask, right = n & mask;
	struct addr pair;

	hash_addr_wide(key, dst, hash_addr(key, src, 0), pair.b);
	for (uint64_t round = 0; round < ID_ROUNDS; round++) {
		const struct addr in = {.d = {pair.d[0] ^ (round << 32 | right), pair.d[1]}};
		const uint32_t next = (left ^ (uint32_t)hash_addr(key, &in, 0)) & mask;

		left = right;
		right = next;
	}
	return left << half | right;
}

uint32_t net_fragment_write(
	uint8_t *out, const uint8_t *frame, uint16_t l3_off, const struct net_fragment_cut *c)
{
	const bool is_v4 = frame[l3_off] >> 4 == 4;
	const uint32_t l4_off = l3_off + (is_v4 ? NET_IP4_LEN : NET_IP6_LEN);
	const uint32_t headers = l4_off + (is_v4 ? 0 : NET_FRAGMENT_HEADER_LEN);

	ASSERT(c->off % NET_FRAGMENT_UNIT == 0 && (!c->more || c->len % NET_FRAGMENT_UNIT == 0));
	ASSERT(c->len > 0 && (uint32_t)c->off + c->len <= UINT16_MAX);
	memcpy(out, frame, l4_off);
	memcpy(out + headers, frame + l4_off + c->off, c->len);
	if (is_v4)
		write_v4(out + l3_off, c);
	else
		write_v6(out + l3_off, c);
	return headers + c->len;
}
