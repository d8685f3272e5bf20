// SPDX-License-Identifier: BSD-3-Clause
// A port on a DPDK ethdev. Private to lib/port.
#pragma once

#include <rte_ethdev.h>

#include "ethdev/device.h"
#include "port.h"

struct bond;

struct ethdev {
	struct port port;
	struct bond *bond; // NULL if the port is one device
	struct port_device device;
	struct rte_eth_dev_info info;
	uint64_t rss_hf; // hash types to request; 0 = no RSS
	int control; // socket to ask the kernel about the interface behind it; -1 = none
	uint64_t received_before; // frames received before this port (af_packet); any thread
	uint64_t cut_lost; // datagrams of cut super-frames dropped; written by workers
	int *wake; // for a bond, by queue (wake.h); -1 = none; NULL = not requested yet
	bool interrupts; // configured with receive interrupts
	bool started;
	bool cuts; // configured to accept super-frames
};

// Opens the device as an ethdev. NULL with the reason written.
struct port *port_ethdev_open(const struct port_request *r);
