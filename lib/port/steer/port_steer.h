// SPDX-License-Identifier: BSD-3-Clause
// RSS and flow rules like those of a NIC, for ports whose queues the kernel fills: it runs our
// program (steer_program.h) to choose the queue of each frame. Private to lib/port.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "port.h"
#include "steer/steer_program.h"

struct steer_table;

struct port_steer {
	struct steer_table *table; // shared with the kernel; NULL: the kernel chooses queues
};

// Loads a program for the p->nb_rxq queues of a port, with a key as in port_config.rss_key. Returns
// its descriptor, which the caller gives to the kernel and closes, or -errno (-EPERM without
// CAP_BPF, -E2BIG without CAP_PERFMON) with s all zero.
int port_steer_open(
	struct port_steer *s, struct port *p, const uint8_t *key, enum steer_begins begins);
// Fills p->rss and the fields for it, once the kernel has the program.
void port_steer_tell(const struct port_steer *s, struct port *p);
// Unmaps the table, which the program keeps. There must be no rules left.
void port_steer_close(struct port_steer *s);
// port_ops.flow_create and flow_destroy, with the port's s. Management lcore.
int port_steer_rule(
	struct port_steer *s, const struct port_rule *r, void **flow, char *reason, size_t len);
void port_steer_unrule(struct port_steer *s, void *flow);
// Moves the rules of an address to another one of its family. Management lcore.
void port_steer_move(struct port_steer *s, const struct addr *was, const struct addr *current);
