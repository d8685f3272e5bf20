// SPDX-License-Identifier: BSD-3-Clause
// icmp_errors.c: ICMP errors about datagrams that the data path has sent.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct net_frame;
struct rte_mbuf;
struct worker;

// What goes along with such an error to the worker that has the allocation.
struct icmp_note {
	uint32_t slot; // about a datagram to a peer: as turn_relay_map_home says
	uint16_t off, len; // of the ICMP message in the frame
	bool is_v4;
	bool to_client; // about a datagram to a client: of one of these listeners
	bool redirected; // and the worker of that client has sent it on to that of its allocation
	uint8_t listener, dtls; // LOCAL_ONLY_DTLS and LOCAL_NO_DTLS as in local_addrs.h
};

// Takes an ICMP error about a datagram that claims to be from a listener or a relay port, whose
// destination it was sent to. False: it is none, and still the caller's.
bool icmp_errors_input(
	struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_frame *f);
// Takes one that is this worker's: handed over, or its own.
void icmp_errors_take(struct worker *w, struct rte_mbuf *m, const struct icmp_note *note);
