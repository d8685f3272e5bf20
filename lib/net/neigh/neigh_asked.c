// SPDX-License-Identifier: BSD-3-Clause
// Recent requests of the workers: a word for each target, in sets of a few words. There is no lock;
// a word is replaced as a whole, and in a full set the oldest one is replaced. A lost word, or one
// mistaken for another target's, costs a worker one answer or one message: it asks again.
#include "neigh/neigh_asked.h"
#include "invariant.h"
#include "net_int.h"

#define SETS 16384
#define WAYS 4
#define TICK_MS 16
#define ANSWER_TICKS (1024 / TICK_MS) // for an answer, until the next request
#define CLAIM_TICKS (65536 / TICK_MS) // for claims: entries in use are requested twice in it
#define CLAIMS 3 // claims accepted per request
#define TRIES 4 // tries to replace a word that other workers write
#define TAG_SHIFT 46
#define ANSWERS 15 // most outstanding answers of each kind

struct neigh_asked {
	struct hash_key key;
	uint64_t word[SETS][WAYS];
};

// An unpacked word.
struct asked {
	uint32_t tag; // 18 bits of the target's hash
	uint32_t ticks; // 20 bits: time of the last request; they wrap after four hours
	uint16_t owner; // hash of the known MAC
	uint8_t any, from_owner; // outstanding answers: of any host, of the owner
	uint8_t claims; // claims that may still be forwarded
};

static uint64_t pack_word(const struct asked *k)
{
	ASSERT(k->tag >> (64 - TAG_SHIFT) == 0 && k->ticks <= 0xfffff);
	ASSERT(k->any <= ANSWERS && k->from_owner <= ANSWERS && k->claims <= CLAIMS);
	return (uint64_t)k->tag << TAG_SHIFT | (uint64_t)k->ticks << 26 | (uint64_t)k->owner << 10 |
		(uint64_t)k->any << 6 | (uint64_t)k->from_owner << 2 | k->claims;
}

static struct asked unpack_word(uint64_t word)
{
	return (struct asked){.tag = (uint32_t)(word >> TAG_SHIFT),
		.ticks = (uint32_t)(word >> 26) & 0xfffff,
		.owner = (uint16_t)(word >> 10),
		.any = (uint8_t)(word >> 6 & 15),
		.from_owner = (uint8_t)(word >> 2 & 15),
		.claims = (uint8_t)(word & 3)};
}

size_t neigh_asked_size(void)
{
	return sizeof(struct neigh_asked);
}

struct neigh_asked *neigh_asked_create(void *mem, const struct hash_key *key)
{
	struct neigh_asked *a = mem;

	memset(a, 0, sizeof(*a));
	a->key = *key;
	return a;
}

static uint32_t ticks_of(uint64_t now_ms)
{
	return (uint32_t)(now_ms / TICK_MS) & 0xfffff;
}

// Clocks of workers differ by up to one round, so a request may have the next tick.
static uint32_t ticks_since(const struct asked *k, uint32_t now)
{
	const uint32_t ticks = (now - k->ticks) & 0xfffff;

	return ticks < 0xffff0 ? ticks : 0;
}

static uint16_t owner_of(const struct neigh_asked *a, const uint8_t mac[6])
{
	const struct addr m = {.b = {mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]}};

	return (uint16_t)hash_addr(&a->key, &m, 1);
}

// Returns the set of a target, and its tag there. No tag equals that of an unused word.
static uint64_t *set_of(
	struct neigh_asked *a, const struct addr *target, uint8_t port, uint32_t *tag)
{
	const uint64_t h = hash_addr(&a->key, target, (uint64_t)port << 8);

	*tag = (uint32_t)(h >> TAG_SHIFT);
	*tag += *tag == 0;
	return a->word[h % SETS];
}

// Returns the word of a tag and its current value in *seen, or NULL if there is no such word.
static uint64_t *find_word(uint64_t *set, uint32_t tag, uint64_t *seen)
{
	for (unsigned int i = 0; i < WAYS; i++) {
		*seen = __atomic_load_n(&set[i], __ATOMIC_RELAXED);
		if (*seen >> TAG_SHIFT == tag)
			return &set[i];
	}
	return NULL;
}

