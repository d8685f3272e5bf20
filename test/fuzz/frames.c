// SPDX-License-Identifier: BSD-3-Clause
// Frames from anything that is neither a client nor its peer: neighbours, pings, ICMP errors,
// frames for the kernel and from it, fragments, noise.
#include "datapath.h"
#include "fuzz.h"
#include "net_int.h"

static uint8_t frame[FUZZ_FRAME];

// --- parts ---------------------------------------------------------------------------------------

static struct addr v4(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	return addr_from_v4((const uint8_t[]){a, b, c, d});
}

static struct addr v6(uint8_t net, uint8_t host)
{
	return net == 0x99 ? (struct addr){.b = {0xfd, 0x99, [15] = host}}
			   : (struct addr){.b = {0x20, 0x01, 0x0d, 0xb8, [15] = host}};
}

struct addr fuzz_own(unsigned int port)
{
	const struct dp_world *w = &fuzz.world;
	const struct conf_port *p = &w->ports[port % FUZZ_KERNEL % w->conf.nb_ports];

	if (chance(8))
		return w->side.addr;
	if (chance(12))
		return w->dp->port[port % FUZZ_KERNEL].link_local;
	return p->addresses[below(p->nb_addresses)].addr;
}

struct addr fuzz_host(bool is_v4)
{
	const uint8_t host = (uint8_t)(chance(50) ? 20 + below(4) : 30 + below(4));

	if (!is_v4)
		return chance(80) ? v6(0x99, host) : v6(0, host);
	if (chance(70))
		return v4(10, 99, 0, host);
	return chance(80)    ? v4(198, 51, 100, host)
		: chance(50) ? v4(10, 98, 0, host)
			     : v4(203, 0, 113, 9);
}

uint16_t fuzz_our_port(void)
{
	static const uint16_t ports[] = {3478, 3478, 5349, 22, 161, 50000, 33333, 3480};
	const struct fuzz_client *c = &fuzz.client[below(fuzz.nb_clients)];

	if (chance(30) && c->allocated)
		return c->c.relay.port;
	if (chance(30))
		return (uint16_t)(fuzz.world.conf.turn.port_lo + below(600));
	return ports[below(RTE_DIM(ports))];
}

uint16_t fuzz_their_port(void)
{
	static const uint16_t ports[] = {53, 179, 40000, 40001, 7000, 7001, 3478, 22};

	return ports[below(RTE_DIM(ports))];
}

static struct net_l2 l2(unsigned int port, const struct addr *host)
{
	struct net_l2 l = {.vlan = port == FUZZ_KERNEL ? 0 : fuzz_port(port)->vlan};
	uint8_t *theirs = port == FUZZ_KERNEL ? l.dst : l.src;
	uint8_t *ours = port == FUZZ_KERNEL ? l.src : l.dst;

	theirs[0] = 2;
	theirs[1] = 0xaa;
	memcpy(theirs + 2, host->b + 12, 4);
	memcpy(ours, fuzz_port(port % FUZZ_KERNEL)->mac, 6);
	return l;
}

static struct net_ip ip_header(void)
{
	return (struct net_ip){.tos = (uint8_t)(chance(20) ? below(256) : 0),
		.ttl = (uint8_t)(chance(95) ? 64 : below(3)),
		.id = (uint16_t)below(65536),
		.df = chance(70)};
}

size_t fuzz_udp(
	uint8_t *buf, unsigned int port, const struct fuzz_path *path, const void *data, size_t len)
{
	const struct endpoint *src = &path->src, *dst = &path->dst;
	const struct net_l2 l = l2(port, port == FUZZ_KERNEL ? &dst->addr : &src->addr);
	const struct net_ip ip = ip_header();
	const bool is_v4 = addr_is_v4(&src->addr);
	uint8_t *payload = buf + net_headers_len(is_v4, l.vlan);

	len = RTE_MIN(len, FUZZ_FRAME - (size_t)NET_HEADERS_MAX);
	memcpy(payload, data, len);
	net_write_udp(payload, (uint16_t)len, &l, src, dst, &ip, 0);
	if (!is_v4 || chance(95))
		store_be16(payload - 2,
			csum_udp(&src->addr, &dst->addr, payload - NET_UDP_LEN,
				(uint16_t)(len + NET_UDP_LEN)));
	return (size_t)(payload - buf) + len;
}

