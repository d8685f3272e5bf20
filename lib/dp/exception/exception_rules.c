// SPDX-License-Identifier: BSD-3-Clause
// Traffic that an exception port carries. There is no connection tracking: a packet is judged by
// its ports. A rule for the kernel as a client admits no segment that begins a TCP connection, and
// UDP only to the ports that the kernel sends from.
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "exception/exception_rules.h"
#include "bytes.h"
#include "conf.h"
#include "net.h"
#include "turn_config.h"

#define ECHO_REPLY 0
#define UNREACHABLE 3
#define ECHO_REQUEST 8
#define TIME_EXCEEDED 11
#define PARAMETER 12
#define ECHO6_REQUEST 128
#define ECHO6_REPLY 129
#define ERROR_HEADER 8 // bytes of an ICMP error before the quoted packet
#define QUOTED_MIN 8 // bytes of that packet's payload: its ports (RFC 792; RFC 4443 quotes more)

// --- setup ---------------------------------------------------------------------------------------

static void add_port(uint64_t *set, uint16_t port)
{
	set[port / 64] |= UINT64_C(1) << port % 64;
}

static bool has_port(const uint64_t *set, uint16_t port)
{
	return (set[port / 64] >> port % 64 & 1) != 0;
}

// Adds a listener: TCP to and from its address and port is carried. Returns 0 or -ENOMEM.
static int serve_listener(struct exception_rules *r, const struct endpoint *endpoint)
{
	struct endpoint *grown = realloc(r->endpoint, (r->nb_at + (size_t)1) * sizeof(*grown));

	if (grown == NULL)
		return -ENOMEM;
	r->endpoint = grown;
	r->endpoint[r->nb_at++] = *endpoint;
	return 0;
}

// Adds the relay addresses of a port, where TCP with peers (RFC 6062) arrives.
static void serve_relay(struct exception_rules *r, const struct conf *c, const struct conf_port *p)
{
	const struct turn_config *t = &c->turn;
	bool has = false;

	for (uint32_t i = 0; i < t->nb_relay; i++)
		has = has || conf_port_address(p, &t->relay[i]) != NULL;
#define X(enabled, lo, hi, key)                                        \
	for (uint32_t i = t->lo; has && t->enabled && i <= t->hi; i++) \
		add_port(r->served[1], (uint16_t)i);
	TURN_CONFIG_TCP_PORTS(X)
#undef X
}

int exception_rules_init(struct exception_rules *r, const struct conf *c, uint32_t port)
{
	const struct conf_exception *e = &c->ports[port].exception;
	int rc = 0;

	*r = (struct exception_rules){.client_lo = e->client_lo,
		.client_hi = e->client_hi,
		.learn = {.dhcp = conf_learns(&c->ports[port], true),
			.slaac = conf_learns(&c->ports[port], false),
			.vlan = c->ports[port].vlan}};
	for (uint32_t i = 0; i < e->nb_allow; i++) {
		const struct conf_service *s = &e->allow[i];
		const bool tcp = s->proto == IPPROTO_TCP;

		if (s->proto != IPPROTO_ICMP)
			add_port(s->away ? r->used[tcp] : r->served[tcp], s->port);
		else if (s->away)
			r->ping_out = true;
		else
			r->ping = true;
	}
	for (uint32_t i = 0; i < c->turn.nb_listeners && rc == 0; i++)
		if (turn_listener_is_stream(&c->turn.listeners[i]) &&
			conf_port_address(&c->ports[port], &c->turn.listeners[i].endpoint.addr) !=
				NULL)
			rc = serve_listener(r, &c->turn.listeners[i].endpoint);
	serve_relay(r, c, &c->ports[port]);
	return rc;
}

void exception_rules_free(struct exception_rules *r)
{
	free(r->endpoint);
	r->endpoint = NULL;
	r->nb_at = 0;
}

// --- queries -------------------------------------------------------------------------------------

