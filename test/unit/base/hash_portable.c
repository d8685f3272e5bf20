// SPDX-License-Identifier: BSD-3-Clause
// The hash compiled without AES instructions, under other names.
#undef __AES__
#include "hash_portable.h"

uint64_t portable_hash_addr(const struct hash_key *key, const struct addr *a, uint64_t extra)
{
	return hash_addr(key, a, extra);
}

void portable_hash_addr_wide(
	const struct hash_key *key, const struct addr *a, uint64_t extra, uint8_t out[16])
{
	hash_addr_wide(key, a, extra, out);
}
