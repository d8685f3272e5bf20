// SPDX-License-Identifier: BSD-3-Clause
// Copies frames and messages for an operator. Without a capture worker.capture is NULL, which a
// worker checks once per burst. The requester of a capture allocates its memory; a worker uses it
// from one DP_ASK_CAPTURE to the next.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/capture_ring.h"
#include "dp_capture.h"

struct capture_filter;
struct rte_mbuf;
struct turn_event;
struct turn_view;
struct worker;

#define CAPTURE_PIECES 16

// One worker's part of a capture.
struct capture {
	const struct capture_filter *filter;
	struct capture_ring frames, notes;
	// copies lost because a ring was full; the worker writes, any thread reads
	uint64_t lost, lost_notes;
	unsigned int next_piece;
	struct capture_piece { // the last datagrams whose first fragment matched
		struct addr src, dst;
		uint32_t id;
		uint64_t allocation;
	} piece[CAPTURE_PIECES];
};

// All of these run on the worker, and only while worker.capture is set.

// Call it with the first n packets of the worker's burst, which a port has received.
void capture_rx(struct worker *w, uint8_t port, unsigned int n);
// Call it before frames are passed to a port.
void capture_tx(struct worker *w, uint8_t port, struct rte_mbuf *const *m, unsigned int n);
// Call it before a packet is dropped.
void capture_drop(struct worker *w, const struct rte_mbuf *m, unsigned int reason);
// Captures a message from or to a client over DTLS or a stream: src, mark, data and len of a view.
void capture_message(struct worker *w, enum dp_capture_kind kind, const struct turn_view *v);
// Captures all messages of the worker's burst.
void capture_burst(struct worker *w, enum dp_capture_kind kind);
// Reports an event of a client: allocations that begin and end.
void capture_event(struct worker *w, const struct turn_event *e);
// Starts, changes or, with NULL, stops the worker's part in a capture.
void capture_set(struct worker *w, const struct capture_filter *f);

// Frees the capture of a data path, if there is one. Call it after the workers have stopped.
void capture_free(struct dp *d);
