// SPDX-License-Identifier: BSD-3-Clause
// Super-frames on an ethdev. Private to lib/port.
#pragma once

#include "port.h"

struct ethdev;
struct port_request;

// The transmit offloads to ask for; 0 when the port must not take super-frames. Else sets port.uso,
// port.tso or both.
uint64_t port_uso_plan(struct ethdev *e, const struct port_request *r);
// Turns a super-frame to be sent (super.h) into the form that a driver expects.
void port_uso_prepare(struct rte_mbuf *m);
// port_ops.tx for a port that takes super-frames.
uint16_t port_uso_tx(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n);
