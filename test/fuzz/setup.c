// SPDX-License-Identifier: BSD-3-Clause
// Random configurations: every switch that changes the path of a packet, and sizes so small that
// all of them are used up.
#include "datapath.h"
#include "exception/exception.h"
#include "feature_names.h"
#include "fuzz.h"
#include "nicmodel.h"
#ifdef FEATURE_TOKENS
#include "features/tokens/token.h"
#endif
#include "see/stats.h"
#include "turn_shard.h"
#include "path/worker.h"

#include <rte_mempool.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

#define PICK(...) pick((const uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / 4)

static const struct conf_service services[] = {{IPPROTO_TCP, false, 22}, {IPPROTO_TCP, true, 179},
	{IPPROTO_UDP, false, 161}, {IPPROTO_UDP, true, 53}, {IPPROTO_UDP, false, 50000},
	{IPPROTO_UDP, false, 3478}, {IPPROTO_ICMP, true, 0}, {IPPROTO_ICMP, false, 0}};
static struct conf_service allow[RTE_DIM(services)];

static uint32_t pick(const uint32_t *choices, size_t n)
{
	return choices[below((uint32_t)n)];
}

static void pick_exception(struct world_setup *s)
{
	struct conf_exception *e = &fuzz.exception;

	*e = (struct conf_exception){.name = "sr0",
		.device = "soft:1:1",
		.allow = allow,
		.rate = PICK(1000000, 1000000, 1000),
		.buffers = PICK(16, 64, 128),
		.tso = CONF_USO_AUTO};
	for (size_t i = 0; i < RTE_DIM(services); i++)
		if (chance(i < 6 ? 85 : 40))
			allow[e->nb_allow++] = services[i];
	s->exception = e;
}

static void pick_nic(struct world_setup *s)
{
	s->rss = chance(30);
	s->nic = chance(40);
	s->steering = (enum conf_steering)below(4);
	nicmodel = (struct nicmodel){.no_rules = chance(30),
		.exact = chance(30),
		.one_mask = chance(30),
		.misdeliver = chance(20)};
}

// Some listeners have a DSCP, and answer fewer kinds of Binding requests.
static void pick_dscp(struct dp_world *w)
{
	for (unsigned int i = 0; i < w->conf.turn.nb_listeners; i++) {
		w->listeners[i].dscp = (uint8_t)PICK(TURN_DSCP_COPY, TURN_DSCP_COPY, 1, 46 + 1, 64);
		w->listeners[i].binding = (uint8_t)PICK(TURN_BINDING_ALL, TURN_BINDING_ALL,
			TURN_BINDING_ALL, TURN_BINDING_RFC8489, TURN_BINDING_NONE);
	}
}

// The network translates some addresses 1:1, and other hosts have some of these external addresses,
// too.
static void pick_externals(struct dp_world *w)
{
	static struct prefix allowed[64];
	const bool common = chance(50);

	memcpy(allowed, w->conf.turn.allow, w->conf.turn.nb_allow * sizeof(*allowed));
	w->conf.turn.allow = allowed;
	for (unsigned int i = 0; i < w->conf.turn.nb_local; i++) {
		struct turn_local *l = &w->locals[i];

		if (chance(50))
			continue;
		l->external = l->addr;
		l->external.b[addr_is_v4(&l->addr) ? 12 : 0] ^= 0x20;
		if (common && w->conf.turn.nb_allow < RTE_DIM(allowed))
			allowed[w->conf.turn.nb_allow++] = (struct prefix){l->external, 128};
		for (unsigned int k = 0; k < RTE_DIM(w->addresses); k++)
			if (addr_eq(&w->addresses[k].addr, &l->addr))
				w->addresses[k].external = l->external;
	}
}

#ifdef FEATURE_DISCOVERY
// The first listener and that of the second port answer for each other (RFC 5780), through one
// port.
static void pick_discovery(struct dp_world *w)
{
	static struct addr addresses[2];

	if (!fuzz.setup.two_ports || chance(50))
		return;
	addresses[0] = w->listeners[0].endpoint.addr;
	addresses[1] = w->side.addr;
	w->conf.turn.discovery.addresses = addresses;
	w->conf.turn.discovery.nb = 2;
	w->conf.turn.discovery.ports[0] = w->conf.turn.discovery.ports[1] = 3478;
}
#else
static void pick_discovery(struct dp_world *w)
{
}
#endif

