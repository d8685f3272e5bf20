// SPDX-License-Identifier: BSD-3-Clause
// Datagrams in fragments that belong together: whole ones, in any order, cut at any place, and
// those that overlap, contradict each other, arrive twice or never.
#include "fragment.h"
#include "fuzz.h"
#include "net_int.h"

#define PIECES_MAX 80

// A frame that is sent in pieces.
struct whole {
	const uint8_t *frame;
	size_t len, l3;
	uint32_t id;
};

struct piece {
	size_t off, len;
	bool more;
};

static struct piece piece[PIECES_MAX];
static unsigned int nb_pieces;

// Cuts len bytes into pieces that fit the MTU, mostly as few as possible.
static void cut(size_t len, size_t most)
{
	const size_t each = chance(60) ? most : 8 * (1 + below((uint32_t)most / 8));

	nb_pieces = 0;
	for (size_t off = 0; off < len && nb_pieces < PIECES_MAX; off += each)
		piece[nb_pieces++] =
			(struct piece){off, RTE_MIN(each, len - off), off + each < len};
}

static void spoil(void)
{
	struct piece *p = &piece[below(nb_pieces)];

	switch (below(8)) {
	case 0: // it is sent twice
		if (nb_pieces < PIECES_MAX)
			piece[nb_pieces++] = *p;
		break;
	case 1: // or never
		*p = piece[--nb_pieces];
		break;
	case 2:
		p->more = !p->more;
		break;
	case 3: // an overlap, or a hole
		p->off += chance(50) && p->off >= 8 ? (size_t)-8 : 8;
		break;
	case 4:
		p->len = RTE_MAX(p->len / 16 * 8, (size_t)8);
		break;
	case 5:
		p->len = below((uint32_t)p->len + 1);
		break;
	case 6:
		p->off = 8 * below(8192);
		break;
	case 7: // many of nothing
		while (nb_pieces < PIECES_MAX) {
			piece[nb_pieces] = (struct piece){8 * (100 + nb_pieces), 8, true};
			nb_pieces++;
		}
		break;
	}
}

static void shuffle(void)
{
	for (unsigned int i = nb_pieces; i-- > 1;) {
		const unsigned int swapped = below(i + 1);
		const struct piece p = piece[i];

		piece[i] = piece[swapped];
		piece[swapped] = p;
	}
}

// Writes a fragment of a frame. Bytes beyond the frame's end are noise.
static size_t write_piece(uint8_t *out, const struct whole *w, const struct piece *p)
{
	const size_t l3 = w->l3;
	const bool is_v4 = w->frame[l3] >> 4 == 4;
	const size_t l4 = l3 + (is_v4 ? NET_IP4_LEN : NET_IP6_LEN), headers = l4 + (is_v4 ? 0 : 8);
	const size_t there = l4 + p->off < w->len ? RTE_MIN(p->len, w->len - l4 - p->off) : 0;

	memcpy(out, w->frame, l4);
	memcpy(out + headers, w->frame + l4 + p->off, there);
	test_rand_fill(&fuzz.rand, out + headers + there, p->len - there);
	if (is_v4) {
		store_be16(out + l3 + 2, (uint16_t)(NET_IP4_LEN + p->len));
		store_be16(out + l3 + 4, (uint16_t)w->id);
		store_be16(out + l3 + 6, (uint16_t)(p->off / 8 | (p->more ? 0x2000 : 0)));
	} else {
		store_be16(out + l3 + 4, (uint16_t)(8 + p->len));
		out[l3 + 6] = NET_PROTO_FRAGMENT;
		out[l4] = NET_PROTO_UDP;
		out[l4 + 1] = 0;
		store_be16(out + l4 + 2, (uint16_t)((p->off & 0xfff8) | p->more));
		store_be32(out + l4 + 4, w->id);
	}
	fuzz_repair(out, headers + p->len, false);
	return headers + p->len;
}

bool fuzz_in_pieces(const char *kind, unsigned int port, const uint8_t *frame, size_t len)
{
	static uint8_t out[FUZZ_FRAME];
	const size_t l3 = fuzz_port(port)->vlan != 0 ? NET_ETH_LEN + NET_VLAN_LEN : NET_ETH_LEN;
	const size_t mtu = fuzz_port(port)->mtu;
	const struct whole w = {
		frame, len, l3, chance(90) ? (uint32_t)test_rand(&fuzz.rand) : below(8)};
	size_t l4;
	bool is_v4;

	if (len < l3 + NET_IP6_LEN + NET_UDP_LEN)
		return false;
	is_v4 = frame[l3] >> 4 == 4;
	l4 = l3 + (is_v4 ? NET_IP4_LEN : NET_IP6_LEN);
	if (frame[l3 + (is_v4 ? 9u : 6u)] != NET_PROTO_UDP || (is_v4 && frame[l3] != 0x45))
		return false;
	cut(len - l4, (mtu - (is_v4 ? 20 : 48)) / 8 * 8);
	for (unsigned int n = chance(fuzz.mutate) ? 1 + below(3) : 0; n > 0 && nb_pieces > 0; n--)
		spoil();
	if (chance(30))
		shuffle();
	fuzz.same_queue = chance(95) ? 1 + below(fuzz_port(port)->nb_rxq) : 0;
	for (unsigned int i = 0; i < nb_pieces; i++) {
		// a NIC's verdict on a checksum counts only if the datagram is whole
		const bool whole = piece[i].off == 0 && !piece[i].more;

		fuzz_put(kind, port, out, write_piece(out, &w, &piece[i]),
			FUZZ_MUTATED | (!whole && chance(20) ? FUZZ_GOOD : 0));
	}
	fuzz.same_queue = 0;
	return true;
}
