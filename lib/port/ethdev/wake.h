// SPDX-License-Identifier: BSD-3-Clause
// The descriptors of ethdevs that wake workers (port_ops.wake_fd). Private to lib/port.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ethdev;
struct port;

// port_ops.wake_fd of an ethdev: the socket of an af_packet queue, or the descriptor of the queue's
// interrupt if the port is configured with interrupts. -1 if it has neither.
int port_wake_fd(struct port *p, uint16_t queue);
// port_ops.wake_arm of an ethdev: enables and disables the interrupt.
int port_wake_arm(struct port *p, uint16_t queue, bool on);
// port_ops.wake_fd of a bond: a descriptor that is readable while the descriptor of a member is. -1
// unless all members have one.
int port_wake_bond_fd(struct port *p, uint16_t queue);
// Clears errors of the sockets: otherwise a socket whose interface was down stays readable. Any
// thread, while the port runs.
void port_wake_settle(const struct ethdev *e);
// Closes the descriptors of port_wake_bond_fd.
void port_wake_close(struct ethdev *e);
