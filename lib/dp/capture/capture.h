// SPDX-License-Identifier: BSD-3-Clause
// Copies of frames and messages for an operator. A worker without a capture has worker.capture
// NULL, and asks for no more than that once a burst. The memory is made by who asks for a capture;
// a worker knows of it from one DP_ASK_CAPTURE to the next.
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
	uint64_t lost, lost_notes; // found no room; the worker writes, anybody reads
	unsigned int next_piece;
	struct capture_piece { // the last datagrams of which the first fragment was wanted
		struct addr src, dst;
		uint32_t id;
		uint64_t allocation; // allocation
	} piece[CAPTURE_PIECES];
};

// All of these: only with worker.capture, on the worker.

// The first n packets of the worker's burst have come in by a port.
void capture_rx(struct worker *w, uint8_t port, unsigned int n);
// Frames are about to be given to a port.
void capture_tx(struct worker *w, uint8_t port, struct rte_mbuf *const *m, unsigned int n);
// A packet is about to be dropped.
void capture_drop(struct worker *w, const struct rte_mbuf *m, unsigned int reason);
// A message of or for a client over DTLS or a stream: src, mark, data and len of a view.
void capture_message(struct worker *w, enum dp_capture_kind kind, const struct turn_view *v);
// The same for all of the worker's burst.
void capture_burst(struct worker *w, enum dp_capture_kind kind);
// Something has happened to a client: tells of allocations that begin and end.
void capture_event(struct worker *w, const struct turn_event *e);
// Begins, changes or, with NULL, ends the worker's part in a capture.
void capture_set(struct worker *w, const struct capture_filter *f);

// Frees the capture of a data path whose workers no longer run, if there is one.
void capture_free(struct dp *d);
