// SPDX-License-Identifier: BSD-3-Clause
// The descriptors of ethdevs that wake workers (port_ops.wake_fd). Private to lib/port.
#pragma once

#include <stdint.h>

struct ethdev;
struct port;

// port_ops.wake_fd of an ethdev: the socket of a queue of af_packet. -1 with all other drivers.
int port_wake_fd(struct port *p, uint16_t queue);
// The same of a bond: a descriptor that is readable while that of one of its members is. -1 unless
// all members have one.
int port_wake_bond_fd(struct port *p, uint16_t queue);
// Forgets errors of the sockets: one whose interface was down once is readable for good. Any
// thread, while the port runs.
void port_wake_settle(const struct ethdev *e);
// Closes what port_wake_bond_fd has opened.
void port_wake_close(struct ethdev *e);
