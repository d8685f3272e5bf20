// SPDX-License-Identifier: BSD-3-Clause
// Messages between workers.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct net_neigh_msg;
struct rte_mbuf;
struct turn_view;
struct worker;

// Sends the content of an ARP or ND packet to every other worker, if neigh_asked_for says that it
// matters.
void messages_neighbour(
	struct worker *w, uint8_t port, const struct net_neigh_msg *msg, bool from_ask);
// Tells a worker that the session v->stream of a DTLS client has ended. False if that is not
// possible now.
bool messages_client_ended(struct worker *w, unsigned int dst, const struct turn_view *v);
// Sends the redirect notes of the shard; notes that find no room wait for the next call.
void messages_notes(struct worker *w);
// Executes a message and frees it.
void messages_apply(struct worker *w, struct rte_mbuf *m);
