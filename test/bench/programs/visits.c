// SPDX-License-Identifier: BSD-3-Clause
// The frames that a replay port receives: templates of both directions, and the order of the flows.
#include "visits.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_malloc.h>

#include "bytes.h"
#include "net.h"
#include "stun.h"

#define SEED UINT64_C(0x736c697072696e67) // every run sees the same directions
#define TTL 64
#define TOS 0xb8 // expedited forwarding, as media is marked

// Positions in a patch of 16-bit words in network byte order. The client and the peer of a flow
// have the same port, and the same last two bytes of their addresses.
enum {
	P_HOST = 0,
	P_PORT = 2,
	P_RELAY = 4, // last two bytes of the relay address
	P_RELAY_PORT = 6,
	P_IP_UP = 8, // IPv4 header checksums
	P_IP_DOWN = 10,
	P_UDP_UP = 12, // UDP checksums
	P_UDP_DOWN = 14,
};

const uint8_t visits_gateway_mac[6] = {0x02, 0, 0, 0, 0, 0xfe};

void visits_payload(bool up, uint8_t *buf, uint16_t size)
{
	for (uint16_t i = 0; i < size; i++)
		buf[i] = (uint8_t)(i * 37 + (up ? 11 : 112));
}

// --- templates ----------------------------------------------------------------------------------

// Adds a window of bytes that may differ. They are constant until map() maps them.
static void window_add(struct port_replay_template *t, uint16_t offset)
{
	struct port_replay_window *w = &t->window[t->nb_windows++];

	w->offset = offset;
	memset(w->patch_idx, PORT_REPLAY_KEEP, sizeof(w->patch_idx));
}

// Takes byte `pos` of the frame from byte `patch_off` of the patch.
static void map(struct port_replay_template *t, uint16_t pos, uint8_t patch_off)
{
	for (unsigned int i = 0; i < t->nb_windows && i < PORT_REPLAY_WINDOWS; i++)
		if (pos >= t->window[i].offset && pos < t->window[i].offset + 16)
			t->window[i].patch_idx[pos - t->window[i].offset] = patch_off;
}

static void map_word(struct port_replay_template *t, uint16_t pos, uint8_t patch_off)
{
	map(t, pos, patch_off);
	map(t, (uint16_t)(pos + 1), (uint8_t)(patch_off + 1));
}

// Writes the client's message, without the parts that differ for each flow. Returns its length.
static uint16_t client_payload(const struct flows *f, const struct options *o, uint8_t *buf)
{
	static const uint8_t tid[STUN_TID_LEN] = "relay bench";
	const struct endpoint peer = {.addr = f->peer};
	uint8_t media[OPTIONS_SIZE_MAX];
	struct stun_writer w;

	visits_payload(true, media, o->size);
	if (!o->indication) {
		store_be16(buf, CHANNEL_MIN);
		store_be16(buf + 2, o->size);
		memcpy(buf + CHANNEL_HEADER_LEN, media, o->size);
		return (uint16_t)(CHANNEL_HEADER_LEN + o->size);
	}
	stun_begin(&w, buf, OPTIONS_SIZE_MAX + 128, STUN_INDICATION, STUN_SEND, tid);
	stun_put_xor_addr(&w, STUN_XOR_PEER_ADDRESS, &peer);
	stun_put(&w, STUN_DATA_ATTR, media, o->size);
	return stun_end(&w);
}

// Writes the headers around a payload already in place. Addresses and ports that differ are zero.
static void template_write(struct port_replay_template *t, const struct endpoint *src,
	const struct endpoint *dst, uint16_t payload_len, const uint8_t port_mac[6])
{
	const bool is_v4 = addr_is_v4(&src->addr);
	const uint16_t headers = net_headers_len(is_v4, 0);
	const struct net_ip ip = {.tos = TOS, .ttl = TTL, .df = true};
	struct net_l2 l2 = {0};

	memcpy(l2.dst, port_mac, 6);
	memcpy(l2.src, visits_gateway_mac, 6);
	net_write_udp(t->frame + headers, payload_len, &l2, src, dst, &ip, 0);
	if (is_v4)
		memset(t->frame + NET_ETH_LEN + 10, 0, 2); // the checksum comes from the patch
	t->len = (uint16_t)(headers + payload_len);
}

