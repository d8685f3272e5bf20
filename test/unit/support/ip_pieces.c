// SPDX-License-Identifier: BSD-3-Clause
// Fragments as hosts make them, and reassembly as hosts do it.
#include <string.h>

#include "bytes.h"
#include "ip_pieces.h"
#include "slow_sum.h"
#include "test.h"

static size_t addrs_write(uint8_t *p, const struct ip_long *d)
{
	const bool is_v4 = addr_is_v4(&d->src.addr);
	const size_t each = is_v4 ? 4 : 16;

	memcpy(p, d->src.addr.b + 16 - each, each);
	memcpy(p + each, d->dst.addr.b + 16 - each, each);
	return 2 * each;
}

static uint16_t udp_sum(const uint8_t *addrs, size_t addrs_len, const uint8_t *l4, uint32_t len)
{
	const uint8_t pseudo[4] = {0, 17, (uint8_t)(len >> 8), (uint8_t)len};
	uint32_t sum = slow_sum(0, addrs, addrs_len);

	sum = slow_sum(sum, pseudo, sizeof(pseudo));
	return (uint16_t)slow_sum(sum, l4, len);
}

uint32_t ip_pieces_l4(const struct ip_long *d, uint8_t *l4)
{
	uint8_t addrs[32];
	uint16_t sum;

	store_be16(l4, d->src.port);
	store_be16(l4 + 2, d->dst.port);
	store_be16(l4 + 4, (uint16_t)(d->len + 8));
	store_be16(l4 + 6, 0);
	memcpy(l4 + 8, d->data, d->len);
	sum = (uint16_t)~udp_sum(addrs, addrs_write(addrs, d), l4, d->len + 8);
	store_be16(l4 + 6, sum != 0 ? sum : 0xffff);
	return d->len + 8;
}

static size_t piece4(uint8_t *ip, const struct ip_long *d, struct ip_piece p)
{
	memset(ip, 0, 20);
	ip[0] = 0x45;
	ip[1] = d->tos;
	store_be16(ip + 2, (uint16_t)(20 + p.len));
	store_be16(ip + 4, (uint16_t)d->id);
	store_be16(ip + 6, (uint16_t)(p.off / 8 + (p.more ? 0x2000 : 0)));
	ip[8] = d->ttl != 0 ? d->ttl : 64;
	ip[9] = 17;
	addrs_write(ip + 12, d);
	store_be16(ip + 10, (uint16_t)~slow_sum(0, ip, 20));
	return 20;
}

static size_t piece6(uint8_t *ip, const struct ip_long *d, struct ip_piece p)
{
	memset(ip, 0, 48);
	ip[0] = (uint8_t)(0x60 | d->tos >> 4);
	ip[1] = (uint8_t)(d->tos << 4);
	store_be16(ip + 4, (uint16_t)(8 + p.len));
	ip[6] = 44;
	ip[7] = d->ttl != 0 ? d->ttl : 64;
	addrs_write(ip + 8, d);
	ip[40] = 17;
	store_be16(ip + 42, (uint16_t)(p.off + p.more));
	store_be32(ip + 44, d->id);
	return 48;
}

size_t ip_piece(uint8_t *frame, const uint8_t macs[12], const struct ip_long *d, const uint8_t *l4,
	struct ip_piece p)
{
	const bool is_v4 = addr_is_v4(&d->src.addr);
	size_t offset = 14;

	memcpy(frame, macs, 12);
	store_be16(frame + 12, is_v4 ? 0x0800 : 0x86dd);
	offset += is_v4 ? piece4(frame + 14, d, p) : piece6(frame + 14, d, p);
	memcpy(frame + offset, l4 + p.off, p.len);
	return offset + p.len;
}

void ip_pieces_cut(
	struct ip_pieces *p, const struct ip_long *d, const uint8_t macs[12], uint32_t mtu)
{
	const uint32_t headers = addr_is_v4(&d->src.addr) ? 20 : 48, each = (mtu - headers) / 8 * 8;
	static uint8_t l4[65536 + 8];
	const uint32_t total = ip_pieces_l4(d, l4);

