// SPDX-License-Identifier: BSD-3-Clause
// Users who are looked up: requests that wait for an answer, answers that hold, and answers that do
// not come.
#include "turn_fixture.h"

#include <stdio.h>

#include "feature_names.h"
#include "turn_lookup.h"

#define OLGA "olga"
#define LIFETIME_S 60
#define STALE_S 600

static struct turn_config config;
static struct fixture f;
static struct fixture_client olga;

// The last question of the shard.
static struct {
	unsigned int nb;
	bool full; // takes no question
	uint64_t id;
	uint8_t ident[TURN_IDENT_LEN];
	struct endpoint client;
	char name[TURN_LOOKUP_NAME_MAX + 1], realm[764];
} asked;

static bool ask(void *ctx, const struct turn_lookup_question *q)
{
	assert_ptr_equal(ctx, &f);
	if (asked.full)
		return false;
	asked.nb++;
	asked.id = q->id;
	memcpy(asked.ident, q->ident, sizeof(asked.ident));
	asked.client = q->client;
	snprintf(asked.name, sizeof(asked.name), "%.*s", (int)q->name_len, (const char *)q->name);
	snprintf(asked.realm, sizeof(asked.realm), "%s", q->realm);
	return true;
}

static void open_with(bool sha256)
{
	memset(&asked, 0, sizeof(asked));
	config = fixture_config();
	config.nonce_lifetime_s = 7200;
	config.lookup = (struct turn_lookup){.enabled = true,
		.sha256 = sha256,
		.users = 64,
		.questions = 16,
		.deadline_ms = 2000};
	config.first.looked_up = 1;
	fixture_open_sized(&f, &config, &(struct turn_shard_params){.ask = ask}, 1);
	olga = fixture_client("198.51.100.7", 5000);
	olga.user = OLGA;
	olga.password = "opensesame";
}

static int setup(void **state)
{
	*state = &f;
	open_with(false);
	return 0;
}

static struct stun_key key_of(enum stun_algorithm alg, const char *user, const char *password)
{
	const struct stun_credential c = {
		user, strlen(user), FIXTURE_REALM, password, strlen(password)};
	struct stun_key key;

	assert_true(stun_key_make(f.crypto, alg, &c, &key));
	return key;
}

static struct turn_lookup_answer known(const char *user, const char *password)
{
	struct turn_lookup_answer a = {.id = asked.id,
		.result = TURN_LOOKUP_KEYS,
		.has_md5 = true,
		.lifetime_s = LIFETIME_S,
		.stale_s = STALE_S};

	memcpy(a.md5, key_of(STUN_ALG_MD5, user, password).bytes, sizeof(a.md5));
	return a;
}

static struct turn_lookup_answer unknown(void)
{
	return (struct turn_lookup_answer){
		.id = asked.id, .result = TURN_LOOKUP_UNKNOWN, .lifetime_s = LIFETIME_S};
}

// Routes the last datagram again, as one that has waited.
static const struct turn_plan *go_on(void)
{
	f.burst.view[0].flags |= TURN_VIEW_WAITED;
	fixture_route(f.shard, &f.burst);
	return &f.burst.plan;
}

// Sends an Allocate of a client, which has to wait.
static void assert_waits(struct fixture_client *c)
{
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	fixture_sign(&f, c);
	fixture_send(&f, c);
	assert_int_equal(f.burst.plan.verdict, TURN_WAIT);
	assert_int_equal(f.burst.plan.flow, turn_lookup_place(asked.id));
}

static void assert_silent(const struct turn_plan *p)
{
	assert_int_equal(p->verdict, TURN_DROP);
	assert_int_equal(p->reason, TURN_DROP_LOOKUP);
}

// --- answers -------------------------------------------------------------------------------------

