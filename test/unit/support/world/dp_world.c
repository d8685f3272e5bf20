// SPDX-License-Identifier: BSD-3-Clause
// The data path on software ports, the hosts on its links, and clients that speak TURN to it.
#include "bytes.h"
#include "clients/streams.h"
#include "datapath.h"
#include "dp_world.h"
#include "nicmodel.h"
#include "sender.h"
#include "see/stats.h"
#include "path/worker.h"

#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>

#include <rte_eal.h>
#include <rte_mempool.h>

struct endpoint world_endpoint(const char *addr, uint16_t port)
{
	struct endpoint e = {.port = port};

	assert_int_equal(addr_parse(addr, &e.addr), 0);
	return e;
}

// Writes three lcores that may run on any of the CPUs, however few there are.
static void lcores_text(char *text, size_t len)
{
	cpu_set_t cpus;
	char list[256] = "";

	if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0)
		CPU_ZERO(&cpus);
	for (int i = 0, n = 0; i < CPU_SETSIZE && n < 4; i++) {
		if (!CPU_ISSET(i, &cpus))
			continue;
		snprintf(list + strlen(list), sizeof(list) - strlen(list), n > 0 ? ",%d" : "%d", i);
		n++;
	}
	snprintf(text, len, "0@(%s),1@(%s),2@(%s)", list, list, list);
}

void world_eal(void)
{
	char lcores[1024];
	char *argv[] = {"test", "--no-huge", "-m", "320", "--no-shconf", "--no-pci",
		"--iova-mode=va", "--no-telemetry", "--log-level=error", "--lcores", lcores};

	lcores_text(lcores, sizeof(lcores));
	if (rte_eal_init((int)RTE_DIM(argv), argv) < 0) {
		fprintf(stderr, "EAL does not start\n");
		exit(1);
	}
}

// --- configuration ------------------------------------------------------------------------------

static struct conf_address address(const char *addr, uint8_t len)
{
	return (struct conf_address){.addr = world_endpoint(addr, 0).addr, .prefix_len = len};
}

static void conf_ports(struct dp_world *w, const struct world_setup *s)
{
	snprintf(w->device, sizeof(w->device), "soft:%u:%u%s", s->rx_queues, s->tx_queues,
		s->rss || s->nic ? ":rss" : "");
	w->addresses[0] = address("10.99.0.1", 96 + 24);
	w->addresses[1] = address("fd99::1", 64);
	w->side = address("10.98.0.1", 96 + 24);
	for (unsigned int i = 0; i < s->relays; i++) {
		w->addresses[2 + 2 * i] = address("10.99.0.100", 96 + 24);
		w->addresses[2 + 2 * i].addr.b[15] += (uint8_t)i;
		w->addresses[3 + 2 * i] = address("fd99::100", 64);
		w->addresses[3 + 2 * i].addr.b[15] += (uint8_t)i;
	}
	w->gateways[0] = world_endpoint("10.99.0.254", 0).addr;
	w->gateways[1] = world_endpoint("fd99::fe", 0).addr;
	w->ports[0] = (struct conf_port){.name = "wan",
		.device = w->device,
		.addresses = w->addresses,
		.nb_addresses = 2 + 2 * s->relays,
		.gateways = w->gateways,
		.nb_gateways = 2,
		.mtu = s->mtu != 0 ? s->mtu : 1500,
		.vlan = s->vlan,
		.steering = s->steering};
	w->ports[1] = (struct conf_port){.name = "side",
		.device = w->device,
		.addresses = &w->side,
		.nb_addresses = 1,
		.mtu = s->side_mtu != 0 ? s->side_mtu : w->ports[0].mtu,
		.vlan = s->side_vlan,
		.shares = s->side_vlan != 0};
	if (s->exception != NULL)
		w->ports[0].exception = *s->exception;
	w->side_hosts = s->side_mtu != 0 || s->side_vlan != 0;
}

static struct turn_local local_of(const struct conf_address *a, uint8_t port)
{
	struct turn_local l = {.addr = a->addr, .port = port, .subnet = {a->addr, a->prefix_len}};

