// SPDX-License-Identifier: BSD-3-Clause
// Captures as the management side sees them: the selection, and the frames that workers have copied
// (capture/capture.c). Public, like dp.h.
#pragma once

#include "dp.h"

// Selects frames: those of allocations (dp_capture_add), all frames of some addresses, or frames
// dropped for a reason.
struct dp_capture_wanted {
	// allocations whose start and end are reported; wants 0: no reports
	struct turn_filter follow;
	bool of_source; // all frames from and to source
	struct prefix source;
	unsigned int drop; // enum dp_drop; DP_DROP_END = not by drop reason
	bool payload; // whole frames; else only headers, and numbers and addresses in STUN messages
	bool decrypted; // also messages of clients over DTLS, TLS and TCP
	uint32_t snap; // bytes of each frame, at most
};

enum dp_capture_kind {
	DP_CAPTURE_RX, // received from a port
	DP_CAPTURE_TX, // as passed to a port
	DP_CAPTURE_DROP,
	DP_CAPTURE_DTLS_IN, // decrypted messages from a client and to one
	DP_CAPTURE_DTLS_OUT,
	DP_CAPTURE_STREAM_IN, // messages within TLS or TCP
	DP_CAPTURE_STREAM_OUT,
};

#define DP_CAPTURE_ENDS 64 // allocations
#define DP_CAPTURE_SNAP_MAX 65535
#define DP_CAPTURE_TAGGED 0x10000

struct dp_capture_frame {
	uint64_t ns; // time of day
	uint64_t id; // of its allocation; 0 = not of a selected allocation
	struct endpoint client; // message: its sender or receiver; port 0 = unknown
	uint32_t len, cut; // bytes of the original, and bytes in data
	uint32_t tag; // 0, or the VLAN tag that the port took off and DP_CAPTURE_TAGGED
	uint16_t reason; // DROP: enum dp_drop
	uint16_t frames; // number of frames that it represents
	uint8_t kind, port, listener;
	bool message; // has no frame headers
	uint8_t data[];
};

// Start or end of an allocation that follow selects.
struct dp_capture_note {
	bool ended; // else it has just been made
	struct turn_info info;
};

// Allocates memory for a capture. There is one capture at a time. Returns 0, -EBUSY or -ENOMEM. One
// thread, not a worker's, makes all calls. It then calls dp_capture_add and sends DP_ASK_CAPTURE to
// every worker, whenever the allocations change. At the end it sends DP_ASK_CAPTURE with NULL, and
// calls dp_capture_close when all workers have answered.
int dp_capture_open(struct dp *d, const struct dp_capture_wanted *wanted);
// Adds or removes an allocation, for the next dp_capture_filter. False: nothing has changed. On
// shared relay ports only the client's side is captured.
bool dp_capture_add(struct dp *d, const struct turn_info *i);
bool dp_capture_remove(struct dp *d, uint64_t id);
// The filter for DP_ASK_CAPTURE. All workers must have answered it before the next call.
const struct capture_filter *dp_capture_filter(struct dp *d);
// The oldest frame before a time, or NULL. Valid until dp_capture_next, which removes it.
const struct dp_capture_frame *dp_capture_first(struct dp *d, uint64_t before_ns);
void dp_capture_next(struct dp *d);
bool dp_capture_note(struct dp *d, struct dp_capture_note *out); // false if no note waits
// Number of frames lost because memory was full; *notes: the number of lost notes.
uint64_t dp_capture_lost(const struct dp *d, uint64_t *notes);
void dp_capture_close(struct dp *d); // does nothing if no capture is open
