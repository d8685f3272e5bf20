// SPDX-License-Identifier: BSD-3-Clause
// The queue of a TAP that a frame goes to: RSS and flow rules as a NIC has them. Private to
// lib/port.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "port.h"

struct steer_table;

struct vtap_steer {
	struct steer_table *table; // shared with the kernel; NULL: it chooses as it likes
};

// Fixes the queue of every flow on an interface of several, and fills p->rss and what belongs to
// it. queue is the descriptor of one of the queues, key as in port_config.rss_key. 0 or -errno
// (-EPERM without CAP_BPF, -E2BIG without CAP_PERFMON); s is then all zero.
int vtap_steer_open(struct vtap_steer *s, int queue, struct port *p, const uint8_t *key);
void vtap_steer_close(struct vtap_steer *s);
// port_ops.flow_create and flow_destroy, with the port's s. Management lcore.
int vtap_steer_rule(
	struct vtap_steer *s, const struct port_rule *r, void **flow, char *why, size_t len);
void vtap_steer_unrule(struct vtap_steer *s, void *flow);