#ifdef FEATURE_MOBILITY
static void pick_mobility(struct dp_world *w)
{
	w->conf.turn.mobility.enabled = chance(60);
	w->conf.turn.mobility.grace_s = PICK(0, 5, 60);
	if (chance(30))
		w->conf.turn.mobility.moves = PICK(2, 10);
}
#else
static void pick_mobility(struct dp_world *w)
{
}
#endif

// The second port leads somewhere, and its address may replace the first relay addresses.
static void pick_routes(struct dp_world *w)
{
	static struct conf_route route;
	static struct addr addresses[1];
	static struct prefix peers[2];
	static struct turn_relay_pool pool;
	uint32_t nb_v4 = 0;

	if (!fuzz.setup.two_ports)
		return;
	route.via = world_endpoint("10.98.0.254", 0).addr;
	assert_int_equal(addr_prefix_parse("198.51.100.0/25", &route.dst), 0);
	w->ports[1].routes = &route;
	w->ports[1].nb_routes = 1;
	for (uint32_t i = 0; i < w->conf.turn.nb_relay; i++)
		nb_v4 += addr_is_v4(&w->relay[i]);
	if (nb_v4 != 1 || turn_config_shares_ports(&w->conf.turn) || chance(40))
		return;
	addresses[0] = w->side.addr;
	assert_int_equal(addr_prefix_parse("10.98.0.0/24", &peers[0]), 0);
	peers[1] = route.dst;
	pool = (struct turn_relay_pool){.name = "side",
		.addresses = addresses,
		.nb_addresses = 1,
		.peers = peers,
		.nb_peers = 2};
	w->conf.turn.relay_pools = &pool;
	w->conf.turn.nb_relay_pools = 1;
}

// Changes more of the configuration. conf_load would accept all of it from a file.
static void pick_rates(struct dp_world *w)
{
	struct turn_limits *l = &w->conf.turn.limits;

	l->permissions = l->channels = PICK(3, 16);
	l->lifetime_default_s = PICK(30, 600);
	l->permission_s = PICK(0, 0, 20);
	l->channel_s = PICK(0, 0, 10, 40);
	if (chance(25))
		l->unauthenticated = (struct limit){PICK(1, 20), 10};
	if (chance(25))
		l->binding = (struct limit){PICK(1, 20), 5};
	if (chance(15))
		l->guesses = (struct limit){PICK(1, 20), 5};
	if (chance(15))
		w->conf.handshakes = (struct limit){PICK(1, 5), 2};
	if (chance(15))
		w->conf.neigh_ask_rate = PICK(16, 100);
}

// Rates of relayed datagrams, some so low that most are dropped.
static void pick_relayed(struct dp_world *w)
{
#ifdef FEATURE_RATES
	struct turn_rates *r = &w->conf.turn.limits.rates;

	if (!chance(25))
		return;
	r->burst_ms = PICK(10, 100, 1000);
	for (unsigned int scope = 0; scope < TURN_RATE_OF_END; scope++)
		for (unsigned int leg = 0; leg < 2; leg++)
			r->flow[scope][leg] =
				(struct turn_flow_rate){PICK(0, 0, 64, 8000), PICK(0, 0, 20, 1000)};
#endif
}

static void pick_icmp(struct dp_world *w)
{
	w->conf.path_mtus = PICK(0, 4, 64);
	w->conf.icmp_errors_out = PICK(0, 10, 1000);
	w->conf.icmp_errors_each = PICK(0, 1, 10);
	w->conf.icmp_unreachable = chance(50);
	w->conf.turn.icmp_tell =
		(uint8_t)PICK(TURN_ICMP_TELL_RFC8489, TURN_ICMP_TELL_ALL, TURN_ICMP_TELL_NONE);
	w->conf.icmp_errors_in = PICK(2, 100, 1000);
	w->conf.turn.limits.icmp = (struct limit){PICK(0, 1, 10), PICK(1, 20)};
}

