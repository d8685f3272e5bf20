// SPDX-License-Identifier: BSD-3-Clause
// Captures as the management side sees them: what is wanted, and the frames that workers have
// copied (capture/capture.c). Public, beside dp.h.
#pragma once

#include "dp.h"

// What is captured: frames of allocations (dp_capture_add), all of some addresses, or what is
// dropped for a reason.
struct dp_capture_wanted {
	struct turn_filter follow; // allocations whose beginning and end is told; wants 0: none
	bool of_source; // all frames from and to source
	struct prefix source;
	unsigned int drop; // enum dp_drop; DP_DROP_END = none
	bool payload; // whole; else headers, and of STUN numbers and addresses, alone
	bool decrypted; // messages of clients over DTLS, TLS and TCP, too
	uint32_t snap; // bytes of each, at most
};

enum dp_capture_kind {
	DP_CAPTURE_RX, // from a port
	DP_CAPTURE_TX, // as given to a port
	DP_CAPTURE_DROP,
	DP_CAPTURE_DTLS_IN, // messages within DTLS, of a client and for one
	DP_CAPTURE_DTLS_OUT,
	DP_CAPTURE_STREAM_IN, // within TLS or TCP
	DP_CAPTURE_STREAM_OUT,
};

#define DP_CAPTURE_ENDS 64 // allocations
#define DP_CAPTURE_SNAP_MAX 65535
#define DP_CAPTURE_TAGGED 0x10000

struct dp_capture_frame {
	uint64_t ns; // time of day
	uint64_t id; // of its allocation; 0 = none that is looked for
	struct endpoint client; // message: who it is of or for; port 0 = nobody knows
	uint32_t len, cut; // bytes that it had, and that are in data
	uint32_t tag; // 0, or the VLAN tag that the port took off and DP_CAPTURE_TAGGED
	uint16_t reason; // DROP: enum dp_drop
	uint16_t frames; // that it stands for
	uint8_t kind, port, listener;
	bool message; // without headers of a frame
	uint8_t data[];
};

// An allocation that follow lets through.
struct dp_capture_note {
	bool ended; // else it has just been made
	struct turn_info info;
};

// Makes memory for a capture, of which there is one at a time. 0, -EBUSY or -ENOMEM. All of this is
// for one thread, not a worker's. Then come dp_capture_add and DP_ASK_CAPTURE to every worker, as
// often as the allocations change; at the end DP_ASK_CAPTURE with NULL, and dp_capture_close when
// all workers have answered that.
int dp_capture_open(struct dp *d, const struct dp_capture_wanted *wanted);
// Adds and removes an allocation, for the next dp_capture_filter. False: nothing has changed. On
// shared relay ports the client's side alone is captured.
bool dp_capture_add(struct dp *d, const struct turn_info *i);
bool dp_capture_remove(struct dp *d, uint64_t id);
// For DP_ASK_CAPTURE. All workers have to answer it before this is called again.
const struct capture_filter *dp_capture_filter(struct dp *d);
// The oldest frame from before a time; NULL: there is none. Good until dp_capture_next, which takes
// it out.
const struct dp_capture_frame *dp_capture_first(struct dp *d, uint64_t before_ns);
void dp_capture_next(struct dp *d);
bool dp_capture_note(struct dp *d, struct dp_capture_note *out); // false: there is none
// How many frames found no room, and how many notes.
uint64_t dp_capture_lost(const struct dp *d, uint64_t *notes);
void dp_capture_close(struct dp *d); // nothing is open: fine
