// SPDX-License-Identifier: BSD-3-Clause
// ICMP errors about datagrams that the data path has sent.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct net_frame;
struct rte_mbuf;
struct worker;

// Metadata of an ICMP error on its way to the worker that owns the allocation.
struct icmp_note {
	uint32_t slot; // about a datagram to a peer: slot from turn_relay_map_home
	uint16_t off, len; // offset and length of the ICMP message in the frame
	bool is_v4;
	bool to_client; // about a datagram to a client, from listener or dtls
	bool redirected; // the client's worker has passed it on to the worker of its allocation
	uint8_t listener, dtls; // LOCAL_ONLY_DTLS and LOCAL_NO_DTLS as in local_addrs.h
};

// Consumes an ICMP error if the quoted datagram claims to come from a listener or relay port on the
// address to which the error was sent. False if it does not; the caller keeps it.
bool icmp_errors_input(
	struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_frame *f);
// Handles an error that belongs to this worker, whether it came in here or was handed over.
// Consumes the packet.
void icmp_errors_take(struct worker *w, struct rte_mbuf *m, const struct icmp_note *note);
