// SPDX-License-Identifier: BSD-3-Clause
// Verified signatures: configured users, REST credentials, USERHASH, bid-down (RFC 8489 9.2.4).
#include <errno.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auth/cred.h"
#include "auth/policy.h"
#include "test.h"

#define REALM "turn.test"
#define WALL 1700000000u

static const uint8_t tid[12] = {1, 2, 3};
static struct stun_crypto *crypto;
static struct turn_policy *policy;
static unsigned int derivations;

bool __real_stun_rest_mac(struct stun_crypto *c, const char *secret, const void *user,
	size_t user_len, uint8_t out[STUN_REST_MAC_LEN]);
bool __wrap_stun_rest_mac(struct stun_crypto *c, const char *secret, const void *user,
	size_t user_len, uint8_t out[STUN_REST_MAC_LEN]);

// The linker calls it instead of the real function: every REST password is derived by it.
bool __wrap_stun_rest_mac(struct stun_crypto *c, const char *secret, const void *user,
	size_t user_len, uint8_t out[STUN_REST_MAC_LEN])
{
	derivations++;
	return __real_stun_rest_mac(c, secret, user, user_len, out);
}

// H(user:realm:password) by libcrypto's one-shot call.
static struct stun_key key_of(
	enum stun_algorithm alg, const char *user, const char *realm, const char *password)
{
	struct stun_key key = {.len = alg == STUN_ALG_SHA256 ? 32 : 16};
	char text[1024];
	const int n = snprintf(text, sizeof(text), "%s:%s:%s", user, realm, password);

	assert_int_equal(EVP_Digest(text, (size_t)n, key.bytes, NULL,
				 alg == STUN_ALG_SHA256 ? EVP_sha256() : EVP_md5(), NULL),
		1);
	return key;
}

static void rest_password(const char *secret, const char *user, char out[29])
{
	uint8_t mac[20];

	HMAC(EVP_sha1(), secret, (int)strlen(secret), (const uint8_t *)user, strlen(user), mac,
		NULL);
	EVP_EncodeBlock((unsigned char *)out, mac, 20);
}

static void userhash_of(const char *user, uint8_t out[32])
{
	char text[1024];
	const int n = snprintf(text, sizeof(text), "%s:" REALM, user);

	EVP_Digest(text, (size_t)n, out, NULL, EVP_sha256(), NULL);
}

static struct turn_policy *policy_with(uint32_t nb_secrets)
{
	static const uint8_t boot[32] = {7};
	struct turn_user users[] = {
		{.name = (char *)"alice", .password = (char *)"pw"},
		{.name = (char *)"onlymd5"},
		{.name = (char *)"onlysha"},
		{.name = (char *)"1800000000:static", .password = (char *)"own"},
		{.name = (char *)"a-name-that-is-longer-than-the-display-has-room",
			.password = (char *)"pw"},
	};
	char *secrets[] = {(char *)"north", (char *)"south", (char *)"west"};
	const struct turn_config c = {.first.name = (char *)REALM,
		.first.users = users,
		.first.nb_users = sizeof(users) / sizeof(users[0]),
		.first.secrets = secrets,
		.first.nb_secrets = nb_secrets,
		.nonce_secret = (char *)"",
		.nonce_lifetime_s = 600,
		.rest_expiry = TURN_REST_IGNORED,
		.workers = 1};

	users[1].md5 = key_of(STUN_ALG_MD5, "onlymd5", REALM, "pw");
	users[2].sha256 = key_of(STUN_ALG_SHA256, "onlysha", REALM, "pw");
	return turn_policy_create(&c, crypto, boot);
}

static int setup(void **state)
{
	crypto = stun_crypto_create();
	if (crypto == NULL)
		return 1;
	policy = policy_with(2);
	return policy == NULL;
}

static int teardown(void **state)
{
	turn_policy_free(policy);
	stun_crypto_free(crypto);
	return 0;
}

// --- requests ------------------------------------------------------------------------------------

struct request {
	const char *user; // USERNAME, or NULL
	const char *realm; // NULL = our realm
	const uint8_t *userhash; // or NULL
	size_t userhash_len;
	const uint8_t *list, *chosen; // PASSWORD-ALGORITHMS and PASSWORD-ALGORITHM, or NULL
	size_t list_len, chosen_len;
	struct stun_key key;
	bool sha256; // MESSAGE-INTEGRITY-SHA256
	uint64_t wall_s; // 0 = WALL
	const struct turn_cred *known;
	enum stun_method method; // 0 = Allocate
};