static void a_user_is_asked_about_and_granted(void **state)
{
	struct turn_lookup_answer a;
	struct fixture_client second;

	assert_waits(&olga);
	assert_int_equal(asked.nb, 1);
	assert_string_equal(asked.name, OLGA);
	assert_string_equal(asked.realm, FIXTURE_REALM);
	assert_int_equal(asked.client.port, 5000);
	assert_int_equal(fixture_stats(&f).allocations, 0);
	a = known(OLGA, "opensesame");
	assert_true(turn_lookup_answered(f.shard, &a));
	assert_int_equal(go_on()->verdict, TURN_REPLY);
	assert_int_equal(fixture_code(&f), 0);
	assert_true(fixture_signed(&f, &olga));
	assert_int_equal(fixture_stats(&f).allocations, 1);
	assert_int_equal(fixture_stats(&f).auth_failures, 0);

	// the answer holds for other clients of the user, and for a minute
	second = olga;
	second.endpoint.port++;
	second.nonce_len = 0;
	assert_int_equal(fixture_allocate(&f, &second, 0), 0);
	assert_int_equal(asked.nb, 1);
	assert_int_equal(fixture_stats(&f).lookups_saved, 1);
	fixture_advance(&f, (LIFETIME_S + 1) * 1000);
	second.endpoint.port++;
	second.nonce_len = 0;
	assert_waits(&second);
	assert_int_equal(asked.nb, 2);
	assert_int_equal(fixture_stats(&f).lookups, 2);
	assert_int_equal(fixture_stats(&f).lookups_known, 1);
}

// Users and secrets of the configuration need no question, also if the password is wrong.
static void configured_users_are_not_asked_about(void **state)
{
	struct fixture_client ivan = fixture_client("198.51.100.8", 1);

	assert_int_equal(fixture_allocate(&f, &ivan, 0), 0);
	ivan = fixture_client("198.51.100.8", 2);
	ivan.password = "wrong";
	assert_int_equal(fixture_allocate(&f, &ivan, 0), 401);
	ivan.user = "1800000000:somebody"; // a REST name
	assert_int_equal(fixture_allocate(&f, &ivan, 0), 401);
	assert_int_equal(asked.nb, 0);
}

// Digits that cannot be a time are a name, as that of a telephone.
static void a_short_number_is_asked_about(void **state)
{
	olga.user = "1001";
	assert_waits(&olga);
	assert_string_equal(asked.name, "1001");
}

static void an_unknown_user_is_refused(void **state)
{
	struct turn_lookup_answer a;

	assert_waits(&olga);
	a = unknown();
	assert_true(turn_lookup_answered(f.shard, &a));
	go_on();
	assert_int_equal(fixture_code(&f), 401);
	fixture_assert_challenge(&f);
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_USER_UNKNOWN], 1);
	assert_int_equal(fixture_allocate(&f, &olga, 0), 401); // as long as the answer holds
	assert_int_equal(asked.nb, 1);
	fixture_advance(&f, (LIFETIME_S + 1) * 1000);
	assert_waits(&olga);
	assert_int_equal(asked.nb, 2);
}

// A wrong signature asks again, because the password may have changed, but not at once.
static void a_wrong_password_asks_again(void **state)
{
	struct turn_lookup_answer a;

	assert_waits(&olga);
	a = known(OLGA, "another");
	assert_true(turn_lookup_answered(f.shard, &a));
	go_on();
	assert_int_equal(fixture_code(&f), 401);
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_PASSWORD], 1);
	assert_int_equal(fixture_allocate(&f, &olga, 0), 401);
	assert_int_equal(asked.nb, 1);
	fixture_advance(&f, 5000);
	assert_waits(&olga);
	assert_int_equal(asked.nb, 2);
	a = known(OLGA, "opensesame");
	assert_true(turn_lookup_answered(f.shard, &a));
	go_on();
	assert_int_equal(fixture_code(&f), 0);
}

// Requests of several clients wait for one answer.
static void one_question_about_a_user(void **state)
{
	struct fixture_client second = olga;

	assert_waits(&olga);
	second.endpoint.port = 6000;
	second.nonce_len = 0;
	assert_waits(&second);
	assert_int_equal(asked.nb, 1);
}

// Another worker has asked: this one need not.
static void answers_of_other_workers_count(void **state)
{
	struct turn_lookup_answer a;

	assert_waits(&olga);
	a = known(OLGA, "opensesame");
	memcpy(a.ident, asked.ident, sizeof(a.ident));
	fixture_close(&f);
	open_with(false);
	a.id = 0;
	assert_false(turn_lookup_answered(f.shard, &a));
	assert_int_equal(fixture_allocate(&f, &olga, 0), 0);
	assert_int_equal(asked.nb, 0);
	assert_int_equal(fixture_stats(&f).lookups_late, 0);
	olga.user = "someone";
	assert_waits(&olga);
}

// --- no answer -----------------------------------------------------------------------------------