	for (unsigned int bit = a->prefix_len; bit < 128; bit++)
		l.subnet.addr.b[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
	return l;
}

// Sets the addresses: the listeners' on the first port, the further ones, then the second port's.
static void conf_addresses(struct dp_world *w, const struct world_setup *s)
{
	struct turn_config *t = &w->conf.turn;

	for (unsigned int i = 0; i < 2 + 2 * s->relays; i++) {
		w->locals[t->nb_local++] = local_of(&w->addresses[i], 0);
		if (i >= 2 || s->relays == 0)
			w->relay[t->nb_relay++] = w->addresses[i].addr;
	}
	for (unsigned int i = 0; i < 2; i++)
		w->listeners[i] =
			(struct turn_listener){{w->addresses[i].addr, 3478}, TURN_OVER_UDP};
	w->listeners[2] = (struct turn_listener){{w->side.addr, 3478}, TURN_OVER_UDP};
	w->listeners[s->two_ports ? 3 : 2] = s->stream_ring > 0
		? (struct turn_listener){{w->addresses[0].addr, 3478}, TURN_OVER_TCP}
		: w->listeners[2];
	if (s->two_ports)
		w->locals[t->nb_local++] = local_of(&w->side, 1);
	w->tcp = s->two_ports ? 3 : 2;
	w->dtls = w->tcp + (s->stream_ring > 0);
	for (unsigned int i = 0; i < 3; i++)
		w->listeners[w->dtls + i] = (struct turn_listener){
			{w->addresses[i & 1].addr, i == 0 ? 3478 : 5349}, TURN_OVER_DTLS};
	t->nb_listeners = w->dtls + (s->dtls ? 3 : 0);
}

static void conf_turn(struct dp_world *w, const struct world_setup *s)
{
	struct turn_config *t = &w->conf.turn;
	const char *allow[] = {"10.99.0.0/24", "fd99::/64", "198.51.100.0/24", "10.98.0.0/24"};

	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(addr_prefix_parse(allow[i], &w->allow[i]), 0);
	w->user[0] = (struct turn_user){.name = "ivan", .password = "pw"};
	w->user[1] = (struct turn_user){.name = "olga", .password = "pw"};
	*t = (struct turn_config){.first.name = WORLD_REALM,
		.first.users = w->user,
		.first.nb_users = 1,
		.nonce_lifetime_s = 600,
		.nonce_secret = "",
		.listeners = w->listeners,
		.relay = w->relay,
		.local = w->locals,
		.gateways = w->gateways,
		.nb_gateways = 2,
		.allow = w->allow,
		.nb_allow = 4,
		.port_lo = 50000,
		.port_hi = (uint16_t)(49999 + (s->relay_ports != 0 ? s->relay_ports : 512)),
		.hairpin = true,
		.workers = s->workers,
		.limits = {.permissions = 16,
			.channels = 16,
			.unauthenticated = s->unauthenticated,
			.lifetime_default_s = 600,
			.lifetime_max_s = 3600}};
#ifdef FEATURE_SHARED
	if (s->shared != 0) {
		t->shared = (struct turn_shared){.enabled = true, .peers = 16, .peer_share = 50};
		t->port_lo = 3480;
		t->port_hi = (uint16_t)(3479 + s->shared);
		t->limits.allocations = 256;
	}
#endif
	conf_addresses(w, s);
}

static bool receive(struct dp_world *w, unsigned int port);

void world_open(struct dp_world *w, const struct world_setup *s)
{
	unsigned int lcores[TURN_WORKERS_MAX];
	char error[256] = "";

	for (unsigned int i = 0; i < TURN_WORKERS_MAX; i++)
		lcores[i] = 1 + i % 2;
	memset(w, 0, sizeof(*w));
	w->rand = s->seed != 0 ? (struct test_rand){s->seed} : test_rand_start("world");
	w->receive = s->receive != NULL ? s->receive : receive;
	w->crypto = stun_crypto_create();
	assert_non_null(w->crypto);
	conf_ports(w, s);
	w->conf = (struct conf){.workers = s->workers,
		.drivers = s->drivers,
		.ports = w->ports,
		.nb_ports = s->two_ports ? 2 : 1,
		.mbufs = s->mbufs != 0 ? s->mbufs : 8191,
		.rx_ring = 512,
		.tx_ring = 512,
		.requests = s->requests != 0 ? s->requests : 8,
		.backlog = s->backlog != 0 ? s->backlog : 256,
		.handover_ring = s->handover_ring != 0 ? s->handover_ring : 1024,
		.neigh_entries = s->neigh_entries != 0 ? s->neigh_entries : 256,
		.neigh_held = 256,
		.neigh_held_each = s->neigh_held_each != 0 ? s->neigh_held_each : 64,
		.neigh_ask_rate = s->ask_rate,
		.icmp_rate = s->icmp_rate,
		.icmp_errors_in = 1000,
		.path_mtus = 64,
		.handshakes = s->handshakes,
		.streams = {.threads = 1, .ring = s->stream_ring > 0 ? s->stream_ring : 256},
		.dtls = {.sessions = 1000,
			.half_open = s->half_open != 0 ? s->half_open : 300,
			.handshake_s = 10,
			.idle_s = 120}};
	conf_turn(w, s);
	if (s->change != NULL)
		s->change(w);
	assert_true(conf_routes_gather(&w->conf));
	w->ms = 1000000; // later than the end of any start
	w->nic = s->nic;
	w->dp = dp_create(
		&w->conf, lcores, s->nic ? nicmodel_open : softport_open, error, sizeof(error));
	if (w->dp == NULL)
		fail_msg("%s", error);
}

void world_close(struct dp_world *w)
{
	dp_quiesce(w->dp);
	assert_int_equal(rte_mempool_in_use_count(w->dp->pool), 0);
	if (w->dp->datagrams != NULL)
		assert_int_equal(rte_mempool_in_use_count(w->dp->datagrams), 0);
	for (unsigned int i = 0; i < w->dp->nb_workers; i++) {
		struct dp_stats s;

		assert_true(dp_worker_stats(w->dp, i, &s));
		assert_int_equal(s.held, 0);
	}
	dp_destroy(w->dp);
	free(w->conf.turn.routes);
	w->conf.turn.routes = NULL; // some tests start again from this configuration
	w->conf.turn.nb_routes = 0;
	stun_crypto_free(w->crypto);
}

// --- the link -----------------------------------------------------------------------------------

static void mac_of(const struct dp_world *w, const struct addr *a, uint8_t mac[6])
{
	mac[0] = addr_eq(a, &w->moved) ? 0x06 : 0x02;
	mac[1] = addr_is_v4(a) ? 0xaa : 0xbb;
	memcpy(mac + 2, a->b + 12, 4);
}

// Gets the MAC address that reaches a host: its own, or its router's.
void world_mac(const struct dp_world *w, const struct addr *a, uint8_t mac[6])
{
	const char *nets[] = {"10.99.0.0/24", "10.98.0.0/24", "10.97.0.0/24", "fd99::/64"};
	struct prefix p;

	for (unsigned int i = 0; i < RTE_DIM(nets); i++) {
		assert_int_equal(addr_prefix_parse(nets[i], &p), 0);
		if (addr_prefix_contains(&p, a)) {
			mac_of(w, a, mac);
			return;
		}
	}
	for (uint32_t i = 0; i < w->ports[1].nb_routes; i++) {
		if (addr_prefix_contains(&w->ports[1].routes[i].dst, a)) {
			mac_of(w, &w->ports[1].routes[i].via, mac);
			return;
		}
	}
	mac_of(w, &w->gateways[addr_is_v4(a) ? 0 : 1], mac);
}

void world_inject(struct dp_world *w, unsigned int port, const void *frame, size_t len)
{
	struct port *p = w->dp->port[port].port;

	if (p->on != NULL)
		p = p->on;
	if (w->nic)
		nicmodel_put(p, frame, len);
	else
		softport_put(p, (uint16_t)test_rand_below(&w->rand, p->nb_rxq), frame, len);
}

unsigned int world_port_of(const struct dp_world *w, const struct addr *dst)
{
	return w->side_hosts && addr_eq(dst, &w->side.addr);
}

size_t world_frame_by(
	struct dp_world *w, unsigned int port, const struct world_datagram *d, uint8_t buf[2048])
{
	const struct port *p = w->dp->port[port].port;
	const bool is_v4 = addr_is_v4(&d->src.addr);
	uint8_t *payload = buf + net_headers_len(is_v4, p->vlan);
	struct net_l2 l2 = {.vlan = p->vlan};
	const struct net_ip ip = {.tos = d->tos,
		.ttl = d->ttl != 0 ? d->ttl : 64,
		.id = (uint16_t)test_rand(&w->rand),
		.df = d->df};

