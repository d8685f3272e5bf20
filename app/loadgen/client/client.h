// SPDX-License-Identifier: BSD-3-Clause
// TURN clients as a state machine (RFC 8656 on RFC 8489). A client sends Allocate, answers the
// challenge, sends CreatePermission or ChannelBind, refreshes in time, and ends with a Refresh of
// lifetime 0. Each request is retransmitted by RFC 8489 6.2.1. Datagrams and time go in, datagrams
// to send come out. There is one population per sender lcore, without locks. PURE (+libcrypto
// through lib/stun): no packets, no clock, no allocation after create.
//
//	IDLE -> ALLOCATING -> BINDING -> READY -> RELEASING -> IDLE
//	            |            |         |          |
//	            +------------+---------+----------+--> FAILED (client_start tries again)
//
// In BINDING a client of MODE_CHANNEL sends ChannelBind, a client of MODE_SEND CreatePermission.
// Clients of all other modes go from ALLOCATING straight to READY. A client that is refused while
// it has an allocation first releases the allocation (RELEASING) and then is FAILED.
//
// A client keeps its nonce when its allocation ends. When it is started again it signs its first
// request with that nonce, so a cycle costs one Allocate and one Refresh 0; a challenge is added
// only when the server wants a new nonce. The realm and the list of password algorithms belong to
// the population: the server must send all clients the same ones.
//
// The clients work with servers of RFC 5389 and 5766 as well. They deviate from the RFCs in four
// ways:
// * They accept error responses without integrity. Some servers sign none, and by the RFC the
//   client would wait 39.5 s in silence instead (RFC 8489 9.2.5). They never accept a success
//   response without integrity.
// * 437 to Allocate: an aborted run may have left an allocation on this transport address. The
//   client deletes that one and tries again. Some servers (coturn: for a second) still answer 437
//   for a while after they have deleted an allocation. Then the client waits in ALLOCATING before
//   it tries again, and the population measures how long its clients must rest between two
//   allocations.
// * They send USERNAME even where a nonce cookie asks for USERHASH: a server cannot tell a REST
//   user name from its hash.
// * With INTEGRITY_SHA1 they are clients of RFC 5389 and ignore PASSWORD-ALGORITHMS.
#pragma once

#include "client/client_fault.h"
#include "options/config.h"
#include "stun.h"

// Longest request in bytes. It has room for the longest REALM and NONCE, if the MTU allows them.
#define CLIENT_MESSAGE_MAX 1904

enum client_state {
	CLIENT_IDLE,
	CLIENT_ALLOCATING,
	CLIENT_BINDING, // has asked for a permission or a channel
	CLIENT_READY, // sends the refreshes that are due
	CLIENT_RELEASING, // has sent Refresh with lifetime 0
	CLIENT_FAILED,
	CLIENT_NB_STATES
};

#define CLIENT_ERROR_CODES 400 // codes 300..699

// Counters of a population. The sender's lcore writes them; the main lcore reads them with relaxed
// loads.
struct client_stats {
	uint64_t state[CLIENT_NB_STATES]; // clients now in each state
	uint64_t requests, retransmissions; // requests: first transmissions
	uint64_t answers; // accepted answers to requests: successes, errors and challenges
	uint64_t challenges; // answers 401 and 438 after which the client tried again
	uint64_t ignored; // answers with wrong integrity, and successes without any
	uint64_t stray; // not STUN, or no answer to the request under way (for example a second
		// answer, to an earlier transmission)
	uint64_t allocations, releases; // answered with success (releases: with success or 437)
	uint64_t refreshes; // of allocations, permissions and channels, answered with success
	uint64_t fault[CLIENT_NB_FAULTS];
	uint64_t error[CLIENT_ERROR_CODES]; // error responses by code - 300, without challenges
};

// One client. The sender's data path (on this lcore) reads local, peer, relay, channel and state.
struct client {
	struct endpoint local, peer; // its own address; the address of its peer
	struct endpoint relay; // XOR-RELAYED-ADDRESS, valid in BINDING and READY
	uint16_t channel; // channel number; 0 in all modes other than MODE_CHANNEL
	uint8_t state; // enum client_state
	// private: the request under way, or the times of the next refreshes
	uint8_t method; // enum stun_method
	uint8_t tid[STUN_TID_LEN];
	uint8_t tries; // transmissions of the current request
	uint8_t challenges; // answers 401 and 438 to the current request, under any transaction id
	uint8_t mismatches; // answers 437 to Allocate since client_start
	uint16_t nonce_len; // 0 = no nonce yet
	bool pending : 1; // a request is under way
	bool bare : 1; // the request carries no credentials
	bool deleting : 1; // the request is a Refresh with lifetime 0
	bool challenged : 1; // the request was answered with 401
	bool tampered : 1; // an answer to the request was ignored
	bool allocated : 1; // the server has an allocation of this client, as far as known
	bool ended : 1; // the server deleted this client's allocation at ended_ms
	bool doomed : 1; // has failed, and releases its allocation before it is FAILED
	bool keyed : 1; // has a key of its own
	uint32_t sent_ms; // first transmission of the request, modulo 2^32
	uint32_t ended_ms; // modulo 2^32
	uint64_t refresh_ms, permission_ms, channel_ms; // due times, UINT64_MAX = never
};

_Static_assert(sizeof(struct client) <= 128, "two cache lines");

struct clients; // a population (clients.h)

// i is an index into the population, less than its count.
//
// Each of the following functions may make one datagram from client i to the server. It writes the
// datagram to out and returns its length; 0 = no datagram. out has room for CLIENT_MESSAGE_MAX
// bytes. No datagram is longer than the configured MTU allows.

// Starts an IDLE or FAILED client (else does nothing): sends Allocate now, or has clients_tick send
// it once the client has rested long enough.
size_t client_start(struct clients *p, uint32_t i, uint64_t now_ms, uint8_t *out);
// Releases a READY client (else does nothing): sends Refresh with lifetime 0.
size_t client_release(struct clients *p, uint32_t i, uint64_t now_ms, uint8_t *out);
// Processes a STUN datagram from the server to client i, except Data indications. The bytes are not
// trusted.
size_t client_input(struct clients *p, uint32_t i, const uint8_t *data, size_t len, uint64_t now_ms,
	uint8_t *out);
// Runs the next timer that is due: a retransmission, a refresh or a timeout. Writes the client's
// index to *i. Returns 0 if there is no datagram to send at the moment: call it again a millisecond
// later. The work of one call is bounded.
size_t clients_tick(struct clients *p, uint64_t now_ms, uint32_t *i, uint8_t *out);
// Reports that client i's connection has closed. The server has deleted all its state of the
// client.
void client_cut(struct clients *p, uint32_t i);