static void pick_pools(struct dp_world *w)
{
	struct turn_limits *l = &w->conf.turn.limits;

	if (chance(30))
		w->conf.turn.pools = (struct turn_pools){
			.permissions = 10,
			.channels = 5,
#ifdef FEATURE_SHARED
			.endpoints = 5,
#endif
		};
	if (chance(20) && !turn_config_shares_ports(&w->conf.turn))
		l->allocations = 10;
	if (chance(20))
		l->per_user = 12;
#ifdef FEATURE_SHARED
	if (w->conf.turn.shared.enabled)
		w->conf.turn.shared.peers = PICK(2, 16);
#endif
}

#ifdef FEATURE_REALMS
// Only one realm uses the pool, and its network is separate.
static void pick_tenants(struct turn_config *t)
{
	static char *of_first[1], *of_other[1];
	const bool first = chance(50);

	of_first[0] = of_other[0] = t->relay_pools[0].name;
	t->first.relay_pool_names = of_first;
	t->first.nb_relay_pool_names = first;
	fuzz.realms[0].relay_pool_names = of_other;
	fuzz.realms[0].nb_relay_pool_names = !first;
}

// A second realm, with a user of the same name.
static void pick_realms(struct dp_world *w)
{
	static char *origins[] = {(char *)FUZZ_ORIGIN};

	fuzz.others[0] = (struct turn_user){.name = "ivan", .password = "of-b"};
	fuzz.realms[0] = (struct turn_realm){.name = FUZZ_REALM,
		.origins = origins,
		.nb_origins = 1,
		.users = fuzz.others,
		.nb_users = 1,
		.allocations = PICK(0, 10, 100)};
	w->conf.turn.realms = fuzz.realms;
	w->conf.turn.nb_realms = 1;
	if (w->conf.turn.nb_relay_pools > 0 && chance(70))
		pick_tenants(&w->conf.turn);
}
#else
static void pick_realms(struct dp_world *w)
{
}
#endif

// Few ports for TCP, so that they are used up.
static void pick_tcp(struct dp_world *w)
{
#ifdef FEATURE_TCP
	w->conf.turn.tcp = (struct turn_tcp){.enabled = chance(50),
		.ports_lo = 61000,
		.ports_hi = (uint16_t)PICK(61000, 61005, 61050)};
#endif
}

#ifdef FEATURE_TOKENS
static void pick_oauth(struct dp_world *w)
{
	static struct turn_oauth_key keys[1];

	keys[0] = (struct turn_oauth_key){.kid = FUZZ_KID,
		.secret = "6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b",
		.algorithm = STUN_TOKEN_A128GCM};
	w->conf.turn.first.oauth = (struct turn_oauth){NULL, keys, 1};
}
#else
static void pick_oauth(struct dp_world *w)
{
}
#endif

static void change(struct dp_world *w)
{
	w->conf.mbufs = fuzz.mbufs;
	fuzz.users[0] = w->user[0];
	fuzz.users[1] = (struct turn_user){.name = "eve", .password = "evil"};
	w->conf.turn.first.users = fuzz.users;
	w->conf.turn.first.nb_users = 2;
	w->conf.neigh_held = RTE_MAX(w->conf.neigh_held_each, PICK(64, 256));
	w->conf.fragments = (struct conf_fragments){.flows = PICK(0, 8, 16, 64, 64),
		.per_source = PICK(1, 4, 4, 8),
		.longest = PICK(1280, 4000, 9000, 9000),
		.buffers = PICK(8, 16),
		.timeout_ms = PICK(10, 100, 1000),
		.rate = PICK(0, 100, 10000)};
	pick_relayed(w);
	w->conf.dtls.sessions = PICK(4, 8, 1000);
	w->conf.dtls.half_open = PICK(2, 4, 300);
	w->conf.dtls.idle_s = PICK(5, 120);
	w->conf.turn.nonce_lifetime_s = PICK(30, 600);
	w->conf.turn.quarantine_s = PICK(0, 0, 2);
	w->conf.turn.hairpin = chance(90);
	pick_mobility(w);
	if (chance(30))
		pick_externals(w);
	if (chance(40))
		pick_routes(w);
	if (chance(40))
		pick_dscp(w);
	pick_discovery(w);
	w->conf.turn.rfc5766_channels = chance(30);
	pick_rates(w);
	pick_icmp(w);
	pick_pools(w);
	if (chance(40))
		pick_realms(w);
	pick_tcp(w);
	if (chance(50))
		pick_oauth(w);
	fuzz_lookups_pick(w);
}