	memcpy(l2.dst, p->mac, 6);
	world_mac(w, &d->src.addr, l2.src);
	memcpy(payload, d->data, d->len);
	assert_ptr_equal(net_write_udp(payload, d->len, &l2, &d->src, &d->dst, &ip, 0), buf);
	if (!d->no_checksum)
		store_be16(payload - 2,
			csum_udp(&d->src.addr, &d->dst.addr, payload - NET_UDP_LEN,
				(uint16_t)(d->len + NET_UDP_LEN)));
	return (size_t)(payload - buf) + d->len;
}

void world_send(struct dp_world *w, const struct world_datagram *d)
{
	uint8_t frame[2048];
	const size_t len = world_frame(w, d, frame);

	world_inject(w, world_port_of(w, &d->dst.addr), frame, len);
}

void world_send_bytes(struct dp_world *w, const struct endpoint *src, const struct endpoint *dst,
	const void *data, size_t len)
{
	struct world_datagram d = {.src = *src, .dst = *dst, .len = (uint16_t)len};

	memcpy(d.data, data, len);
	world_send(w, &d);
}

static void answer_ask(struct dp_world *w, unsigned int port, const struct net_neigh_msg *msg)
{
	struct net_l2 l2 = {.vlan = w->dp->port[port].port->vlan};
	uint8_t frame[NET_ND_FRAME_MAX];

	w->asks++;
	mac_of(w, &msg->target, l2.src);
	// that host receives a unicast request
	if (w->deaf || ((w->last[0] & 1) == 0 && memcmp(w->last, l2.src, 6) != 0))
		return;
	memcpy(l2.dst, w->dp->port[port].port->mac, 6);
	world_inject(w, port, frame, net_write_answer(frame, &l2, &msg->target, &msg->sender));
}

static void see_other(struct dp_world *w, unsigned int port, const struct net_frame *f)
{
	struct net_neigh_msg msg;

	net_neigh_parse(w->last, w->last_len, f, &msg);
	if (msg.type == NET_NEIGH_ASK)
		answer_ask(w, port, &msg);
	else if (msg.type == NET_NEIGH_ANSWER && (w->last[0] & 1) == 0)
		w->answers++;
	else if (msg.type == NET_NEIGH_ANSWER)
		w->announcements++;
	else
		w->echoes++;
}

static void see_datagram(
	struct dp_world *w, uint8_t port, const uint8_t *frame, const struct net_frame *f)
{
	struct world_datagram *d;
	uint8_t mac[6];

