// SPDX-License-Identifier: BSD-3-Clause
// What a vtap is made of. vtap.c opens it and has its table of functions, vtap_watch.c follows what
// becomes of its interface. Private to lib/port.
#pragma once

#include "port.h"
#include "steer/port_steer.h"
#include "vtap/vtap_iface.h"
#include "vtap/vtap_rx.h"
#include "vtap/vtap_tx.h"
#include "vtap_spec.h"

struct vtap {
	struct port port;
	struct vtap_spec spec;
	struct vtap_iface iface;
	struct port_steer steer;
	int chooses; // the program of several queues; -1 = the kernel chooses
	struct vtap_rx rx[VTAP_QUEUES_MAX];
	struct vtap_tx tx[VTAP_QUEUES_MAX];
	// The management lcore's; read by any thread: somebody has removed the interface, and it
	// could not be made again yet.
	bool gone;
};

// port_ops.watch and port_ops.trouble.
bool vtap_watch(struct port *p);
bool vtap_trouble(struct port *p, char *buf, size_t len);
