// SPDX-License-Identifier: BSD-3-Clause
// TURN clients as a state machine (RFC 8656 on RFC 8489): Allocate with the challenge before it,
// CreatePermission or ChannelBind, refreshes in time, Refresh 0; each request retransmitted by
// RFC 8489 6.2.1. Datagrams and time go in, datagrams to send come out. One population per sender
// lcore, no locks. PURE (+libcrypto through lib/stun): no packets, no clock, no allocation after
// create.
//
//	IDLE -> ALLOCATING -> BINDING -> READY -> RELEASING -> IDLE
//	            |            |         |          |
//	            +------------+---------+----------+--> FAILED (client_start tries anew)
//
// MODE_CHANNEL passes BINDING with ChannelBind, MODE_SEND with CreatePermission; all other modes go
// from ALLOCATING to READY. A client that is refused while it has an allocation gives that back
// first (RELEASING) and then is FAILED.
//
// What a client knows of the server outlives its allocation: started again it signs its first
// request with the nonce it had, so that a cycle costs Allocate and Refresh 0, and a challenge only
// when the server wants a new nonce. The realm and the list of password algorithms are those of the
// population: all clients have to be told the same.
//
// It works with servers of RFC 5389 and 5766 as well. Where it is not the client of the book:
// * error responses without integrity are believed: some servers sign none, and the book would
//   have 39.5 s of silence in their place (RFC 8489 9.2.5). Success responses never are.
// * 437 to Allocate: whoever had the transport address before (an aborted run) may have left an
//   allocation there, which is deleted. Some servers (coturn: for a second) say 437 for a while
//   after they have deleted an allocation: then the client tries again later, and the population
//   learns how long its clients have to rest between two allocations (ALLOCATING, silently).
// * USERNAME is sent where a nonce cookie asks for USERHASH, from which no REST name can be told.
// * INTEGRITY_SHA1 is a client of RFC 5389: it takes no notice of PASSWORD-ALGORITHMS.
#pragma once

#include "options/config.h"
#include "csprng.h"
#include "stun.h"

// Longest request; room for the longest REALM and NONCE, where the MTU has it.
#define CLIENT_MESSAGE_MAX 1904

enum client_state {
	CLIENT_IDLE,
	CLIENT_ALLOCATING,
	CLIENT_BINDING, // permission or channel asked for
	CLIENT_READY, // refreshing when due
	CLIENT_RELEASING,
	CLIENT_FAILED,
	CLIENT_NB_STATES
};

// Why a client failed: X(enum, name, meaning). Every way to FAILED counts in one of them, once.
#define CLIENT_FAULTS(X)                                                                          \
	X(CLIENT_FAULT_TIMEOUT, "timeout", "no answer to any transmission of a request")          \
	X(CLIENT_FAULT_REFUSED, "refused", "error response (see errors by code)")                 \
	X(CLIENT_FAULT_BAD_ANSWER, "bad-answer",                                                  \
		"answer with an attribute missing, malformed or unknown, or of the wrong family") \
	X(CLIENT_FAULT_INTEGRITY, "integrity",                                                    \
		"all answers to a request had no integrity or a wrong one")                       \
	X(CLIENT_FAULT_LOST, "lost", "437: the server has ended the allocation before its time")  \
	X(CLIENT_FAULT_STALE_NONCE, "stale-nonce", "every new nonce was called stale at once")    \
	X(CLIENT_FAULT_REALM, "realm-changed",                                                    \
		"challenge with another realm, or other algorithms, than before")                 \
	X(CLIENT_FAULT_NO_SHA256, "no-sha256",                                                    \
		"SHA-256 asked for, but PASSWORD-ALGORITHMS is missing or lacks it")              \
	X(CLIENT_FAULT_CONNECTION, "connection",                                                  \
		"the connection to the server failed, or has ended")                              \
	X(CLIENT_FAULT_REQUEST, "request",                                                        \
		"request longer than the MTU, or libcrypto failed (MD5 in FIPS mode)")

enum client_fault {
#define X(id, name, text) id,
	CLIENT_FAULTS(X)
#undef X
		CLIENT_NB_FAULTS
};
const char *client_fault_name(enum client_fault f);
const char *client_fault_text(enum client_fault f);

#define CLIENT_ERROR_CODES 400 // codes 300..699