	p->n = 0;
	for (uint32_t off = 0; off < total; off += each) {
		const bool more = off + each < total;

		assert_true(p->n < IP_PIECES_MAX);
		p->len[p->n] = ip_piece(p->frame[p->n], macs, d, l4,
			(struct ip_piece){off, more ? each : total - off, more});
		p->n++;
	}
}

bool ip_pieces_is(const uint8_t *frame)
{
	const uint8_t *ip = frame + 14;

	if (load_be16(frame + 12) == 0x0800)
		return (load_be16(ip + 6) & 0x3fff) != 0;
	return load_be16(frame + 12) == 0x86dd && ip[6] == 44;
}

static struct ip_open *open_of(
	struct ip_assembly *a, const struct addr *src, const struct addr *dst, uint32_t id)
{
	struct ip_open *o = NULL;

	for (unsigned int i = 0; i < IP_PIECES_OPEN; i++) {
		struct ip_open *slot = &a->open[i];

		if (slot->used && slot->id == id && addr_eq(&slot->src, src) &&
			addr_eq(&slot->dst, dst))
			return slot;
		if (!slot->used)
			o = slot;
	}
	assert_non_null(o); // more datagrams are incomplete than there is room for
	memset(o, 0, sizeof(*o));
	o->used = true;
	o->src = *src;
	o->dst = *dst;
	o->id = id;
	return o;
}

static void give(struct ip_open *o, struct ip_long *out)
{
	uint8_t addrs[32];
	const uint32_t udp_len = load_be16(o->data + 4);

	out->src = (struct endpoint){o->src, load_be16(o->data)};
	out->dst = (struct endpoint){o->dst, load_be16(o->data + 2)};
	assert_int_equal(udp_len, o->total);
	if (load_be16(o->data + 6) != 0 || !addr_is_v4(&o->src))
		assert_int_equal(
			udp_sum(addrs, addrs_write(addrs, out), o->data, o->total), 0xffff);
	out->len = o->total - 8;
	out->tos = o->tos;
	out->ttl = o->ttl;
	out->pieces = o->pieces;
	out->longest = o->longest;
	out->id = o->id;
	memcpy(out->data, o->data + 8, out->len);
	o->used = false;
}

bool ip_assembly_put(struct ip_assembly *a, const uint8_t *frame, size_t len, struct ip_long *out)
{
	const uint8_t *ip = frame + 14;
	const bool is_v4 = ip[0] >> 4 == 4;
	const uint32_t headers = is_v4 ? 20 : 48;
	const struct addr src = is_v4 ? addr_from_v4(ip + 12) : addr_from_v6(ip + 8);
	const struct addr dst = is_v4 ? addr_from_v4(ip + 16) : addr_from_v6(ip + 24);
	const uint32_t off =
		is_v4 ? (load_be16(ip + 6) & 0x1fff) * 8u : load_be16(ip + 42) & 0xfff8u;
	const bool more = is_v4 ? (ip[6] & 0x20) != 0 : (ip[43] & 1) != 0;
	const uint32_t id = is_v4 ? load_be16(ip + 4) : load_be32(ip + 44);
	const uint32_t size = (uint32_t)len - 14 - headers;
	struct ip_open *o = open_of(a, &src, &dst, id);

	assert_int_equal(is_v4 ? load_be16(ip + 2) : load_be16(ip + 4) + 40u, len - 14);
	if (is_v4)
		assert_int_equal(slow_sum(0, ip, 20), 0xffff);
	assert_int_equal(is_v4 ? ip[9] : ip[40], 17);
	assert_true(!is_v4 || (ip[6] & 0xc0) == 0); // DF and the reserved bit are clear
	assert_true(!more || size % 8 == 0);
	assert_int_equal(off, o->next);
	o->next = off + size;
	for (uint32_t i = off; i < off + size; i++) {
		assert_false(o->there[i]);
		o->there[i] = 1;
	}
	memcpy(o->data + off, ip + headers, size);
	o->pieces++;
	o->got += size;
	o->longest = len - 14 > o->longest ? (uint32_t)len - 14 : o->longest;
	o->tos = is_v4 ? ip[1] : (uint8_t)(load_be16(ip) >> 4);
	o->ttl = is_v4 ? ip[8] : ip[7];
	if (!more)
		o->total = off + size;
	if (o->total == 0 || o->got != o->total)
		return false;
	give(o, out);
	return true;
}
