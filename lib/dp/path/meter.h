// SPDX-License-Identifier: BSD-3-Clause
// Rates of relayed datagrams (limits.rates). Without the feature that limits them, every function
// here is a constant.
#pragma once

#include "dp_features.h"
#include "path/worker.h"

// True if a rate is limited.
static __rte_always_inline bool meter_is_on(const struct worker *w)
{
	bool on = false;

#define X(field, pay, pay_leg, give_leg, pay_more, give_more) on = w->field != NULL;
	DP_METERS(X)
#undef X
	return on;
}

// The functions below are for a worker with rates.

// Charges a datagram with len bytes of data, which will be relayed by its line. False if it exceeds
// a rate; it has been counted for its allocation and dropped. leg is that of the view.
static __rte_always_inline bool meter_pay(struct worker *w, struct rte_mbuf *m,
	const struct turn_view *v, unsigned int leg, uint32_t len)
{
	bool paid = true;

#define X(field, pay, pay_leg, give_leg, pay_more, give_more) paid = pay(w, m, v, leg, len);
	DP_METERS(X)
#undef X
	return paid;
}

// Charges the datagrams of a leg of the burst in advance, from index start on and in order, as if
// their lines vouched. Stops at the first datagram that needs meter_pay, or has no line. Returns
// the index of that datagram. If fewer datagrams are then relayed the caller gives the rest back at
// once. A separate pass costs less per datagram than reading each meter while relaying.
static inline unsigned int meter_pay_leg(
	const struct worker *w, unsigned int leg, unsigned int start)
{
	unsigned int stop = w->burst.turn.nb[leg];

#define X(field, pay, pay_leg, give_leg, pay_more, give_more) stop = pay_leg(w, leg, start);
	DP_METERS(X)
#undef X
	return stop;
}

// Gives back the charge of datagrams [start, stop) of a leg.
static inline void meter_give_leg(
	struct worker *w, unsigned int leg, unsigned int start, unsigned int stop)
{
#define X(field, pay, pay_leg, give_leg, pay_more, give_more) give_leg(w, leg, start, stop);
	DP_METERS(X)
#undef X
}

// Charges several datagrams of an allocation with `bytes` bytes of data in total, or none of them.
static inline bool meter_pay_more(
	struct worker *w, uint32_t slot, unsigned int leg, uint32_t datagrams, uint32_t bytes)
{
	bool paid = true;

#define X(field, pay, pay_leg, give_leg, pay_more, give_more) \
	paid = pay_more(w, slot, leg, datagrams, bytes);
	DP_METERS(X)
#undef X
	return paid;
}

// Gives back the charge of meter_pay_more.
static inline void meter_give_more(
	struct worker *w, uint32_t slot, unsigned int leg, uint32_t datagrams, uint32_t bytes)
{
#define X(field, pay, pay_leg, give_leg, pay_more, give_more) \
	give_more(w, slot, leg, datagrams, bytes);
	DP_METERS(X)
#undef X
}
