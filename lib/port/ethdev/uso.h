// SPDX-License-Identifier: BSD-3-Clause
// Super-frames on an ethdev. Private to lib/port.
#pragma once

#include "port.h"

struct ethdev;
struct port_request;

// Returns the transmit offloads to request and sets port.uso, port.tso or both; 0 if the port must
// not accept super-frames.
uint64_t port_uso_plan(struct ethdev *e, const struct port_request *r);
// Converts a super-frame to send (super.h) to the format of drivers.
void port_uso_prepare(struct rte_mbuf *m);
// port_ops.tx for a port that accepts super-frames.
uint16_t port_uso_tx(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n);