	assert_true(w->nb_seen < WORLD_SEEN);
	world_mac(w, &f->dst, mac);
	if (w->dp->port[port].port->loopback)
		memset(mac, 0, sizeof(mac));
	if (!w->rerouted)
		assert_memory_equal(frame, mac, 6); // it is sent to the right neighbour
	d = &w->seen[w->nb_seen++];
	*d = (struct world_datagram){.src = {f->src, f->sport},
		.dst = {f->dst, f->dport},
		.len = f->payload_len,
		.tos = f->tos,
		.ttl = f->ttl,
		.df = f->df,
		.no_checksum = f->l4_checksum == 0,
		.port = port};
	memcpy(d->data, frame + f->payload_off, f->payload_len);
	memcpy(d->mac, frame, sizeof(d->mac));
}

static bool receive(struct dp_world *w, unsigned int port)
{
	const struct port *p = w->dp->port[port].port;
	struct net_rx rx = {.tcp = true, .loopback = p->loopback};
	struct net_frame f;
	uint8_t frame[2048], copy[2048];
	const size_t len = p->on == NULL
		? softport_take(w->dp->port[port].port, frame, sizeof(frame))
		: 0; // a VLAN sends through its device

	if (len == 0)
		return false;
	port = sender_of(w, port, frame);
	p = w->dp->port[port].port;
	rx.vlan = p->vlan;
	assert_memory_equal(frame + 6, p->mac, 6);
	memcpy(copy, frame, len);
	if (world_see_fragment(w, p, copy, len))
		return true;
	memcpy(rx.mac, frame, 6);
	assert_int_equal(net_frame_parse(frame, len, &rx, &f), NET_OK);
	if (f.kind == NET_UDP) {
		see_datagram(w, (uint8_t)port, frame, &f);
		return true;
	}
	if (f.kind == NET_TCP) {
		w->segments++;
		return true;
	}
	memcpy(w->last, frame, len);
	w->last_len = len;
	see_other(w, port, &f);
	return true;
}

// --- time ---------------------------------------------------------------------------------------

// Asserts that every burst is in one class, and that no class has more packets than were received.
static void world_bursts(const struct dp_stats *s)
{
	static const unsigned int least[DP_BURST_CLASSES] = {1, 2, 3, 5, 9, 17};
	uint64_t bursts = 0, rx = 0, tx = 0;

	for (unsigned int i = 0; i < DP_BURST_CLASSES; i++) {
		bursts += s->rx_hist[i];
		rx += least[i] * s->rx_hist[i];
		tx += least[i] * s->tx_hist[i];
	}
	assert_int_equal(bursts, s->rx_bursts);
	assert_true(rx <= s->rx && tx <= s->tx + s->drop[DP_DROP_TX_FULL]);
	assert_true(s->tx_short <= s->tx_retried);
}

void world_balance(struct dp_world *w, unsigned int worker)
{
	struct dp_stats s;
	uint64_t drops = 0;

	assert_true(dp_worker_stats(w->dp, worker, &s));
	for (unsigned int i = 0; i < DP_DROP_END; i++)
		drops += s.drop[i];
	assert_int_equal(
		s.rx + s.made + s.handed_in, s.tx + drops + s.handed_out + s.consumed + s.held);
	world_bursts(&s);
}

// A message for a client over a stream; one that is too long for a datagram goes to the long ones.
static void see_message(struct dp_world *w, const struct stream_message *m)
{
	const struct endpoint src = world_endpoint("10.99.0.1", 3478);
	struct world_datagram *d = &w->seen[w->nb_seen];

	assert_true((uint32_t)m->conn < w->nb_streams && w->nb_seen < WORLD_SEEN);
	if (m->len > sizeof(d->data)) {
		world_see_long(w, &src, &w->stream[(uint32_t)m->conn], m->data, m->len);
		return;
	}
	*d = (struct world_datagram){
		.src = src, .dst = w->stream[(uint32_t)m->conn], .len = m->len};
	memcpy(d->data, m->data, m->len);
	w->nb_seen++;
}

// Takes the workers' messages for clients over streams.
static bool stream_receive(struct dp_world *w)
{
	struct stream_message m[STREAM_BURST];
	bool moved = false;

	for (unsigned int worker = 0; w->nb_streams > 0 && worker < w->dp->nb_workers; worker++) {
		const unsigned int n = streams_ops.receive(w->dp, 0, worker, m, STREAM_BURST);

		for (unsigned int i = 0; i < n; i++) {
			see_message(w, &m[i]);
			streams_ops.release(w->dp, 0, worker, m[i].buf);
			moved = true;
		}
	}
	return moved;
}

bool world_round(struct dp_world *w)
{
	const unsigned int n = w->dp->nb_workers, first = test_rand_below(&w->rand, n);
	bool moved = false;

	w->ms++;
	for (unsigned int i = 0; i < n; i++) {
		struct worker *worker = w->dp->worker[(first + i) % n];

		moved |= worker_round(worker, w->dp->tsc_start + w->ms * w->dp->tsc_per_ms);
		stats_publish(worker); // even before it is due
		world_balance(w, worker->id);
	}
	for (unsigned int p = 0; p < w->dp->nb_ports; p++)
		while (w->receive(w, p))
			moved = true;
	return stream_receive(w) || moved;
}

void world_run(struct dp_world *w)
{
	unsigned int quiet = 0;

	// a packet handed to another worker, and a question to a neighbour, take a round each
	while (quiet < 3)
		quiet = world_round(w) ? 0 : quiet + 1;
}

void world_wait(struct dp_world *w, uint64_t ms)
{
	for (uint64_t i = 0; i < ms; i++)
		world_round(w);
}

bool world_take(struct dp_world *w, const struct endpoint *dst, struct world_datagram *out)
{
	for (unsigned int i = 0; i < w->nb_seen; i++) {
		if (!endpoint_eq(&w->seen[i].dst, dst))
			continue;
		*out = w->seen[i];
		w->nb_seen--;
		memmove(&w->seen[i], &w->seen[i + 1], (w->nb_seen - i) * sizeof(w->seen[0]));
		return true;
	}
	return false;
}

struct dp_stats world_stats(struct dp_world *w)
{
	struct dp_stats s;

	dp_total_stats(w->dp, &s);
	return s;
}

uint64_t world_dropped(struct dp_world *w, unsigned int reason)
{
	return world_stats(w).drop[reason];
}

uint64_t world_drops(struct dp_world *w)
{
	const struct dp_stats s = world_stats(w);
	uint64_t n = 0;

	for (unsigned int i = 0; i < DP_DROP_END; i++) {
		if (s.drop[i] != 0)
			printf("drop %s: %llu\n", dp_drop_name(i), (unsigned long long)s.drop[i]);
		n += s.drop[i];
	}
	return n;
}
