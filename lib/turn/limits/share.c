// SPDX-License-Identifier: BSD-3-Clause
// Counts sure and shared records of a pool by user.
#include "limits/share.h"

#define USERS_MIN 1024u
#define USERS_MAX 16384u

uint32_t share_records(const struct share *s, uint32_t allocations)
{
	return s->sure * allocations + s->size + SHARE_SLACK;
}

static uint32_t users(uint32_t allocations)
{
	uint32_t n = USERS_MIN;

	while (n < allocations && n < USERS_MAX)
		n *= 2;
	return n;
}

size_t share_size(uint32_t allocations)
{
	return users(allocations) * sizeof(uint32_t);
}

void share_init(struct share *s, void *of_user, uint32_t allocations)
{
	s->of_user = of_user;
	s->mask = users(allocations) - 1;
}

static uint32_t beyond(const struct share *s, uint32_t has)
{
	return has > s->sure ? has - s->sure : 0;
}

static uint32_t *count_of(const struct share *s, uint64_t user)
{
	return &s->of_user[user & s->mask];
}

// Records that were given back in this round beyond the slack, and cannot be taken yet.
static uint32_t not_back(const struct share *s)
{
	return s->given > SHARE_SLACK / 2 ? s->given - SHARE_SLACK / 2 : 0;
}

uint32_t share_more(const struct share *s, uint32_t has, uint32_t nb)
{
	return beyond(s, has + nb) - beyond(s, has);
}

bool share_fits(const struct share *s, uint64_t user, uint32_t has, uint32_t nb)
{
	const uint32_t more = share_more(s, has, nb);

	return more == 0 ||
		(more + s->held + not_back(s) <= s->size && *count_of(s, user) + more <= s->most);
}

void share_take(struct share *s, uint64_t user, uint32_t has)
{
	if (has < s->sure)
		return;
	s->held++;
	++*count_of(s, user);
}

void share_give(struct share *s, uint64_t user, uint32_t has)
{
	if (has <= s->sure)
		return;
	s->given++;
	s->held--;
	--*count_of(s, user);
}

void share_give_all(struct share *s, uint64_t user, uint32_t has)
{
	s->given += beyond(s, has);
	s->held -= beyond(s, has);
	*count_of(s, user) -= beyond(s, has);
}