static void without_an_answer_nothing_is_said(void **state)
{
	struct turn_lookup_answer a;

	assert_waits(&olga);
	a = (struct turn_lookup_answer){.id = asked.id, .result = TURN_LOOKUP_NO_ANSWER};
	assert_true(turn_lookup_answered(f.shard, &a));
	assert_silent(go_on());
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_LOOKUP], 1);
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_USER_UNKNOWN], 0);
	assert_int_equal(fixture_stats(&f).lookups_unanswered, 1);
	assert_waits(&olga); // the next request asks again
	assert_int_equal(asked.nb, 2);
}

static void the_deadline_ends_the_wait(void **state)
{
	struct turn_lookup_answer a;
	uint32_t place;

	assert_waits(&olga);
	place = turn_lookup_place(asked.id);
	fixture_advance(&f, 1999);
	assert_int_equal(turn_lookup_overdue(f.shard), TURN_NONE);
	fixture_advance(&f, 1);
	assert_int_equal(turn_lookup_overdue(f.shard), place);
	assert_int_equal(turn_lookup_overdue(f.shard), TURN_NONE);
	assert_silent(go_on());
	// its answer comes too late, and nobody is known by it
	a = known(OLGA, "opensesame");
	assert_false(turn_lookup_answered(f.shard, &a));
	assert_int_equal(fixture_stats(&f).lookups_late, 1);
	assert_waits(&olga);
	assert_int_equal(asked.nb, 2);
}

// Answers that no question waits for: of an earlier question at the same place, or repeated.
static void answers_find_only_their_question(void **state)
{
	struct turn_lookup_answer first, a;

	assert_waits(&olga);
	first = known(OLGA, "opensesame");
	for (uint64_t id = 1; id < 64; id++) {
		a = first;
		a.id = id;
		if (id != first.id)
			assert_false(turn_lookup_answered(f.shard, &a));
	}
	a = first;
	a.id |= UINT64_C(1) << 57;
	assert_false(turn_lookup_answered(f.shard, &a));
	assert_true(turn_lookup_answered(f.shard, &first));
	assert_false(turn_lookup_answered(f.shard, &first));
	// eve's question has the place of olga's
	olga.user = "eva";
	assert_waits(&olga);
	assert_int_equal(turn_lookup_place(asked.id), turn_lookup_place(first.id));
	assert_false(turn_lookup_answered(f.shard, &first));
	a = unknown();
	assert_true(turn_lookup_answered(f.shard, &a));
	go_on();
	assert_int_equal(fixture_code(&f), 401);
}

// A store that is down: the last answer may be used for a while, and a live allocation's user is
// known by the allocation.
static void an_old_answer_may_do(void **state)
{
	struct turn_lookup_answer a;
	struct fixture_client second = olga;

	assert_waits(&olga);
	a = known(OLGA, "opensesame");
	assert_true(turn_lookup_answered(f.shard, &a));
	go_on();
	assert_int_equal(fixture_code(&f), 0);
	fixture_advance(&f, (LIFETIME_S + 1) * 1000);
	second.endpoint.port++;
	second.nonce_len = 0;
	assert_waits(&second);
	a = (struct turn_lookup_answer){.id = asked.id, .result = TURN_LOOKUP_NO_ANSWER};
	assert_true(turn_lookup_answered(f.shard, &a));
	go_on();
	assert_int_equal(fixture_code(&f), 0);
	assert_int_equal(fixture_stats(&f).lookups_stale, 1);

	asked.full = true;
	for (int i = 0; i < 4; i++) {
		fixture_advance(&f, 300000);
		assert_int_equal(fixture_refresh(&f, &olga, 600), 0);
	}
	// nobody else is known any more, and no other password
	second.endpoint.port++;
	second.nonce_len = 0;
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	fixture_sign(&f, &second);
	assert_silent(fixture_send(&f, &second));
	olga.password = "guessed";
	fixture_begin(&f, STUN_REQUEST, STUN_REFRESH);
	fixture_sign(&f, &olga);
	assert_silent(fixture_send(&f, &olga));
	fixture_expire(&f);
	assert_int_equal(fixture_stats(&f).allocations, 1); // the second client's has expired
}

// --- limits --------------------------------------------------------------------------------------

