// SPDX-License-Identifier: BSD-3-Clause
// tx.c: frames on their way out.
#pragma once

#include <stdint.h>

struct exception_note;
struct rte_mbuf;
struct worker;

// Takes a finished frame; hands it to the worker that owns a queue when this one has none.
void tx_put(struct worker *w, uint8_t port, struct rte_mbuf *m);
// The same for a super-frame of TCP, on a worker that has a queue of its own. It goes behind all
// that was put before it, so that a flow stays in order.
void tx_put_super(
	struct worker *w, uint8_t port, struct rte_mbuf *m, const struct exception_note *note);
void tx_flush(struct worker *w);
