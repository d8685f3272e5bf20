// SPDX-License-Identifier: BSD-3-Clause
// A dp_world of clients each of which has an allocation and one channel to one peer: every pair of
// families, on-link and behind the gateway, and with two_ports a client on the second port. And
// checksums as a sender computes them, from scratch.
#pragma once

#include "dp_world.h"
#include "path/worker.h"

#define LINE_CLIENTS 5 // the last one on the second port
#define LINE_CHANNEL 0x4001

extern struct dp_world world;
extern struct world_client client[LINE_CLIENTS];
extern struct endpoint peer[LINE_CLIENTS];
extern const struct world_setup line_one; // with one worker

// Opens the world with the first nb clients, whose next hops are resolved.
void line_open(const struct world_setup *s, unsigned int nb);
// Makes client i with its allocation, and the name of its peer; no more.
void line_client(unsigned int i);
// Makes sure that the next hops of client i and its peer are resolved, and cached in the line.
void line_settle(unsigned int i);
// A datagram of client i to the listener, or of its peer to the relayed transport address.
struct world_datagram line_up(unsigned int i);
struct world_datagram line_down(unsigned int i);
// ChannelData of len random bytes.
void line_data(struct world_datagram *d, uint16_t len);
// A random length up to most: short ones, ones around the limits, any.
uint16_t line_random_len(uint16_t most);
// Asserts that a datagram is dropped for this reason, on whichever worker.
void line_dropped(const struct world_datagram *d, unsigned int reason);

// --- one frame on several paths -----------------------------------------------------------------

enum line_way {
	LINE_BY_LINE, // unchanged
	LINE_BY_PLAN, // the fast path is off
	LINE_BY_TREES, // and the line's copy has expired
};

// The outcome of a frame: a frame again, or a reason.
struct line_outcome {
	size_t len; // 0 = dropped
	unsigned int reason;
	bool by_line; // relayed without a plan
	uint32_t counted; // by the line of the client
	bool in_fragments; // it was reassembled
	uint8_t frame[2048];
};

struct worker *line_worker(void); // the first
struct turn_line *line_of(const struct world_client *c); // of its allocation, live or ended

// Reception of frames by line_pass: headroom, and offload flags of an mbuf that are trusted.
struct line_rx {
	uint16_t headroom;
	uint64_t flags;
};
extern struct line_rx line_rx;

// Runs one round of the worker; no time passes.
void line_round(void);
// Receives a frame of client c or its peer on a port, and nothing else, in a round of a world with
// one worker.
struct line_outcome line_pass(enum line_way path, const struct world_client *c, unsigned int port,
	const uint8_t *frame, size_t len);

// line_pass() on each path in turn. Asserts that the results are equal, except ids, and that their
// checksums are right. Returns the result of the line's path. No identification may be repeated.
struct line_outcome line_three_ways(
	const struct world_client *c, unsigned int port, const uint8_t *frame, size_t len);
// From here on earlier identifications may be repeated.
void line_new_ids(void);

// --- checksums ----------------------------------------------------------------------------------

// The UDP header of an untagged frame without IPv4 options.
uint8_t *frame_udp(uint8_t *frame);
// The expected checksums (RFC 768, RFC 8200 8.1; RFC 791).
uint16_t frame_udp_checksum(uint8_t *frame);
uint16_t frame_ip_checksum(uint8_t *frame);
void frame_set_checksums(uint8_t *frame);
// Asserts that the frame has them.
void frame_check(uint8_t *frame);