// --- bounds of buffers ---------------------------------------------------------------------------

// Poisons the pool's space before each buffer, so that ASan reports an access beyond the end of the
// buffer in front of it.
static void poison(struct rte_mempool *pool, void *arg, void *obj, unsigned int i)
{
	ASAN_POISON_MEMORY_REGION((char *)obj - pool->header_size, pool->header_size);
}

static void unpoison(struct rte_mempool *pool, void *arg, void *obj, unsigned int i)
{
	ASAN_UNPOISON_MEMORY_REGION((char *)obj - pool->header_size, pool->header_size);
}

static void each_buffer(rte_mempool_obj_cb_t *f)
{
	rte_mempool_obj_iter(fuzz.world.dp->pool, f, NULL);
	if (fuzz.world.dp->datagrams != NULL)
		rte_mempool_obj_iter(fuzz.world.dp->datagrams, f, NULL);
	if (fuzz_exception() != NULL)
		rte_mempool_obj_iter(fuzz_exception()->pool, f, NULL);
}

// --- open and close ------------------------------------------------------------------------------

static void pick_offloads(void)
{
	static const struct port_super limits = {.segments = 64, .bufs = 64, .bytes = 65535};
	struct port *p = fuzz_port(0);

	for (unsigned int i = 0; i < fuzz.world.dp->nb_ports; i++)
		if (chance(40)) // like a port whose NIC verifies checksums
			fuzz.world.dp->port[i].verified =
				RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK;
	p->rx_super = chance(50);
	if (fuzz.mbufs < 8000) // a port that cuts super-frames needs buffers, or gives up
		return;
	if (chance(p->rx_super ? 70 : 30)) {
		softport_uso(p, &limits, PICK(0, 0, 20));
		if (p->shared) // a VLAN inherits the offloads of its device when it is opened
			fuzz_port(1)->uso = limits;
	}
	if (fuzz_exception() == NULL)
		return;
	if (chance(60))
		p->tso = limits;
	if (chance(60))
		fuzz_exception()->kernel->tso.segments = 256;
}

static void pick_side(struct world_setup *s)
{
	if (chance(40))
		s->side_mtu = (uint16_t)PICK(1280, 1500);
	if (chance(50)) { // a VLAN on the same device, with an MTU at least as long
		s->side_vlan = (uint16_t)PICK(1, 100, 4000);
		s->side_mtu = RTE_MIN(s->side_mtu, s->mtu);
	}
}

void fuzz_open(void)
{
	struct world_setup *s = &fuzz.setup;

	*s = (struct world_setup){.workers = PICK(2, 2, 2, 2, 1, 3),
		.rx_queues = 1 + below(4),
		.tx_queues = 1 + below(3),
		.two_ports = chance(30),
		.mtu = (uint16_t)PICK(1280, 1400, 1500, 1500, 1500, 9000),
		.vlan = (uint16_t)PICK(0, 0, 0, 9, 4094),
		.neigh_entries = PICK(16, 64, 256),
		.neigh_held_each = PICK(1, 4, 64),
		.handover_ring = PICK(64, 64, 1024),
		.icmp_rate = PICK(0, 100, 100000),
		.relay_ports = (uint16_t)PICK(256, 512),
		.relays = PICK(0, 0, 1, 2),
		.requests = PICK(1, 8, 32),
		.backlog = PICK(16, 64, 256),
		.stream_ring = PICK(0, 64, 256),
		.shared = WORLD_SHARED((uint16_t)PICK(0, 0, 4, 8)),
		.dtls = chance(60),
		.seed = test_rand(&fuzz.rand) | 1,
		.change = change,
		.receive = fuzz_receive};
	if (s->two_ports)
		pick_side(s);
	pick_nic(s);
	if (chance(75))
		pick_exception(s);
	fuzz.mbufs = PICK(8191, 8191, 4095, 2047, 300, 200);
	fuzz.mutate = PICK(10, 30, 30, 60);
	fuzz_clock_seed(test_rand(&fuzz.rand));
	world_open(&fuzz.world, s);
	fuzz.is_open = true;
	if (fuzz_exception() != NULL)
		fuzz_exception()->rules.learn = (struct learn_rules){
			.dhcp = chance(50), .slaac = chance(50), .vlan = fuzz_port(0)->vlan};
	fuzz.ns = fuzz.world.ms * 1000000;
	each_buffer(poison);
	pick_offloads();
	fuzz_threads_open();
	fuzz_clients_open();
	fuzz_captures_open();
	fuzz_reloads_open();
}

