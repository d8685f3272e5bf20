// SPDX-License-Identifier: BSD-3-Clause
// A heap of the largest keys, and a hash table of sums by user.
#include <stdlib.h>

#include "answers/ranking.h"

// True if a follows b in a sorted listing.
static bool is_behind(const struct turn_key *a, const struct turn_key *b)
{
	return a->value != b->value ? a->value < b->value : a->id > b->id;
}

bool ranking_init(struct ranking *r, unsigned int max)
{
	*r = (struct ranking){.key = malloc(max * sizeof(*r->key)), .max = max};
	return r->key != NULL;
}

static void swap_keys(struct ranking *r, unsigned int a, unsigned int b)
{
	const struct turn_key k = r->key[a];

	r->key[a] = r->key[b];
	r->key[b] = k;
}

// Sinks the root into place. The root is the last of the kept keys.
static void sink_root(struct ranking *r)
{
	unsigned int i = 0;

	for (;;) {
		unsigned int least = i;

		for (unsigned int c = 2 * i + 1; c <= 2 * i + 2 && c < r->n; c++)
			if (is_behind(&r->key[c], &r->key[least]))
				least = c;
		if (least == i)
			return;
		swap_keys(r, i, least);
		i = least;
	}
}

void ranking_put(struct ranking *r, const struct turn_key *k)
{
	unsigned int i = r->n;

	if (r->n == r->max) {
		if (!is_behind(&r->key[0], k))
			return;
		r->key[0] = *k;
		sink_root(r);
		return;
	}
	r->key[r->n++] = *k;
	for (; i > 0 && is_behind(&r->key[i], &r->key[(i - 1) / 2]); i = (i - 1) / 2)
		swap_keys(r, i, (i - 1) / 2);
}

static int compare_keys(const void *a, const void *b)
{
	return is_behind(a, b) ? 1 : -1;
}

void ranking_sort(struct ranking *r)
{
	qsort(r->key, r->n, sizeof(*r->key), compare_keys);
}

void ranking_free(struct ranking *r)
{
	free(r->key);
	*r = (struct ranking){0};
}

// --- sums ----------------------------------------------------------------------------------------

// The user's row, or the free row where it belongs. The user is a keyed hash already.
static struct tally_row *find_row(const struct tally *t, uint64_t user)
{
	uint32_t i = (uint32_t)user & (t->size - 1);

	while (t->row[i].count != 0 && t->row[i].user != user)
		i = (i + 1) & (t->size - 1);
	return &t->row[i];
}

static bool grow_tally(struct tally *t)
{
	const uint32_t size = t->size != 0 ? 2 * t->size : 1024;
	struct tally bigger = {calloc(size, sizeof(*t->row)), size, t->used};

	if (bigger.row == NULL)
		return false;
	for (uint32_t i = 0; i < t->size; i++)
		if (t->row[i].count != 0)
			*find_row(&bigger, t->row[i].user) = t->row[i];
	free(t->row);
	*t = bigger;
	return true;
}

bool tally_put(struct tally *t, const struct turn_key *k)
{
	struct tally_row *row;

	if (2 * t->used >= t->size && !grow_tally(t))
		return false;
	row = find_row(t, k->user);
	if (row->count == 0) {
		*row = (struct tally_row){.user = k->user, .id = k->id};
		t->used++;
	}
	row->last = k->id;
	row->count++;
	row->sum += k->value;
	return true;
}

const struct tally_row *tally_find(const struct tally *t, uint64_t user)
{
	const struct tally_row *row = t->size != 0 ? find_row(t, user) : NULL;

	return row != NULL && row->count != 0 ? row : NULL;
}

void tally_free(struct tally *t)
{
	free(t->row);
	*t = (struct tally){0};
}
