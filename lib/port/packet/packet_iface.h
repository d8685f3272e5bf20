// SPDX-License-Identifier: BSD-3-Clause
// What the kernel tells of an interface that a packet port shares. Private to lib/port.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct port_request;

struct packet_iface {
	int control; // a socket to ask by
	int index;
	uint16_t mtu; // at most 65535
	uint8_t mac[6];
};

// Looks up an interface, and whether it can be shared. 0, or -1 with the reason written; close it
// in either case. Management lcore.
int packet_iface_open(struct packet_iface *f, const struct port_request *r, const char *name);
void packet_iface_close(struct packet_iface *f);
// Reads MAC and MTU again. False: there is no such interface at the moment. Management lcore.
bool packet_iface_look(struct packet_iface *f);
// Looks for an interface of that name in the place of one that is gone. False, and nothing is
// changed: there is none, or none that can be shared. Management lcore.
bool packet_iface_find(struct packet_iface *f, const char *name);
// Whether it is up and has a carrier. Any thread.
bool packet_iface_running(const struct packet_iface *f);