// Counters of a population; single writer, read with relaxed loads by the main lcore.
struct client_stats {
	uint64_t state[CLIENT_NB_STATES]; // clients in each
	uint64_t requests, retransmissions; // requests: first transmissions
	uint64_t answers; // to requests, as they were taken: successes, errors, challenges
	uint64_t challenges; // of those: 401 and 438 that were met by another try
	uint64_t ignored; // answers with wrong integrity, or success without
	uint64_t stray; // not STUN, or no answer to the request under way (as after an answer to
		// a transmission before)
	uint64_t allocations, releases; // answered with success (releases: or with 437)
	uint64_t refreshes; // of allocations, permissions and channels, answered with success
	uint64_t fault[CLIENT_NB_FAULTS];
	uint64_t error[CLIENT_ERROR_CODES]; // error responses by code - 300, challenges apart
};

// One client. at, peer, relay, channel and state are read by the sender's data path (same lcore).
struct client {
	struct endpoint at, peer; // own address; the peer it talks to
	struct endpoint relay; // XOR-RELAYED-ADDRESS, valid in BINDING and READY
	uint16_t channel; // 0 but in MODE_CHANNEL
	uint8_t state; // enum client_state
	// private: the request under way, and what is due when there is none
	uint8_t method; // enum stun_method
	uint8_t tid[STUN_TID_LEN];
	uint8_t tries; // transmissions so far
	uint8_t challenges; // 401 and 438 so far, whatever the transaction ids
	uint8_t mismatches; // 437 to Allocate since client_start
	uint16_t nonce_len; // 0 = has none
	bool pending : 1; // there is a request under way
	bool bare : 1; // it has no credentials
	bool deleting : 1; // it is a Refresh with lifetime 0
	bool challenged : 1; // it has met a 401
	bool tampered : 1; // an answer to it was ignored
	bool allocated : 1; // the server has an allocation of ours, for all we know
	bool ended : 1; // at ended_ms the server deleted what it had of ours
	bool doomed : 1; // has failed; is to give back the allocation before it is FAILED
	bool keyed : 1; // has a key of its own
	uint32_t sent_ms; // first transmission, modulo 2^32
	uint32_t ended_ms; // modulo 2^32
	uint64_t refresh_ms, permission_ms, channel_ms; // due times, UINT64_MAX = never
};

_Static_assert(sizeof(struct client) <= 128, "two cache lines");

struct clients; // a population

struct clients_params {
	const struct config *config; // outlives the population
	// It owns the clients first, first + step, ... (count of them, 0 is allowed). The number of
	// a client decides its address (side_host), its peer (the same, round and round), the
	// number behind its name with user_per_client, and its channel.
	uint32_t first, step, count;
	struct csprng *rng; // the lcore's, for transaction ids
	uint64_t now_ms; // monotonic
	uint64_t wall_s; // time of day at start: REST names expire lifetime after a day from it
	// Is told of every answer taken: ms since its request was first sent. May be NULL.
	void (*answered)(void *ctx, enum stun_method method, uint64_t ms);
	void *ctx;
};

// NULL when memory ran out or libcrypto fails. Everything is allocated here. Nonces may grow to
// their largest size in address space that costs memory only when used: 216 bytes a client with
// nonces of up to 64 bytes, 916 with the longest there are; 32 more with a name of its own.
struct clients *clients_create(const struct clients_params *p);
void clients_free(struct clients *c);
uint32_t clients_count(const struct clients *c);
// i is an index into the population, below its count; so in all that follows.
struct client *clients_at(struct clients *c, uint32_t i);
const struct client_stats *clients_stats(const struct clients *c);

// Each of the following may make one datagram for the server, from client i's address: written to
// out, its length returned; 0 = none. out has room for CLIENT_MESSAGE_MAX bytes; what is longer
// than the MTU of the configuration is never written.

// Begins with Allocate (IDLE and FAILED only; else 0), now or when clients_tick finds that the
// client has rested long enough.
size_t client_start(struct clients *c, uint32_t i, uint64_t now_ms, uint8_t *out);
// READY only (else 0): Refresh with lifetime 0.
size_t client_release(struct clients *c, uint32_t i, uint64_t now_ms, uint8_t *out);
// A STUN datagram of the server to client i that is no Data indication. Anything may be in it.
size_t client_input(struct clients *c, uint32_t i, const uint8_t *data, size_t len, uint64_t now_ms,
	uint8_t *out);
// Whose time has come: retransmission, refresh, time-out. Fills *i and returns the length; 0 =
// nothing to send at the moment (call again in a millisecond). Bounded work a call.
size_t clients_tick(struct clients *c, uint64_t now_ms, uint32_t *i, uint8_t *out);
// The connection that client i came by has ended, and with it all that the server had of it.
void client_cut(struct clients *c, uint32_t i);
// Gives up all that is under way or held (state IDLE or FAILED), for an end without waiting.
void clients_abort(struct clients *c);
