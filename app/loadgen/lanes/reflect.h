// SPDX-License-Identifier: BSD-3-Clause
// The peers' echo, and the faults it makes on purpose.
#pragma once

#include "lanes/lane.h"

// NULL when memory ran out.
struct reflector *reflector_create(const struct config *c);
void reflector_free(struct reflector *r);
// Sends a datagram back to its source, with the faults that the configuration asks for. Consumes
// m.
void reflect_input(struct lane *l, struct rte_mbuf *m, const struct net_frame *f);
// Sends the datagrams whose delay is over, and one that has waited too long for another to overtake
// it.
void reflect_tick(struct lane *l);
