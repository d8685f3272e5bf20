// SPDX-License-Identifier: BSD-3-Clause
// Sends frames.
#pragma once

#include <stdint.h>

struct exception_note;
struct rte_mbuf;
struct worker;

// Sends a finished frame, through another worker if this one has no queue. Consumes the frame.
void tx_put(struct worker *w, uint8_t port, struct rte_mbuf *m);
// Sends a TCP super-frame. The worker must have a queue of its own. All frames put earlier leave
// first, so that a flow stays in order.
void tx_put_super(
	struct worker *w, uint8_t port, struct rte_mbuf *m, const struct exception_note *note);
void tx_flush(struct worker *w);