static struct turn_cred cred; // result of the last call
static uint8_t bytes[2048];
static uint16_t bytes_len;

// Result of cred_verify for an exact-size copy of the request. derivations counts from zero.
static enum turn_refusal verify_with(const struct turn_policy *p, const struct request *r)
{
	struct stun_writer w;
	struct stun_msg m;
	enum turn_refusal refusal;
	uint8_t *exact;

	stun_begin(&w, bytes, sizeof(bytes), STUN_REQUEST,
		r->method != 0 ? r->method : STUN_ALLOCATE, tid);
	if (r->user != NULL)
		stun_put(&w, STUN_USERNAME, r->user, strlen(r->user));
	if (r->userhash != NULL)
		stun_put(&w, STUN_USERHASH, r->userhash, r->userhash_len);
	stun_put(&w, STUN_REALM, r->realm != NULL ? r->realm : REALM,
		strlen(r->realm != NULL ? r->realm : REALM));
	stun_put(&w, STUN_NONCE, "obMatJos2gAAA", 13);
	if (r->list != NULL)
		stun_put(&w, STUN_PASSWORD_ALGORITHMS, r->list, r->list_len);
	if (r->chosen != NULL)
		stun_put(&w, STUN_PASSWORD_ALGORITHM, r->chosen, r->chosen_len);
	stun_put_integrity(&w, crypto, r->sha256 ? STUN_ALG_SHA256 : STUN_ALG_MD5, &r->key);
	assert_int_not_equal(stun_end(&w), 0);

	bytes_len = w.len;
	exact = malloc(w.len);
	assert_non_null(exact);
	memcpy(exact, bytes, w.len);
	assert_int_equal(stun_parse(exact, w.len, &m), 0);
	memset(&cred, 0xA5, sizeof(cred));
	derivations = 0;
	refusal = cred_verify(p, crypto, &m, r->wall_s != 0 ? r->wall_s : WALL, r->known, &cred);
	free(exact);
	if (refusal !=
		TURN_GRANTED) { // a failed attempt sets nothing except whether it was a guess
		const struct turn_cred zero = {.guess = cred.guess};

		assert_memory_equal(&cred, &zero, sizeof(cred));
	}
	return refusal;
}

static enum turn_refusal verify(const struct request *r)
{
	return verify_with(policy, r);
}

static const uint8_t list[8] = {0, 2, 0, 0, 0, 1, 0, 0}; // RFC 8489 14.11, 18.5.1: SHA-256, MD5
static const uint8_t sha256[4] = {0, 2, 0, 0}, md5[4] = {0, 1, 0, 0};

// A request with a name and a password, as RFC 5389 or RFC 8489 has it.
static struct request request(const char *user, const char *password, bool modern)
{
	struct request r = {
		.user = user,
		.key = key_of(modern ? STUN_ALG_SHA256 : STUN_ALG_MD5, user, REALM, password),
		.sha256 = modern,
	};

	if (modern) {
		r.list = list;
		r.list_len = 8;
		r.chosen = sha256;
		r.chosen_len = 4;
	}
	return r;
}

static struct request rest_request(const char *user, const char *secret, bool modern)
{
	char password[STUN_REST_PASSWORD_SIZE];

	rest_password(secret, user, password);
	return request(user, password, modern);
}

static void assert_cred(const struct request *r, enum stun_algorithm alg, const char *name)
{
	uint8_t userhash[32];

	userhash_of(name, userhash);
	assert_int_equal(cred.alg, alg);
	assert_int_equal(cred.rest, strchr(name, ':') != NULL || strspn(name, "0123456789") > 0);
	assert_int_equal(cred.key.len, r->key.len);
	assert_memory_equal(cred.key.bytes, r->key.bytes, r->key.len);
	assert_memory_equal(cred.ident, userhash, TURN_IDENT_LEN);
	assert_int_equal(
		cred.name_len, strlen(name) < TURN_NAME_LEN ? strlen(name) : TURN_NAME_LEN);
	assert_memory_equal(cred.name, name, cred.name_len);
}

