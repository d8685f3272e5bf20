// SPDX-License-Identifier: BSD-3-Clause
// Events of a shard about allocations and refused requests: when, how often, and their contents.
#include <stdio.h>
#include <stdlib.h>

#include "addr_text.h"
#include "alloc.h"
#include "shard_rows.h"
#include "stun.h"
#include "turn_fixture.h"

static struct fixture f;
static struct fixture_client ivan;

static int setup(void **state)
{
	*state = &f;
	ivan = fixture_open_ivan(&f);
	return 0;
}

static void reopen(const struct turn_config *c)
{
	fixture_close(&f);
	fixture_open(&f, c, 1);
	ivan = fixture_client("198.51.100.7", 5000);
}

static void assert_name(const struct turn_event *e, const char *name)
{
	assert_int_equal(e->name_len, strlen(name));
	assert_memory_equal(e->name, name, strlen(name));
}

static void assert_of_ivan(const struct turn_event *e, enum turn_event_kind kind)
{
	struct turn_info row;

	assert_int_equal(e->kind, kind);
	assert_true(endpoint_eq(&e->client, &ivan.endpoint));
	assert_true(endpoint_eq(&e->relay, &ivan.relay));
	assert_int_equal(e->listener, ivan.listener);
	assert_int_equal(e->worker, 0);
	assert_true(e->proved);
	assert_int_equal(e->more, 0);
	assert_int_equal(e->at_ms, f.now_ms);
	assert_int_equal(e->wall_s, f.wall_s);
	if (kind == TURN_EVENT_ENDED)
		return;
	assert_int_equal(shard_rows(f.shard, &row, 1), 1);
	assert_true(row.id == e->id);
}

// --- allocations ---------------------------------------------------------------------------------

static void an_allocation_is_told_from_beginning_to_end(void **state)
{
	uint64_t id;

	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(f.told.nb, 1); // the challenge before it causes no event
	assert_of_ivan(fixture_event(&f, 0), TURN_EVENT_MADE);
	assert_int_equal(fixture_event(&f, 0)->lifetime_s, 600);
	assert_name(fixture_event(&f, 0), "ivan");
	id = fixture_event(&f, 0)->id;
	assert_true(id != 0);
	fixture_resend(&f, &ivan); // answered, and not allocated again
	assert_int_equal(fixture_code(&f), 0);
	assert_int_equal(f.told.nb, 1);
	fixture_advance(&f, 90500);
	assert_int_equal(fixture_refresh(&f, &ivan, 0), 0);
	assert_int_equal(f.told.nb, 2);
	assert_of_ivan(fixture_event(&f, 0), TURN_EVENT_ENDED);
	assert_int_equal(fixture_event(&f, 0)->reason, TURN_END_CLIENT);
	assert_in_range(fixture_event(&f, 0)->lifetime_s, 90, 91);
	assert_true(fixture_event(&f, 0)->id == id);
	assert_name(fixture_event(&f, 0), "ivan");
}

// The address as the client sees it, not the inside one.
static void events_have_the_external_relay_address(void **state)
{
	struct turn_config c = fixture_config();
	struct turn_local local[2];

	memcpy(local, c.local, sizeof(local));
	local[0].external = addr_text("203.0.113.1");
	c.local = local;
	reopen(&c);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_true(addr_eq(&ivan.relay.addr, &local[0].external));
	assert_of_ivan(fixture_event(&f, 0), TURN_EVENT_MADE);
	assert_int_equal(fixture_refresh(&f, &ivan, 0), 0);
	assert_of_ivan(fixture_event(&f, 0), TURN_EVENT_ENDED);
	fixture_close(&f);
	ivan = fixture_open_ivan(&f);
}

static void every_kind_of_end_is_reported(void **state)
{
	struct fixture_client again = ivan;
	uint32_t left_ms;

	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	fixture_advance(&f, 601000);
	fixture_expire(&f);
	assert_int_equal(f.told.ended[TURN_END_EXPIRED], 1);
	// expired, and found by a request before it is swept
	assert_int_equal(fixture_allocate(&f, &again, 4), 0);
	fixture_advance(&f, 600000);
	again.nonce_len = 0;
	assert_int_equal(fixture_allocate(&f, &again, 4), 0);
	assert_int_equal(f.told.ended[TURN_END_EXPIRED], 2);
	assert_int_equal(f.told.made, 3);
	alloc_end_client(f.shard, turn_shard_client(f.shard, &f.burst.view[0], &left_ms),
		TURN_END_CONNECTION);
	assert_int_equal(f.told.ended[TURN_END_CONNECTION], 1);
	assert_int_equal(fixture_event(&f, 0)->reason, TURN_END_CONNECTION);
	assert_int_equal(fixture_allocate(&f, &again, 4), 0);
	turn_shard_close(f.shard);
	assert_int_equal(f.told.ended[TURN_END_STOPPED], 1);
	assert_int_equal(f.told.made, 4);
}

