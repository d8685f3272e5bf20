// SPDX-License-Identifier: BSD-3-Clause
// Counts guaranteed and shared records of a pool by user.
#include "limits/share.h"
#include "invariant.h"

#define USERS_MIN 1024u
#define USERS_MAX 16384u
#define SECOND_SHIFT 16 // bits of a user's hash other than the realm's number

struct share share_part(uint32_t sure, uint32_t size, uint32_t percent)
{
	const uint32_t most = (uint32_t)((uint64_t)size * percent / 100);

	return (struct share){.sure = sure, .size = size, .most = most > 0 ? most : 1};
}

uint32_t share_records(const struct share *s, uint32_t allocations)
{
	return s->sure * allocations + s->size + SHARE_SLACK;
}

static uint32_t user_slots(uint32_t allocations)
{
	uint32_t n = USERS_MIN;

	while (n < allocations && n < USERS_MAX)
		n *= 2;
	return n;
}

size_t share_size(uint32_t allocations)
{
	return 2 * user_slots(allocations) * sizeof(uint32_t);
}

void share_init(struct share *s, void *of_user, uint32_t allocations)
{
	s->of_user = of_user;
	s->mask = user_slots(allocations) - 1;
}

static uint32_t beyond_sure(const struct share *s, uint32_t has)
{
	return has > s->sure ? has - s->sure : 0;
}

// The two counters of a user.
static uint32_t *first_of(const struct share *s, uint64_t user)
{
	return &s->of_user[user & s->mask];
}

static uint32_t *second_of(const struct share *s, uint64_t user)
{
	return &s->of_user[s->mask + 1 + (user >> SECOND_SHIFT & s->mask)];
}

// Number of records that a user holds. It is too high if the user shares both counters with others.
static uint32_t held_by(const struct share *s, uint64_t user)
{
	const uint32_t a = *first_of(s, user), b = *second_of(s, user);

	return a < b ? a : b;
}

static void count_user(struct share *s, uint64_t user, uint32_t more)
{
	*first_of(s, user) += more;
	*second_of(s, user) += more;
}

// Number of records freed in this round beyond the slack. They cannot be allocated yet.
static uint32_t not_back(const struct share *s)
{
	return s->given > SHARE_SLACK / 2 ? s->given - SHARE_SLACK / 2 : 0;
}

uint32_t share_more(const struct share *s, uint32_t has, uint32_t nb)
{
	ASSERT(has <= UINT32_MAX / 2 && nb <= UINT32_MAX / 2);
	return beyond_sure(s, has + nb) - beyond_sure(s, has);
}

bool share_fits(const struct share *s, uint64_t user, uint32_t has, uint32_t nb)
{
	const uint32_t more = share_more(s, has, nb);

	return more == 0 ||
		(more + s->held + not_back(s) <= s->size && held_by(s, user) + more <= s->most);
}

void share_take(struct share *s, uint64_t user, uint32_t has)
{
	if (has < s->sure)
		return;
	s->held++;
	count_user(s, user, 1);
	ASSERT(held_by(s, user) <= s->held);
}

void share_give(struct share *s, uint64_t user, uint32_t has)
{
	if (has <= s->sure)
		return;
	ASSERT(s->held > 0 && held_by(s, user) > 0);
	s->given++;
	s->held--;
	count_user(s, user, UINT32_MAX); // one less
}

void share_give_all(struct share *s, uint64_t user, uint32_t has)
{
	ASSERT(s->held >= beyond_sure(s, has) && held_by(s, user) >= beyond_sure(s, has));
	s->given += beyond_sure(s, has);
	s->held -= beyond_sure(s, has);
	count_user(s, user, 0 - beyond_sure(s, has));
}