static void questions_are_bounded(void **state)
{
	char name[16];

	olga.user = name;
	for (unsigned int i = 0; i < 16; i++) {
		snprintf(name, sizeof(name), "user%u", i);
		assert_waits(&olga);
	}
	snprintf(name, sizeof(name), "user16");
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	fixture_sign(&f, &olga);
	assert_silent(fixture_send(&f, &olga));
	assert_int_equal(asked.nb, 16);
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_LOOKUP_FULL], 1);
	assert_int_equal(fixture_stats(&f).lookups_refused, 1);
	fixture_advance(&f, 2000); // all are overdue
	for (unsigned int i = 0; i < 16; i++)
		assert_int_not_equal(turn_lookup_overdue(f.shard), TURN_NONE);
	assert_waits(&olga);
}

static void one_source_has_its_part(void **state)
{
	char name[16];

	fixture_close(&f);
	config.lookup.each = (struct limit){.rate = 1, .burst = 4};
	fixture_open_sized(&f, &config, &(struct turn_shard_params){.ask = ask}, 1);
	olga.user = name;
	olga.nonce_len = 0;
	for (unsigned int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "user%u", i);
		assert_waits(&olga);
	}
	snprintf(name, sizeof(name), "user4");
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	fixture_sign(&f, &olga);
	assert_silent(fixture_send(&f, &olga));
	assert_int_equal(asked.nb, 4);
	olga.endpoint = fixture_endpoint("203.0.113.5", 5000);
	olga.nonce_len = 0;
	assert_waits(&olga); // another source still may
}

// More users than records: those who were seen last are remembered.
static void records_are_reused(void **state)
{
	char name[16];
	struct turn_lookup_answer a;

	olga.user = name;
	for (unsigned int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "user%u", i);
		assert_waits(&olga);
		a = known(name, "opensesame");
		a.lifetime_s = 3600;
		assert_true(turn_lookup_answered(f.shard, &a));
		fixture_advance(&f, 100);
	}
	assert_int_equal(asked.nb, 300);
	olga.password = "wrong"; // an answer is known, so that the request need not wait
	assert_int_equal(fixture_allocate(&f, &olga, 0), 401);
	assert_int_equal(asked.nb, 300);
}

static void long_names_are_not_asked_about(void **state)
{
	char name[STUN_TEXT_MAX + 1];

	memset(name, 'a', sizeof(name));
	name[509] = '\0';
	olga.user = name;
	assert_int_equal(fixture_allocate(&f, &olga, 0), 401);
	assert_int_equal(asked.nb, 0);
	name[508] = '\0';
	assert_waits(&olga);
	assert_int_equal(strlen(asked.name), 508);
}

// --- algorithms ----------------------------------------------------------------------------------

// RFC 8489 9.2.5: a client picks an algorithm of the list, so the list must not have SHA-256 if
// nobody has such keys. USERHASH cannot be looked up: the nonce does not ask for it.
static void md5_only_is_offered_as_such(void **state)
{
	static const uint8_t md5_only[] = {0, 1, 0, 0}, both[] = {0, 2, 0, 0, 0, 1, 0, 0};

	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	fixture_send(&f, &olga);
	assert_int_equal(fixture_code(&f), 401);
	assert_int_equal(f.answer.alen[STUN_PASSWORD_ALGORITHMS], 4);
	assert_memory_equal(f.answer.data + f.answer.off[STUN_PASSWORD_ALGORITHMS], md5_only, 4);
	assert_memory_equal(f.answer.data + f.answer.off[STUN_NONCE], "obMatJos2gAAA", 13);
	olga.alg = STUN_ALG_SHA256;
	assert_int_equal(fixture_allocate(&f, &olga, 0), 400);
	assert_int_equal(fixture_stats(&f).refused[TURN_REFUSED_ALGORITHMS], 1);

	fixture_close(&f);
	open_with(true);
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	fixture_send(&f, &olga);
	assert_int_equal(fixture_code(&f), 401);
	assert_int_equal(f.answer.alen[STUN_PASSWORD_ALGORITHMS], 8);
	assert_memory_equal(f.answer.data + f.answer.off[STUN_PASSWORD_ALGORITHMS], both, 8);
	assert_memory_equal(f.answer.data + f.answer.off[STUN_NONCE], "obMatJos2gAAA", 13);
}