static void refreshes_are_told_by_the_period(void **state)
{
	struct turn_config c = fixture_config();

	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	for (int i = 0; i < 10; i++) { // never, unless configured
		fixture_advance(&f, 60000);
		ivan.nonce_len = 0;
		assert_int_equal(fixture_refresh(&f, &ivan, 600), 0);
	}
	assert_int_equal(f.told.interim, 0);
	c.interim_s = 300;
	reopen(&c);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	for (int s = 0; s < 70000; s += 100) { // more than 16 bits of seconds
		assert_int_equal(f.told.interim, s / 300);
		fixture_advance(&f, 100000);
		ivan.nonce_len = 0;
		assert_int_equal(fixture_refresh(&f, &ivan, 777), 0);
	}
	fixture_advance(&f, 200000);
	ivan.nonce_len = 0;
	assert_int_equal(fixture_refresh(&f, &ivan, 777), 0);
	assert_int_equal(f.told.interim, 234);
	assert_of_ivan(fixture_event(&f, 0), TURN_EVENT_INTERIM);
	assert_int_equal(fixture_event(&f, 0)->lifetime_s, 777);
	assert_name(fixture_event(&f, 0), "ivan");
}

// A new permission is told once, however it is made: not its refreshes, nor the channels to it.
static void new_peers_are_told(void **state)
{
	struct turn_config c = fixture_config();

	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.9"), 0);
	assert_int_equal(f.told.peers, 0); // unless configured
	c.tells_peers = true;
	reopen(&c);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.9"), 0);
	assert_of_ivan(fixture_event(&f, 0), TURN_EVENT_PEER);
	assert_name(fixture_event(&f, 0), "ivan");
	assert_true(endpoint_eq(
		&fixture_event(&f, 0)->peer, &(struct endpoint){addr_text("10.99.0.9"), 0}));
	for (int i = 0; i < 3; i++) {
		fixture_advance(&f, 200000);
		ivan.nonce_len = 0;
		assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.9"), 0);
		assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "10.99.0.9", 7000), 0);
		assert_int_equal(fixture_refresh(&f, &ivan, 600), 0);
	}
	assert_int_equal(f.told.peers, 1);
	assert_int_equal(fixture_bind(&f, &ivan, 0x4001, "10.99.0.10", 7000), 0);
	assert_int_equal(f.told.peers, 2);
	assert_int_equal(fixture_permit(&f, &ivan, "192.0.2.1"), 403);
	assert_int_equal(f.told.peers, 2);
	assert_int_equal(fixture_refresh(&f, &ivan, 0), 0);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.9"), 0); // of another allocation
	assert_int_equal(f.told.peers, 3);
}

// A user that makes permissions and drops them with the allocation, again and again, gets records
// of some. Peers of other users still get theirs.
static void a_flood_of_peers_is_told_in_part(void **state)
{
	struct fixture_client eve = fixture_eve("198.51.100.8", 5000);
	struct turn_config c = fixture_config();
	unsigned int asked = 0;
	char peer[16];

	c.tells_peers = true;
	reopen(&c);
	for (int round = 0; round < 50; round++) {
		assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
		for (int i = 1; i <= 10; i++, asked++) {
			snprintf(peer, sizeof(peer), "10.99.0.%d", 100 + i);
			assert_int_equal(fixture_permit(&f, &ivan, peer), 0);
		}
		assert_int_equal(fixture_refresh(&f, &ivan, 0), 0);
	}
	assert_int_equal(asked, 500);
	assert_in_range(f.told.peers, 256, 300);
	assert_int_equal(f.told.peers + fixture_stats(&f).peers_untold, asked);
	f.told.peers = 0;
	assert_int_equal(fixture_allocate(&f, &eve, 4), 0);
	assert_int_equal(fixture_permit(&f, &eve, "10.99.0.9"), 0);
	assert_int_equal(f.told.peers, 1);
	fixture_advance(&f, 10000);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.9"), 0);
	assert_int_equal(f.told.peers, 2);
}

