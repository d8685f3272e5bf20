// SPDX-License-Identifier: BSD-3-Clause
// Headers of the PROXY protocol as a thread reads them: the first part, then as many bytes as its
// length says, cut anywhere. Each piece is in a block of exactly its length.
#include "fuzz.h"
#include "proxy/proxy_header.h"

#include <stdlib.h>

#define ROOM 536
#define OF_ROUNDS 4 // percent of rounds that read a header

static size_t put_tlvs(uint8_t *p, size_t pos)
{
	for (unsigned int n = below(5); n > 0 && pos + 43 <= ROOM; n--) {
		const uint16_t len = (uint16_t)below(40);

		p[pos] = (uint8_t)(chance(20) ? 3 : below(256)); // CRC32C, mostly a wrong one
		store_be16(p + pos + 1, len);
		test_rand_fill(&fuzz.rand, p + pos + 3, len);
		pos += 3u + len;
	}
	return pos;
}

static size_t put_header(uint8_t *p)
{
	static const uint8_t families[] = {0x11, 0x21, 0x11, 0x21, 0x12, 0x22, 0x31, 0x00, 0x10};
	static const uint16_t lens[] = {0, PROXY_HEADER_INET, PROXY_HEADER_INET6, 216};
	size_t end;

	memcpy(p, "\r\n\r\n\0\r\nQUIT\n", 12);
	p[12] = chance(90) ? 0x21 : 0x20;
	p[13] = families[below(sizeof(families))];
	end = PROXY_HEADER_FIRST + lens[p[13] >> 4];
	test_rand_fill(&fuzz.rand, p + PROXY_HEADER_FIRST, end - PROXY_HEADER_FIRST);
	end = put_tlvs(p, end);
	store_be16(p + 14, (uint16_t)(end - PROXY_HEADER_FIRST));
	return end;
}

static enum proxy_header_answer read_piece(const uint8_t *p, size_t n, struct proxy_header *h)
{
	uint8_t *block = malloc(n > 0 ? n : 1);
	enum proxy_header_answer answer;

	assert_non_null(block);
	memcpy(block, p, n);
	answer = proxy_header_read(block, n, ROOM, h);
	free(block);
	return answer;
}

void fuzz_proxies(void)
{
	uint8_t p[2 * ROOM] = {0};
	enum proxy_header_answer answer = PROXY_HEADER_SHORT;
	struct proxy_header h = {.len = PROXY_HEADER_FIRST};
	size_t len, have = 0;

	if (!chance(OF_ROUNDS))
		return;
	len = put_header(p);
	if (chance(50))
		len = fuzz_mutate_message(p, len, sizeof(p));
	while (answer == PROXY_HEADER_SHORT && have < len) {
		assert_true(h.len > have && h.len <= ROOM);
		have += 1 + below((uint32_t)(h.len - have));
		have = have < len ? have : len;
		answer = read_piece(p, have, &h);
		assert_true(answer != PROXY_HEADER_SHORT || have < h.len);
	}
	if (answer == PROXY_HEADER_CLIENT || answer == PROXY_HEADER_OWN)
		assert_int_equal(have, h.len); // no byte after the header was taken
	assert_true(answer != PROXY_HEADER_CLIENT || h.client.port != 0);
}
