// SPDX-License-Identifier: BSD-3-Clause
// A whole data path with an exception port: the test runs the thread's turns, and the kernel is a
// software port. Packets are TCP and UDP between a host 10.99.0.77 or fd99::77 and the port's
// address.
#pragma once

#include "bytes.h"
#include "datapath.h"
#include "dp_world.h"
#include "exception/exception.h"
#include "exception/exception_thread.h"
#include "see/stats.h"
#include "path/worker.h"

#include <netinet/in.h>

#define SYN 0x02
#define ACK 0x10

#define EXCEPTION_ALLOWED 6 // entries of exception_allow

extern struct dp_world world;
extern const struct world_setup exception_one; // one worker
extern const struct world_setup exception_tagged; // one worker, a VLAN
extern const struct world_setup exception_few; // two workers, one transmit queue
extern uint64_t exception_ns; // the clock of the exception port's thread
// Allowed services: TCP to port 22 and from 179, UDP to ports 161, 50000 and 3478 and from 53.
extern const struct conf_service exception_allow[EXCEPTION_ALLOWED];
extern struct conf_exception exception_entry;
extern uint8_t frame[2048]; // the packet that goes in
extern uint8_t got[2048]; // the packet that came out

// The exception port of port wan.
struct exception *exception(void);
// Runs rounds and turns until nothing moves.
void exception_world_run(void);
// Opens a world whose exception port allows the first nb_allow of exception_allow. The gateways
// have been resolved, the kernel has received nothing, and the counters are saved.
void exception_world_open(struct world_setup s, uint32_t nb_allow);
// Asserts that every buffer was returned, including those of the exception port.
void exception_world_close(void);
// Counters of the exception port since the world was opened, for the classes that go to the kernel.
struct dp_exception exception_world_counters(void);

// --- frames -------------------------------------------------------------------------------------

extern const uint8_t their_mac[6];

struct packet {
	const char *src, *dst;
	uint16_t sport, dport;
	uint8_t proto, flags;
	uint16_t len; // after the TCP or UDP header
	uint16_t vlan;
	bool from_us;
};

// From 10.99.0.77 to 10.99.0.1, ten bytes.
struct packet packet_tcp(uint16_t sport, uint16_t dport, uint8_t flags);
// Length of all its headers.
uint16_t packet_headers(const struct packet *p);
// Writes headers, checksums included, around a payload that counts up. Returns the length.
size_t packet_make(const struct packet *p, uint8_t *buf);
// Sends from the wire; asserts that the kernel then has the packet unchanged, without the tag, or
// has nothing.
void packet_up(struct packet p, bool arrives);
// Sends from the kernel; returns the length of the packet that leaves the port, which is in `got`,
// or 0. It is taken before the world's hosts check it.
size_t exception_world_down(const uint8_t *data, size_t len);
// Sends from the kernel; asserts that the packet leaves the port unchanged, with the tag, or not at
// all.
void packet_down(struct packet p, bool leaves);
// The answer from us to a host's packet: source and destination are swapped.
struct packet packet_back(struct packet p);
