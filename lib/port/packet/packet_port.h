// SPDX-License-Identifier: BSD-3-Clause
// What a packet port is made of. packet.c opens it and has its table of functions, packet_watch.c
// follows what becomes of its interface. Private to lib/port.
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

// Sets of sockets for an interface that is made again: those of a group cannot be bound anew, and
// to make a socket takes a capability.
#define PACKET_SPARES 4

// Where a port is with its interface.
enum packet_phase {
	PACKET_BOUND,
	PACKET_GONE, // there is none
	PACKET_TAKING, // there is one again; queues take the rings of other sockets
};

struct packet {
	struct port port;
	struct packet_spec spec;
	struct packet_iface iface;
	struct packet_rx rx[PACKET_QUEUES_MAX];
	struct packet_tx tx[PACKET_QUEUES_MAX];
	struct packet_loop loop[PACKET_QUEUES_MAX]; // of the loopback
	int raw; // socket of the loopback; -1 = the port is another interface's
	int filter; // the sockets' program; -1 = none
	struct packet_moving *moving; // that the programs read; NULL = no address moves
	struct packet_chain chain;
	struct port_steer steer;
	int chooses; // the program of several queues; -1 = the kernel chooses
	// The management lcore's.
	int spare[PACKET_SPARES][PACKET_QUEUES_MAX]; // sockets; -1 = none
	unsigned int nb_spares; // sets that are left
	bool alone; // no group any more: the first socket has all
	uint16_t mtu_most; // of the configuration
	uint32_t ticks; // times that the port was watched
	uint16_t mtu_start; // of the start; read by any thread
	enum packet_phase phase; // read by any thread
};

// Binds the sockets and has them take what is ours. 0 or -errno. Management lcore.
int packet_listen(struct packet *k);
// port_ops.watch and port_ops.trouble.
bool packet_watch(struct port *p);
bool packet_trouble(struct port *p, char *buf, size_t len);
