// SPDX-License-Identifier: BSD-3-Clause
// Counters of lib/turn (struct turn_stats), as lists of counter_list.h. Values are those of a
// struct turn_stats *turn.
#pragma once

#include "counter_list.h"

#define TURN_ALLOCATION_COUNTERS(F)               \
	F(allocations, g, "", "live allocations") \
	F(allocations_total, c, "allocations_made", "allocations made")

// A retransmission with wrong credentials, on the same 5-tuple with the same transaction ID, counts
// once.
#define TURN_CLIENT_COUNTERS(F)                                                                    \
	F(permissions, g, "", "live permissions")                                                  \
	F(channels, g, "", "live channels")                                                        \
	F(endpoints, g, "shared_peers", "peers registered on shared relay ports")                  \
	F(auth_failures, c, "", "requests whose credentials were wrong")                           \
	F(peers_untold, c, "peers_unrecorded",                                                     \
		"peers without a record, because their user had too many new ones")                \
	F(lookups, c, "lookup_questions", "questions about users (auth.lookup)")                   \
	F(lookups_known, c, "lookup_answers{result=known}", "answers about users, by result")      \
	F(lookups_unknown, c, "lookup_answers{result=unknown}", "answers about users, by result")  \
	F(lookups_unanswered, c, "lookup_answers{result=none}", "answers about users, by result")  \
	F(lookups_late, c, "", "answers that came too late, or to no question")                    \
	F(lookup_ms, c, "lookup_seconds", "time from questions to their answers")                  \
	F(lookups_saved, c, "", "requests that an earlier answer about their user decided")        \
	F(lookups_stale, c, "", "requests granted by an old answer, because there was no new one") \
	F(lookups_refused, c, "", "questions not asked: too many waited, or for that address")

#define TURN_RELAY_COUNTERS(F, V)                                                                  \
	V(allocations_udp, turn->over[TURN_OVER_UDP], g, "allocations_over{transport=udp}",        \
		"live allocations, by the transport of the client's listener")                     \
	V(allocations_tcp, turn->over[TURN_OVER_TCP], g, "allocations_over{transport=tcp}",        \
		"live allocations, by the transport of the client's listener")                     \
	V(allocations_tls, turn->over[TURN_OVER_TLS], g, "allocations_over{transport=tls}",        \
		"live allocations, by the transport of the client's listener")                     \
	V(allocations_auto, turn->over[TURN_OVER_AUTO], g, "allocations_over{transport=auto}",     \
		"live allocations, by the transport of the client's listener")                     \
	V(allocations_dtls, turn->over[TURN_OVER_DTLS], g, "allocations_over{transport=dtls}",     \
		"live allocations, by the transport of the client's listener")                     \
	F(redirects, g, "", "notes that a client's allocation lives on another worker")            \
	V(relay_ports_ipv4, turn->ports[1], g, "relay_ports{family=ipv4}",                         \
		"number of relay ports; absent with shared ports")                                 \
	V(relay_ports_ipv6, turn->ports[0], g, "relay_ports{family=ipv6}",                         \
		"number of relay ports; absent with shared ports")                                 \
	V(relay_ports_free_ipv4, turn->ports_free[1], g, "relay_ports_free{family=ipv4}",          \
		"relay ports without an allocation, including those in quarantine")                \
	V(relay_ports_free_ipv6, turn->ports_free[0], g, "relay_ports_free{family=ipv6}",          \
		"relay ports without an allocation, including those in quarantine")                \
	F(port_reused_early, c, "ports_reused_early", "relay ports reused before they had rested") \
	F(pool_refused, c, "pool_refusals",                                                        \
		"permissions, channels and peers refused: no room in pool or share")               \
	F(half_family, c, "",                                                                      \
		"Allocates for both families that got only one: no address of the other")          \
	F(half_capacity, c, "",                                                                    \
		"Allocates for both families that got only one: no room for the other")            \
	F(moves, c, "", "clients that moved to another 5-tuple with a ticket")                     \
	F(moves_lapsed, c, "", "moves that were not completed in time")                            \
	F(outlived, c, "outlived_connections",                                                     \
		"allocations with a ticket that outlived their client's connection")               \
	V(unreachable, turn->refused[TURN_REFUSED_PEER_UNREACHABLE], c, "unreachable_refusals",    \
		"requests refused because no route leads to the peer")                             \
	V(relay_lost, turn->refused[TURN_REFUSED_RELAY_LOST], c, "relay_lost_refusals",            \
		"allocations refused because the network withdrew the relay addresses")