static void the_end_says_how_much_was_relayed(void **state)
{
	const struct endpoint peer = fixture_endpoint("10.99.0.9", 7000);
	const unsigned int to_peer = 40000, to_client = 70000; // more than a line can count

	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "10.99.0.9", 7000), 0);
	for (unsigned int i = 0; i < to_peer; i++)
		fixture_channel_data(&f, &ivan, 0x4000, "x", 1);
	for (unsigned int i = 0; i < to_client; i++)
		fixture_from_peer(&f, &ivan.relay, &peer, "x", 1);
	assert_int_equal(f.told.nb, 1); // relayed data causes no event
	assert_int_equal(fixture_refresh(&f, &ivan, 0), 0);
	assert_int_equal(fixture_event(&f, 0)->usage.leg[TURN_FROM_CLIENT].datagrams, to_peer);
	assert_int_equal(fixture_event(&f, 0)->usage.leg[TURN_FROM_PEER].datagrams, to_client);
}

// The name as sent, up to the available room; with USERHASH the configured name.
static void names_are_those_of_requests(void **state)
{
	const char *const longest =
		"a-name-of-more-than-sixty-four-bytes-is-cut-where-the-room-for-it-ends";
	struct turn_config c = fixture_config();
	struct turn_user users[1] = {{.name = (char *)longest, .password = (char *)"pw"}};

	c.first.users = users;
	c.first.nb_users = 1;
	c.first.nb_secrets = 0;
	reopen(&c);
	ivan.user = longest;
	for (int hash = 0; hash < 2; hash++) {
		ivan.userhash = hash == 1;
		ivan.alg = hash == 1 ? STUN_ALG_SHA256 : STUN_ALG_MD5;
		ivan.password = "wrong";
		fixture_advance(&f, 10000);
		assert_int_equal(fixture_allocate(&f, &ivan, 4), 401);
		assert_int_equal(fixture_event(&f, 0)->name_len, 64);
		assert_memory_equal(fixture_event(&f, 0)->name, longest, 64);
		ivan.password = "pw";
		assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
		assert_int_equal(fixture_event(&f, 0)->name_len, 64);
		assert_memory_equal(fixture_event(&f, 0)->name, longest, 64);
		assert_int_equal(fixture_refresh(&f, &ivan, 0), 0);
		assert_int_equal(fixture_event(&f, 0)->name_len, TURN_NAME_LEN);
		assert_memory_equal(fixture_event(&f, 0)->name, longest, TURN_NAME_LEN);
	}
	// a hash of no user
	ivan.user = "nobody";
	fixture_advance(&f, 10000);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 401);
	assert_int_equal(fixture_event(&f, 0)->reason, TURN_REFUSED_USER_UNKNOWN);
	assert_int_equal(fixture_event(&f, 0)->name_len, 0);
}

// --- refusals ------------------------------------------------------------------------------------

// RFC 8489 6.2.1: over UDP a client sends a request up to seven times.
static void retransmissions_are_one_attempt(void **state)
{
	uint64_t after_ms = 500;

	ivan.password = "wrong";
	assert_int_equal(fixture_allocate(&f, &ivan, 0), 401);
	for (int i = 0; i < 6; i++) {
		fixture_advance(&f, after_ms);
		fixture_expire(&f);
		fixture_resend(&f, &ivan);
		assert_int_equal(fixture_code(&f), 401);
		after_ms *= 2;
	}
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_PASSWORD], 7);
	assert_int_equal(fixture_stats(&f).auth_failures, 1);
	assert_int_equal(f.told.nb, 1);
	// another transaction is another attempt, and so is another 5-tuple
	assert_int_equal(fixture_allocate(&f, &ivan, 0), 401);
	assert_int_equal(fixture_stats(&f).auth_failures, 2);
	ivan.endpoint.port++;
	ivan.nonce_len = 0;
	f.tids -= 1; // asks for a nonce first, and then uses that transaction id again
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	f.tids -= 2;
	assert_int_equal(fixture_ask(&f, &ivan), 401);
	assert_int_equal(fixture_stats(&f).auth_failures, 3);
	fixture_advance(&f, FIXTURE_NOW_MS);
	fixture_expire(&f);
	assert_int_equal(f.told.refused[TURN_REFUSED_PASSWORD], 3);
}

