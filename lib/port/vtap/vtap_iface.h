// SPDX-License-Identifier: BSD-3-Clause
// The kernel's end of a TAP: its interface. Private to lib/port.
#pragma once

#include "devices/vtap_spec.h"

struct port;
struct port_request;

struct vtap_iface {
	int queue[VTAP_QUEUES_MAX]; // one descriptor each
	unsigned int nb_queues;
	int control; // socket in the interface's network namespace
	int counters; // descriptor of that namespace's /proc/net/dev
	int index; // index of the interface; read by any thread
	uint8_t mac[6]; // MAC at its creation
	enum vtap_offload granted;
};

// Makes the interface, with the queues and ring length of p. Returns 0, or -1 with the reason
// written.
int vtap_iface_open(struct vtap_iface *v, const struct port_request *r,
	const struct vtap_spec *spec, const struct port *p);
// Makes a removed interface again, with the same MAC: the descriptors stay the same, and may be
// read and written meanwhile. The interface is down. Returns 0, or -1 with the reason written; the
// call may be repeated. Management lcore.
int vtap_iface_again(struct vtap_iface *v, const struct port_request *r,
	const struct vtap_spec *spec, const struct port *p);
// Closes all descriptors; closing the last one removes the interface.
void vtap_iface_close(struct vtap_iface *v);
int vtap_iface_up(const struct vtap_iface *v, bool up); // 0 or -errno
bool vtap_iface_running(const struct vtap_iface *v);
// False once the interface was removed.
bool vtap_iface_is_attached(const struct vtap_iface *v);
// Sets the program that chooses the queue of a frame; the interface keeps a reference. Returns 0 or
// -errno.
int vtap_iface_steer(const struct vtap_iface *v, int program);
// Gets the number of frames that the kernel could not queue for us. False if it is not available.
bool vtap_iface_missed(const struct vtap_iface *v, uint64_t *frames);
