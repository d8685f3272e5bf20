// SPDX-License-Identifier: BSD-3-Clause
// The packet sockets of a port as one group, of which the kernel gives each frame to one. Private
// to lib/port.
#pragma once

#include <stdbool.h>

struct packet_fanout {
	int index; // of the interface
	int filter; // program that says which frames are ours
	// Program that says which socket has a frame, by the number of its place in the list;
	// -1: the kernel's own hash of the flow does.
	int chooses;
	// There is to be no group: the first has all, the others send. So all can be bound anew,
	// which sockets of a group cannot.
	bool alone;
};

// Binds sockets that are in no group yet. None has a frame before all are in it, and then no
// frame comes to two of them. The programs stay the caller's; the kernel holds them. 0 or -errno.
// Management lcore.
int packet_fanout_start(const struct packet_fanout *f, const int fd[], unsigned int nb);
