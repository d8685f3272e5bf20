// SPDX-License-Identifier: BSD-3-Clause
// Indications of the usual form, inline: header, XOR-PEER-ADDRESS, DATA, and nothing else, as all
// clients write them. They are read and written as words in memory order (the CPU is
// little-endian). parse.c and build.c handle every message. PURE.
#pragma once

#include "addr.h"
#include "stun.h"

// Bytes that precede the data, by the family of the peer.
#define STUN_FRONT4 36u
#define STUN_FRONT6 48u
#define STUN_PEER_AT 20 // offset of XOR-PEER-ADDRESS; the next one is that of its address
#define STUN_PEER_ADDR_AT 28

// Constant parts of such a message: type and cookie of each indication, the attribute without its
// port, and the type of DATA.
#define STUN_SEND_HEAD UINT64_C(0x42a4122100001600)
#define STUN_DATA_HEAD UINT64_C(0x42a4122100001700)
#define STUN_PEER_WORD(is_v4) ((is_v4) ? UINT64_C(0x010008001200) : UINT64_C(0x020014001200))
#define STUN_DATA_WORD UINT32_C(0x1300)
#define STUN_COOKIE_WORD UINT32_C(0x42a41221)
#define STUN_RESERVED (UINT64_C(0xff) << 32) // first byte of the value: ignored (RFC 8489 14.1)

// The first 8 bytes of a message whose header is followed by len bytes.
static inline uint64_t stun_usual_head(uint64_t head, uint32_t len)
{
	return head | (uint32_t)__builtin_bswap16((uint16_t)len) << 16;
}

// The peer of such a message. is_v4 is a constant where the functions are inlined.
struct stun_usual_peer {
	const struct addr *addr;
	uint16_t port;
	bool is_v4;
};

// XOR-PEER-ADDRESS up to and including its port, which is XORed with the first half of the cookie.
static inline uint64_t stun_usual_attr(struct stun_usual_peer p)
{
	const uint16_t xored = __builtin_bswap16(p.port) ^ (uint16_t)STUN_COOKIE_WORD;

	return STUN_PEER_WORD(p.is_v4) | (uint64_t)xored << 48;
}

// Recognizes a Send indication (RFC 8656 11.1) that consists of XOR-PEER-ADDRESS with this peer,
// then DATA, and nothing else. The data begins at offset 36 (IPv4) or 48 (IPv6), and its length
// goes to *payload_len; stun_parse would accept such a message. False for anything else, which may
// still be a Send indication.
static inline __attribute__((always_inline)) bool stun_usual_send(
	const uint8_t *data, uint32_t len, struct stun_usual_peer p, uint32_t *payload_len)
{
	const uint32_t front = p.is_v4 ? STUN_FRONT4 : STUN_FRONT6;
	uint32_t last, got_len;
	uint64_t differs;

	if (__builtin_expect(len < front, 0))
		return false;
	last = load_raw32(data + front - 4);
	got_len = __builtin_bswap16((uint16_t)(last >> 16));
	differs = load_raw64(data + STUN_PEER_AT) ^ stun_usual_attr(p);
	differs &= ~STUN_RESERVED;
	differs |= load_raw64(data) ^ stun_usual_head(STUN_SEND_HEAD, len - STUN_HEADER_LEN);
	differs |= (uint16_t)last ^ STUN_DATA_WORD;
	differs |= (len - front) ^ ((got_len + 3) & ~3u);
	if (p.is_v4) {
		differs |= load_raw32(data + STUN_PEER_ADDR_AT) ^ STUN_COOKIE_WORD ^ p.addr->w[3];
	} else {
		differs |=
			load_raw64(data + STUN_PEER_ADDR_AT) ^ load_raw64(data + 4) ^ p.addr->d[0];
		differs |= load_raw64(data + STUN_PEER_ADDR_AT + 8) ^ load_raw64(data + 12) ^
			p.addr->d[1];
	}
	*payload_len = got_len;
	return differs == 0;
}

// The front of a Data indication. Each member consists of whole 16-bit words, so that it can be
// summed as well as written.
struct stun_usual_front {
	uint64_t head, tid, peer, addr[2]; // for IPv4 the address is the lower half of addr[0]
	uint32_t tid_end, data;
};

// Makes the bytes that stun_data_indication() writes.
static inline __attribute__((always_inline)) struct stun_usual_front stun_usual_data(
	const uint8_t tid[STUN_TID_LEN], struct stun_usual_peer p, uint16_t len)
{
	const uint32_t front = p.is_v4 ? STUN_FRONT4 : STUN_FRONT6;
	struct stun_usual_front f = {
		.head = stun_usual_head(
			STUN_DATA_HEAD, front - STUN_HEADER_LEN + ((len + 3u) & ~3u)),
		.tid = load_raw64(tid),
		.tid_end = load_raw32(tid + 8),
		.peer = stun_usual_attr(p),
		.data = STUN_DATA_WORD | (uint32_t)__builtin_bswap16(len) << 16,
	};

	if (p.is_v4) {
		f.addr[0] = p.addr->w[3] ^ STUN_COOKIE_WORD;
	} else {
		f.addr[0] = p.addr->d[0] ^ STUN_COOKIE_WORD ^ f.tid << 32;
		f.addr[1] = p.addr->d[1] ^ f.tid >> 32 ^ (uint64_t)f.tid_end << 32;
	}
	return f;
}

// Writes the front so that it ends at end: 36 or 48 bytes.
static inline __attribute__((always_inline)) void stun_usual_write(
	const struct stun_usual_front *f, bool is_v4, uint8_t *end)
{
	uint8_t *front = end - (is_v4 ? STUN_FRONT4 : STUN_FRONT6);

	memcpy(front, &f->head, 8);
	memcpy(front + 8, &f->tid, 8);
	memcpy(front + 16, &f->tid_end, 4);
	memcpy(front + STUN_PEER_AT, &f->peer, 8);
	memcpy(front + STUN_PEER_ADDR_AT, &f->addr[0], is_v4 ? 4 : 8);
	if (!is_v4)
		memcpy(front + STUN_PEER_ADDR_AT + 8, &f->addr[1], 8);
	memcpy(end - 4, &f->data, 4);
}
