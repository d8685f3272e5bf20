// SPDX-License-Identifier: BSD-3-Clause
// A port in memory: a test puts frames on the receive queue of its choice and takes what was sent.
// Device "soft:RXQ:TXQ" or "soft:RXQ:TXQ:rss" (then with a Toeplitz key and a redirection table).
#pragma once

#include "port.h"

// A dp_port_opener. The MAC ends in the last character of the port's name.
struct port *softport_open(const struct port_config *c, char *error, size_t len);

// Copies a frame into a buffer of the pool and queues it. Aborts when there is no room.
void softport_put(struct port *p, uint16_t queue, const void *frame, size_t len);
// A buffer of the pool with the frame in it, as softport_put queues it.
struct rte_mbuf *softport_mbuf(struct port *p, const void *frame, size_t len);
// Queues an mbuf as it is.
void softport_put_mbuf(struct port *p, uint16_t queue, struct rte_mbuf *m);
// Frames queued that nobody has received yet.
uint32_t softport_waiting(const struct port *p, uint16_t queue);
// Copies the oldest frame sent into buf; 0 when there is none. Aborts when cap is too small.
size_t softport_take(struct port *p, void *buf, size_t cap);
// Takes the oldest frame sent as it is; NULL when there is none.
struct rte_mbuf *softport_take_mbuf(struct port *p);
// From now on takes this many more frames, then none.
void softport_limit(struct port *p, uint32_t frames);
// Grants super-frames of UDP from now on. Those taken are cut as hardware would (cutter.h). The nth
// is refused (0 = none is), and all after it.
void softport_uso(struct port *p, const struct port_super *uso, unsigned int refuse_nth);
// Super-frames taken whole so far, and the datagrams in them.
uint64_t softport_supers(const struct port *p, uint64_t *datagrams);
void softport_link(struct port *p, bool up);
// Frames sent on a queue so far.
uint64_t softport_sent(const struct port *p, uint16_t queue);
