// SPDX-License-Identifier: BSD-3-Clause
// The endpoints of a benchmark. Flow i is a client, its allocation, and its one peer. All addresses
// follow from the client's number, except the relayed transport address, which the server chooses.
// Client i has number i, unless clients are picked by the worker they live on. All clients and
// peers are behind one gateway.
#pragma once

#include "addr.h"

#define FLOWS_SERVER_PORT 3478
#define FLOWS_PORT_FIRST 10000 // of clients and of peers
#define FLOWS_HOSTS 65536 // addresses of clients, and as many of peers

// A relayed transport address in host byte order: the last two bytes of its address, and its port.
struct flows_relay {
	uint16_t low, port;
};

struct flows {
	bool is_v4;
	uint32_t nb;
	struct addr server, gateway; // complete addresses
	struct addr client, peer, relay; // their last two bytes are zero
	struct flows_relay *relays; // one per flow
	uint32_t *number; // of each client; NULL: client i has number i
	uint32_t *by_number; // flow of each client number, or UINT32_MAX
	uint32_t nb_numbers; // entries of by_number
};

// Picks clients so that flow i lives on worker i modulo homes; home() returns the worker of a
// client. Call it before any other use of the flows. Returns 0, -ENOMEM, or -ERANGE when some
// worker has hardly any clients.
int flows_pick(struct flows *f, unsigned int homes,
	unsigned int (*home)(void *ctx, const struct endpoint *client), void *ctx);

// Makes nb flows, whose relays are zero until they are known. Returns 0 or -ENOMEM.
int flows_init(struct flows *f, bool is_v4, uint32_t nb);
void flows_fini(struct flows *f);

// Endpoints of the server, and of the client, peer and relayed transport address of flow i.
struct endpoint flows_server(const struct flows *f);
struct endpoint flows_client(const struct flows *f, uint32_t i);
struct endpoint flows_peer(const struct flows *f, uint32_t i);
struct endpoint flows_relay(const struct flows *f, uint32_t i);
// Returns the channel number of flow i for its peer.
uint16_t flows_channel(const struct flows *f, uint32_t i);
// Returns the flow whose client, or peer, has this endpoint; UINT32_MAX if no flow has it.
uint32_t flows_of_client(const struct flows *f, const struct endpoint *e);
uint32_t flows_of_peer(const struct flows *f, const struct endpoint *e);
// Stores the relayed transport address of flow i. False if it is not one of the server's.
bool flows_set_relay(struct flows *f, uint32_t i, const struct endpoint *e);