static void add(uint64_t *sums, const uint64_t *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sums[i] += values[i];
}

static void add_up_kernel(void)
{
	struct fuzz_seen *seen = &fuzz.seen;
	struct dp_exception e;

	if (!dp_exception(fuzz.world.dp, 0, &e))
		return;
	add(seen->to_classes, e.to_kernel, EXC_CLASSES);
	add(seen->from_classes, e.from_kernel, EXC_CLASSES);
	seen->to_supers += e.to_kernel_super_frames;
	seen->from_supers += e.from_kernel_super_frames;
	seen->from_answered += e.from_kernel_answered;
}

static void add_up(void)
{
	const struct dp_stats s = world_stats(&fuzz.world);

	_Static_assert(sizeof(s) % sizeof(uint64_t) == 0, "counters and nothing else");
	add((uint64_t *)&fuzz.seen.stats, (const uint64_t *)&s, sizeof(s) / sizeof(uint64_t));
}

// No allocation claims to have relayed more than workers received. Datagrams delivered in the
// process are relayed twice, and enter once more. Bytes over TCP do not pass workers.
static void usage_is_possible(void)
{
	struct dp_stats total;
	uint64_t datagrams = 0, bytes = 0;

	dp_total_stats(fuzz.world.dp, &total);
	for (unsigned int i = 0; i < fuzz.world.dp->nb_workers; i++) {
		const struct worker *w = fuzz.world.dp->worker[i];
		const struct turn_filter all = {0};
		struct turn_info rows[32];
		struct turn_walk walk = {0};

		while (!walk.end) {
			const unsigned int n = turn_listing_rows(w->shard, &all, &walk, rows, 32);

			for (unsigned int k = 0; k < n; k++)
				for (unsigned int leg = 0; leg < 2 && !rows[k].is_tcp; leg++) {
					datagrams += rows[k].usage.leg[leg].datagrams;
					bytes += rows[k].usage.leg[leg].bytes;
				}
		}
	}
	assert_true(datagrams <= total.rx + total.made + total.handed_in);
	assert_true(bytes <= datagrams * UINT16_MAX);
	if (total.handed_in + total.made == 0)
		assert_true(bytes <= total.rx_bytes);
}

void fuzz_check(void)
{
	for (unsigned int i = 0; i < fuzz.world.dp->nb_workers; i++)
		turn_shard_check(fuzz.world.dp->worker[i]->shard);
}

void fuzz_close(void)
{
	fuzz_check();
	fuzz_threads_close();
	add_up_kernel();
	dp_quiesce(fuzz.world.dp);
	for (unsigned int i = 0; i < fuzz.world.dp->nb_workers; i++) {
		stats_publish(fuzz.world.dp->worker[i]);
		world_balance(&fuzz.world, i);
	}
	usage_is_possible();
	add_up();
	fuzz_clients_close();
	if (fuzz_exception() != NULL)
		assert_int_equal(rte_mempool_in_use_count(fuzz_exception()->pool), 0);
	each_buffer(unpoison);
	fuzz.is_open = false;
	world_close(&fuzz.world);
}

void fuzz_describe(void)
{
	const struct world_setup *s = &fuzz.setup;

	printf("workers %u, queues %u/%u, ports %u, mtu %u/%u, vlan %u/%u, neighbours %u/%u, "
	       "ring %u, relays %u, shared %u, backlog %u/%u, streams %u, dtls %u, rss %u, nic %u, "
	       "steering %u, exception %u, buffers %u, supers %u, mutate %u %%\n",
		s->workers, s->rx_queues, s->tx_queues, 1 + s->two_ports, s->mtu, s->side_mtu,
		s->vlan, s->side_vlan, s->neigh_entries, s->neigh_held_each, s->handover_ring,
		s->relays, s->shared, s->requests, s->backlog, s->stream_ring, s->dtls, s->rss,
		s->nic, s->steering, s->exception != NULL, fuzz.mbufs, fuzz_port(0)->rx_super,
		fuzz.mutate);
}
