// SPDX-License-Identifier: BSD-3-Clause
// State of the kernel interface that a packet port shares. Private to lib/port.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct port_request;

struct packet_iface {
	int control; // a socket for ioctls
	int index;
	uint16_t mtu; // at most 65535
	uint8_t mac[6];
};

// Looks up an interface, and checks that it can be shared. Returns 0, or -1 with the reason
// written; close it in both cases. Management lcore.
int packet_iface_open(struct packet_iface *f, const struct port_request *r, const char *name);
void packet_iface_close(struct packet_iface *f);
// Reads MAC and MTU again. False if the interface does not exist now. Management lcore.
bool packet_iface_look(struct packet_iface *f);
// Looks for a new interface with the name of a removed one. False, with nothing changed, if there
// is no such interface, or it cannot be shared. Management lcore.
bool packet_iface_find(struct packet_iface *f, const char *name);
// True if it is up and has a carrier. Any thread.
bool packet_iface_running(const struct packet_iface *f);
