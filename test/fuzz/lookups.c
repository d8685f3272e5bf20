// SPDX-License-Identifier: BSD-3-Clause
// Users who are looked up. The thread that asks is this file: it answers at once, later, twice,
// wrongly, or never.
#include "fuzz.h"

#ifdef FEATURE_LOOKUP
#include "dp_lookup.h"

#define KEPT 16

static struct dp_lookup_question kept[KEPT]; // to answer later

void fuzz_lookups_pick(struct dp_world *w)
{
	struct turn_config *t = &w->conf.turn;

	if (!chance(40))
		return;
	t->lookup = (struct turn_lookup){.enabled = true,
		.sha256 = true,
		.users = 64,
		.questions = 16,
		.waiting = chance(50) ? 1 : 8,
		.deadline_ms = chance(50) ? 10 : 1000,
		.each = {below(1000), 1 + below(1000)}};
	t->first.looked_up = 1;
	if (!chance(70))
		return;
	// ivan is looked up, and eve is not
	fuzz.users[0] = fuzz.users[1];
	t->first.nb_users = 1;
}

uint32_t fuzz_lookups_on(void)
{
	return fuzz.world.conf.turn.first.looked_up;
}

// The answer that slipring-accounts would give.
static struct turn_lookup_answer answer_to(const struct dp_lookup_question *q)
{
	struct turn_lookup_answer a = {.id = q->id,
		.result = TURN_LOOKUP_UNKNOWN,
		.lifetime_s = below(60),
		.stale_s = below(60)};
	const struct stun_credential ivan = {"ivan", 4, WORLD_REALM, "pw", 2};
	struct stun_key md5, sha256;

	if (q->name_len != 4 || memcmp(q->name, "ivan", 4) != 0)
		return a;
	assert_true(stun_key_make(fuzz.world.crypto, STUN_ALG_MD5, &ivan, &md5));
	assert_true(stun_key_make(fuzz.world.crypto, STUN_ALG_SHA256, &ivan, &sha256));
	a.result = TURN_LOOKUP_KEYS;
	a.has_md5 = a.has_sha256 = true;
	memcpy(a.md5, md5.bytes, sizeof(a.md5));
	memcpy(a.sha256, sha256.bytes, sizeof(a.sha256));
	return a;
}

static void answer(const struct dp_lookup_question *q)
{
	struct turn_lookup_answer a = answer_to(q);

	if (chance(10))
		a.result = TURN_LOOKUP_NO_ANSWER;
	if (chance(3))
		a.id ^= UINT64_C(1) << below(64);
	do
		dp_lookup_answer(fuzz.world.dp, &a);
	while (chance(5));
}

static void send_secret(void)
{
	struct turn_lookup_secret secret = {.list = below(4),
		.index = (uint8_t)below(3),
		.nb = (uint8_t)below(4),
		.realm = WORLD_REALM,
		.secret = "s3cret"};

	dp_lookup_secret(fuzz.world.dp, &secret);
}

void fuzz_lookups_round(void)
{
	struct dp_lookup_question q[8];
	unsigned int n;

	if (fuzz_lookups_on() == 0 || chance(50))
		return;
	n = dp_lookup_take(fuzz.world.dp, q, RTE_DIM(q));
	for (unsigned int i = 0; i < n; i++) {
		if (chance(60))
			answer(&q[i]);
		else if (chance(80)) // else never
			kept[below(KEPT)] = q[i];
	}
	if (chance(20)) // an answer may be late, given before, or to a question of another world
		answer(&kept[below(KEPT)]);
	if (chance(1))
		send_secret();
}
#else
void fuzz_lookups_pick(struct dp_world *w)
{
}

uint32_t fuzz_lookups_on(void)
{
	return 0;
}

void fuzz_lookups_round(void)
{
}
#endif
