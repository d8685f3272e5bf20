// SPDX-License-Identifier: BSD-3-Clause
// The peers' echo.
#pragma once

#include "lanes/lane.h"

struct reflector *reflector_create(const struct config *c);
void reflector_free(struct reflector *r);
// Sends a datagram back to where it came from, with what it is told to do to it. Consumes m.
void reflect_input(struct lane *l, struct rte_mbuf *m, const struct net_frame *f);
// What the delay line lets go, and what it held back to reorder.
void reflect_tick(struct lane *l);