static void sha256_keys_sign(void **state)
{
	struct turn_lookup_answer a;
	struct fixture_client hashed;

	fixture_close(&f);
	open_with(true);
	olga.alg = STUN_ALG_SHA256;
	assert_waits(&olga);
	a = known(OLGA, "opensesame");
	a.has_sha256 = true;
	memcpy(a.sha256, key_of(STUN_ALG_SHA256, OLGA, "opensesame").bytes, sizeof(a.sha256));
	assert_true(turn_lookup_answered(f.shard, &a));
	go_on();
	assert_int_equal(fixture_code(&f), 0);
	assert_true(fixture_signed(&f, &olga));
	assert_int_equal(fixture_refresh(&f, &olga, 600), 0);
	// USERHASH of a user whose answer is known, and of another
	hashed = olga;
	hashed.userhash = true;
	hashed.endpoint.port++;
	hashed.nonce_len = 0;
	assert_int_equal(fixture_allocate(&f, &hashed, 0), 0);
	hashed.user = "nobody";
	hashed.endpoint.port++;
	hashed.nonce_len = 0;
	assert_int_equal(fixture_allocate(&f, &hashed, 0), 401);
	assert_int_equal(asked.nb, 1);
}

#ifdef FEATURE_REALMS
// A user of one realm who signs a request of another realm, and names themselves by the USERHASH of
// their own: the record of that hash is theirs, and the signature is right.
static void a_userhash_of_another_realm_is_nobody(void **state)
{
	static struct turn_realm more[1];
	const struct stun_credential c = {OLGA, strlen(OLGA), "b.test", "opensesame", 10};
	struct turn_lookup_answer a;
	struct fixture_client here = fixture_client("198.51.100.9", 7000);
	struct stun_key key;
	uint8_t hash[32];

	fixture_close(&f);
	open_with(true);
	more[0] = (struct turn_realm){.name = (char *)"b.test", .looked_up = 1, .number = 1};
	fixture_close(&f);
	config.realms = more;
	config.nb_realms = 1;
	fixture_open_sized(&f, &config, &(struct turn_shard_params){.ask = ask}, 1);
	olga.realm = "b.test";
	olga.nonce_len = 0;
	assert_waits(&olga);
	assert_string_equal(asked.realm, "b.test");
	assert_true(stun_key_make(f.crypto, STUN_ALG_MD5, &c, &key));
	a = (struct turn_lookup_answer){.id = asked.id,
		.result = TURN_LOOKUP_KEYS,
		.has_md5 = true,
		.lifetime_s = LIFETIME_S};
	memcpy(a.md5, key.bytes, sizeof(a.md5));
	assert_true(turn_lookup_answered(f.shard, &a));
	go_on();
	assert_int_equal(fixture_code(&f), 0);

	assert_int_equal(fixture_allocate(&f, &here, 0), 0); // gets a nonce
	assert_true(stun_userhash(f.crypto, OLGA, strlen(OLGA), "b.test", hash));
	for (int right = 0; right < 2; right++) {
		const char *realm = right ? "b.test" : FIXTURE_REALM;

		fixture_begin(&f, STUN_REQUEST, STUN_REFRESH);
		stun_put(&f.w, STUN_USERHASH, hash, sizeof(hash));
		stun_put(&f.w, STUN_REALM, realm, strlen(realm));
		stun_put(&f.w, STUN_NONCE, here.nonce, here.nonce_len);
		stun_put_integrity(&f.w, f.crypto, STUN_ALG_MD5, &key);
		fixture_send(&f, &here);
		assert_int_equal(fixture_code(&f), right ? 441 : 401);
	}
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)
		TEST(a_user_is_asked_about_and_granted),
		TEST(configured_users_are_not_asked_about),
		TEST(a_short_number_is_asked_about),
		TEST(an_unknown_user_is_refused),
		TEST(a_wrong_password_asks_again),
		TEST(one_question_about_a_user),
		TEST(answers_of_other_workers_count),
		TEST(without_an_answer_nothing_is_said),
		TEST(the_deadline_ends_the_wait),
		TEST(answers_find_only_their_question),
		TEST(an_old_answer_may_do),
		TEST(questions_are_bounded),
		TEST(one_source_has_its_part),
		TEST(records_are_reused),
		TEST(long_names_are_not_asked_about),
		TEST(md5_only_is_offered_as_such),
		TEST(sha256_keys_sign),
#ifdef FEATURE_REALMS
		TEST(a_userhash_of_another_realm_is_nobody),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
