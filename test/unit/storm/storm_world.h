// SPDX-License-Identifier: BSD-3-Clause
// Storms in simulated time: frames arrive at a rate of their own in receive rings of finite length,
// which fill while a worker is at work. What a round costs is reckoned, from figures that no CPU of
// today is worse than: so a test can ask for rates of ten million a second, and says the same on
// every machine. One world at a time.
#pragma once

#include "dp_world.h"
#include "net.h"

#define CLIENTS 256
#define ASKERS 1000
#define FRAME_MAX 320
#define PATIENCE_MS 3000
#define STUN_AT (NET_ETH_LEN + NET_IP4_LEN + NET_UDP_LEN)

struct frame {
	uint16_t len;
	uint8_t data[FRAME_MAX];
};

struct tally {
	uint64_t sent, lost; // by the ring
	uint64_t back; // relayed, or answers
};

extern struct dp_world world;
extern struct frame storm[2 * CLIENTS]; // of storm_open: all allocate, then all release
extern struct frame fakes[ASKERS]; // all valid, and of no use
extern struct frame up, down; // of a call that lives on worker 0
extern struct world_client call;
extern struct endpoint peer;
extern struct tally calls, requests, others;

// A world with a call in it, and perhaps with DTLS listeners.
void world_begin(unsigned int workers, bool dtls);
// The same, and a storm's clients, all of whom live on worker home.
void storm_open(unsigned int workers, unsigned int home);
// The next client, by port number, that lives on a worker.
void client_at(struct world_client *c, uint16_t *port, unsigned int home);
// The frame of a datagram.
void keep(struct frame *out, const struct endpoint *src, const struct endpoint *dst,
	const void *data, size_t len);
// As many clients of worker 0 that will ask, in turn, within a tenth of a second from when their
// storm begins: with an allocation for its Refresh, else for one.
void askers_make(unsigned int nb, uint16_t port, bool allocated);
// All but the first nb do not ask.
void askers_forget(unsigned int nb);
// The frame of a client's signed request.
void request_make(
	struct frame *out, struct world_client *c, enum stun_method method, uint32_t lifetime_s);
// Requests of strangers: signed, with nothing to refresh. They are answered, and change nothing.
void fakes_of_strangers(unsigned int nb);
// Requests that somebody sends in the name of the askers [from, from + nb): nothing is theirs but
// the 5-tuple.
void fakes_of_askers(unsigned int first, unsigned int nb);
// Has requests, or frames that nobody has to answer, come in on a queue in turn.
void begin(const struct frame *frames, uint32_t nb, uint16_t queue, uint64_t per_second);
void begin_others(const struct frame *frames, uint32_t nb, uint16_t queue, uint64_t per_second);
// Has the call's datagrams come in, each way by a queue.
void call_begins(uint16_t queue_up, uint16_t queue_down, uint64_t per_second);
void run_for(unsigned int ms);
// The same, and until all that came has been dealt with.
void run(unsigned int ms);
// Until everybody who is expected to has an answer.
void run_askers(uint16_t queue);
// Requests that found no room to wait.
uint64_t refused(void);
// Asserts that no datagram of the call is lost.
void check_call(void);
// Asserts what must hold of any storm of requests, and at least so many answers a second.
void check(unsigned int ms, uint64_t least);
