// SPDX-License-Identifier: BSD-3-Clause
// A data path on software ports. The test runs its rounds. Around it are links with hosts that
// answer ARP and ND, clients that speak TURN, and peers. After every round the balance of every
// worker is asserted.
//
// 	port wan: 10.99.0.1/24, fd99::1/64 (listeners and relay addresses on port 3478), gateways
// 	10.99.0.254 and fd99::fe; with two_ports, port side: 10.98.0.1/24, listener 10.98.0.1:3478
//
// With nic the ports are NICs that choose the queue of each frame (nicmodel.h); otherwise the queue
// is chosen at random. With relays, that many addresses of each family, from 10.99.0.100 and
// fd99::100 on, are the relay addresses instead of the listeners'.
#pragma once

#include "addr.h"
#include "conf.h"
#include "dp.h"
#include "ip_pieces.h"
#include "softport.h"
#include "stun.h"
#include "test.h"
#include "test_rand.h"
#include "turn.h"

// A cmocka test with setup[i] as its initial state; its name ends with i.
#define WORLD_CASE(test, setup, i)                                                          \
	{                                                                                   \
		.name = #test " " #i, .test_func = test, .initial_state = (void *)&setup[i] \
	}

#define WORLD_REALM "turn.test"
#define WORLD_SEEN 2048
#define WORLD_LONGS 16 // datagrams that arrived in fragments
#define WORLD_STREAMS 64 // greatest number of connections of a world
#define WORLD_RELAYS 16 // greatest number of further relay addresses of a family

struct dp_world;
struct rte_mbuf;
struct turn_event;

// A datagram that a host of the world has received or will send.
struct world_datagram {
	struct endpoint src, dst;
	uint16_t len;
	uint8_t tos, ttl;
	bool df;
	bool no_checksum;
	uint8_t port, mac[6]; // the port that it left by, and its destination; set by world_take
	uint8_t data[1600];
};

// A number of ports that all allocations share, if the server has that feature.
#ifdef FEATURE_SHARED
#define WORLD_SHARED(n) (n)
#else
#define WORLD_SHARED(n) 0
#endif

// Parameters of a world. Most members may be 0.
struct world_setup {
	unsigned int workers, rx_queues, tx_queues;
	bool rss, two_ports;
	uint16_t mtu, vlan;
	uint16_t side_mtu; // 0 = mtu; otherwise hosts send to side's address on side's link
	uint16_t side_vlan; // not 0: side is this VLAN on wan's device, and its hosts send there
	uint32_t neigh_entries, neigh_held_each, handover_ring, icmp_rate, ask_rate;
	uint16_t relay_ports; // number per address; 0 = 512
	bool nic;
	unsigned int relays;
	enum conf_steering steering;
	uint32_t requests, backlog; // 0 = 8 and 256
	struct conf_drivers *drivers; // driver profiles; the ports' driver is "soft"
	uint32_t stream_ring; // not 0: a TCP listener on 10.99.0.1:3478, and one thread
	const struct conf_exception *exception; // of port wan, or NULL
	uint32_t mbufs; // 0: 8191
	uint16_t shared; // WORLD_SHARED ports from 3480 on; 0 = exclusive ports
	struct limit unauthenticated; // answers to strangers; 0 = no limit
	struct limit handshakes; // begun by one source; 0 = no limit
	uint32_t half_open; // concurrent DTLS handshakes; 0 = 300
	bool dtls; // adds three DTLS listeners, and one thread, played by the test: on
		// 10.99.0.1:3478, which has UDP, too, and port 5349 of both addresses
	uint64_t seed; // 0 = chosen by test_rand_start
	void (*change)(struct dp_world *w); // changes w->conf before the start; or NULL
	// Takes the next frame that left a port, instead of the world's hosts; may be NULL. False
	// if there is no frame.
	bool (*receive)(struct dp_world *w, unsigned int port);
};