// --- configured users ----------------------------------------------------------------------------

static void test_user(void **state)
{
	for (int modern = 0; modern < 2; modern++) {
		struct request r = request("alice", "pw", modern);

		assert_int_equal(verify(&r), 0);
		assert_cred(&r, modern ? STUN_ALG_SHA256 : STUN_ALG_MD5, "alice");
		assert_int_equal(derivations, 0);
		r.sha256 = !r.sha256; // either integrity attribute works with either key
		assert_int_equal(verify(&r), 0);
		assert_cred(&r, modern ? STUN_ALG_SHA256 : STUN_ALG_MD5, "alice");

		r = request("alice", "pwd", modern);
		assert_int_equal(verify(&r), TURN_REFUSED_PASSWORD);
		r = request("Alice", "pw", modern);
		assert_int_equal(verify(&r), TURN_REFUSED_USER_UNKNOWN);
		r = request("alic", "pw", modern);
		assert_int_equal(verify(&r), TURN_REFUSED_USER_UNKNOWN);
		r = request("", "pw", modern);
		assert_int_equal(verify(&r), TURN_REFUSED_USER_UNKNOWN);
		r = request("alice", "pw", modern);
		r.key = request("onlymd5", "pw", modern).key; // another user's
		assert_int_equal(verify(&r), TURN_REFUSED_PASSWORD);
	}
}

static void test_long_name(void **state)
{
	struct request r = request("a-name-that-is-longer-than-the-display-has-room", "pw", false);

	assert_int_equal(verify(&r), 0);
	assert_cred(&r, STUN_ALG_MD5, r.user);
	assert_int_equal(cred.name_len, TURN_NAME_LEN);
}

static void test_single_keys(void **state)
{
	struct request r = request("onlymd5", "pw", false);

	assert_int_equal(verify(&r), 0);
	assert_cred(&r, STUN_ALG_MD5, "onlymd5");
	r = request("onlymd5", "pw", true);
	assert_int_equal(verify(&r), TURN_REFUSED_PASSWORD);
	r = request("onlysha", "pw", true);
	assert_int_equal(verify(&r), 0);
	assert_cred(&r, STUN_ALG_SHA256, "onlysha");
	r = request("onlysha", "pw", false);
	assert_int_equal(verify(&r), TURN_REFUSED_PASSWORD);
}