// An attacker may use one transaction id for all guesses: each is a separate attempt.
static void guesses_of_one_transaction_are_attempts(void **state)
{
	static char guess[8];

	ivan.password = guess;
	for (int i = 0; i < 5; i++) {
		snprintf(guess, sizeof(guess), "wrong%d", i);
		assert_int_equal(fixture_allocate(&f, &ivan, 0), 401);
		f.tids--;
	}
	assert_int_equal(fixture_stats(&f).auth_failures, 5);
}

// Steps that every client goes through, and an expired nonce: counted, without an event.
static void usual_refusals_are_no_events(void **state)
{
	for (int i = 0; i < 10; i++) {
		fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
		fixture_send(&f, &ivan);
		assert_int_equal(fixture_code(&f), 401);
	}
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_CHALLENGE], 10);
	assert_int_equal(fixture_stats(&f).auth_failures, 0);
	assert_int_equal(f.told.nb, 0);
}

// A storm from one source: an event at once, and one ten seconds later with the number of the rest.
static void a_storm_is_folded(void **state)
{
	const uint32_t storm = 5000;

	ivan.password = "wrong";
	for (uint32_t i = 0; i < storm; i++) {
		assert_int_equal(fixture_allocate(&f, &ivan, 0), 401);
		ivan.endpoint.port = (uint16_t)(5000 + i % 100);
		ivan.nonce_len = 0;
	}
	assert_int_equal(f.told.nb, 1);
	fixture_advance(&f, 10000);
	fixture_expire(&f);
	assert_int_equal(f.told.nb, 2);
	assert_int_equal(fixture_event(&f, 0)->more, storm - 1);
	assert_int_equal(fixture_stats(&f).auth_failures, storm);
	fixture_expire(&f);
	assert_int_equal(f.told.nb, 2);
}

// Refusals that a shard has counted and not reported yet are reported when it is closed.
static void nothing_is_lost_at_the_end(void **state)
{
	for (int i = 0; i < 3; i++)
		assert_int_equal(fixture_refresh(&f, &ivan, 600), 437);
	assert_int_equal(f.told.refused[TURN_REFUSED_NO_ALLOCATION], 1);
	turn_shard_close(f.shard);
	assert_int_equal(f.told.refused[TURN_REFUSED_NO_ALLOCATION], 3);
}

// Without a receiver of events, refusals are still counted.
static void counters_need_no_listener(void **state)
{
	struct turn_shard_params p = f.params;
	void *mem = aligned_alloc(64, (turn_shard_size(&p) + 63) & ~(size_t)63);
	struct turn_shard *told = f.shard;

	assert_non_null(mem);
	memset(mem, 0, turn_shard_size(&p));
	p.event = NULL;
	f.shard = turn_shard_create(mem, &p, f.now_ms);
	turn_shard_round(f.shard, f.now_ms, f.wall_s);
	assert_int_equal(fixture_refresh(&f, &ivan, 600), 437);
	ivan.password = "wrong";
	for (int i = 0; i < 3; i++) {
		assert_int_equal(fixture_allocate(&f, &ivan, 0), 401);
		fixture_resend(&f, &ivan);
	}
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_NO_ALLOCATION], 1);
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_PASSWORD], 6);
	assert_int_equal(fixture_stats(&f).auth_failures, 3);
	assert_int_equal(f.told.nb, 0);
	turn_shard_close(f.shard);
	free(mem);
	f.shard = told;
}

static void ends_have_names(void **state)
{
	for (unsigned int i = 0; i < TURN_END_END; i++) {
		assert_true(strlen(turn_end_name(i)) > 0);
		assert_true(strlen(turn_end_text(i)) > 0);
	}
	assert_null(turn_end_name(TURN_END_END));
	assert_null(turn_end_text(TURN_END_END));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_allocation_is_told_from_beginning_to_end),
		T(events_have_the_external_relay_address),
		T(every_kind_of_end_is_reported),
		T(refreshes_are_told_by_the_period),
		T(new_peers_are_told),
		T(a_flood_of_peers_is_told_in_part),
		T(the_end_says_how_much_was_relayed),
		T(names_are_those_of_requests),
		T(retransmissions_are_one_attempt),
		T(guesses_of_one_transaction_are_attempts),
		T(usual_refusals_are_no_events),
		T(a_storm_is_folded),
		T(nothing_is_lost_at_the_end),
		T(counters_need_no_listener),
		T(ends_have_names),
	};

	return cmocka_run_group_tests_name("events", tests, NULL, NULL);
}
