// SPDX-License-Identifier: BSD-3-Clause
// Finds accounts by user or realm. The table is divided into stripes, each with a short lock of its
// own, because allocations begin and end on all workers at once. `due` is not under the lock.
#include "features/rates/accounts.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "ilist.h"
#include "invariant.h"
#include "limits/striped.h"

#define STRIPE_CHAINS 4096u
#define CLOSED_LINKS(s) ILIST_LINKS((s)->entry, closed)
#define OVERFLOW 0u // entry of a stripe that all parties without an entry of their own share

struct account_entry {
	_Atomic uint64_t due[2][ACCOUNT_KINDS]; // by leg; any worker
	uint64_t party; // the stripe's lock protects this field and those below
	uint32_t open; // number of workers that have the account open
	uint32_t next; // next entry of its chain
	struct ilist_link closed; // among closed entries, by the time when they were closed
} __attribute__((aligned(64)));

struct stripe {
	_Atomic uint32_t locked;
	uint32_t fresh; // entries from here on have never been used
	struct ilist closed; // closed entries, the oldest first
	uint32_t chain[STRIPE_CHAINS];
	struct account_entry entry[STRIPED_ENTRIES];
} __attribute__((aligned(64)));

struct turn_accounts {
	// Constant after create.
	struct hash_key key;
	struct striped stripes;
};

struct turn_accounts *turn_accounts_create(uint32_t capacity, const struct hash_key *key)
{
	struct turn_accounts *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	a->key = *key;
	if (striped_create(&a->stripes, (uint64_t)capacity + ACCOUNTS_REALMS,
		    sizeof(struct stripe)) != 0) {
		free(a);
		return NULL;
	}
	for (uint32_t i = 0; i < a->stripes.nb; i++) {
		struct stripe *s = striped_stripe(&a->stripes, i);

		memset(s->chain, 0xff, sizeof(s->chain)); // ILIST_NONE
		s->closed = ILIST_EMPTY;
		s->fresh = OVERFLOW + 1;
	}
	return a;
}

void turn_accounts_free(struct turn_accounts *a)
{
	if (a == NULL)
		return;
	striped_free(&a->stripes);
	free(a);
}

uint64_t accounts_realm(const struct turn_accounts *a, const char *realm)
{
	return hash_bytes(&a->key, realm, strlen(realm));
}

// The high bits of a hash select the stripe, its low bits the chain.
static uint32_t *chain_of(struct stripe *s, uint64_t party_hash)
{
	return &s->chain[party_hash % STRIPE_CHAINS];
}

// --- opening and closing -------------------------------------------------------------------------

static void chain_remove(struct stripe *s, uint32_t i)
{
	uint32_t *link = chain_of(s, s->entry[i].party);

	while (*link != i) {
		ASSERT(*link != ILIST_NONE);
		link = &s->entry[*link].next;
	}
	*link = s->entry[i].next;
}

// Makes an entry for a new party. Returns OVERFLOW if all entries are open.
static uint32_t entry_make(struct stripe *s, uint64_t party_hash)
{
	uint32_t i = s->fresh, *head = chain_of(s, party_hash);

	if (i < STRIPED_ENTRIES) {
		s->fresh++;
	} else {
		i = s->closed.first;
		if (i == ILIST_NONE)
			return OVERFLOW;
		ASSERT(s->entry[i].open == 0);
		ilist_remove(&s->closed, CLOSED_LINKS(s), i);
		chain_remove(s, i);
	}
	memset(&s->entry[i], 0, sizeof(s->entry[i]));
	s->entry[i].party = party_hash;
	s->entry[i].next = *head;
	*head = i;
	return i;
}

uint32_t accounts_open(struct turn_accounts *a, uint64_t party_hash)
{
	const uint32_t stripe = striped_find(&a->stripes, (uint32_t)(party_hash >> 32));
	struct stripe *s = striped_stripe(&a->stripes, stripe);
	uint32_t i;

	spin_lock(&s->locked);
	i = *chain_of(s, party_hash);
	while (i != ILIST_NONE && s->entry[i].party != party_hash)
		i = s->entry[i].next;
	if (i == ILIST_NONE)
		i = entry_make(s, party_hash);
	else if (s->entry[i].open == 0)
		ilist_remove(&s->closed, CLOSED_LINKS(s), i);
	ASSERT(i == OVERFLOW || s->entry[i].party == party_hash);
	s->entry[i].open++;
	spin_unlock(&s->locked);
	return stripe * STRIPED_ENTRIES + i;
}

void accounts_close(struct turn_accounts *a, uint32_t account)
{
	struct stripe *s = striped_stripe(&a->stripes, account / STRIPED_ENTRIES);
	const uint32_t i = account % STRIPED_ENTRIES;

	spin_lock(&s->locked);
	ASSERT(s->entry[i].open > 0 && i < s->fresh);
	if (--s->entry[i].open == 0 && i != OVERFLOW)
		ilist_append(&s->closed, CLOSED_LINKS(s), i);
	spin_unlock(&s->locked);
}

_Atomic uint64_t (*accounts_due(struct turn_accounts *a, uint32_t account))[ACCOUNT_KINDS]
{
	struct stripe *s = striped_stripe(&a->stripes, account / STRIPED_ENTRIES);

	return s->entry[account % STRIPED_ENTRIES].due;
}
