// SPDX-License-Identifier: BSD-3-Clause
// Parses a PROXY header of version 2: lengths before contents, and no byte after its end.
#include "proxy/proxy_header.h"

#include <string.h>

#include "bytes.h"
#include "proxy/proxy_text.h"

#define SIGNATURE_LEN 12
#define VERSION_2 0x20
#define TLV_HEADER 3
#define TLV_CRC32C 0x03
#define CRC32C_LEN 4
#define CRC32C_REVERSED UINT32_C(0x82f63b78) // the polynomial of RFC 9260 appendix A

enum { COMMAND_LOCAL, COMMAND_PROXY };
enum { FAMILY_UNSPEC, FAMILY_INET, FAMILY_INET6, FAMILY_UNIX, FAMILIES };
enum { PROTOCOL_UNSPEC, PROTOCOL_STREAM, PROTOCOL_DGRAM, PROTOCOLS };

static const uint8_t signature[SIGNATURE_LEN] = {
	0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a};
// Bytes of the addresses of each family, including ports.
static const uint8_t address_len[FAMILIES] = {[FAMILY_INET] = PROXY_HEADER_INET,
	[FAMILY_INET6] = PROXY_HEADER_INET6,
	[FAMILY_UNIX] = 216};

// CRC32C of n bytes, where the CRC32C_LEN bytes from hole on count as zero. Bit by bit: it runs
// over a few hundred bytes once per connection.
static uint32_t header_crc32c(const uint8_t *p, size_t n, size_t hole)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < n; i++) {
		crc ^= i >= hole && i < hole + CRC32C_LEN ? 0 : p[i];
		for (unsigned int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ ((crc & 1) != 0 ? CRC32C_REVERSED : 0);
	}
	return ~crc;
}

// True if the bytes from pos to len are complete TLVs, and their checksum, if any, is correct.
static bool tlvs_are_good(const uint8_t *p, size_t pos, size_t len)
{
	bool summed = false;

	while (pos < len) {
		size_t value;

		if (len - pos < TLV_HEADER)
			return false;
		value = load_be16(p + pos + 1);
		if (len - pos - TLV_HEADER < value)
			return false;
		if (p[pos] == TLV_CRC32C) {
			const size_t sum = pos + TLV_HEADER;

			// at most one: two checksums cannot cover each other
			if (value != CRC32C_LEN || summed ||
				load_be32(p + sum) != header_crc32c(p, len, sum))
				return false;
			summed = true;
		}
		pos += TLV_HEADER + value;
	}
	return true;
}

bool proxy_header_can_be_client(const struct endpoint *e)
{
	const struct addr a = addr_canonical(e->addr);

	switch (addr_class(&a)) {
	case ADDR_UNSPECIFIED:
	case ADDR_MULTICAST:
	case ADDR_RESERVED:
		return false;
	default:
		return e->port != 0;
	}
}

static enum proxy_header_answer read_client(
	const uint8_t *p, unsigned int family, struct proxy_header *out)
{
	const bool is_v4 = family == FAMILY_INET;
	const uint8_t *a = p + PROXY_HEADER_FIRST;

	out->client.addr = is_v4 ? addr_from_v4(a) : addr_from_v6(a);
	out->client.port = load_be16(a + (is_v4 ? 8 : 32));
	return proxy_header_can_be_client(&out->client) ? PROXY_HEADER_CLIENT : PROXY_HEADER_BAD;
}

enum proxy_header_answer proxy_header_read(
	const uint8_t *p, size_t n, size_t room, struct proxy_header *out)
{
	unsigned int command, family, protocol;
	bool ignored; // the bytes after the fixed part are ignored

	out->len = n > 0 ? PROXY_HEADER_FIRST : PROXY_TEXT_LEAST;
	if (n > 0 && p[0] == PROXY_TEXT_FIRST)
		return proxy_text_read(p, n, out);
	if (memcmp(p, signature, n < SIGNATURE_LEN ? n : SIGNATURE_LEN) != 0 ||
		(n > SIGNATURE_LEN && (p[SIGNATURE_LEN] & 0xf0) != VERSION_2))
		return PROXY_HEADER_NONE;
	if (n < PROXY_HEADER_FIRST)
		return PROXY_HEADER_SHORT;
	out->len = PROXY_HEADER_FIRST + (size_t)load_be16(p + 14);
	command = p[12] & 0xf;
	family = p[13] >> 4;
	protocol = p[13] & 0xf;
	// with LOCAL the family may have any value
	if (command > COMMAND_PROXY ||
		(command == COMMAND_PROXY && (family >= FAMILIES || protocol >= PROTOCOLS)))
		return PROXY_HEADER_BAD;
	if (out->len > room)
		return PROXY_HEADER_LONG;
	ignored =
		command == COMMAND_LOCAL || family == FAMILY_UNSPEC || protocol == PROTOCOL_UNSPEC;
	if (!ignored && out->len < PROXY_HEADER_FIRST + (size_t)address_len[family])
		return PROXY_HEADER_BAD;
	if (n < out->len)
		return PROXY_HEADER_SHORT;
	if (ignored)
		return PROXY_HEADER_OWN;
	if (!tlvs_are_good(p, PROXY_HEADER_FIRST + address_len[family], out->len))
		return PROXY_HEADER_BAD;
	return protocol == PROTOCOL_STREAM && family != FAMILY_UNIX ? read_client(p, family, out)
								    : PROXY_HEADER_OWN;
}
