// SPDX-License-Identifier: BSD-3-Clause
// A bond: several devices as one ethdev, by DPDK's bonding driver. Private to lib/port.
#pragma once

#include "ethdev/device.h"
#include "port.h"

struct bond;

// Finds or hot-plugs the members of r->c->bond and makes an ethdev of them in *out: not configured
// yet, with the common capabilities of the members. NULL with the reason written. Management lcore,
// like all following functions unless stated otherwise.
struct bond *port_bond_attach(const struct port_request *r, struct port_device *out);
// Removes the bond, whose ethdev must be closed already, then closes the members, and removes the
// hot-plugged ones. Frees b.
void port_bond_detach(struct bond *b);

unsigned int port_bond_size(const struct bond *b);
// Returns the ethdev of a member.
uint16_t port_bond_member_id(const struct bond *b, unsigned int member);
// Returns the driver of the members if all have the same, else the bonding driver.
const char *port_bond_driver(const struct bond *b);

// True if packets can be sent: a link is up, and with LACP the other end has accepted it. Any
// thread.
bool port_bond_link(const struct bond *b);
// port_ops.members. Any thread.
unsigned int port_bond_members(const struct bond *b, struct port_member out[PORT_MEMBERS_MAX]);
// port_ops.tick of port p, which has bond b. Worker lcore.
void port_bond_tick(const struct bond *b, const struct port *p, uint16_t queue);
