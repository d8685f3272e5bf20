// SPDX-License-Identifier: BSD-3-Clause
// The fixture of every test of lib/turn: a shard with its policy, map and quota, a fake clock, a
// seeded random generator, and clients that build requests and read answers with lib/stun. Asserts
// with cmocka.
//
// 	struct turn_config c = fixture_config(); // change what the test is about
// 	fixture_open(&f, &c, 1);
// 	struct fixture_client ivan = fixture_client("198.51.100.7", 5000);
// 	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
// 	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "10.99.0.9", 7000), 0);
// 	fixture_advance(&f, 300000);
// 	plan = fixture_from_peer(&f, &ivan.relay, &peer, "hello", 5);
#pragma once

#include "csprng.h"
#include "test.h"
#include "test_rand.h"
#include "turn.h"
#include "turn_config.h"
#include "turn_drop.h"
#include "turn_event.h"
#include "turn_line.h"
#include "turn_policy.h"
#include "turn_quota.h"
#include "turn_refusal.h"
#include "turn_relay_map.h"
#include "turn_shard.h"

#define FIXTURE_REALM "turn.test"
// Monotonic clock, and time of day, at the start
#define FIXTURE_NOW_MS 1000000
#define FIXTURE_WALL_S 1700000000

#define FIXTURE_EVENTS 64

// Events that the shard has reported.
struct fixture_told {
	uint64_t made, interim, roamed, moved, peers, ended[TURN_END_END]; // of allocations
	uint64_t refused[TURN_REFUSAL_END]; // refusals; a fold counts for each of its refusals
	uint64_t connections[TURN_CONNECTION_REASONS]; // refusals of connections, folds included
	uint32_t nb; // events
	struct turn_event event[FIXTURE_EVENTS]; // event i is at index i % FIXTURE_EVENTS
};

struct fixture {
	struct turn_config config;
	struct turn_policy *policy;
	struct turn_relay_map *map;
	struct turn_quota *quota;
#define X(type, field) type field;
	TURN_CONFIG_SHARD_PARAMS(X)
#undef X
	struct stun_crypto *crypto;
	struct test_rand rand; // source of rng
	struct csprng rng;
	struct turn_shard *shard;
	struct turn_shard_params params;
	uint64_t now_ms, wall_s;
	uint32_t to_pool; // peers send to the address of this pool, from 1; 0 = the relay address
	uint8_t via; // worker whose redirect led the client here; initially TURN_NO_WORKER
	uint8_t tried; // turn_view.tried of the next datagrams
	uint32_t lines_made; // number of calls of line_made
	uint32_t clients_moved; // number of calls of moved
	uint64_t stream; // of the last call
	uint8_t boot_key[32]; // of its policies
	struct fixture_told told;
	const struct fixture *shares; // owner of the policy, map and quota; NULL = this one

	struct stun_writer w; // the message being built
	uint8_t message[16384]; // the longest that a stream carries
	uint32_t tids; // number of transaction ids made: every message has its own
	uint8_t *datagram; // the last sent datagram, in a block of exactly its length
	struct turn_burst burst; // view, plan and side of the last datagram are at [0]
	struct stun_msg answer; // the last message that fixture_code() parsed
};

// A TURN client.
struct fixture_client {
	struct endpoint endpoint; // its address as the server sees it
	uint8_t listener;
	const char *user, *password;
	const char *realm; // of its credentials; NULL = FIXTURE_REALM
	const char *origin; // sent when it asks for a nonce; or NULL
	enum stun_algorithm alg; // SHA256: sends PASSWORD-ALGORITHM(S) and MESSAGE-INTEGRITY-SHA256
	bool userhash; // sends USERHASH instead of USERNAME
	struct stun_key mac; // of an access token: signs instead of a password; len 0 = no token
	uint8_t access[512]; // ACCESS-TOKEN to send, access_len bytes; 0 = not sent
	size_t access_len;
	uint8_t nonce[STUN_TEXT_MAX];
	size_t nonce_len; // 0: fixture_sign() asks for one first
	struct endpoint relay; // from the last successful Allocate
	uint8_t token[8]; // its RESERVATION-TOKEN
	uint32_t lifetime_s; // from the last successful Allocate or Refresh
};

// Returns the usual configuration: one worker; users ivan/pw and eve/evil; REST secret "s3cret";
// listeners and relay addresses 10.99.0.1 and fd99::1; relay ports 50000-50255; 10.99.0.0/24,
// 10.98.0.0/16 and fd99::/64 allowed as peers; quarantine 0; 16 permissions and 8 channels per
// allocation; no limits per second.
struct turn_config fixture_config(void);
// Adds listener 2, for TCP clients, and TCP allocations on ports lo to hi.
void fixture_add_tcp(struct turn_config *c, uint16_t lo, uint16_t hi);

// Makes the shard and everything around it.
void fixture_open(struct fixture *f, const struct turn_config *config, uint64_t seed);
// fixture_open() with redirects, client_key, state and ask of sizes (it ignores other members).
// With a state area it uses the keys of that area.
void fixture_open_sized(struct fixture *f, const struct turn_config *config,
	const struct turn_shard_params *sizes, uint64_t seed);