// The data path, its configuration, and the datagrams that its hosts have received.
struct dp_world {
	struct conf conf;
	struct conf_port ports[2];
	struct conf_address addresses[2 + 2 * WORLD_RELAYS], side;
	bool side_hosts;
	struct addr gateways[2];
	struct turn_listener listeners[7];
	unsigned int tcp, dtls; // index of the first listener of each kind
	struct turn_local locals[3 + 2 * WORLD_RELAYS];
	struct addr relay[2 * WORLD_RELAYS];
	struct prefix allow[5];
	struct turn_user user[2]; // ivan and, if nb_users is 2, olga
	char device[32];
	bool nic;
	struct dp *dp;
	struct stun_crypto *crypto;
	struct test_rand rand;
	bool (*receive)(struct dp_world *w, unsigned int port);
	uint64_t ms; // the data path's clock
	bool deaf; // no host answers ARP or ND
	bool rerouted; // routes change: only the test knows the right neighbour
	struct addr moved; // a host whose MAC does not match its address; "::" = no host
	unsigned int asks, answers, announcements, echoes; // received ARP, ND, echo replies
	unsigned int segments; // TCP segments received
	unsigned int nb_seen;
	struct world_datagram seen[WORLD_SEEN];
	// Datagrams that hosts have received in fragments, and clients over streams in long
	// messages, oldest first; the test takes them out.
	struct ip_assembly assembly;
	unsigned int nb_longs;
	struct ip_long longs[WORLD_LONGS];
	uint8_t last[2048]; // the last frame without a datagram
	size_t last_len;
	struct endpoint stream[WORLD_STREAMS]; // clients, by the index of their connection
	unsigned int nb_streams;
};

// A TURN client of the world.
struct world_client {
	struct endpoint endpoint, server, relay;
	struct stun_writer w;
	uint8_t message[1500], answer[1500];
	struct stun_msg reply; // points into answer
	uint8_t nonce[STUN_TEXT_MAX];
	size_t nonce_len;
	const char *user, *realm; // of its credentials
	struct stun_key key;
	uint8_t token[8];
	bool rfc8489; // sends PASSWORD-ALGORITHMS back
	uint64_t conn; // its connection; 0 = it uses UDP
	uint8_t tos; // of its connection
};

struct endpoint world_endpoint(const char *addr, uint16_t port);

// Starts EAL for a test: no hugepages, no devices, nothing on disk. Call it once per process.
void world_eal(void);
// Starts the data path and its links.
void world_open(struct dp_world *w, const struct world_setup *s);
// Stops the data path and asserts that every packet buffer has been returned.
void world_close(struct dp_world *w);

// Puts a frame on a receive queue of a port, or of the device of a VLAN. The queue is random or
// chosen by the NIC.
void world_inject(struct dp_world *w, unsigned int port, const void *frame, size_t len);
// Returns the port through which a host reaches dst: 0, unless dst is port side's address and is on
// side's link.
unsigned int world_port_of(const struct dp_world *w, const struct addr *dst);
// Makes the frame of a datagram that a host sends through a port, with its MAC and tag. Returns the
// length.
size_t world_frame_by(
	struct dp_world *w, unsigned int port, const struct world_datagram *d, uint8_t frame[2048]);
// Makes a frame on the link of the port through which the host reaches the datagram's destination.
static inline size_t world_frame(
	struct dp_world *w, const struct world_datagram *d, uint8_t frame[2048])
{
	return world_frame_by(w, world_port_of(w, &d->dst.addr), d, frame);
}
// Sends a datagram from its host.
void world_send(struct dp_world *w, const struct world_datagram *d);
// Sends a datagram from its host, whose link has this MTU, in fragments that all arrive on one
// queue. If swapped, the first one comes last.
void world_send_long(struct dp_world *w, const struct ip_long *d, uint32_t mtu, bool swapped);
// Takes the oldest datagram that a host received at dst in fragments. False if there is no
// datagram.
bool world_take_long(struct dp_world *w, const struct endpoint *dst, struct ip_long *out);
// Records a datagram that a host received at dst.
void world_see_long(struct dp_world *w, const struct endpoint *src, const struct endpoint *dst,
	const void *data, uint32_t len);