struct ends {
	struct addr src, dst; // dst is our address; when the kernel sends, src is
};

// Writes a packet of another protocol, with at least 8 bytes after the IP header.
static size_t packet(
	unsigned int port, const struct ends *e, uint8_t proto, const uint8_t *l4, size_t len)
{
	const struct fuzz_path path = {{e->src, 1}, {e->dst, 1}};
	const size_t whole = fuzz_udp(frame, port, &path, l4, len - 8);
	const bool is_v4 = addr_is_v4(&e->src);
	uint8_t *header = frame + whole - len;

	memcpy(header, l4, len);
	header -= is_v4 ? NET_IP4_LEN : NET_IP6_LEN;
	header[is_v4 ? 9 : 6] = proto;
	fuzz_repair(frame, whole, false);
	return whole;
}

void fuzz_send(const char *kind, unsigned int port, uint8_t *buf, size_t len)
{
	const bool mutated = chance(fuzz.mutate);
	const unsigned int copies = chance(2) ? 2 + below(40) : 1;

	if (mutated)
		len = fuzz_mutate(buf, len, port % FUZZ_KERNEL);
	// frames too long for the link are sent in fragments, and some other frames, too
	if (port != FUZZ_KERNEL &&
		(len > NET_ETH_LEN + (size_t)fuzz_port(port)->mtu || chance(3)) &&
		fuzz_in_pieces("pieces", port, buf, len))
		return;
	for (unsigned int i = 0; i < copies; i++)
		fuzz_put(kind, port, buf, len, mutated ? FUZZ_MUTATED : chance(70) ? FUZZ_GOOD : 0);
}

// --- kinds ---------------------------------------------------------------------------------------

static struct ends ends(unsigned int port)
{
	const struct addr local = fuzz_own(port), host = fuzz_host(addr_is_v4(&local));

	return port == FUZZ_KERNEL ? (struct ends){local, host} : (struct ends){host, local};
}

static void neighbour(unsigned int port)
{
	const struct ends e = ends(port);
	struct net_l2 l = l2(port, port == FUZZ_KERNEL ? &e.dst : &e.src);
	const struct addr stranger = fuzz_host(addr_is_v4(&e.src));
	const uint8_t *target_mac = chance(40) ? l.dst : NULL;
	size_t len;

	if (chance(50))
		len = net_write_ask(frame, &l, &e.src, chance(80) ? &e.dst : &stranger, target_mac);
	else
		len = net_write_answer(
			frame, &l, chance(60) ? &e.src : &stranger, chance(80) ? &e.dst : NULL);
	fuzz_send("neighbour", port, frame, len);
}

static void echo(unsigned int port)
{
	const struct ends e = ends(port);
	const bool is_v4 = addr_is_v4(&e.src), reply = chance(30);
	uint8_t icmp[1480] = {0};

	icmp[0] = is_v4 ? (reply ? 0 : 8) : (reply ? 129 : 128);
	if (chance(10))
		icmp[0] = (uint8_t)below(256);
	fuzz_send("echo", port, frame,
		packet(port, &e, is_v4 ? 1 : 58, icmp,
			8 + below(chance(80) ? 64 : sizeof(icmp) - 8)));
}