static void test_userhash(void **state)
{
	uint8_t hash[33] = {0};
	struct request r;

	for (int modern = 0; modern < 2; modern++) {
		userhash_of("alice", hash);
		r = request("alice", "pw", modern);
		r.user = NULL;
		r.userhash = hash;
		r.userhash_len = 32;
		assert_int_equal(verify(&r), 0);
		assert_cred(&r, modern ? STUN_ALG_SHA256 : STUN_ALG_MD5, "alice");
		for (r.userhash_len = 0; r.userhash_len <= 33; r.userhash_len++)
			assert_int_equal(
				verify(&r), r.userhash_len == 32 ? 0 : TURN_REFUSED_USER_UNKNOWN);
		r.userhash_len = 32;
		for (int bit = 0; bit < 256; bit++) {
			hash[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_int_equal(verify(&r), TURN_REFUSED_USER_UNKNOWN);
			hash[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
	// A USERHASH does not tell a REST name: 401, and nothing is derived.
	r = rest_request("1800000000:bob", "north", true);
	userhash_of(r.user, hash);
	r.user = NULL;
	r.userhash = hash;
	r.userhash_len = 32;
	assert_int_equal(verify(&r), TURN_REFUSED_USER_UNKNOWN);
	assert_int_equal(derivations, 0);
}

static void test_realm(void **state)
{
	static const char *const realms[] = {
		"", "turn.tes", "turn.test.", "Turn.test", "turn.tesu"};
	struct request r = request("alice", "pw", false);

	for (size_t i = 0; i < sizeof(realms) / sizeof(realms[0]); i++) {
		r.realm = realms[i];
		assert_int_equal(verify(&r), TURN_REFUSED_REALM); // with our realm in the key
		r.key = key_of(STUN_ALG_MD5, "alice", realms[i], "pw");
		assert_int_equal(verify(&r), TURN_REFUSED_REALM);
		r.key = key_of(STUN_ALG_MD5, "alice", REALM, "pw");
	}
}

static void test_name_lengths(void **state)
{
	char name[800];
	struct request r;

	// RFC 8489 14.3: names of up to 763 bytes are valid.
	for (size_t len = 750; len < 780; len++) {
		memset(name, 'n', len);
		name[len] = '\0';
		r = request(name, "pw", false);
		assert_int_equal(verify(&r),
			len <= 763 ? TURN_REFUSED_USER_UNKNOWN : TURN_REFUSED_NAME_LONG);
	}
	memset(name, 'n', 763); // the longest is verified in full
	memcpy(name, "1800000000:", 11);
	name[763] = '\0';
	r = rest_request(name, "north", true);
	assert_int_equal(verify(&r), 0);
	assert_cred(&r, STUN_ALG_SHA256, name);
	name[762] = 'm';
	assert_int_equal(verify(&r), TURN_REFUSED_REST_PASSWORD);
}

// --- bid-down ------------------------------------------------------------------------------------

#define ALG(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define NONE NULL, 0

// RFC 8489 9.2.4, third point, for correctly signed requests.
static void test_bid_down(void **state)
{
	const struct {
		const uint8_t *list;
		size_t list_len;
		const uint8_t *chosen;
		size_t chosen_len;
		enum stun_algorithm alg;
		enum turn_refusal refusal;
	} t[] = {
		{NONE, NONE, STUN_ALG_MD5, 0},
		{ALG(0, 2, 0, 0, 0, 1, 0, 0), ALG(0, 2, 0, 0), STUN_ALG_SHA256, 0},
		{ALG(0, 2, 0, 0, 0, 1, 0, 0), ALG(0, 1, 0, 0), STUN_ALG_MD5, 0},
		// one attribute of the two
		{NONE, ALG(0, 2, 0, 0), STUN_ALG_SHA256, TURN_REFUSED_ALGORITHMS},
		{NONE, ALG(0, 1, 0, 0), STUN_ALG_MD5, TURN_REFUSED_ALGORITHMS},
		{ALG(0, 2, 0, 0, 0, 1, 0, 0), NONE, STUN_ALG_MD5, TURN_REFUSED_ALGORITHMS},
		// not the list that we sent: without SHA-256, in another order, longer, shorter
		{ALG(0, 1, 0, 0), ALG(0, 1, 0, 0), STUN_ALG_MD5, TURN_REFUSED_ALGORITHMS},
		{ALG(0, 2, 0, 0), ALG(0, 2, 0, 0), STUN_ALG_SHA256, TURN_REFUSED_ALGORITHMS},
		{ALG(0, 1, 0, 0, 0, 2, 0, 0), ALG(0, 1, 0, 0), STUN_ALG_MD5,
			TURN_REFUSED_ALGORITHMS},
		{ALG(0, 1, 0, 0, 0, 2, 0, 0), ALG(0, 2, 0, 0), STUN_ALG_SHA256,
			TURN_REFUSED_ALGORITHMS},
		{ALG(0, 2, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0), ALG(0, 2, 0, 0), STUN_ALG_SHA256,
			TURN_REFUSED_ALGORITHMS},
		{ALG(0, 2, 0, 0, 0, 1, 0, 1), ALG(0, 2, 0, 0), STUN_ALG_SHA256,
			TURN_REFUSED_ALGORITHMS},
		{ALG(0, 2, 0, 0, 0, 1, 0), ALG(0, 2, 0, 0), STUN_ALG_SHA256,
			TURN_REFUSED_ALGORITHMS},
		// a choice that is not in the list
		{ALG(0, 2, 0, 0, 0, 1, 0, 0), ALG(0, 3, 0, 0), STUN_ALG_SHA256,
			TURN_REFUSED_ALGORITHMS},
		{ALG(0, 2, 0, 0, 0, 1, 0, 0), ALG(0, 0, 0, 0), STUN_ALG_MD5,
			TURN_REFUSED_ALGORITHMS},
		{ALG(0, 2, 0, 0, 0, 1, 0, 0), ALG(2, 0, 0, 0), STUN_ALG_SHA256,
			TURN_REFUSED_ALGORITHMS},
		{ALG(0, 2, 0, 0, 0, 1, 0, 0), ALG(0, 2, 0, 4), STUN_ALG_SHA256,
			TURN_REFUSED_ALGORITHMS},
		{ALG(0, 2, 0, 0, 0, 1, 0, 0), ALG(0, 2), STUN_ALG_SHA256, TURN_REFUSED_ALGORITHMS},
		{ALG(0, 2, 0, 0, 0, 1, 0, 0), ALG(0, 2, 0, 0, 0, 0, 0, 0), STUN_ALG_SHA256,
			TURN_REFUSED_ALGORITHMS},
	};

	const uint8_t *offered;

	assert_int_equal(cred_algorithms(policy, &offered), 8);
	assert_memory_equal(offered, list, 8);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct request r = {
			.user = "alice",
			.list = t[i].list,
			.list_len = t[i].list_len,
			.chosen = t[i].chosen,
			.chosen_len = t[i].chosen_len,
			.key = key_of(t[i].alg, "alice", REALM, "pw"),
		};

		for (int sha = 0; sha < 2; sha++) {
			r.sha256 = sha;
			r.user = "alice";
			assert_int_equal(verify(&r), t[i].refusal);
			if (t[i].refusal == 0)
				assert_cred(&r, t[i].alg, "alice");
			r.user = "nobody"; // the RFC checks this before the name
			assert_int_equal(verify(&r),
				t[i].refusal == 0 ? TURN_REFUSED_USER_UNKNOWN
						  : TURN_REFUSED_ALGORITHMS);
		}
	}
}

// The chosen algorithm decides on the key, not the one that happens to match.
static void test_wrong_algorithm(void **state)
{
	struct request r = request("alice", "pw", true);

	r.chosen = md5;
	assert_int_equal(verify(&r), TURN_REFUSED_PASSWORD);
	r.key = key_of(STUN_ALG_MD5, "alice", REALM, "pw");
	assert_int_equal(verify(&r), 0);
	r.chosen = sha256;
	assert_int_equal(verify(&r), TURN_REFUSED_PASSWORD);
}

// --- REST ----------------------------------------------------------------------------------------

static void test_rest(void **state)
{
	static const char *const names[] = {"1800000000:bob", "1800000000",
		"1800000000:", "1700000000:just now", "01800000000:bob", "99999999999:end of time",
		"bob:1800000000", "1800000000.25:bob", "1800000000:with:colons",
		"1800000000:\xe3\x83\x9e"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (int modern = 0; modern < 2; modern++) {
			struct request r = rest_request(names[i], "north", modern);

			assert_int_equal(verify(&r), 0);
			assert_cred(&r, modern ? STUN_ALG_SHA256 : STUN_ALG_MD5, names[i]);
			assert_int_equal(derivations, 1);
			r = rest_request(names[i], "south", modern);
			assert_int_equal(verify(&r), 0);
			assert_cred(&r, modern ? STUN_ALG_SHA256 : STUN_ALG_MD5, names[i]);
			assert_int_equal(derivations, 2);
			r = rest_request(names[i], "west", modern); // not one of our secrets
			assert_int_equal(verify(&r), TURN_REFUSED_REST_PASSWORD);
			assert_int_equal(derivations, 2);
		}
	}
}

static void test_rest_expired(void **state)
{
	struct request r = rest_request("1700000000:bob", "north", false);

	r.wall_s = 1699999999;
	assert_int_equal(verify(&r), 0);
	r.wall_s = 1700000000;
	assert_int_equal(verify(&r), 0);
	for (r.wall_s = 1700000001; r.wall_s < 1700000010; r.wall_s++) {
		assert_int_equal(verify(&r), TURN_REFUSED_REST_EXPIRED);
		assert_int_equal(derivations, 0);
	}
	r = rest_request("0:bob", "north", false);
	assert_int_equal(verify(&r), TURN_REFUSED_REST_EXPIRED);
	assert_int_equal(derivations, 0);
}

// An expired name makes no allocation. Its other requests are judged by the password.
static void test_rest_past(void **state)
{
	struct request r = rest_request("1700000000:bob", "south", false);

	r.wall_s = 1700000001;
	assert_int_equal(verify(&r), TURN_REFUSED_REST_EXPIRED);
	assert_false(cred.guess);
	r.method = STUN_REFRESH;
	assert_int_equal(verify(&r), 0);
	assert_int_equal(derivations, 2);
	r = rest_request("1700000000:bob", "west", false);
	r.wall_s = 1700000001;
	r.method = STUN_CONNECTION_BIND;
	assert_int_equal(verify(&r), TURN_REFUSED_REST_PASSWORD);
	assert_true(cred.guess);
	policy->rest_expiry = TURN_REST_ENDS;
	assert_int_equal(verify(&r), TURN_REFUSED_REST_EXPIRED);
	policy->rest_expiry = TURN_REST_IGNORED;
}

// A name without a number of seconds is no REST name, whatever signs it.
static void test_rest_malformed(void **state)
{
	static const char *const names[] = {"", ":", "bob", "0x6b49d200:bob", "1.8e9:bob",
		"\xef\xbc\x91:bob", ":1800000000", " 1800000000:bob", "+1800000000:bob",
		"1800000000bob", "1800000000000:bob", "18446744073709551616:bob", "42:1800000000"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct request r = rest_request(names[i], "north", false);

		assert_int_equal(
			verify(&r), i < 6 ? TURN_REFUSED_USER_UNKNOWN : TURN_REFUSED_REST_NAME);
		assert_int_equal(derivations, 0);
	}
}

static void test_no_secrets(void **state)
{
	struct turn_policy *const p = policy_with(0);
	struct turn_cred known;
	struct request r = rest_request("1800000000:bob", "north", false);

	assert_non_null(p);
	assert_int_equal(verify_with(p, &r), TURN_REFUSED_USER_UNKNOWN);
	assert_int_equal(derivations, 0);
	r = rest_request("1800000000:bob", "", false);
	assert_int_equal(verify_with(p, &r), TURN_REFUSED_USER_UNKNOWN);
	// All secrets are withdrawn: an allocation that was made with one of them does not help.
	r = rest_request("1800000000:bob", "north", false);
	assert_int_equal(verify(&r), 0);
	known = cred;
	r.known = &known;
	assert_int_equal(verify_with(p, &r), TURN_REFUSED_USER_UNKNOWN);
	r = request("alice", "pw", false);
	assert_int_equal(verify_with(p, &r), 0);
	turn_policy_free(p);
}

// A configured user whose name looks like a REST name keeps its password.
static void test_shadowed(void **state)
{
	struct request r = request("1800000000:static", "own", false);

	assert_int_equal(verify(&r), 0);
	assert_false(cred.rest);
	r.wall_s = 1900000000; // no expiry for configured users
	assert_int_equal(verify(&r), 0);
	assert_int_equal(derivations, 0);
	r = rest_request("1800000000:static", "north", false);
	assert_int_equal(verify(&r), TURN_REFUSED_PASSWORD);
	assert_int_equal(derivations, 0);
}

// --- with the credentials of the allocation ------------------------------------------------------

static void test_known(void **state)
{
	struct turn_cred known, kept;

	for (int modern = 0; modern < 2; modern++) {
		struct request r = rest_request("1800000000:bob", "south", modern);

		assert_int_equal(verify(&r), 0);
		known = cred;
		r.known = &known;
		assert_int_equal(verify(&r), 0);
		assert_int_equal(derivations, 0); // the allocation's credentials save it
		assert_cred(&r, modern ? STUN_ALG_SHA256 : STUN_ALG_MD5, "1800000000:bob");
		r.wall_s = 1800000000;
		assert_int_equal(verify(&r), 0);
		r.wall_s = 1800000001; // a retransmitted Allocate
		assert_int_equal(verify(&r), 0);
		assert_int_equal(derivations, 0);
		policy->rest_expiry = TURN_REST_REFRESH_REFUSED;
		r.method = STUN_REFRESH;
		assert_int_equal(verify(&r), TURN_REFUSED_REST_EXPIRED);
		assert_int_equal(derivations, 0);
		policy->rest_expiry = TURN_REST_IGNORED;

		// A new password of the name (a secret was added), and a wrong password.
		r = rest_request("1800000000:bob", "north", modern);
		r.known = &known;
		assert_int_equal(verify(&r), 0);
		assert_int_equal(derivations, 1);
		assert_cred(&r, modern ? STUN_ALG_SHA256 : STUN_ALG_MD5, "1800000000:bob");
		r = rest_request("1800000000:bob", "west", modern);
		r.known = &known;
		assert_int_equal(verify(&r), TURN_REFUSED_REST_PASSWORD);
		assert_int_equal(derivations, 2);

		// With the other algorithm the name has another key.
		r = rest_request("1800000000:bob", "south", !modern);
		r.known = &known;
		assert_int_equal(verify(&r), 0);
		assert_int_equal(derivations, 2);
		assert_cred(&r, modern ? STUN_ALG_MD5 : STUN_ALG_SHA256, "1800000000:bob");
	}
	// Another user's allocation lends its key to no request: neither to a name that it does not
	// belong to, nor to one without a secret.
	kept = known;
	for (int i = 0; i < 2; i++) {
		struct request r = request(i == 0 ? "1800000000:eve" : "alice", "whatever",
			known.alg == STUN_ALG_SHA256);

		r.key = known.key;
		r.known = &known;
		assert_int_equal(
			verify(&r), i == 0 ? TURN_REFUSED_REST_PASSWORD : TURN_REFUSED_PASSWORD);
	}
	assert_memory_equal(&known, &kept, sizeof(known));
	// Nor does its password prolong its own time: here it signs a name that expires later.
	for (int modern = 0; modern < 2; modern++) {
		char password[STUN_REST_PASSWORD_SIZE];
		struct request r;

		rest_password("south", "1800000000:bob", password);
		r = request("1900000000:bob", password, modern);
		r.known = &known;
		assert_int_equal(verify(&r), TURN_REFUSED_REST_PASSWORD);
	}
	// A configured user does not need the allocation's credentials.
	struct request r = request("alice", "pw", true);
	r.known = &known;
	assert_int_equal(verify(&r), 0);
	assert_cred(&r, STUN_ALG_SHA256, "alice");
}

// --- the quota -----------------------------------------------------------------------------------

static void assert_quota_ident(const char *name)
{
	uint8_t userhash[32], ident[TURN_IDENT_LEN];
	struct stun_msg m;

	assert_int_equal(stun_parse(bytes, bytes_len, &m), 0);
	assert_true(cred_quota_ident(policy, crypto, &m, &cred, ident));
	userhash_of(name, userhash);
	assert_memory_equal(ident, userhash, TURN_IDENT_LEN);
}

// New credentials of one id count for one user. Configured users count for themselves.
static void test_quota_ident(void **state)
{
	static const struct {
		const char *name, *counts_as;
	} t[] = {
		{"1800000000:bob", "bob"},
		{"1800000001:bob", "bob"},
		{"1800000000:bob:laptop", "bob:laptop"},
		{"1800000000", "1800000000"},
		{"1800000000:", "1800000000:"},
	};
	uint8_t hash[32];
	struct request r;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		r = rest_request(t[i].name, "north", i % 2 == 0);
		assert_int_equal(verify(&r), 0);
		assert_quota_ident(t[i].counts_as);
	}
	r = request("alice", "pw", false);
	assert_int_equal(verify(&r), 0);
	assert_quota_ident("alice");
	r = request("1800000000:static", "own", false); // the colon has no meaning here
	assert_int_equal(verify(&r), 0);
	assert_quota_ident("1800000000:static");
	r = request("alice", "pw", false);
	userhash_of("alice", hash);
	r.user = NULL;
	r.userhash = hash;
	r.userhash_len = 32;
	assert_int_equal(verify(&r), 0);
	assert_quota_ident("alice");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_user),
		cmocka_unit_test(test_long_name),
		cmocka_unit_test(test_single_keys),
		cmocka_unit_test(test_userhash),
		cmocka_unit_test(test_realm),
		cmocka_unit_test(test_name_lengths),
		cmocka_unit_test(test_bid_down),
		cmocka_unit_test(test_wrong_algorithm),
		cmocka_unit_test(test_rest),
		cmocka_unit_test(test_rest_expired),
		cmocka_unit_test(test_rest_past),
		cmocka_unit_test(test_rest_malformed),
		cmocka_unit_test(test_no_secrets),
		cmocka_unit_test(test_shadowed),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_quota_ident),
	};

	return cmocka_run_group_tests_name("cred", tests, setup, teardown);
}
