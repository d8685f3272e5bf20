// SPDX-License-Identifier: BSD-3-Clause
// Who talks to whom in a benchmark: flow i is a client, its allocation and the one peer it speaks
// with. Every address follows from the client's number, but the relayed transport address, which
// the server chose. Client i has number i, unless clients are picked by the worker they live on.
// All clients and peers lie behind one gateway.
#pragma once

#include "addr.h"

#define FLOWS_SERVER_PORT 3478
#define FLOWS_PORT_FIRST 10000 // of clients and peers
#define FLOWS_HOSTS 65536 // client addresses, and as many of peers

// A relayed transport address, in host byte order: the last two bytes of the address, the port.
struct flows_relay {
	uint16_t low, port;
};

struct flows {
	bool is_v4;
	uint32_t nb;
	struct addr server, gateway; // whole
	struct addr client, peer, relay; // the last two bytes are zero
	struct flows_relay *relays; // nb
	uint32_t *number; // of client i; NULL: i
	uint32_t *by_number; // the flow of each of nb_numbers, or UINT32_MAX
	uint32_t nb_numbers;
};

// Picks clients so that flow i lives on worker i modulo homes, of which home() tells each client's.
// Before anything else is done with them. -ENOMEM, -ERANGE when some worker has hardly any.
int flows_pick(struct flows *f, unsigned int homes,
	unsigned int (*home)(void *ctx, const struct endpoint *client), void *ctx);

// Relays are zero until they are known. -ENOMEM.
int flows_init(struct flows *f, bool is_v4, uint32_t nb);
void flows_fini(struct flows *f);

struct endpoint flows_server(const struct flows *f);
struct endpoint flows_client(const struct flows *f, uint32_t i);
struct endpoint flows_peer(const struct flows *f, uint32_t i);
struct endpoint flows_relay(const struct flows *f, uint32_t i);
// Channel number of flow i towards its peer.
uint16_t flows_channel(const struct flows *f, uint32_t i);
// The flow whose client, or peer, has this endpoint; UINT32_MAX when there is none.
uint32_t flows_of_client(const struct flows *f, const struct endpoint *e);
uint32_t flows_of_peer(const struct flows *f, const struct endpoint *e);
// Notes the relayed transport address of flow i. False when it is none of the server's.
bool flows_set_relay(struct flows *f, uint32_t i, const struct endpoint *e);