// The ends of a datagram that the data path may have sent from e->dst: to a client, or from a
// client to its peer. Unchanged if the randomly picked client has another address family.
static void live_flow(const struct ends *e, struct endpoint *ours, struct endpoint *theirs)
{
	const struct fuzz_client *c = &fuzz.client[below(fuzz.nb_clients)];
	const struct endpoint *remote = chance(30) ? &c->c.endpoint : &c->peer[below(FUZZ_PEERS)];

	if (addr_is_v4(&remote->addr) != addr_is_v4(&e->dst))
		return;
	*theirs = *remote;
	ours->port = remote == &c->c.endpoint ? c->c.server.port : c->c.relay.port;
}

// Writes the quoted packet of an ICMP error: a packet that we or the kernel may have sent.
static size_t quote(const struct ends *e, uint8_t *quoted)
{
	struct fuzz_path path = {{e->dst, fuzz_our_port()}, {e->src, fuzz_their_port()}};
	const bool is_v4 = addr_is_v4(&e->src);
	uint8_t data[1200] = {0};
	size_t len, most;

	if (chance(70))
		live_flow(e, &path.src, &path.dst);
	len = fuzz_udp(frame, FUZZ_KERNEL, &path, data, 12 + below(1000)) - NET_ETH_LEN;
	memcpy(quoted, frame + NET_ETH_LEN, len);
	if (chance(30)) // TCP, or an echo request
		quoted[is_v4 ? 9 : 6] = chance(50) ? IPPROTO_TCP : is_v4 ? 1 : 58;
	if (chance(fuzz.mutate / 2))
		quoted[below(RTE_MIN((uint32_t)len, 60u))] ^= (uint8_t)(1 << below(8));
	most = (is_v4 ? NET_IP4_LEN : NET_IP6_LEN) + (chance(70) ? 8u : below(120));
	return RTE_MIN(len, most);
}

static void icmp_error(unsigned int port)
{
	static const uint8_t types4[] = {3, 3, 3, 11, 12, 4, 5}, types6[] = {1, 1, 2, 3, 4, 137};
	const struct ends e = ends(port);
	const bool is_v4 = addr_is_v4(&e.src);
	const struct ends of_router = {fuzz_host(is_v4), e.dst};
	uint8_t icmp[2048] = {0};
	const size_t len = 8 + quote(&e, icmp + 8);

	icmp[0] = is_v4 ? types4[below(sizeof(types4))] : types6[below(sizeof(types6))];
	icmp[1] = (uint8_t)below(6);
	if (chance(40))
		store_be32(icmp + 4, chance(30) ? fuzz_edge() : 500 + below(1000));
	// some of them more than a client is notified of
	for (unsigned int n = chance(15) ? 12 : 1; n > 0; n--)
		fuzz_send("icmp error", port, frame,
			packet(port, chance(70) || port == FUZZ_KERNEL ? &e : &of_router,
				is_v4 ? 1 : 58, icmp, len));
}

static void tcp(unsigned int port)
{
	static const uint8_t flags[] = {0x02, 0x12, 0x10, 0x18, 0x04, 0x11, 0xff};
	const struct ends e = ends(port);
	const uint16_t ours = fuzz_our_port(), theirs = fuzz_their_port();
	uint8_t l4[1480] = {0};

	store_be16(l4, port == FUZZ_KERNEL ? ours : theirs);
	store_be16(l4 + 2, port == FUZZ_KERNEL ? theirs : ours);
	l4[12] = (uint8_t)(chance(95) ? 0x50 : below(256));
	l4[13] = flags[below(sizeof(flags))];
	fuzz_send("tcp", port, frame,
		packet(port, &e, IPPROTO_TCP, l4, 20 + below(chance(80) ? 64 : 1460)));
}

static void udp(unsigned int port)
{
	const struct ends e = ends(port);
	const uint16_t ours = fuzz_our_port(), theirs = fuzz_their_port();
	const struct fuzz_path path = {{e.src, port == FUZZ_KERNEL ? ours : theirs},
		{e.dst, port == FUZZ_KERNEL ? theirs : ours}};
	uint8_t data[1472];
	const size_t most = chance(80) ? 100 : sizeof(data), len = below((uint32_t)most);

	test_rand_fill(&fuzz.rand, data, len);
	fuzz_send("udp", port, frame, fuzz_udp(frame, port, &path, data, len));
}

