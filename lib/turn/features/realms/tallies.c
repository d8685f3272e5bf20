// SPDX-License-Identifier: BSD-3-Clause
// Gives realms their numbers, and keeps the counts of workers for them. Numbers are assigned in
// turn, so that a released number is reused as late as possible.
#include "features/realms/tallies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shard.h"
#include "turn_quota.h"

#define SUMS_WORDS (sizeof(struct turn_tally) / sizeof(uint64_t))
_Static_assert(
	sizeof(struct turn_tally) % sizeof(uint64_t) == 0, "struct turn_tally consists of words");

struct turn_tallies *turn_tallies_create(unsigned int workers)
{
	struct turn_tallies *t = calloc(1, sizeof(*t));

	if (t != NULL)
		t->workers = workers;
	return t;
}

void turn_tallies_free(struct turn_tallies *t)
{
	if (t == NULL)
		return;
	for (unsigned int i = 0; i < TURN_REALM_NUMBERS; i++) {
		free(t->by_number[i]);
		free(t->name[i]);
	}
	for (uint32_t i = 0; i < t->nb_old; i++)
		free(t->old[i]);
	free(t->old);
	free(t);
}

const char *turn_tallies_name(const struct turn_tallies *t, uint8_t number)
{
	return __atomic_load_n(&t->name[number], __ATOMIC_ACQUIRE);
}

void turn_tallies_add(
	const struct turn_tallies *t, unsigned int worker, uint8_t number, struct turn_tally *out)
{
	const struct tally *tally = __atomic_load_n(&t->by_number[number], __ATOMIC_ACQUIRE);
	uint64_t *sum = (uint64_t *)out;
	const uint64_t *words;

	if (tally == NULL || worker >= t->workers)
		return;
	words = (const uint64_t *)&tally[worker].shown;
	for (size_t i = 0; i < SUMS_WORDS; i++)
		sum[i] += __atomic_load_n(&words[i], __ATOMIC_RELAXED);
}

struct tally *tallies_of(const struct turn_shard *s, uint32_t slot)
{
	const uint8_t number = alloc_realm(s, slot);
	struct tally *tally = number != 0 ? s->tallies->by_number[number] : NULL;

	return tally != NULL ? &tally[s->worker] : NULL;
}

// --- numbers -------------------------------------------------------------------------------------

static bool has_number(const struct turn_config *c, unsigned int number)
{
	for (uint32_t i = 0; c != NULL && i < c->nb_realms; i++)
		if (c->realms[i].number == number)
			return true;
	return false;
}

static unsigned int number_of(const struct turn_tallies *t, const char *name)
{
	for (unsigned int i = 1; i < TURN_REALM_NUMBERS; i++)
		if (t->name[i] != NULL && strcmp(t->name[i], name) == 0)
			return i;
	return 0;
}

// No worker counts there any more: its counts are added to those of realms without a number.
static bool give_up(struct turn_tallies *t, unsigned int number)
{
	char **old = realloc(t->old, (t->nb_old + 1) * sizeof(*old));
	uint64_t *dst, *src;

	if (old == NULL)
		return false;
	t->old = old;
	t->old[t->nb_old++] = t->name[number];
	for (unsigned int w = 0; w < t->workers; w++) {
		dst = (uint64_t *)&t->by_number[0][w].shown;
		src = (uint64_t *)&t->by_number[number][w].shown;
		for (size_t i = 0; i < SUMS_WORDS; i++) {
			__atomic_store_n(&dst[i], dst[i] + src[i], __ATOMIC_RELAXED);
			__atomic_store_n(&src[i], 0, __ATOMIC_RELAXED);
		}
		t->by_number[number][w].ahead = (struct sums_ahead){0};
	}
	return true;
}

static struct tally *tally_make(const struct turn_tallies *t)
{
	const size_t size = t->workers * sizeof(struct tally);
	struct tally *tally = aligned_alloc(_Alignof(struct tally), size);

	if (tally != NULL)
		memset(tally, 0, size);
	return tally;
}

// Assigns the number to a realm. False without memory.
static bool assign_number(struct turn_tallies *t, unsigned int number, const char *name)
{
	char *copy = strdup(name);

	if (copy != NULL && t->by_number[number] == NULL)
		__atomic_store_n(&t->by_number[number], tally_make(t), __ATOMIC_RELEASE);
	if (copy == NULL || t->by_number[number] == NULL ||
		(t->name[number] != NULL && !give_up(t, number))) {
		free(copy);
		return false;
	}
	__atomic_store_n(&t->name[number], copy, __ATOMIC_RELEASE);
	t->last = (uint8_t)number;
	return true;
}

// A free realm number, or one that can be recycled; 0 if all are in use.
static unsigned int free_number(const struct turn_tallies *t, const struct turn_config *c,
	const struct turn_config *before, const struct turn_quota *q)
{
	for (unsigned int i = 0; i < TURN_REALM_NUMBERS - 1; i++) {
		const unsigned int number = 1 + (t->last + i) % (TURN_REALM_NUMBERS - 1);

		if (!has_number(before, number) && !has_number(c, number) &&
			turn_quota_realm(q, (uint8_t)number) == 0)
			return number;
	}
	return 0;
}

int turn_tallies_number(struct turn_tallies *t, struct turn_config *c,
	const struct turn_config *before, const struct turn_quota *q)
{
	if (c->nb_realms > 0 && t->by_number[0] == NULL)
		__atomic_store_n(&t->by_number[0], tally_make(t), __ATOMIC_RELEASE);
	if (c->nb_realms > 0 && t->by_number[0] == NULL)
		return ENOMEM;
	for (uint32_t i = 0; i < c->nb_realms; i++)
		c->realms[i].number = (uint8_t)number_of(t, c->realms[i].name);
	for (uint32_t i = 0; i < c->nb_realms; i++) {
		unsigned int number = c->realms[i].number;

		if (number != 0)
			continue;
		number = free_number(t, c, before, q);
		if (number == 0)
			return EAGAIN;
		if (!assign_number(t, number, c->realms[i].name))
			return ENOMEM;
		c->realms[i].number = (uint8_t)number;
	}
	if (c->nb_realms > 0)
		__atomic_store_n(&t->any, true, __ATOMIC_RELAXED);
	return 0;
}
