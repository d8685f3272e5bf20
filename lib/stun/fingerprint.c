// SPDX-License-Identifier: BSD-3-Clause
// CRC-32 (ITU V.42, reflected) for FINGERPRINT, four bytes per step. The preprocessor generates the
// tables as constants: no code initialises them, and no shared memory is ever written.
#include "stun.h"

#define FINGERPRINT_XOR 0x5354554Eu // RFC 8489 14.7

// A CRC is linear: the entry of a byte is the XOR of the entries of its bits, so eight constants
// make a table. The first constant is the polynomial; each further one is its predecessor, advanced
// by one bit of the division. Their order is bit 7 of table 0, bit 6, ..., bit 0, bit 7 of table 1,
// and so on.
#define ENTRY(n, b7, b6, b5, b4, b3, b2, b1, b0)                                        \
	(((n)&0x80 ? (b7) : 0) ^ ((n)&0x40 ? (b6) : 0) ^ ((n)&0x20 ? (b5) : 0) ^        \
		((n)&0x10 ? (b4) : 0) ^ ((n)&0x08 ? (b3) : 0) ^ ((n)&0x04 ? (b2) : 0) ^ \
		((n)&0x02 ? (b1) : 0) ^ ((n)&0x01 ? (b0) : 0))
#define ENTRY0(n)                                                                        \
	ENTRY(n, 0xedb88320, 0x76dc4190, 0x3b6e20c8, 0x1db71064, 0x0edb8832, 0x076dc419, \
		0xee0e612c, 0x77073096)
#define ENTRY1(n)                                                                        \
	ENTRY(n, 0x3b83984b, 0xf0794f05, 0x958424a2, 0x4ac21251, 0xc8d98a08, 0x646cc504, \
		0x32366282, 0x191b3141)
#define ENTRY2(n)                                                                        \
	ENTRY(n, 0xe1351b80, 0x709a8dc0, 0x384d46e0, 0x1c26a370, 0x0e1351b8, 0x0709a8dc, \
		0x0384d46e, 0x01c26a37)
#define ENTRY3(n)                                                                        \
	ENTRY(n, 0xed59b63b, 0x9b14583d, 0xa032af3e, 0x5019579f, 0xc5b428ef, 0x8f629757, \
		0xaa09c88b, 0xb8bc6765)

#define ROW4(e, n) e(n), e((n) + 1), e((n) + 2), e((n) + 3)
#define ROW16(e, n) ROW4(e, n), ROW4(e, (n) + 4), ROW4(e, (n) + 8), ROW4(e, (n) + 12)
#define ROW64(e, n) ROW16(e, n), ROW16(e, (n) + 16), ROW16(e, (n) + 32), ROW16(e, (n) + 48)
#define ROW256(e) ROW64(e, 0), ROW64(e, 64), ROW64(e, 128), ROW64(e, 192)

// crc_table[s][b]: the effect of byte b on the register when s more bytes follow it.
static const uint32_t crc_table[4][256] = {
	{ROW256(ENTRY0)},
	{ROW256(ENTRY1)},
	{ROW256(ENTRY2)},
	{ROW256(ENTRY3)},
};

uint32_t stun_fingerprint(const uint8_t *data, size_t len)
{
	uint32_t crc = 0xFFFFFFFF;

	for (; len >= 4; data += 4, len -= 4) {
		const uint32_t w = __builtin_bswap32(crc) ^ load_be32(data);

		crc = crc_table[3][w >> 24] ^ crc_table[2][w >> 16 & 0xFF] ^
			crc_table[1][w >> 8 & 0xFF] ^ crc_table[0][w & 0xFF];
	}
	for (; len > 0; data++, len--)
		crc = crc >> 8 ^ crc_table[0][(crc ^ *data) & 0xFF];
	return ~crc ^ FINGERPRINT_XOR;
}