static uint64_t *find_oldest(uint64_t *set, uint32_t now, uint64_t *seen)
{
	uint64_t *slot = set;
	uint32_t most = 0;

	for (unsigned int i = 0; i < WAYS; i++) {
		const uint64_t word = __atomic_load_n(&set[i], __ATOMIC_RELAXED);
		const struct asked k = unpack_word(word);
		const uint32_t ticks = word == 0 ? UINT32_MAX : ticks_since(&k, now);

		if (i == 0 || ticks > most) {
			most = ticks;
			slot = &set[i];
			*seen = word;
		}
	}
	return slot;
}

static bool replace_word(uint64_t *slot, uint64_t seen, const struct asked *k)
{
	return __atomic_compare_exchange_n(
		slot, &seen, pack_word(k), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

// Changes by a request: outstanding answers, and the known owner of the target.
struct added {
	const uint8_t *owner; // NULL: unchanged
	uint8_t from_owner, any;
};

static void note_target(struct neigh_asked *a, const struct addr *target, uint8_t port,
	const struct added *add, uint64_t now_ms)
{
	const uint32_t now = ticks_of(now_ms);
	uint32_t tag;
	uint64_t *set = set_of(a, target, port, &tag), *slot, seen;

	for (unsigned int i = 0; i < TRIES; i++) {
		struct asked k = {.tag = tag};

		slot = find_word(set, tag, &seen);
		if (slot != NULL)
			k = unpack_word(seen);
		else
			slot = find_oldest(set, now, &seen);
		if (ticks_since(&k, now) > ANSWER_TICKS)
			k.from_owner = k.any = 0;
		if (add->owner != NULL)
			k.owner = owner_of(a, add->owner);
		k.from_owner = k.from_owner + add->from_owner < ANSWERS
			? k.from_owner + add->from_owner
			: ANSWERS;
		k.any = k.any + add->any < ANSWERS ? k.any + add->any : ANSWERS;
		k.claims = CLAIMS;
		k.ticks = now;
		if (replace_word(slot, seen, &k))
			return;
	}
}

void neigh_asked_note(struct neigh_asked *a, const struct neigh_ask *ask, uint64_t now_ms)
{
	const struct added add = {.owner = ask->unicast ? ask->mac : NULL,
		.from_owner = ask->unicast,
		.any = !ask->unicast};

	note_target(a, &ask->target, ask->port, &add, now_ms);
}

void neigh_asked_owner(struct neigh_asked *a, const struct addr *target, uint8_t port,
	const uint8_t mac[6], uint64_t now_ms)
{
	note_target(a, target, port, &(struct added){.owner = mac}, now_ms);
}

// Takes an answer or a claim from a word. False if none is left, or the message is not wanted.
static bool consume_message(struct asked *k, bool answer, bool claim, uint32_t ticks)
{
	if (answer && ticks <= ANSWER_TICKS && !claim && k->from_owner > 0)
		k->from_owner--;
	else if (answer && ticks <= ANSWER_TICKS && k->any > 0)
		k->any--;
	else if (claim && ticks <= CLAIM_TICKS && k->claims > 0)
		return k->claims-- > 0;
	else
		return false;
	k->claims = CLAIMS; // after any answer, other hosts may claim it again
	return true;
}

bool neigh_asked_for(struct neigh_asked *a, const struct net_neigh_msg *msg, uint8_t port,
	bool from_ask, uint64_t now_ms)
{
	static const uint8_t none[6];
	const struct addr *target = from_ask ? &msg->sender : &msg->target;
	const bool has_mac = memcmp(msg->mac, none, sizeof(none)) != 0;
	const uint32_t now = ticks_of(now_ms);
	uint32_t tag;
	uint64_t *set = set_of(a, target, port, &tag), *slot, seen;

	for (unsigned int i = 0; i < TRIES && (slot = find_word(set, tag, &seen)) != NULL; i++) {
		struct asked k = unpack_word(seen);
		// an answer without a MAC confirms the MAC of the owner
		const bool claim = has_mac && owner_of(a, msg->mac) != k.owner;

		if (!consume_message(&k, !from_ask && msg->solicited, claim, ticks_since(&k, now)))
			return false;
		if (replace_word(slot, seen, &k))
			return true;
	}
	return false;
}