// Maps the fields that both directions share: two windows hold everything in the headers that
// differs.
static void map_headers(struct port_replay_template *t, bool is_v4, bool up)
{
	const uint16_t udp = (uint16_t)(NET_ETH_LEN + (is_v4 ? NET_IP4_LEN : NET_IP6_LEN));
	const uint16_t src_end = (uint16_t)(udp - (is_v4 ? 4 : 16)); // the addresses end the header

	// the second window reaches two bytes into the payload, where a channel number may be
	window_add(t, (uint16_t)(is_v4 ? NET_ETH_LEN + 12 - 16 : src_end - 16));
	window_add(t, (uint16_t)(udp + 10 - 16));
	if (is_v4)
		map_word(t, NET_ETH_LEN + 10, up ? P_IP_UP : P_IP_DOWN);
	map_word(t, (uint16_t)(src_end - 2), P_HOST);
	map_word(t, udp, P_PORT);
	map_word(t, (uint16_t)(udp + 6), up ? P_UDP_UP : P_UDP_DOWN);
	if (up)
		return;
	map_word(t, (uint16_t)(udp - 2), P_RELAY);
	map_word(t, (uint16_t)(udp + 2), P_RELAY_PORT);
}

static void up_make(struct port_replay_template *t, const struct flows *f, const struct options *o,
	const uint8_t port_mac[6])
{
	const struct endpoint src = {.addr = f->client}, dst = flows_server(f);
	const uint16_t payload = net_headers_len(f->is_v4, 0);
	// type, length and family of XOR-PEER-ADDRESS, the first attribute, come before its port
	const uint16_t peer = (uint16_t)(payload + STUN_HEADER_LEN + 6);

	template_write(t, &src, &dst, client_payload(f, o, t->frame + payload), port_mac);
	map_headers(t, f->is_v4, true);
	if (!o->indication) {
		map(t, (uint16_t)(payload + 1), P_HOST + 1);
		return;
	}
	window_add(t, (uint16_t)(peer - 6));
	map_word(t, peer, P_PORT);
	if (!f->is_v4)
		window_add(t, (uint16_t)(peer - 6 + 16));
	map_word(t, (uint16_t)(peer + (f->is_v4 ? 4 : 16)), P_HOST);
}

static void down_make(struct port_replay_template *t, const struct flows *f,
	const struct options *o, const uint8_t port_mac[6])
{
	const struct endpoint src = {.addr = f->peer}, dst = {.addr = f->relay};

	visits_payload(false, t->frame + net_headers_len(f->is_v4, 0), o->size);
	template_write(t, &src, &dst, o->size, port_mac);
	map_headers(t, f->is_v4, false);
}

// --- patches ------------------------------------------------------------------------------------

// Fills in the checksums of one direction, computed over the frame that the patch makes without
// them.
static void patch_sum(
	const struct port_replay_template *t, uint8_t *patch, uint8_t ip_at, uint8_t udp_at)
{
	uint8_t frame[PORT_REPLAY_FRAME_MAX];
	const uint8_t *ip = frame + NET_ETH_LEN;
	const bool is_v4 = t->frame[NET_ETH_LEN] >> 4 == 4;
	const uint16_t len = (uint16_t)(t->len - NET_ETH_LEN - (is_v4 ? NET_IP4_LEN : NET_IP6_LEN));
	struct addr src, dst;

	port_replay_frame(t, patch, frame);
	if (is_v4) {
		store_be16(patch + ip_at, (uint16_t)~csum_fold(csum_add(0, ip, NET_IP4_LEN)));
		src = addr_from_v4(ip + 12);
		dst = addr_from_v4(ip + 16);
	} else {
		src = addr_from_v6(ip + 8);
		dst = addr_from_v6(ip + 24);
	}
	store_be16(patch + udp_at, csum_udp(&src, &dst, frame + t->len - len, len));
}

