// SPDX-License-Identifier: BSD-3-Clause
// The verified pass: takes each relayed frame apart and compares it with the expected one.
#include "bytes.h"
#include "dp_burst.h"
#include "net.h"
#include "proof.h"
#include "replay.h"
#include "stun.h"
#include "visits.h"

#include <stdlib.h>

#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86dd
#define PROTOCOL_UDP 17

struct proof {
	struct box *b;
	const struct options *o;
	int32_t *due; // frames received but not sent yet, for each flow, up and down
	uint64_t in, out;
	uint8_t media[2][OPTIONS_SIZE_MAX]; // down, up
};

// A datagram taken apart by hand, without the server's own parser.
struct seen {
	const uint8_t *frame, *ip, *payload;
	size_t payload_len;
	struct endpoint src, dst;
	uint8_t tos, ttl;
	bool df;
};

// --- taking apart -------------------------------------------------------------------------------

// One's complement sum, word by word.
static uint32_t slow_sum(uint32_t sum, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		sum += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return sum;
}

static void check_udp(struct seen *s, const uint8_t *udp, size_t len, size_t addr_len)
{
	const uint8_t *addrs = s->ip + (addr_len == 4 ? 12 : 8);
	const uint8_t pseudo[4] = {(uint8_t)(len >> 8), (uint8_t)len, 0, PROTOCOL_UDP};
	uint32_t sum = slow_sum(0, addrs, 2 * addr_len);

	if (len < NET_UDP_LEN || load_be16(udp + 4) != len)
		box_die("a frame's UDP length is %u, not %zu", load_be16(udp + 4), len);
	sum = slow_sum(slow_sum(sum, pseudo, sizeof(pseudo)), udp, len);
	if (load_be16(udp + 6) == 0 || sum != 0xffff)
		box_die("a frame's UDP checksum is wrong");
	s->src.port = load_be16(udp);
	s->dst.port = load_be16(udp + 2);
	s->payload = udp + NET_UDP_LEN;
	s->payload_len = len - NET_UDP_LEN;
}

static void take_ip4(struct seen *s, size_t len)
{
	const uint8_t *ip = s->ip;

	if (len < NET_IP4_LEN || ip[0] != 0x45 || load_be16(ip + 2) != len ||
		ip[9] != PROTOCOL_UDP || (load_be16(ip + 6) & 0xbfff) != 0)
		box_die("a frame's IPv4 header is not that of a whole UDP datagram");
	if (slow_sum(0, ip, NET_IP4_LEN) != 0xffff)
		box_die("a frame's IPv4 header checksum is wrong");
	s->tos = ip[1];
	s->ttl = ip[8];
	s->df = (load_be16(ip + 6) & 0x4000) != 0;
	s->src.addr = addr_from_v4(ip + 12);
	s->dst.addr = addr_from_v4(ip + 16);
	check_udp(s, ip + NET_IP4_LEN, len - NET_IP4_LEN, 4);
}

static void take_ip6(struct seen *s, size_t len)
{
	const uint8_t *ip = s->ip;

	if (len < NET_IP6_LEN || ip[0] >> 4 != 6 || load_be16(ip + 4) != len - NET_IP6_LEN ||
		ip[6] != PROTOCOL_UDP || (load_be32(ip) & 0xfffff) != 0)
		box_die("a frame's IPv6 header is not that of a UDP datagram");
	s->tos = (uint8_t)(load_be16(ip) >> 4);
	s->ttl = ip[7];
	s->df = true; // IPv6 packets are never fragmented on the way
	s->src.addr = addr_from_v6(ip + 8);
	s->dst.addr = addr_from_v6(ip + 24);
	check_udp(s, ip + NET_IP6_LEN, len - NET_IP6_LEN, 16);
}

// False when the frame is not UDP: a request for the gateway.
static bool take_apart(struct seen *s, const uint8_t *frame, size_t len)
{
	const uint16_t type = load_be16(frame + 12);

	*s = (struct seen){.frame = frame, .ip = frame + NET_ETH_LEN};
	if (type == ETHERTYPE_IPV4)
		take_ip4(s, len - NET_ETH_LEN);
	else if (type == ETHERTYPE_IPV6 && s->ip[6] == PROTOCOL_UDP)
		take_ip6(s, len - NET_ETH_LEN);
	else
		return false;
	return true;
}

// --- expected output ----------------------------------------------------------------------------

static void check_ends(const struct seen *s, const struct endpoint *src, const struct endpoint *dst,
	const char *label)
{
	char text[4][ADDR_TEXT_LEN + 8];

	if (endpoint_eq(&s->src, src) && endpoint_eq(&s->dst, dst))
		return;
	box_die("%s goes from %s to %s, not from %s to %s", label,
		addr_format_endpoint(&s->src, text[0], sizeof(text[0])),
		addr_format_endpoint(&s->dst, text[1], sizeof(text[1])),
		addr_format_endpoint(src, text[2], sizeof(text[2])),
		addr_format_endpoint(dst, text[3], sizeof(text[3])));
}

static void check_media(const struct proof *p, const uint8_t *data, size_t len, bool up)
{
	if (len != p->o->size || memcmp(data, p->media[up], len) != 0)
		box_die("%zu bytes of media %s are not the %u that were sent", len,
			up ? "to a peer" : "to a client", p->o->size);
}

