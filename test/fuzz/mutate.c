// SPDX-License-Identifier: BSD-3-Clause
// Mutates messages, and frames with knowledge of their fields. Corrects checksums afterwards, so
// that deeper code finds the mutation, not the checksum.
#include "fuzz.h"

#include "net_int.h"

#define HEADERS 86 // bytes of headers that most frames have

// Values at the edges of lengths and types, and of arithmetic with them.
uint16_t fuzz_edge(void)
{
	static const uint16_t edges[] = {0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 19, 20, 21, 28, 31, 32, 36,
		40, 48, 0x7f, 0x80, 0xff, 0x100, 1280, 1472, 1500, 3478, 4000, 0x4001, 0x4fff,
		50000, 0x7fff, 0x8000, 0x8100, 0x86dd, 0x800, 0x806, 0x88a8, 0xfffb, 0xfffc, 0xfffd,
		0xffff, 0x8028, 0x0012, 0x0013, 0x0006, 0x0024};

	return edges[below(RTE_DIM(edges))];
}

// --- positions of headers ------------------------------------------------------------------------

struct layout {
	size_t l3, l4, end; // end of the IP packet, as far as the frame holds it
	uint8_t proto;
	bool is_v4, is_ip;
};

static struct layout look(const uint8_t *f, size_t len)
{
	struct layout y = {.l3 = 14, .end = len};
	uint16_t type = len >= 14 ? load_be16(f + 12) : 0;

	if (type == NET_ETHERTYPE_VLAN && len >= 18) {
		type = load_be16(f + 16);
		y.l3 = 18;
	}
	y.is_v4 = type == NET_ETHERTYPE_IP4;
	y.is_ip = (y.is_v4 && len >= y.l3 + 20) || (type == NET_ETHERTYPE_IP6 && len >= y.l3 + 40);
	if (!y.is_ip)
		return y;
	y.l4 = y.l3 + (y.is_v4 ? (f[y.l3] & 15u) * 4 : 40);
	y.proto = f[y.l3 + (y.is_v4 ? 9 : 6)];
	y.end = y.l3 + load_be16(f + y.l3 + (y.is_v4 ? 2 : 4)) + (y.is_v4 ? 0 : 40);
	y.end = RTE_MIN(y.end, len);
	for (unsigned int n = 0; !y.is_v4 && n < 8 && y.l4 + 8 <= y.end; n++) {
		if (y.proto != NET_PROTO_HOP_BY_HOP && y.proto != NET_PROTO_ROUTING &&
			y.proto != NET_PROTO_DESTINATION)
			break;
		y.proto = f[y.l4];
		y.l4 += (f[y.l4 + 1] + 1u) * 8;
	}
	return y;
}

static void repair_l4(uint8_t *f, const struct layout *y)
{
	const size_t field = y->proto == NET_PROTO_UDP ? 6 : y->proto == NET_PROTO_TCP ? 16 : 2;
	const uint8_t *ip = f + y->l3;
	const struct addr src = y->is_v4 ? addr_from_v4(ip + 12) : addr_from_v6(ip + 8);
	const struct addr dst = y->is_v4 ? addr_from_v4(ip + 16) : addr_from_v6(ip + 24);
	size_t len = y->end - y->l4;
	uint32_t sum = 0;

	if (y->l4 + 8 > y->end || y->l4 + field + 2 > y->end)
		return;
	if (y->proto == NET_PROTO_UDP && y->is_v4 && load_be16(f + y->l4 + 6) == 0)
		return;
	if (y->proto != NET_PROTO_ICMP)
		sum = csum_addrs(&src, &dst) + y->proto + (uint32_t)len;
	store_be16(f + y->l4 + field, 0);
	sum = (uint16_t)~csum_fold(csum_add(sum, f + y->l4, len));
	store_be16(
		f + y->l4 + field, sum == 0 && y->proto == NET_PROTO_UDP ? 0xffff : (uint16_t)sum);
}

void fuzz_repair(uint8_t *f, size_t len, bool lengths)
{
	struct layout y = look(f, len);

	if (!y.is_ip)
		return;
	if (lengths) {
		store_be16(
			f + y.l3 + (y.is_v4 ? 2 : 4), (uint16_t)(len - y.l3 - (y.is_v4 ? 0 : 40)));
		y = look(f, len);
		if (y.proto == NET_PROTO_UDP && y.l4 + 8 <= len)
			store_be16(f + y.l4 + 4, (uint16_t)(len - y.l4));
	}
	if (y.is_v4 && y.l4 >= y.l3 + 20 && y.l4 <= len) {
		store_be16(f + y.l3 + 10, 0);
		store_be16(f + y.l3 + 10, (uint16_t)~csum_fold(csum_add(0, f + y.l3, y.l4 - y.l3)));
	}
	if (y.proto == NET_PROTO_UDP || y.proto == NET_PROTO_TCP || y.proto == NET_PROTO_ICMP ||
		y.proto == NET_PROTO_ICMP6)
		repair_l4(f, &y);
}

