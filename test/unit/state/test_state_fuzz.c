// SPDX-License-Identifier: BSD-3-Clause
// State areas that were changed at random, with correct checks or without: only state that requests
// could have made is adopted, and all of it is freed again. Intended for ASan and UBSan, with areas
// in blocks of exactly their size. STATE_FUZZ_ROUNDS makes a run longer.
#include "restart_world.h"

#include <stdio.h>
#include <stdlib.h>

#include "shard.h"
#include "state/area.h"
#include "shard_rows.h"
#include "turn_listing.h"

#define ROUNDS 800
#define COVERED_ROUNDS 6000 // a longer run must have seen every reason for a loss
#define CLIENTS 24
#define DAY_MS 86400000

static struct test_rand rnd;
static struct restart r;
static uint64_t taken_up, refused, lost[TURN_STATE_LOST_END];

static uint32_t below(uint32_t bound)
{
	return test_rand_below(&rnd, bound);
}

// --- servers ---------------------------------------------------------------------------------

static struct turn_config random_config(bool shared)
{
	static struct prefix deny;
	struct turn_config c = fixture_config();

	deny = (struct prefix){fixture_endpoint("198.51.100.1", 0).addr, 128};
	c.workers = 1 + below(3);
	c.port_hi = (uint16_t)(c.port_lo + 31);
#ifdef FEATURE_SHARED
	if (shared) {
		c.limits.allocations = 64;
		c.shared = (struct turn_shared){.enabled = true, .peers = 8, .peer_share = 100};
	}
#endif
	c.limits.per_user = below(3) == 0 ? 5 : 0;
	c.limits.permissions = 1 + below(8);
	c.limits.channels = 1 + below(4);
	c.quarantine_s = below(2) * 60;
	c.first.nb_users = 1 + below(2);
	c.hairpin = below(2);
	c.client_deny = &deny;
	c.nb_client_deny = below(4) == 0;
	return c;
}

static struct stun_writer *begin(const struct fixture_client *c, enum stun_method method)
{
	struct fixture *f = restart_first(&r, c);

	fixture_begin(f, STUN_REQUEST, method);
	return &f->w;
}