// DHCP, DHCPv6, and ICMPv6 of the types of router discovery.
static void learning(unsigned int port)
{
	static const uint16_t dhcp[] = {67, 68}, dhcp6[] = {547, 546};
	static const struct addr
		everybody = {.b = {[10] = 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}, // 255.255.255.255
		all_nodes = {.b = {0xff, 2, [15] = 1}}, nobody4 = {.b = {[10] = 0xff, 0xff}};
	const bool kernel = port == FUZZ_KERNEL;
	struct ends e = ends(port);
	const bool is_v4 = addr_is_v4(&e.src);
	const uint16_t *ports = is_v4 ? dhcp : dhcp6;
	uint8_t data[300] = {(uint8_t)(133 + below(5))};
	size_t len;

	if (chance(50))
		e.dst = is_v4 ? everybody : all_nodes;
	if (kernel && chance(50))
		e.src = is_v4 ? nobody4 : fuzz.world.dp->port[0].link_local;
	if (!is_v4 && chance(50))
		len = packet(port, &e, 58, data, 8 + below(100));
	else
		len = fuzz_udp(frame, port,
			&(struct fuzz_path){{e.src, ports[kernel]}, {e.dst, ports[!kernel]}}, data,
			below(sizeof(data)));
	fuzz_send("learning", port, frame, len);
}

static void fragment(unsigned int port)
{
	const struct ends e = ends(port);
	const struct fuzz_path path = {{e.src, fuzz_their_port()}, {e.dst, 3478}};
	uint8_t data[256] = {0};
	size_t len = fuzz_udp(frame, port, &path, data, 16 + below(200));
	const size_t l3 = NET_ETH_LEN +
		(port != FUZZ_KERNEL && fuzz_port(port)->vlan != 0 ? NET_VLAN_LEN : 0);

	if (addr_is_v4(&e.src)) {
		store_be16(frame + l3 + 6, (uint16_t)(chance(50) ? 0x2000 : 1 + below(0x3fff)));
	} else {
		memmove(frame + l3 + 48, frame + l3 + 40, len - l3 - 40);
		memset(frame + l3 + 40, 0, 8);
		frame[l3 + 40] = IPPROTO_UDP;
		store_be16(frame + l3 + 42, (uint16_t)below(65536));
		frame[l3 + 6] = 44;
		len += 8;
		store_be16(frame + l3 + 4, (uint16_t)(len - l3 - 40));
	}
	fuzz_repair(frame, len, false);
	fuzz_send("fragment", port, frame, len);
}

static void noise(unsigned int port)
{
	const size_t len = 1 + below(chance(80) ? 100 : 1600);
	const struct addr host = fuzz_host(true);
	const struct net_l2 l = l2(port, &host);

	test_rand_fill(&fuzz.rand, frame, len);
	if (chance(80))
		eth_write(frame, &l, fuzz_edge());
	fuzz_put("noise", port, frame, len, FUZZ_MUTATED);
}

static void again(unsigned int port)
{
	const struct fuzz_frame *f = fuzz_recent();

	if (f == NULL || f->len == 0)
		return;
	memcpy(frame, f->data, f->len);
	if (f->mutated || chance(50)) // its checksums may be wrong
		fuzz_put("again", port, frame, f->len, FUZZ_MUTATED);
	else
		fuzz_send("again", port, frame, f->len);
}

void fuzz_any_frame(void)
{
	static void (*const kinds[])(unsigned int port) = {neighbour, neighbour, echo, icmp_error,
		icmp_error, tcp, tcp, udp, udp, learning, fragment, noise, again, again};
	unsigned int port = below(fuzz.world.conf.nb_ports);

	if (fuzz_exception() != NULL && chance(35))
		port = FUZZ_KERNEL;
	kinds[below(RTE_DIM(kinds))](port);
}
