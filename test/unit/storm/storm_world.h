// SPDX-License-Identifier: BSD-3-Clause
// Storms in simulated time: frames arrive at a fixed rate in receive rings of finite length, which
// fill while a worker is busy. The cost of a round is computed from figures that every current CPU
// meets, so a test can simulate ten million packets a second, with equal results on every machine.
// One world at a time.
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
	uint64_t sent, lost; // lost by the ring
	uint64_t back; // relayed, or answers
};

extern struct dp_world world;
extern struct frame storm[2 * CLIENTS]; // from storm_open: all allocate, then all release
extern struct frame fakes[ASKERS]; // all valid, and useless
extern struct frame up, down; // of a call on worker 0
extern struct world_client call;
extern struct endpoint peer;
extern struct tally calls, requests, others;

// Opens a world with a call in it, with or without DTLS listeners.
void world_begin(unsigned int workers, bool dtls);
// Opens a world with a call and with a storm's clients, all of which have worker home as their
// home.
void storm_open(unsigned int workers, unsigned int home);
// Makes the next client, by port number, with this home.
void client_at(struct world_client *c, uint16_t *port, unsigned int home);
// The frame of a datagram.
void keep(struct frame *out, const struct endpoint *src, const struct endpoint *dst,
	const void *data, size_t len);
// Makes nb clients of worker 0 that send their requests in turn, within a tenth of a second from
// the beginning of their storm: a Refresh if `allocated`, otherwise an Allocate.
void askers_make(unsigned int nb, uint16_t port, bool allocated);
// Only the first nb still ask.
void askers_forget(unsigned int nb);
// The frame of a client's signed request.
void request_make(
	struct frame *out, struct world_client *c, enum stun_method method, uint32_t lifetime_s);
// Requests of strangers: signed, without an allocation to refresh. They are answered, and change
// nothing.
void fakes_of_strangers(unsigned int nb);
// Spoofed requests in the name of the askers [first, first + nb): only the 5-tuple is theirs.
void fakes_of_askers(unsigned int first, unsigned int nb);
// Lets requests, or frames that need no answer, come in on a queue in turn.
void begin(const struct frame *frames, uint32_t nb, uint16_t queue, uint64_t per_second);
void begin_others(const struct frame *frames, uint32_t nb, uint16_t queue, uint64_t per_second);
// Lets the call's datagrams come in, each direction on a queue.
void call_begins(uint16_t queue_up, uint16_t queue_down, uint64_t per_second);
void run_for(unsigned int ms);
// Runs for `ms`, and then until everything that came has been processed.
void run(unsigned int ms);
// Runs until each expected client has an answer.
void run_askers(uint16_t queue);
// Requests that found no room to wait.
uint64_t refused(void);
// Asserts that no datagram of the call is lost.
void check_call(void);
// Asserts what must hold for any storm of requests, and at least `least` answers a second.
void check(unsigned int ms, uint64_t least);
