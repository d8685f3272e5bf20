// SPDX-License-Identifier: BSD-3-Clause
// A port in memory. A test puts frames on a receive queue of its choice and takes the sent ones.
// Device "soft:RXQ:TXQ", or "soft:RXQ:TXQ:rss" for a port with a Toeplitz key and a redirection
// table.
#pragma once

#include "port.h"

// How ports opened from now on wake their workers. With a wake, one thread may put frames while a
// worker runs.
enum softport_wake {
	SOFTPORT_SILENT, // not at all, the initial setting
	SOFTPORT_LEVEL, // a descriptor that is readable while a frame waits
	SOFTPORT_INTERRUPT, // one that must be armed, and then signals later frames
};
extern enum softport_wake softport_wake;

// A dp_port_opener. The port's MAC ends in the last character of its name.
struct port *softport_open(const struct port_config *c, char *error, size_t len);

// Copies a frame into a buffer of the pool and queues it. Aborts if there is no room.
void softport_put(struct port *p, uint16_t queue, const void *frame, size_t len);
// Returns a buffer of the pool that holds the frame, as softport_put queues it.
struct rte_mbuf *softport_mbuf(struct port *p, const void *frame, size_t len);
// Queues a buffer as it is.
void softport_put_mbuf(struct port *p, uint16_t queue, struct rte_mbuf *m);
// Number of queued frames that have not been received yet.
uint32_t softport_waiting(const struct port *p, uint16_t queue);
// Copies the oldest sent frame into buf and returns its length, or 0 if there is no frame. Aborts
// if it is longer than cap.
size_t softport_take(struct port *p, void *buf, size_t cap);
// Returns the oldest sent frame, in its buffer, or NULL. The caller frees it.
struct rte_mbuf *softport_take_mbuf(struct port *p);
// Accepts `frames` more frames to send, then none.
void softport_limit(struct port *p, uint32_t frames);
// Offers UDP super-frames from now on, and cuts accepted ones as hardware would (cutter.h).
// Super-frame number refuse_nth and all later ones are refused; 0 = none is refused.
void softport_uso(struct port *p, const struct port_super *uso, unsigned int refuse_nth);
// Returns the number of super-frames accepted whole. Sets *datagrams to the number of datagrams in
// them.
uint64_t softport_supers(const struct port *p, uint64_t *datagrams);
// Brings the link up or down.
void softport_link(struct port *p, bool up);
// From the first call on the port is a bond of four members with their links up: those in the set
// bits of used carry packets.
void softport_use(struct port *p, uint32_t used);
// Number of times that a worker has run the port's timed work.
uint64_t softport_ticks(const struct port *p);
// Number of frames sent on a queue.
uint64_t softport_sent(const struct port *p, uint16_t queue);
