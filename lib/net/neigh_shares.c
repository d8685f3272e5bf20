// SPDX-License-Identifier: BSD-3-Clause
// Shares of the questions for neighbours: a bucket each, filled with time.
#include "neigh_shares.h"

// What a question costs. A millisecond gives each share asks, so NEIGH_SHARES together can ask that
// many questions a second.
#define QUESTION (UINT64_C(1000) * NEIGH_SHARES)

uint8_t neigh_shares_of(
	const struct hash_key *key, const struct neigh_asker *asker, const struct addr *target)
{
	const unsigned int half = NEIGH_SHARES / 2;
	struct addr a;

	if (asker == NULL)
		return NEIGH_SHARE_NONE;
	a = addr_source(asker->client);
	if (addr_eq(asker->client, target))
		return (uint8_t)(hash_addr(key, &a, NEIGH_SHARES) % half);
	if (asker->user != 0)
		a = (struct addr){.d = {asker->user, 0}};
	return (uint8_t)(hash_addr(key, &a, NEIGH_SHARES) % half + half);
}

// All questions that it may take to find a target are paid for at once, so that the bound holds for
// the tries that follow the first too.
bool neigh_shares_pay(struct neigh_shares *s, uint8_t share, uint64_t now_ms)
{
	struct neigh_share *b = &s->one[share];
	uint64_t most;

	if (share == NEIGH_SHARE_NONE || s->asks == 0)
		return true;
	most = (uint64_t)s->asks * 1000; // what a second gives a share
	if (most < 2 * NEIGH_TRIES * QUESTION)
		most = 2 * NEIGH_TRIES * QUESTION;
	b->left += (now_ms - b->filled_ms) * s->asks;
	b->left = b->left < most ? b->left : most;
	b->filled_ms = now_ms;
	if (b->left < NEIGH_TRIES * QUESTION)
		return false;
	b->left -= NEIGH_TRIES * QUESTION;
	return true;
}

void neigh_shares_back(struct neigh_shares *s, uint8_t share, unsigned int questions)
{
	if (share != NEIGH_SHARE_NONE && s->asks != 0)
		s->one[share].left += questions * QUESTION;
}