// --- bytes ---------------------------------------------------------------------------------------

static void poke(uint8_t *p, size_t len, size_t offset, uint16_t v)
{
	if (offset + 2 <= len)
		store_be16(p + offset, v);
}

// Makes one change in the bytes [from, len). Returns the new length.
static size_t change(uint8_t *p, size_t len, size_t cap, size_t first)
{
	const size_t pos = first + below((uint32_t)(len - first));
	const size_t word = pos & ~(size_t)3;

	switch (below(8)) {
	case 0:
	case 1:
		p[pos] ^= (uint8_t)(1 << below(8));
		break;
	case 2:
		p[pos] = (uint8_t)below(256);
		break;
	case 3:
		poke(p, len, pos & ~(size_t)1, fuzz_edge());
		break;
	case 4:
		poke(p, len, pos & ~(size_t)1, (uint16_t)(len - pos + below(9) - 4));
		break;
	case 5:
		return pos;
	case 6: // drop a word
		if (word + 4 <= len) {
			memmove(p + word, p + word + 4, len - word - 4);
			len -= 4;
		}
		break;
	default: // double two
		if (len + 8 <= cap && word + 8 <= len) {
			memmove(p + word + 8, p + word, len - word);
			len += 8;
		}
		break;
	}
	return len;
}

size_t fuzz_mutate_message(uint8_t *m, size_t len, size_t cap)
{
	for (uint32_t n = 1 + below(3); n > 0 && len > 0; n--)
		len = change(m, len, cap, chance(30) ? 0 : RTE_MIN(len - 1, (size_t)20));
	return len;
}

// --- fields --------------------------------------------------------------------------------------

static void swap(uint8_t *a, uint8_t *b, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		const uint8_t was = a[i];

		a[i] = b[i];
		b[i] = was;
	}
}

static void change_address(uint8_t *f, const struct layout *y, unsigned int port)
{
	const size_t len = y->is_v4 ? 4 : 16, src = y->l3 + (y->is_v4 ? 12 : 8);
	const size_t offset = chance(70) ? src + len : src;
	const struct addr local = fuzz_own(port), host = fuzz_host(y->is_v4);
	static const uint8_t odd[][16] = {{0}, {127, 0, 0, 1}, {224, 0, 0, 1}, {0xff, 2, [15] = 1},
		{10, 99, 0, 255}, {255, 255, 255, 255}, {0xfe, 0x80, [15] = 9}, {[15] = 1}};

	if (chance(50) && addr_is_v4(&local) == y->is_v4)
		memcpy(f + offset, local.b + 16 - len, len);
	else if (chance(50))
		memcpy(f + offset, host.b + 16 - len, len);
	else if (chance(30))
		swap(f + src, f + src + len, len);
	else
		memcpy(f + offset, odd[below(RTE_DIM(odd))], len);
}

static void change_field(uint8_t *f, size_t len, const struct layout *y, unsigned int port)
{
	switch (below(8)) {
	case 0: // length of the packet
		poke(f, len, y->l3 + (y->is_v4 ? 2 : 4),
			chance(50) ? fuzz_edge() : (uint16_t)(len - y->l3 + below(17) - 8));
		break;
	case 1: // of UDP, or the bytes there in ICMP and TCP
		poke(f, len, y->l4 + 4,
			chance(50) ? fuzz_edge() : (uint16_t)(len - y->l4 + below(17) - 8));
		break;
	case 2:
		f[y->l3 + (y->is_v4 ? 8 : 7)] = (uint8_t)(chance(50) ? below(3) : 255);
		break;
	case 3: {
		static const uint8_t protos[] = {0, 1, 6, 17, 43, 44, 50, 58, 59, 60, 89};

		f[y->l3 + (y->is_v4 ? 9 : 6)] = protos[below(sizeof(protos))];
		break;
	}
	case 4: // fragments; header length and version
		if (y->is_v4 && chance(50))
			poke(f, len, y->l3 + 6, (uint16_t)(below(8) << 13 | (chance(50) ? 0 : 5)));
		else
			f[y->l3] = (uint8_t)below(256);
		break;
	case 5: // a port
		poke(f, len, y->l4 + 2 * below(2), fuzz_edge());
		break;
	default:
		change_address(f, y, port);
		break;
	}
}