static void patch_make(const struct visits *v, const struct flows *f, uint32_t flow, uint8_t *patch)
{
	const struct endpoint client = flows_client(f, flow);

	memset(patch, 0, PORT_REPLAY_PATCH_LEN);
	memcpy(patch + P_HOST, client.addr.b + 14, 2);
	store_be16(patch + P_PORT, client.port);
	store_be16(patch + P_RELAY, f->relays[flow].low);
	store_be16(patch + P_RELAY_PORT, f->relays[flow].port);
	patch_sum(&v->up, patch, P_IP_UP, P_UDP_UP);
	patch_sum(&v->down, patch, P_IP_DOWN, P_UDP_DOWN);
}

// A full-period generator modulo a power of two. Its low bits are far from scrambled, so two rounds
// of a bijection mix them. Numbers from nb on are skipped.
uint32_t visits_order(uint32_t *state, uint32_t nb)
{
	unsigned int bits = 0;
	uint32_t x, mask;

	while (UINT64_C(1) << bits < nb)
		bits++;
	mask = (uint32_t)((UINT64_C(1) << bits) - 1);
	do {
		*state = (*state * 1664525u + 1013904223u) & mask;
		x = *state;
		for (int round = 0; round < 2; round++) {
			x = (x ^ x >> (bits / 2 + 1)) & mask;
			x = (x * 0x9e3779b1u) & mask;
		}
		x ^= x >> (bits / 2 + 1);
	} while (x >= nb);
	return x;
}

// The queue on which a flow arrives. Worker i modulo their number is its home.
static uint32_t queue_of(const struct options *o, uint32_t flow)
{
	const uint32_t home = flow % o->workers, turn = flow / o->workers;

	if (!o->handover)
		return home;
	return (home + 1 + turn % (o->workers - 1u)) % o->workers;
}

int visits_make(struct visits *v, const struct flows *f, const struct options *o,
	const struct visits_queue *q)
{
	uint32_t *flow = malloc(f->nb * sizeof(*flow)), state = 0;

	memset(v, 0, sizeof(*v));
	for (uint32_t i = 0; flow != NULL && i < f->nb; i++)
		if (queue_of(o, i) == q->index)
			flow[v->nb++] = i;
	if (flow != NULL)
		v->patch = rte_malloc_socket(
			"visits", v->nb * sizeof(v->patch[0]), RTE_CACHE_LINE_SIZE, q->socket);
	if (v->patch == NULL) {
		free(flow);
		return -ENOMEM;
	}
	up_make(&v->up, f, o, q->mac);
	down_make(&v->down, f, o, q->mac);
	for (uint32_t i = 0; i < v->nb; i++)
		patch_make(v, f, flow[visits_order(&state, v->nb)], v->patch[i]);
	free(flow);
	return 0;
}

void visits_free(struct visits *v)
{
	rte_free(v->patch);
}

int visits_replay(
	const struct visits *v, const struct options *o, struct port *port, uint16_t queue)
{
	struct port_replay_template both[2] = {v->up, v->down};
	const struct port_replay_frames frames = {
		.template = o->direction == DIRECTION_DOWN ? both + 1 : both,
		.nb_templates = o->direction == DIRECTION_MIXED ? 2 : 1,
		.patch = (const uint8_t(*)[PORT_REPLAY_PATCH_LEN])v->patch,
		.nb_patches = v->nb,
		.seed = SEED};

	return port_replay_set(port, queue, &frames);
}

uint32_t visits_memory_mb(uint32_t flows)
{
	return (uint32_t)(((uint64_t)flows * PORT_REPLAY_PATCH_LEN >> 20) + 1);
}
