// SPDX-License-Identifier: BSD-3-Clause
// The keyed hash over bytes of any length.
#include "hash.h"

uint64_t hash_bytes(const struct hash_key *key, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t h = len; // so that zero padding of the last block cannot make two inputs equal
	struct addr block;

	for (; len >= sizeof(block); p += sizeof(block), len -= sizeof(block)) {
		memcpy(&block, p, sizeof(block));
		h = hash_addr(key, &block, h);
	}
	memset(&block, 0, sizeof(block));
	if (len > 0)
		memcpy(&block, p, len);
	return hash_addr(key, &block, h);
}