// Makes another worker's shard of the same server. It uses the policy, map and quota of first,
// which must be closed last.
void fixture_open_worker(struct fixture *f, const struct fixture *first, uint8_t worker);
// Opens the fixture with fixture_config() and seed 1; returns ivan at 198.51.100.7:5000.
struct fixture_client fixture_open_ivan(struct fixture *f);
// Frees everything, and asserts that the shard has returned everything.
void fixture_close(struct fixture *f);
// Frees everything, as when a process dies: nothing is returned, no event is reported.
void fixture_forget(struct fixture *f);
// Teardown of a test: closes the fixture that *state points at.
int fixture_teardown(void **state);

// Advances both clocks and begins a round. Nothing is swept.
void fixture_advance(struct fixture *f, uint64_t ms);
// Calls turn_shard_expire() until nothing is left to sweep.
void fixture_expire(struct fixture *f);

// Returns a client of user ivan on the listener of the address's family. Set c->user to "" for no
// user name.
struct fixture_client fixture_client(const char *addr, uint16_t port);
// Returns such a client of user eve.
struct fixture_client fixture_eve(const char *addr, uint16_t port);
struct endpoint fixture_endpoint(const char *addr, uint16_t port);

// Begins a message with a new transaction id in f->w; the test then adds the attributes of the
// method.
void fixture_begin(struct fixture *f, enum stun_class cls, enum stun_method method);
// Appends the credentials of c and the integrity. Asks for a nonce first if c has no nonce.
void fixture_sign(struct fixture *f, struct fixture_client *c);
// Signs and sends the request. Returns the code of the answer as fixture_code() does.
unsigned int fixture_ask(struct fixture *f, struct fixture_client *c);
// Runs a burst of one datagram, b->view[0].
void fixture_route(struct turn_shard *s, struct turn_burst *b);
// Sends the message as it is (an indication, or a request without credentials).
const struct turn_plan *fixture_send(struct fixture *f, const struct fixture_client *c);
// Sends the last datagram again, byte for byte.
const struct turn_plan *fixture_resend(struct fixture *f, const struct fixture_client *c);
// Routes any datagram from a client.
const struct turn_plan *fixture_from_client(
	struct fixture *f, const struct fixture_client *c, const void *data, size_t len);
// Routes a datagram from a peer to a relayed transport address, which must belong to the shard.
const struct turn_plan *fixture_from_peer(struct fixture *f, const struct endpoint *relay,
	const struct endpoint *peer, const void *data, size_t len);
// Routes a datagram that arrives in process, from another allocation of the server.
const struct turn_plan *fixture_hairpin(struct fixture *f, const struct endpoint *relay,
	const struct endpoint *peer, const void *data, size_t len);
// Routes a datagram from a program of this machine, by the loopback interface.
const struct turn_plan *fixture_from_program(struct fixture *f, const struct endpoint *relay,
	const struct endpoint *peer, const void *data, size_t len);
// Sends ChannelData.
const struct turn_plan *fixture_channel_data(struct fixture *f, const struct fixture_client *c,
	uint16_t channel, const void *data, size_t len);

// Parses the reply in f->burst into f->answer and returns its error code, 0 for success. Asserts
// that there is a reply and that it answers the last message.
unsigned int fixture_code(struct fixture *f);
// True if the last reply is signed with the key and algorithm of c.
bool fixture_signed(struct fixture *f, const struct fixture_client *c);
// Returns an address attribute of f->answer; asserts that it is there.
struct endpoint fixture_answer_addr(struct fixture *f, enum stun_attr a);
// Asserts that the last answer is a challenge of the first realm (or of the given one), with the
// required fields and no others, which would make it longer or reveal something to a stranger.
void fixture_assert_challenge(const struct fixture *f);
void fixture_assert_challenge_of(const struct fixture *f, const char *realm);
// Returns the last event but n. Asserts that there are that many.
const struct turn_event *fixture_event(const struct fixture *f, uint32_t n);
// Returns the shard's counters.
struct turn_stats fixture_stats(const struct fixture *f);
// Returns the machine's clock in seconds, not the fixture's clock: for measuring durations.
double fixture_seconds(void);
// Returns the reason why a plan drops its datagram, or TURN_OK if it does not.
unsigned int fixture_drop(const struct turn_plan *p);

// Whole requests with the usual attributes. Each returns the code of the answer. family: 4, 6, or 0
// = not sent.
unsigned int fixture_allocate(struct fixture *f, struct fixture_client *c, int family);
unsigned int fixture_refresh(struct fixture *f, struct fixture_client *c, uint32_t lifetime_s);
unsigned int fixture_permit(struct fixture *f, struct fixture_client *c, const char *peer);
unsigned int fixture_bind(struct fixture *f, struct fixture_client *c, uint16_t channel,
	const char *peer, uint16_t port);