// Takes a frame that has left a port if it is a fragment, else returns false. Removes its tag.
bool world_see_fragment(struct dp_world *w, const struct port *p, uint8_t *frame, size_t len);
// Writes the MAC address that reaches a host: its own, or its router's.
void world_mac(const struct dp_world *w, const struct addr *a, uint8_t mac[6]);
void world_send_bytes(struct dp_world *w, const struct endpoint *src, const struct endpoint *dst,
	const void *data, size_t len);
// Runs one round of every worker in random order, then receives the frames that they sent. True if
// anything was moved.
bool world_round(struct dp_world *w);
// Runs rounds until nothing is moved.
void world_run(struct dp_world *w);
// Lets time pass, with a round per millisecond.
void world_wait(struct dp_world *w, uint64_t ms);
// Takes the oldest datagram that a host received at dst. False if there is no datagram.
bool world_take(struct dp_world *w, const struct endpoint *dst, struct world_datagram *out);
// Asserts that the worker's last published counters balance.
void world_balance(struct dp_world *w, unsigned int worker);
// Sums the counters over the workers.
struct dp_stats world_stats(struct dp_world *w);
// Returns the packets that all workers have dropped for one reason.
uint64_t world_dropped(struct dp_world *w, unsigned int reason);
// Sums the drops over the workers.
uint64_t world_drops(struct dp_world *w);

// For tests of other libraries, which do not see the inside of lib/dp.

// Puts an event on the ring of a worker.
void world_event(struct dp_world *w, unsigned int worker, const struct turn_event *e);
// Empties the rings of events like a stop of the data path: later events need none.
void world_drain_events(struct dp_world *w);
// Number of allocations whose frames a worker captures; -1 = it has no part in a capture.
int world_captured(const struct dp_world *w, unsigned int worker);
// Takes packet buffers until this number is left. Returns how many. The caller frees them.
unsigned int world_take_buffers(struct dp_world *w, uint32_t left, struct rte_mbuf **taken);

// Makes a client with an address and port.
void world_client(struct dp_world *w, struct world_client *c, const char *addr, uint16_t port);
// Gives the client another user, whose password is pw, too.
void client_user(struct dp_world *w, struct world_client *c, const char *user);
// Gives it credentials of another realm, in which its password is pw, too.
void client_realm(struct dp_world *w, struct world_client *c, const char *realm);
// Makes a client over a stream. The world acts as the stream thread: messages to this client are
// taken like datagrams.
void world_stream_client(
	struct dp_world *w, struct world_client *c, const char *addr, uint16_t port);
// Hands a message from the stream to its worker. False if the worker has no buffer or no room.
bool world_stream_send(
	struct dp_world *w, const struct world_client *c, const void *data, size_t len);
// Tells all workers that the client's connection has ended.
void world_stream_end(struct dp_world *w, const struct world_client *c);
// Begins a request in c->w.
void client_begin(struct dp_world *w, struct world_client *c, enum stun_method method);
// Adds the attributes with which a client of RFC 8489 answers a challenge, if it is one.
void client_algorithms(struct world_client *c);
// Signs and sends the request in c->w, runs the world and reads the answer, which must arrive.
// Returns 0 or the error code.
unsigned int client_ask(struct dp_world *w, struct world_client *c);
// Whole requests; each returns 0 or the error code.
unsigned int client_allocate(struct dp_world *w, struct world_client *c, int family);
unsigned int client_bind(
	struct dp_world *w, struct world_client *c, uint16_t channel, const struct endpoint *peer);
unsigned int client_permit(struct dp_world *w, struct world_client *c, const struct endpoint *peer);
// Sends ChannelData, unpadded.
void client_channel_data(
	struct dp_world *w, struct world_client *c, uint16_t channel, const void *data, size_t len);
// A relay port that neither of two clients has.
uint16_t client_free_port(const struct dp_world *w, const struct world_client c[2]);
// Sends a Send indication.
void client_indication(struct dp_world *w, struct world_client *c, const struct endpoint *peer,
	const void *data, size_t len);
// Asserts that a datagram in each direction arrives, between a client over UDP and the peer of this
// channel.
void client_assert_relays(
	struct dp_world *w, struct world_client *c, uint16_t channel, const struct endpoint *peer);
