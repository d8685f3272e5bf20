// SPDX-License-Identifier: BSD-3-Clause
// The state of a vtap. vtap.c opens it and has its table of functions, vtap_watch.c reacts to the
// removal of its interface. Private to lib/port.
#pragma once

#include "port.h"
#include "steer/port_steer.h"
#include "vtap/vtap_iface.h"
#include "vtap/vtap_rx.h"
#include "vtap/vtap_tx.h"
#include "devices/vtap_spec.h"

struct vtap {
	struct port port;
	struct vtap_spec spec;
	struct vtap_iface iface;
	struct port_steer steer;
	int chooses; // program that chooses among queues; -1 = the kernel chooses
	struct vtap_rx rx[VTAP_QUEUES_MAX];
	struct vtap_tx tx[VTAP_QUEUES_MAX];
	// The interface was removed, and could not be made again yet. Written by the management
	// lcore, read by any thread.
	bool gone;
};

// port_ops.watch and port_ops.trouble.
bool vtap_watch(struct port *p);
bool vtap_trouble(struct port *p, char *buf, size_t len);
