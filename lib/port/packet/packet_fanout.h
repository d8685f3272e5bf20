// SPDX-License-Identifier: BSD-3-Clause
// The packet sockets of a port as one group, of which the kernel gives each frame to one. Private
// to lib/port.
#pragma once

struct packet_fanout {
	int index; // of the interface
	int filter; // program that says which frames are ours
	// Program that says which socket has a frame, by the number of its place in the list;
	// -1: the kernel's own hash of the flow does.
	int chooses;
};

// Binds sockets that are not bound yet. None has a frame before all are in the group, and then no
// frame comes to two of them. The programs stay the caller's; the kernel holds them. 0 or -errno.
// Management lcore.
int packet_fanout_start(const struct packet_fanout *f, const int fd[], unsigned int nb);
