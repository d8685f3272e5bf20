// SPDX-License-Identifier: BSD-3-Clause
// The packet sockets of a port as a fanout group: the kernel gives each frame to one of them.
// Private to lib/port.
#pragma once

#include <stdbool.h>

struct packet_fanout {
	int index; // of the interface
	int filter; // program that selects our frames
	// Program that chooses the socket of a frame, by its index in the list; -1: use the
	// kernel's hash of the flow.
	int chooses;
	// No group: the first socket receives all frames, the others only send. So all can be bound
	// again, unlike sockets of a group.
	bool alone;
};

// Binds sockets that are in no group yet. They receive nothing before all are in the group, and
// then each frame goes to one of them. The caller still owns the programs; the kernel keeps
// references. Returns 0 or -errno. Management lcore.
int packet_fanout_start(const struct packet_fanout *f, const int fd[], unsigned int nb);
