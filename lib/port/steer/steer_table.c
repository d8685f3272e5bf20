// SPDX-License-Identifier: BSD-3-Clause
// Fills the table of the eBPF program that chooses the queue of a packet. The kernel may read it
// concurrently: an entry is one byte, and the entries of an address are written before the address.
#include "steer/steer_table.h"

#include <errno.h>
#include <string.h>

#include "addr.h"
#include "bytes.h"
#include "port.h"

// Returns the 32 bits of the key that begin at `bit`.
static uint32_t key_window(const uint8_t *key, unsigned int bit)
{
	const uint8_t *bytes = key + bit / 8;
	const uint64_t word = (uint64_t)load_be32(bytes) << 8 | (bit % 8 != 0 ? bytes[4] : 0);

	return (uint32_t)(word >> (8 - bit % 8));
}

void steer_table_init(struct steer_table *t, const uint8_t key[STEER_KEY], uint16_t queues)
{
	memset(t, 0, sizeof(*t));
	for (unsigned int nibble = 0; nibble < 2 * STEER_TUPLE; nibble++)
		for (unsigned int value = 0; value < 16; value++)
			for (unsigned int bit = 0; bit < 4; bit++)
				if ((value & 8u >> bit) != 0)
					t->sum[nibble][value] ^= key_window(key, 4 * nibble + bit);
	for (unsigned int i = 0; i < STEER_RETA; i++)
		t->reta[i] = (uint8_t)(i % queues);
}

// Returns the index of an address. If the table does not have it, is_new is true, and the result is
// a free index, or -1 if all are in use.
static int index_of(const struct steer_table *t, const struct addr *a, bool *is_new)
{
	const bool is_v4 = addr_is_v4(a);
	int vacant = -1;

	for (int i = STEER_ADDRS - 1; i >= 0; i--) {
		const uint32_t *w = is_v4 ? &t->addr4[i] : t->addr6[i];
		bool same = true, empty = true;

		for (unsigned int k = 0; k < (is_v4 ? 1 : 4); k++) {
			same &= w[k] == load_be32(&a->w[is_v4 ? 3 : k]);
			empty &= w[k] == 0;
		}
		*is_new = false;
		if (same)
			return i;
		if (empty)
			vacant = i;
	}
	*is_new = true;
	return vacant;
}

static void write_ports(struct steer_table *t, const struct port_rule *r, int index, uint8_t value)
{
	uint8_t *port = t->port[addr_is_v4(&r->dst)][index];

	for (uint32_t p = 0; p < 65536; p++)
		if ((p & r->mask) == r->port)
			__atomic_store_n(&port[p], value, __ATOMIC_RELAXED);
}

static void write_addr(struct steer_table *t, const struct addr *a, int index)
{
	if (addr_is_v4(a))
		t->addr4[index] = load_be32(&a->w[3]);
	for (unsigned int k = 0; k < 4 && !addr_is_v4(a); k++)
		t->addr6[index][k] = load_be32(&a->w[k]);
}

int steer_table_add(struct steer_table *t, const struct port_rule *r)
{
	bool is_new;
	const int index = index_of(t, &r->dst, &is_new);

	if (index < 0)
		return -ENOSPC;
	write_ports(t, r, index, (uint8_t)(r->queue + 1));
	if (!is_new)
		return 0;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	write_addr(t, &r->dst, index);
	return 0;
}

void steer_table_move(struct steer_table *t, const struct addr *was, const struct addr *current)
{
	bool is_new;
	const int index = index_of(t, was, &is_new);

	if (index >= 0 && !is_new)
		write_addr(t, current, index);
}

void steer_table_remove(struct steer_table *t, const struct port_rule *r)
{
	bool is_new;
	const int index = index_of(t, &r->dst, &is_new);

	if (!is_new)
		write_ports(t, r, index, 0);
}