static size_t insert(uint8_t *f, size_t len, size_t offset, const uint8_t *bytes, size_t n)
{
	if (len + n > FUZZ_FRAME || offset > len)
		return len;
	memmove(f + offset + n, f + offset, len - offset);
	memcpy(f + offset, bytes, n);
	return len + n;
}

static size_t change_tag(uint8_t *f, size_t len, const struct layout *y)
{
	const uint16_t id = fuzz_port(below(fuzz.world.conf.nb_ports))->vlan;
	uint8_t tag[4] = {0x81, 0};

	if (y->l3 == 18 && chance(50)) { // removes it
		memmove(f + 12, f + 16, len - 16);
		return len - 4;
	}
	if (y->l3 == 18 && chance(50)) { // the tag of a network, maybe of another one
		store_be16(f + 14, (uint16_t)(below(8) << 13 | id));
		return len;
	}
	if (chance(20))
		store_be16(tag, NET_ETHERTYPE_QINQ);
	store_be16(tag + 2,
		(uint16_t)(below(8) << 13 | (chance(70) ? chance(50) ? id : 0 : below(4096))));
	return len >= 14 ? insert(f, len, 12, tag, 4) : len;
}

// An IPv6 extension header, good or bad.
static size_t insert_extension(uint8_t *f, size_t len, const struct layout *y)
{
	static const uint8_t types[] = {0, 43, 44, 60, 60};
	uint8_t ext[16] = {f[y->l3 + 6], (uint8_t)(chance(80) ? 0 : below(4)), 1, 4};

	if (chance(30))
		test_rand_fill(&fuzz.rand, ext + 2, sizeof(ext) - 2);
	f[y->l3 + 6] = types[below(sizeof(types))];
	len = insert(f, len, y->l3 + 40, ext, ext[1] == 0 ? 8 : 16);
	store_be16(f + y->l3 + 4, (uint16_t)(len - y->l3 - 40));
	return len;
}

static size_t splice(uint8_t *f, size_t len)
{
	const struct fuzz_frame *donor = fuzz_recent();
	size_t pos, donor_pos;

	if (donor == NULL || donor->len == 0)
		return len;
	pos = below((uint32_t)len);
	donor_pos = chance(50) ? pos : below(donor->len);
	if (donor_pos >= donor->len)
		return len;
	len = RTE_MIN(pos + donor->len - donor_pos, (size_t)FUZZ_FRAME);
	memcpy(f + pos, donor->data + donor_pos, len - pos);
	return len;
}

static size_t mutate_once(uint8_t *f, size_t len, unsigned int port)
{
	const struct layout y = look(f, len);

	switch (below(13)) {
	case 0:
	case 1:
		change(f, RTE_MIN(len, (size_t)HEADERS), len, 0);
		return len;
	case 2:
	case 3:
	case 4: // payload of the transport
		if (y.is_ip && y.l4 + 8 < len)
			return change(f, len, FUZZ_FRAME, y.l4 + (chance(80) ? 8 : 0));
		return change(f, len, FUZZ_FRAME, 0);
	case 5:
		return splice(f, len);
	case 6:
		return change_tag(f, len, &y);
	case 7:
		if (y.is_ip && !y.is_v4)
			return insert_extension(f, len, &y);
		swap(f, f + 6, RTE_MIN(len / 2, (size_t)6));
		return len;
	case 8: { // padding, or a longer frame
		const size_t more =
			RTE_MIN((size_t)below(chance(80) ? 32 : 1500), FUZZ_FRAME - len);

		test_rand_fill(&fuzz.rand, f + len, more);
		return len + more;
	}
	case 9: // ends in the middle of the transport header
		if (y.is_ip && y.l4 + 24 < len) {
			len = y.l4 + below(24);
			fuzz_repair(f, len, true);
		}
		return len;
	default:
		if (y.is_ip)
			change_field(f, len, &y, port);
		return len;
	}
}

size_t fuzz_mutate(uint8_t *f, size_t len, unsigned int port)
{
	for (uint32_t n = 1 + below(chance(70) ? 2 : 5); n > 0; n--) {
		len = mutate_once(f, len, port);
		if (len == 0)
			len = 1;
	}
	if (chance(50))
		fuzz_repair(f, len, chance(40));
	return len;
}
