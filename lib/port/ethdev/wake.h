// SPDX-License-Identifier: BSD-3-Clause
// The descriptors of ethdevs that wake workers (port_ops.wake_fd). Private to lib/port.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ethdev;
struct port;

// port_ops.wake_fd of an ethdev: the socket of a queue of af_packet, or the descriptor of a queue's
// interrupt where the port is configured with interrupts. -1: it has neither.
int port_wake_fd(struct port *p, uint16_t queue);
// port_ops.wake_arm of an ethdev: enables and disables the interrupt.
int port_wake_arm(struct port *p, uint16_t queue, bool on);
// The same of a bond: a descriptor that is readable while that of one of its members is. -1 unless
// all members have one.
int port_wake_bond_fd(struct port *p, uint16_t queue);
// Forgets errors of the sockets: one whose interface was down once is readable for good. Any
// thread, while the port runs.
void port_wake_settle(const struct ethdev *e);
// Closes what port_wake_bond_fd has opened.
void port_wake_close(struct ethdev *e);
