// SPDX-License-Identifier: BSD-3-Clause
// The kernel's end of a TAP: its interface. Private to lib/port.
#pragma once

#include "vtap_spec.h"

struct port;
struct port_request;

struct vtap_iface {
	int queue[VTAP_QUEUES_MAX]; // one descriptor each
	unsigned int nb_queues;
	int control; // socket in the interface's network namespace
	int counters; // descriptor of /proc/net/dev in that namespace
	int index; // the interface's index; read by any thread
	uint8_t mac[6]; // that it was made with
	enum vtap_offload granted;
};

// Makes the interface, with as many queues as p has, and of its ring length. 0, or -1 with the
// reason written.
int vtap_iface_open(struct vtap_iface *v, const struct port_request *r,
	const struct vtap_spec *spec, const struct port *p);
// Makes it again, with the MAC that it had, where somebody has removed it: the descriptors stay
// what they are, and may be read and written meanwhile. It is down. 0, or -1 with the reason
// written; it may be tried again. Management lcore.
int vtap_iface_again(struct vtap_iface *v, const struct port_request *r,
	const struct vtap_spec *spec, const struct port *p);
// Closes all descriptors; closing the last one removes the interface.
void vtap_iface_close(struct vtap_iface *v);
int vtap_iface_up(const struct vtap_iface *v, bool up); // 0 or -errno
bool vtap_iface_running(const struct vtap_iface *v);
// False once somebody has removed the interface.
bool vtap_iface_is_attached(const struct vtap_iface *v);
// Gives the interface a program that chooses the queue of a frame; it holds it. 0 or -errno.
int vtap_iface_steer(const struct vtap_iface *v, int program);
// The number of frames that the kernel could not queue for us; false when it does not tell.
bool vtap_iface_missed(const struct vtap_iface *v, uint64_t *frames);