static void allocate(struct fixture_client *c, bool pair, int family)
{
	struct stun_writer *w = begin(c, STUN_ALLOCATE);

	stun_put_u32(w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	if (pair)
		stun_put(w, STUN_EVEN_PORT, (const uint8_t[]){0x80}, 1);
	else
		stun_put_u32(w, STUN_REQUESTED_ADDRESS_FAMILY, family == 4 ? 1u << 24 : 2u << 24);
	restart_ask(&r, c, NULL);
}

static void ask_peer(
	struct fixture_client *c, enum stun_method method, const char *peer, uint32_t n)
{
	const struct endpoint e = fixture_endpoint(peer, 7000);
	struct stun_writer *w = begin(c, method);

	if (method == STUN_CHANNEL_BIND)
		stun_put_u32(w, STUN_CHANNEL_NUMBER, n << 16);
	stun_put_xor_addr(w, STUN_XOR_PEER_ADDRESS, &e);
	restart_ask(&r, c, NULL);
}

// Requests of all kinds, whatever their answers.
static void populate(void)
{
	for (unsigned int i = 0; i < CLIENTS; i++) {
		const int family = i % 3 == 0 ? 6 : 4;
		const char *const peer = family == 4 ? "10.98.0.1" : "fd99::10";
		struct fixture_client c = (i % 2 ? fixture_eve : fixture_client)(
			"198.51.100.1", (uint16_t)(5000 + i));

		c.endpoint.addr.b[15] = (uint8_t)(1 + i % 4);
		allocate(&c, i % 5 == 0, family);
		ask_peer(&c, STUN_CHANNEL_BIND, peer, 0x4000 + i % 3);
		ask_peer(&c, STUN_CREATE_PERMISSION, family == 4 ? "10.98.0.2" : "fd99::11", 0);
	}
}

// --- mutation ------------------------------------------------------------------------------------

static uint64_t edge(void)
{
	static const uint64_t edges[] = {0, 1, 2, 3, 0x3fff, 0x4000, 0x4001, 0x7fff, 0x8000, 0xffff,
		49999, 50000, 50001, 50031, 50032, 255, 256, UINT32_MAX, UINT32_MAX - 1,
		(uint64_t)1 << 38, UINT64_MAX};

	return below(2) ? edges[below(sizeof(edges) / sizeof(edges[0]))] : test_rand(&rnd);
}

// Overwrites a field of a record, or any byte of it.
static void spoil(uint8_t *record, const char *kind)
{
	unsigned int nb, first, count = 0;
	const struct turn_state_field *f = turn_state_fields(&nb);
	const uint64_t value = edge();

	for (first = 0; strcmp(f[first].record, kind) != 0; first++)
		;
	while (first + count < nb && strcmp(f[first + count].record, kind) == 0)
		count++;
	f = &f[first + 1 + below(count - 1)];
	if (below(3) > 0)
		memcpy(record + f->offset, &value, f->size < 8 ? f->size : 8);
	else
		record[f->offset + below(f->size)] ^= (uint8_t)(1 << below(8));
}

static uint64_t random_time(uint64_t word)
{
	switch (below(4)) {
	case 0:
		return r.boot_ms + below(4000000);
	case 1:
		return (r.boot_ms - below(100000)) | STATE_ENDED;
	case 2:
		return (edge() & (STATE_TIME_MASK | STATE_ENDED)) | 1;
	default:
		return state_time(word);
	}
}

static struct state_header *header(void)
{
	return &r.area->header;
}

static void spoil_alloc(const struct state_part *p, uint32_t i)
{
	struct state_alloc *a = (struct state_alloc *)((uint8_t *)r.area + p->alloc_at);
	struct state_alloc *copy = &a[below(4) ? i : below(p->nb_slots)];

	*copy = a[i];
	if (below(3) > 0)
		spoil((uint8_t *)copy, "state_alloc");
	if (below(8) == 0)
		return; // with the wrong check
	copy->digest = state_digest_alloc(&header()->record_key, copy);
	copy->word = state_word(&header()->record_key, copy->digest,
		STATE_ARRAY_ALLOC | (uint32_t)(copy - a), random_time(copy->word));
}

static void spoil_permission(const struct state_part *p, uint32_t i)
{
	struct state_permission *a =
		(struct state_permission *)((uint8_t *)r.area + p->permission_at);
	struct state_permission *copy = &a[below(4) ? i : below(p->nb_permissions)];

	*copy = a[i];
	if (below(3) > 0)
		spoil((uint8_t *)copy, "state_permission");
	if (below(8) > 0)
		copy->word = state_word(&header()->record_key,
			state_digest_permission(&header()->record_key, copy),
			STATE_ARRAY_PERMISSION | (uint32_t)(copy - a), random_time(copy->word));
}

static void spoil_channel(uint64_t offset, uint32_t nb, uint64_t array, uint32_t i)
{
	struct state_channel *a = (struct state_channel *)((uint8_t *)r.area + offset);
	struct state_channel *copy = &a[below(4) ? i : below(nb)];

	*copy = a[i];
	if (below(3) > 0)
		spoil((uint8_t *)copy, "state_channel");
	if (below(8) > 0)
		copy->word = state_word(&header()->record_key,
			state_digest_channel(&header()->record_key, copy),
			array | (uint32_t)(copy - a), random_time(copy->word));
}

// One of the few indexes in use, or any.
static uint32_t index_of(uint32_t nb)
{
	const uint32_t most = below(4) ? 80 : nb;

	return below(most < nb ? most : nb);
}

static void spoil_records(void)
{
	const struct state_part *p = state_part(header(), below(header()->workers));

	switch (below(4)) {
	case 0:
		return spoil_alloc(p, below(p->nb_slots));
	case 1:
		return spoil_permission(p, index_of(p->nb_permissions));
	case 2:
		return spoil_channel(p->channel_at, p->nb_channels, STATE_ARRAY_CHANNEL,
			index_of(p->nb_channels));
	default:
		if (p->nb_endpoints > 0)
			spoil_channel(p->endpoint_at, p->nb_endpoints, STATE_ARRAY_ENDPOINT,
				index_of(p->nb_endpoints));
	}
}

// Changes the header or a table, in half of the cases with the correct check.
static void spoil_header(void)
{
	struct state_header *h = header();
	const uint64_t end = h->parts_at + h->workers * sizeof(struct state_part);
	const struct state_header was = *h;

	if (below(3) == 0) {
		spoil((uint8_t *)h, "state_header");
		if (h->parts_at != was.parts_at || h->workers != was.workers)
			return;
	} else if (below(2)) {
		spoil((uint8_t *)state_part(h, below(h->workers)), "state_part");
	} else {
		((uint8_t *)h)[below((uint32_t)end)] ^= (uint8_t)(1 << below(8));
	}
	if (below(2) && h->parts_at == was.parts_at && h->workers == was.workers)
		h->check = state_header_check(h);
}

// --- checks ----------------------------------------------------------------------------------

static void judge_allocation(const struct turn_shard *s, const struct turn_info *row)
{
	const struct turn_limits *l = &s->policy->limits;
	struct turn_detail d;
	unsigned int worker;
	uint32_t slot;
	const int relay = turn_relay_map_find(s->map, &row->relay.addr);

	assert_true(relay >= 0);
	assert_true(
		turn_relay_map_home(s->map, (unsigned int)relay, row->relay.port, &worker, &slot));
	assert_int_equal(worker, s->worker);
	assert_int_equal(row->transport, TURN_OVER_UDP);
	assert_in_range(row->expires_s, 1, l->lifetime_max_s);
	assert_true(turn_listing_show(s, row->id, 0, &d));
	assert_in_range(row->permissions, 0, l->permissions);
	assert_in_range(row->channels, 0, l->channels);
	for (unsigned int i = 0; i < d.nb_permissions; i++) {
		const enum turn_peer_class class =
			turn_policy_peer(s->policy, &d.permission[i].peer, 1);

		assert_true(class == TURN_PEER_ALLOW || class == TURN_PEER_OWN);
		assert_int_equal(addr_is_v4(&d.permission[i].peer), addr_is_v4(&row->relay.addr));
		assert_in_range(d.permission[i].left_s, 0, 600); // that of a ChannelBind
	}
	for (unsigned int i = 0; i < d.nb_channels; i++) {
		assert_in_range(d.channel[i].number, 0x4000, 0x4fff);
		assert_int_not_equal(d.channel[i].peer.port, 0);
		assert_in_range(d.channel[i].left_s, 1, 600);
	}
}

// The counters of every shard are consistent, and no relayed transport address or client has two
// allocations.
static void judge(void)
{
	static struct turn_info row[RESTART_WORKERS * 256];
	uint64_t held[3] = {0};
	unsigned int nb = 0;

	for (unsigned int w = 0; w < r.nb; w++) {
		const struct turn_shard *s = r.worker[w].shard;
		const struct turn_stats stats = fixture_stats(&r.worker[w]);
		const unsigned int n = shard_rows(s, &row[nb], 256);

		assert_int_equal(n, stats.allocations);
		for (unsigned int i = nb; i < nb + n; i++) {
			judge_allocation(s, &row[i]);
			held[1] += row[i].permissions;
			held[2] += row[i].channels;
		}
		nb += n;
		held[1] -= stats.permissions;
		held[2] -= stats.channels;
	}
	assert_int_equal(held[1], 0);
	assert_int_equal(held[2], 0);
	assert_int_equal(nb, r.adopted.allocations);
	assert_int_equal(turn_quota_total(r.worker[0].quota),
		r.adopted.allocations + r.adopted.reservations);
	for (unsigned int i = 0; i < nb; i++)
		for (unsigned int k = 0; k < i; k++) {
			assert_false(endpoint_eq(&row[i].client, &row[k].client) &&
				row[i].listener == row[k].listener);
			assert_false(!turn_config_shares_ports(&r.worker[0].config) &&
				endpoint_eq(&row[i].relay, &row[k].relay));
		}
}

// After a day everything has ended.
static void judge_end(void)
{
	uint64_t redirects = 0;

	for (unsigned int i = 0; i < 3; i++) {
		restart_advance(&r, DAY_MS);
		for (unsigned int w = 0; w < r.nb; w++)
			while (turn_shard_expire(r.worker[w].shard))
				restart_notes(&r);
		restart_notes(&r);
	}
	for (unsigned int w = 0; w < r.nb; w++) {
		const struct turn_stats stats = fixture_stats(&r.worker[w]);

		assert_int_equal(stats.allocations + stats.permissions + stats.channels, 0);
		assert_int_equal(stats.endpoints, 0);
		redirects += stats.redirects;
	}
	assert_int_equal(redirects, 0);
	assert_int_equal(turn_quota_total(r.worker[0].quota), 0);
}

static void round_of(const struct turn_config *c, const uint8_t *area, size_t size)
{
	const struct restart was = r;

	restart_die(&r);
	r.area = malloc(size);
	assert_non_null(r.area);
	memcpy(r.area, area, size);
	if (below(4) == 0)
		spoil_header();
	else
		for (uint32_t n = below(12); n > 0; n--)
			spoil_records();
	if (turn_state_check(r.area, size, r.boot_id) != TURN_STATE_GOOD) {
		refused++;
		memcpy(r.area, area, size);
	}
	restart_up(&r, c, below(2) ? below(700000) : 0);
	for (unsigned int i = 0; i < TURN_STATE_LOST_END; i++)
		lost[i] += r.adopted.lost[i];
	taken_up += r.adopted.allocations;
	judge();
	judge_end();
	free(was.area);
}

static void test_fuzz(void **state)
{
	const char *env = getenv("STATE_FUZZ_ROUNDS");
	const unsigned int rounds = env != NULL ? (unsigned int)strtoul(env, NULL, 0) : ROUNDS;

	rnd = test_rand_start("state fuzz");
	for (unsigned int i = 0; i < rounds; i++) {
		const bool shared = below(4) == 0;
		struct turn_config before = random_config(shared);
		const struct turn_config after = random_config(below(8) ? shared : !shared);
		size_t size;
		uint8_t *area;

		before.limits.per_user = 0;
		before.nb_client_deny = 0;
		before.first.nb_users = 2;
		before.limits.permissions = before.limits.channels = 8;
		restart_open(&r, &before, test_rand(&rnd));
		populate();
		size = r.size;
		area = malloc(size);
		assert_non_null(area);
		memcpy(area, r.area, size);
		round_of(&after, area, size);
		free(area);
		restart_close(&r);
	}
	printf("%llu allocations taken up, %llu areas refused\n", (unsigned long long)taken_up,
		(unsigned long long)refused);
	for (unsigned int i = 0; i < TURN_STATE_LOST_END; i++)
		printf("  %s: %llu\n", turn_state_loss_name(i), (unsigned long long)lost[i]);
	// a run that has not seen a reason has not tested it
	for (unsigned int i = 0; i < TURN_STATE_LOST_END; i++)
		assert_true(rounds < COVERED_ROUNDS || lost[i] > 0 || i == TURN_STATE_LOST_STREAM ||
			i == TURN_STATE_LOST_LISTENER || i == TURN_STATE_LOST_HALF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_fuzz)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