static bool is_served(const struct exception_rules *r, const struct exception_flow *f)
{
	const bool tcp = f->proto == IPPROTO_TCP;

	if (has_port(r->served[tcp], f->our_port))
		return true;
	for (uint32_t i = 0; tcp && i < r->nb_at; i++)
		if (r->endpoint[i].port == f->our_port && addr_eq(&r->endpoint[i].addr, &f->ours))
			return true;
	return false;
}

// True if the kernel may have sent a packet as a client, or the packet may be an answer to it,
// judged by ports.
static bool is_used(const struct exception_rules *r, const struct exception_flow *f)
{
	const bool tcp = f->proto == IPPROTO_TCP;

	return has_port(r->used[tcp], f->their_port) &&
		(tcp || (f->our_port >= r->client_lo && f->our_port <= r->client_hi));
}

bool exception_rules_out(const struct exception_rules *r, const struct exception_flow *f)
{
	return is_served(r, f) || is_used(r, f);
}

bool exception_rules_in(
	const struct exception_rules *r, const struct exception_flow *f, bool begins)
{
	return is_served(r, f) || (!begins && is_used(r, f));
}

// --- ICMP ----------------------------------------------------------------------------------------

// True if the packet quoted by an error was sent from our address, as far as it is quoted, and the
// kernel may have sent it.
static bool quotes_ours(const struct exception_rules *r, const struct net_frame *f,
	const uint8_t *icmp, struct exception_flow *about)
{
	const uint8_t *ip = icmp + ERROR_HEADER, *l4;
	const uint32_t room = f->payload_len > ERROR_HEADER ? f->payload_len - ERROR_HEADER : 0;
	const uint8_t echo = f->is_v4 ? ECHO_REQUEST : ECHO6_REQUEST;
	struct exception_flow flow = {.ours = f->dst};
	uint32_t len = NET_IP6_LEN;

	if (f->is_v4) {
		if (room < NET_IP4_LEN || ip[0] >> 4 != 4 ||
			memcmp(ip + 12, f->dst.b + 12, 4) != 0 || (load_be16(ip + 6) & 0x1fff) != 0)
			return false;
		len = (ip[0] & 15u) * 4;
		flow.proto = ip[9];
	} else {
		if (room < NET_IP6_LEN || ip[0] >> 4 != 6 || memcmp(ip + 8, f->dst.b, 16) != 0)
			return false;
		flow.proto = ip[6];
	}
	if (len < NET_IP4_LEN || room < len + QUOTED_MIN)
		return false;
	l4 = ip + len;
	if (flow.proto == (f->is_v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6))
		return l4[0] == echo && (r->ping || r->ping_out);
	if (flow.proto != IPPROTO_TCP && flow.proto != IPPROTO_UDP)
		return false;
	flow.our_port = load_be16(l4);
	flow.their_port = load_be16(l4 + 2);
	*about = flow;
	return exception_rules_out(r, &flow);
}

// Destination unreachable, packet too big, time exceeded, parameter problem. No redirects: each
// family has one gateway.
static bool is_error(const struct net_frame *f, uint8_t type)
{
	if (f->is_v4)
		return type == UNREACHABLE || type == TIME_EXCEEDED || type == PARAMETER;
	return type >= 1 && type <= 4;
}

bool exception_rules_icmp_in(const struct exception_rules *r, const struct net_frame *f,
	const uint8_t *icmp, struct exception_flow *about)
{
	about->proto = 0;
	if (is_error(f, icmp[0]))
		return quotes_ours(r, f, icmp, about);
	if (icmp[0] == (f->is_v4 ? ECHO_REQUEST : ECHO6_REQUEST))
		return r->ping;
	return icmp[0] == (f->is_v4 ? ECHO_REPLY : ECHO6_REPLY) && (r->ping || r->ping_out);
}

bool exception_rules_icmp_out(
	const struct exception_rules *r, const struct net_frame *f, const uint8_t *icmp)
{
	if (is_error(f, icmp[0])) // about a packet that was let in
		return true;
	if (icmp[0] == (f->is_v4 ? ECHO_REQUEST : ECHO6_REQUEST))
		return r->ping || r->ping_out;
	return icmp[0] == (f->is_v4 ? ECHO_REPLY : ECHO6_REPLY) && r->ping;
}
