// SPDX-License-Identifier: BSD-3-Clause
// Stream threads that relay TCP over the loopback interface (RFC 6062). The test acts as their
// worker, and clients and peers are kernel sockets.
#pragma once

#include <netinet/in.h>
#include <time.h>

#include "stream.h"
#include "test.h"

#define ROOM 1400
#define PATIENCE_MS 20000 // wait for a message until a test fails
#define ALLOCATION 77
#define RELAY_WORLD_MANY 1500
#define RELAY_WORLD_BURST 3

// A message between threads and the worker.
struct item {
	struct item *next;
	struct stream_message m;
	struct stream_from origin;
	struct stream_attempt attempt;
	enum { ITEM_MESSAGE, ITEM_ENDED, ITEM_ATTEMPT, ITEM_UNOPENED } kind;
	unsigned int thread;
	uint8_t data[ROOM];
};

struct relay_tally {
	uint64_t round;
	uint32_t now, most;
};

struct relay_world {
	struct streams *streams;
	struct sockaddr_in server, port, other_port;
	uint64_t alive; // 0: all allocations have ended
	uint32_t connections; // as reported
	// Bytes that may be relayed, and relayed bytes: to peers and to clients.
	int64_t allowed[2], relayed[2];
	bool over; // the allocation has just ended: bytes relayed from now on are not counted
	int64_t late[2]; // such bytes
	bool denied[65536]; // by port, for peers of allocations of realm 0
	bool all_denied[256]; // by realm
	bool restless; // the rules change whenever a thread asks about a peer
	// By thread: the greatest number of its questions about peers, and of its answers
	// "allocation has ended", in one round.
	struct relay_tally asked[2], gone[2];
};
extern struct relay_world world;

// Waits until a condition holds.
#define UNTIL(condition)                                                 \
	for (int left_ = PATIENCE_MS; !(condition); left_--) {           \
		assert_int_not_equal(left_, 0);                          \
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); \
	}

// The next item of a kind.
struct item *next(int kind);
// The steps of a reload once another policy is in use.
void rules_changed(void);
// True: threads get no buffer for questions to the worker.
void buffers_run_out(bool out);
// Sends an order to the thread of a connection. Its answers are the names of their outcomes:
// "done", "port", "same", "fail", "many", "deny", "what".
void order(uint64_t conn, struct stream_order o);
// Sends a client a message of zeros that may not be dropped.
void tell(uint64_t conn, uint16_t len);
struct stream_stats stats(void);

int dial(const struct sockaddr_in *addr);
void assert_reads(int fd, const char *text);
// Waits until the other end has closed.
void assert_closes(int fd);
// Waits for the end, by a close or by a reset, and asserts that no byte comes before it.
void assert_ends(int fd);
void assert_is_reset(int fd);
// A client whose connection the worker knows; *conn is set to its number. It sends a request of
// this method, followed by `more`.
int client(uint8_t method, const char *more, uint64_t *conn);
// A control connection with an open port, for the allocation with a relay port of this index.
int control_at(uint64_t *conn, uint32_t port_index, const struct sockaddr_in *addr);
int control(uint64_t *conn);
// Admits the peer of an attempt under a number, and frees the item.
void admit(struct item *i, uint32_t id);
// A connected peer that is admitted under a number.
int admitted(uint64_t conn, uint32_t id);
struct stream_order binding(uint32_t id, const char *user);
// A client's data connection, joined with the peer that was admitted under a number. It sends
// `more` after the ConnectionBind.
int bound(uint32_t id, const char *more);
// Returns a control connection, and makes a client and a peer that are joined.
int joined(uint64_t *conn, int *peer, const char *more, int *data);
extern const struct stream_order listening;

// For cmocka_unit_test_setup_teardown. An unbound connection is closed after longer than a test
// takes on a busy machine; hasty: after a second. curt: connections that ask nothing are closed
// after a second, too. An allocation may have four connections; many: RELAY_WORLD_MANY.
int relay_world_open(void **state);
int relay_world_open_hasty(void **state);
int relay_world_open_curt(void **state);
int relay_world_open_many(void **state);
// slow: a user may make one Connect a second, with a burst of RELAY_WORLD_BURST.
int relay_world_open_slow(void **state);
// Clients use TLS.
int relay_world_open_tls(const struct stream_identities *certs);
int relay_world_close(void **state);