// A Data indication (RFC 8656 11.3) with the peer's address and its payload, padded with zeros.
static void check_indication(const struct proof *p, const struct seen *s, uint32_t flow)
{
	const struct endpoint peer = flows_peer(p->b->flows, flow);
	struct endpoint sender;
	struct stun_msg m;
	int family;
	size_t end;

	if (stun_parse(s->payload, s->payload_len, &m) != 0 || m.method != STUN_DATA ||
		m.cls != STUN_INDICATION || m.nb_unknown != 0 || !stun_has(&m, STUN_DATA_ATTR))
		box_die("client %u did not get a Data indication", flow);
	if (!stun_decode_xor_addr(&m, m.off[STUN_XOR_PEER_ADDRESS], m.alen[STUN_XOR_PEER_ADDRESS],
		    &sender, &family) ||
		!endpoint_eq(&sender, &peer))
		box_die("client %u was given another peer", flow);
	end = m.off[STUN_DATA_ATTR] + (size_t)m.alen[STUN_DATA_ATTR];
	for (; end < s->payload_len; end++)
		if (s->payload[end] != 0 || s->payload_len - end > 3)
			box_die("client %u got more than padding behind the data", flow);
	check_media(p, s->payload + m.off[STUN_DATA_ATTR], m.alen[STUN_DATA_ATTR], false);
}

static void check_channel(const struct proof *p, const struct seen *s, uint32_t flow)
{
	if (s->payload_len < CHANNEL_HEADER_LEN ||
		load_be16(s->payload) != flows_channel(p->b->flows, flow) ||
		load_be16(s->payload + 2) != p->o->size)
		box_die("client %u did not get ChannelData of its channel", flow);
	check_media(p, s->payload + CHANNEL_HEADER_LEN, s->payload_len - CHANNEL_HEADER_LEN, false);
}

static void check_sent(struct proof *p, const struct seen *s)
{
	const struct flows *f = p->b->flows;
	uint32_t flow = flows_of_peer(f, &s->dst);
	const bool up = flow != UINT32_MAX;
	struct endpoint src, dst;

	if (!up)
		flow = flows_of_client(f, &s->dst);
	if (flow == UINT32_MAX)
		box_die("a frame went to an unknown address");
	src = up ? flows_relay(f, flow) : flows_server(f);
	dst = up ? flows_peer(f, flow) : flows_client(f, flow);
	check_ends(s, &src, &dst, up ? "media to a peer" : "media to a client");
	if (memcmp(s->frame, visits_gateway_mac, 6) != 0 ||
		memcmp(s->frame + 6, p->b->port->mac, 6) != 0)
		box_die("a frame has other MACs than the gateway's and ours");
	// unchanged except for one hop (templates: TTL 64, DF, expedited forwarding)
	if (s->ttl != 63 || s->tos != 0xb8 || !s->df)
		box_die("a frame left with TTL %u, TOS %u%s", s->ttl, s->tos,
			s->df ? "" : ", no DF");
	if (up)
		check_media(p, s->payload, s->payload_len, true);
	else if (p->o->indication)
		check_indication(p, s, flow);
	else
		check_channel(p, s, flow);
	p->due[2 * (size_t)flow + up]--;
	p->out++;
}

// Stores which frame was received: the expected output follows from that.
static void note_received(struct proof *p, const struct seen *s)
{
	const struct flows *f = p->b->flows;
	const bool up = s->dst.port == FLOWS_SERVER_PORT;
	const uint32_t flow = up ? flows_of_client(f, &s->src) : flows_of_peer(f, &s->src);
	struct endpoint dst;

	if (flow == UINT32_MAX)
		box_die("a frame comes from an unknown address");
	dst = up ? flows_server(f) : flows_relay(f, flow);
	check_ends(s, &s->src, &dst, "a prepared frame");
	p->due[2 * (size_t)flow + up]++;
	p->in++;
}

static void tap(void *ctx, bool sent, const uint8_t *frame, size_t len)
{
	struct proof *p = ctx;
	struct seen s;

	if (!take_apart(&s, frame, len))
		return;
	if (sent)
		check_sent(p, &s);
	else
		note_received(p, &s);
}

void proof_run(struct box *b, const struct options *o, uint32_t n)
{
	struct proof p = {.b = b, .o = o, .due = calloc(2 * (size_t)b->flows->nb, sizeof(*p.due))};

	if (p.due == NULL)
		box_die("no memory for %u flows", b->flows->nb);
	visits_payload(false, p.media[false], o->size);
	visits_payload(true, p.media[true], o->size);
	port_replay_watch(b->port, tap, &p);
	box_limit(b, n);
	for (uint32_t done = 0; done < n + DP_BURST; done += DP_BURST) {
		box_answer(b);
		box_round(b);
	}
	box_limit(b, 0);
	box_drain(b);
	port_replay_watch(b->port, NULL, NULL);
	if (p.in != n || p.out != n)
		box_die("%llu frames in, %llu out, %u wanted", (unsigned long long)p.in,
			(unsigned long long)p.out, n);
	for (size_t i = 0; i < 2 * (size_t)b->flows->nb; i++)
		if (p.due[i] != 0)
			box_die("flow %zu: %d frames %s did not come out", i / 2, p.due[i],
				i % 2 != 0 ? "up" : "down");
	free(p.due);
	box_check(b, o);
}
