// SPDX-License-Identifier: BSD-3-Clause
// Rate limits of neighbour requests: one bucket per share.
#include "neigh/neigh_shares.h"
#include "invariant.h"

// Cost of a request. Each share has asks tokens a second, so all NEIGH_SHARES together can send
// that many requests.
#define QUESTION NEIGH_SHARES

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

// Returns the limit of each share: its burst is the tokens of one second.
static struct limit limit_of(const struct neigh_shares *s)
{
	const uint32_t least = 2 * NEIGH_TRIES * QUESTION;

	return (struct limit){s->asks, s->asks > least ? s->asks : least};
}

// Takes all requests that may be needed to find a target at once, so that the limit covers the
// retries, too.
bool neigh_shares_pay(struct neigh_shares *s, uint8_t share, uint64_t now_ms)
{
	const struct limit l = limit_of(s);
	const uint64_t now_ns = now_ms * BUCKET_MS;

	if (share == NEIGH_SHARE_NONE)
		return true;
	if (bucket_see(&s->one[share], &l, now_ns) < NEIGH_TRIES * QUESTION)
		return false;
	bucket_spend(&s->one[share], &l, NEIGH_TRIES * QUESTION, now_ns);
	return true;
}

void neigh_shares_back(struct neigh_shares *s, uint8_t share, unsigned int questions)
{
	const struct limit l = limit_of(s);

	ASSERT(share <= NEIGH_SHARE_NONE && questions <= NEIGH_TRIES);
	if (share != NEIGH_SHARE_NONE)
		bucket_give(&s->one[share], &l, questions * QUESTION);
}
