// SPDX-License-Identifier: BSD-3-Clause
// Counters of the data path (struct dp_stats, struct dp_exception), as lists of counter_list.h.
// Values are those of a struct dp_stats *s. Telemetry has the counters in the order of the lines.
#pragma once

#include "counter_list.h"
#include "turn_counters.h"

#define DP_DATAGRAM_COUNTERS(F, V)                                                                 \
	F(rx, c, "rx_datagrams", "datagrams received, counted as on the wire")                     \
	F(tx, c, "tx_datagrams", "datagrams sent, counted as on the wire")                         \
	V(drops, dp_stats_drops(s), c, "dropped_datagrams", "datagrams dropped, for any reason")   \
	F(made, c, "made_datagrams",                                                               \
		"datagrams created here: answers, fragments, neighbour requests")                  \
	F(consumed, c, "consumed_datagrams", "datagrams consumed here: requests, ARP, fragments")  \
	F(fragments_in, c, "fragments_received", "fragments kept until their datagram is whole")   \
	F(reassembled, c, "reassembled_datagrams", "datagrams reassembled from fragments")         \
	F(fragments_out, c, "fragments_sent", "fragments created for sending")                     \
	F(held, g, "held_datagrams", "datagrams that wait for a neighbour or for other fragments") \
	F(rx_bytes, c, "", "bytes of the frames received")                                         \
	F(tx_bytes, c, "", "bytes of the frames sent")                                             \
	F(handed_in, c, "handed_in_datagrams", "datagrams handed over by other workers")           \
	F(handed_out, c, "handed_out_datagrams", "datagrams handed over to other workers")

#define DP_ICMP_COUNTERS(F)                                                                       \
	F(icmp_errors_sent, c, "", "ICMP errors sent")                                            \
	F(icmp_errors_held_back, c, "",                                                           \
		"ICMP errors not sent: above 100 a second, or 10 to one address")                 \
	F(path_mtus, c, "path_mtus_learnt", "paths whose MTU was found to be smaller than known") \
	F(path_mtus_refused, c, "",                                                               \
		"paths whose MTU was not learned, because their user had too many new ones")

#define DP_EVENT_COUNTERS(F)                                                                 \
	F(events_lost, c, "", "events for the log lost because their ring was full")         \
	F(session_events_lost, c, "", "events of sessions lost because their ring was full") \
	F(peer_events_lost, c, "", "events of peers lost because their ring was full")

// All workers together, and each of them: the rows of /slipring/stats. T is F for turn_counters.h.
#define DP_STATS(F, V, T)           \
	DP_DATAGRAM_COUNTERS(F, V)  \
	TURN_ALLOCATION_COUNTERS(T) \
	DP_ICMP_COUNTERS(F)         \
	TURN_CLIENT_COUNTERS(T)     \
	DP_EVENT_COUNTERS(F)        \
	TURN_RELAY_COUNTERS(T, V)

// Each worker: how it uses its time. The wakes that nothing here counts came from signals.
#define DP_WORKER_COUNTERS(F)                                                                \
	F(busy_cycles, c, "", "CPU cycles (TSC) spent on rounds that found something to do") \
	F(total_cycles, c, "cycles", "CPU cycles (TSC) in all")                              \
	F(sleep_cost_ns, g, "sleep_cost_seconds",                                            \
		"CPU time of a recent sleep; 0 until one was measured")                      \
	F(waits, c, "", "times that the worker blocked until a frame, message or deadline")  \
	F(woken_by_port, c, "", "waits that a frame at a port ended")                        \
	F(woken_by_kick, c, "", "waits that another worker, a thread or a query ended")      \
	F(woken_by_time, c, "", "waits that a deadline ended")

// Bursts, of /slipring/bursts: polls, bursts that a port did not take, and super-frames.
#define DP_POLL_COUNTERS(F)                                       \
	F(rx_bursts, -, "", "polls of a queue that found frames") \
	F(rx_empty, c, "empty_polls", "polls of a queue that found nothing")

#define DP_SHORT_COUNTERS(F)                                                            \
	F(tx_short, c, "tx_short_bursts", "bursts that a port did not take as a whole") \
	F(tx_retried, c, "tx_retries", "times the rest of such a burst was retried")

#define DP_SUPER_COUNTERS(F)                                                  \
	F(uso_frames, c, "", "super-frames sent")                             \
	F(uso_segments, c, "uso_datagrams", "datagrams sent in super-frames") \
	F(whole_frames, c, "", "super-frames received and sent without cutting")

// An exception port (struct dp_exception), of /slipring/exception.
#define DP_EXCEPTION_COUNTERS(F)                                                                   \
	F(to_kernel_super_frames, c, "", "super-frames of TCP given to the kernel")                \
	F(to_kernel_super_segments, c, "", "segments in them")                                     \
	F(to_kernel_denied, c, "",                                                                 \
		"datagrams for the kernel that exception.allow does not permit")                   \
	F(to_kernel_rate, c, "",                                                                   \
		"datagrams for the kernel above 100,000 a second, or faster than it accepts them") \
	F(to_kernel_lost, c, "", "datagrams given to the kernel, which did not accept them")       \
	F(from_kernel_super_frames, c, "", "super-frames of TCP taken from the kernel")            \
	F(from_kernel_super_segments, c, "", "segments in them")                                   \
	F(from_kernel_foreign, c, "",                                                              \
		"datagrams of the kernel with an address or a type that is not the kernel's")      \
	F(from_kernel_answered, c, "",                                                             \
		"answers of the kernel to ARP and ND requests that the data path answers")         \
	F(from_kernel_cut, c, "", "super-frames of the kernel that had to be cut in software")     \
	F(from_kernel_missed, c, "",                                                               \
		"datagrams that the kernel could not queue, because they were not read in time")
