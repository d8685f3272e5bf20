// SPDX-License-Identifier: BSD-3-Clause
// The state of a packet port. packet.c opens it and has its table of functions, packet_watch.c
// reacts to changes of its interface. Private to lib/port.
#pragma once

#include "devices/packet_spec.h"
#include "packet/packet_chain.h"
#include "packet/packet_iface.h"
#include "packet/packet_loop.h"
#include "packet/packet_moving.h"
#include "packet/packet_rx.h"
#include "packet/packet_tx.h"
#include "port.h"
#include "steer/port_steer.h"

// Spare sets of sockets for an interface that is made again: sockets of a group cannot be bound
// again, and making a socket needs a capability.
#define PACKET_SPARES 4

// State of a port's interface.
enum packet_phase {
	PACKET_BOUND,
	PACKET_GONE, // the interface was removed
	PACKET_TAKING, // the interface exists again; queues adopt the rings of spare sockets
};

struct packet {
	struct port port;
	struct packet_spec spec;
	struct packet_iface iface;
	struct packet_rx rx[PACKET_QUEUES_MAX];
	struct packet_tx tx[PACKET_QUEUES_MAX];
	struct packet_loop loop[PACKET_QUEUES_MAX]; // for the loopback
	int raw; // socket of the loopback; -1 = the interface is another one
	int filter; // the sockets' program; -1 = none
	struct packet_moving *moving; // read by the programs; NULL = no address moves
	struct packet_chain chain;
	struct port_steer steer;
	int chooses; // program that chooses among queues; -1 = the kernel chooses
	// Used by the management lcore only, unless noted.
	int spare[PACKET_SPARES][PACKET_QUEUES_MAX]; // sockets; -1 = none
	unsigned int nb_spares; // remaining sets
	bool alone; // no group any more: the first socket receives all frames
	uint16_t mtu_most; // MTU of the configuration
	uint32_t ticks; // calls of packet_watch
	uint16_t mtu_start; // MTU at the start; read by any thread
	enum packet_phase phase; // read by any thread
};

// Binds the sockets, which then receive our frames. Returns 0 or -errno. Management lcore.
int packet_listen(struct packet *k);
// port_ops.watch and port_ops.trouble.
bool packet_watch(struct port *p);
bool packet_trouble(struct port *p, char *buf, size_t len);
