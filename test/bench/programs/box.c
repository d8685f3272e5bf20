// SPDX-License-Identifier: BSD-3-Clause
// The data path of a benchmark: its configuration, its workers and their rounds.
#include "box.h"
#include "datapath.h"
#include "dp_memory.h"
#include "net.h"
#include "replay.h"
#include "see/stats.h"
#include "steering/steer.h"
#include "turn_relay_map.h"
#include "visits.h"
#include "path/worker.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mempool.h>

#define RELAY_PORTS 16384 // per address, by default
#define RELAY_FIRST 2 // number of the first relay address; the server's is 1
#define SHARED_PORTS 8 // for each worker, of one relay address
#define FIXED_START_MS 1000000 // later than the end of any start
#define SETTLE_ROUNDS 1000000
#define DRAIN_ROUNDS 4

void box_die(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
	printf("{\"error\":\"");
	for (const char *p = text; *p != '\0'; p++) {
		if (*p == '"' || *p == '\\')
			putchar('\\');
		putchar((unsigned char)*p < ' ' ? ' ' : *p);
	}
	printf("\"}\n");
	fflush(stdout);
	_exit(1);
}

// --- configuration ------------------------------------------------------------------------------

// Writes the text of our address with that number.
static const char *address(const struct options *o, unsigned int number, char text[32])
{
	if (o->is_v4)
		snprintf(text, 32, "198.51.%u.%u", 100 + (number >> 8), number & 0xff);
	else
		snprintf(text, 32, "2001:db8::%x", number);
	return text;
}

// As few relay addresses as hold all allocations; the same number for each worker, so that each has
// room for its share. One address if workers share its ports.
static unsigned int relay_addresses(const struct options *o)
{
	const unsigned int addresses = (o->allocations - 1) / RELAY_PORTS + 1;

	return o->shared ? 1 : RTE_ALIGN_MUL_CEIL(addresses, o->workers);
}

static void conf_write_relay(
	FILE *out, const struct options *o, const char *first, const char *last)
{
	if (o->shared)
		fprintf(out,
			"relay: {addresses: [\"%s\"], mode: shared, ports: %u-%u}\n"
			"limits: {allocations: %u, unauthenticated: {rate: 0}}\n",
			first, 65536 - SHARED_PORTS * o->workers, 65535, o->allocations);
	else
		fprintf(out,
			"relay: {addresses: [\"%s-%s\"]}\n"
			"limits: {allocations: 0, unauthenticated: {rate: 0}}\n",
			first, last);
}

// Writes the configuration, with limits so high that no benchmark reaches them, since one user
// makes every allocation and every client asks for its nonce within seconds.
static void conf_write(FILE *out, const struct options *o)
{
	char server[32], first[32], last[32];

	address(o, RELAY_FIRST - 1, server);
	address(o, RELAY_FIRST, first);
	address(o, RELAY_FIRST - 1 + relay_addresses(o), last);
	fprintf(out,
		"workers: {count: %u, idle: busy}\n"
		"ports:\n"
		"  - {name: bench, device: \"replay:bench,queues=%u%s\",\n"
		"     addresses: [\"%s-%s/%d\"], gateway: [\"%s\"]}\n"
		"listeners: [{address: \"%s\", port: %u}]\n"
		"auth: {realm: bench, users: [{name: bench, password: bench}]}\n"
		"peers: {allow: [\"%s\"]}\n"
		"test-constants: {buffers.mbufs: %u}\n",
		o->workers, o->workers, o->verified ? ",checksums=verified" : "", server, last,
		o->is_v4 ? 16 : 64, o->is_v4 ? "198.51.99.254" : "2001:db8::ffff", server,
		FLOWS_SERVER_PORT, o->is_v4 ? "198.19.0.0/16" : "2001:db8:2::/64", o->mbufs);
	conf_write_relay(out, o, first, last);
	if (o->state != NULL)
		fprintf(out, "state: {file: \"%s\"}\n", o->state);
}

// Limits rates, but to more than a clock of rounds can offer.
static void limit_rates(struct conf *c, const struct options *o)
{
#ifdef FEATURE_RATES
	for (unsigned int scope = 0; scope < (o->rates == 2 ? TURN_RATE_OF_END : o->rates); scope++)
		for (unsigned int leg = 0; leg < 2; leg++)
			c->turn.limits.rates.flow[scope][leg] =
				(struct turn_flow_rate){.kbits = 400000000, .datagrams = 400000000};
#else
	if (o->rates != 0)
		box_die("--rates: this build has no limits.rates");
#endif
}

// Loads the configuration from a file, so that an operator's defaults apply to the rest.
static struct conf *conf_make(const struct options *o)
{
	char error[CONF_ERROR_LEN], path[64];
	struct conf *c = NULL;
	FILE *out;
	const int fd = memfd_create("relay_core.yaml", MFD_CLOEXEC);

	out = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (out == NULL)
		box_die("no file for the configuration");
	conf_write(out, o);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fflush(out) == 0)
		c = conf_load(path, error);
	else
		snprintf(error, sizeof(error), "cannot be written");
	fclose(out);
	if (c == NULL)
		box_die("configuration: %s", error);
	c->turn.workers = c->workers;
	limit_rates(c, o);
	return c;
}

uint32_t box_memory_mb(const struct options *o)
{
	struct conf *c = conf_make(o);
	const uint32_t mb = (uint32_t)dp_memory_mb(c) + visits_memory_mb(o->allocations);

	conf_free(c);
	return mb;
}

// --- start and stop -----------------------------------------------------------------------------

// Returns the worker on which the data path will keep a client.
static unsigned int home_of(void *ctx, const struct endpoint *client)
{
	const struct box *b = ctx;
	const struct endpoint server = flows_server(b->flows);
	const struct net_frame f = {.src = client->addr,
		.dst = server.addr,
		.sport = client->port,
		.dport = server.port,
		.is_v4 = addr_is_v4(&server.addr)};
	const struct rte_mbuf m = {.ol_flags = 0};

	return steer_client_home(b->dp, &b->dp->port[0], &m, &f, 0);
}

unsigned int box_lcore(const struct options *o, unsigned int worker)
{
	unsigned int lcore = rte_lcore_id();

	for (unsigned int w = 0; w < worker && !o->one_lcore; w++)
		lcore = rte_get_next_lcore(lcore, 1, 1);
	return lcore;
}

void box_open(struct box *b, const struct options *o, struct flows *f)
{
	unsigned int lcores[OPTIONS_WORKERS_MAX];
	char error[256] = "";

	*b = (struct box){.conf = conf_make(o),
		.flows = f,
		.workers = o->workers,
		.fixed_clock = o->fixed_clock};
	b->rounds = (uint64_t)FIXED_START_MS * BOX_ROUNDS_PER_MS;
	for (unsigned int w = 0; w < b->workers; w++)
		lcores[w] = box_lcore(o, w);
	b->dp = dp_create(b->conf, lcores, port_open, error, sizeof(error));
	if (b->dp == NULL)
		box_die("%s", error);
	b->worker = b->dp->worker[0];
	b->port = dp_port(b->dp, 0);
	if (b->workers > 1 && flows_pick(f, b->workers, home_of, b) != 0)
		box_die("clients cannot be found for all workers");
}

void box_close(struct box *b)
{
	dp_quiesce(b->dp);
	dp_destroy(b->dp);
	conf_free(b->conf);
}

void box_clock_stop(struct box *b)
{
	b->tsc_stopped = rte_rdtsc();
}

void box_clock_go(struct box *b)
{
	b->tsc_lost += rte_rdtsc() - b->tsc_stopped;
}

// --- the gateway --------------------------------------------------------------------------------

void box_answer_worker(struct box *b, unsigned int worker)
{
	const uint64_t made = b->dp->worker[worker]->live.made;
	const struct addr local_addr = b->flows->server; // any of our addresses: they share one MAC
	struct net_l2 l2 = {0};
	uint8_t frame[NET_ND_FRAME_MAX];
	size_t len;

	if (made == b->made[worker])
		return;
	b->made[worker] = made;
	memcpy(l2.dst, b->port->mac, 6);
	memcpy(l2.src, visits_gateway_mac, 6);
	len = net_write_answer(frame, &l2, &b->flows->gateway, &local_addr);
	// the result does not matter: if this answer has no room, another one still waits
	port_replay_inject(b->port, (uint16_t)worker, frame, len);
}

void box_answer(struct box *b)
{
	for (unsigned int w = 0; w < b->workers; w++)
		box_answer_worker(b, w);
}

static bool gateway_known(const struct box *b, struct worker *w)
{
	const uint16_t n = neigh_use(w->neigh, &b->flows->gateway, 0, w->now_ms);

	if (n == NEIGH_NONE)
		return false;
	neigh_mac(w->neigh, n, w->now_ms); // counts as a use: an old entry is requested again
	return neigh_state(w->neigh, n) == NEIGH_REACHABLE;
}

void box_settle(struct box *b)
{
	for (unsigned int i = 0; i < SETTLE_ROUNDS; i++) {
		unsigned int known = 0;

		box_answer(b);
		box_round(b);
		for (unsigned int w = 0; w < b->workers; w++)
			known += gateway_known(b, b->dp->worker[w]);
		if (known == b->workers)
			return;
	}
	box_die("the gateway's answer was not taken");
}

void box_drain(struct box *b)
{
	// a worker takes a waiting answer and tells the other workers, which take it too
	for (unsigned int i = 0; i < (b->workers > 1 ? DRAIN_ROUNDS : 1); i++)
		box_round(b);
}

struct box_memory box_memory(const struct box *b)
{
	const struct rte_mempool *pool = b->dp->pool;
	struct box_memory m = {.pool = (uint64_t)pool->populated_size *
			(pool->header_size + pool->elt_size + pool->trailer_size)};
	struct rte_malloc_socket_stats s;

	for (unsigned int i = 0; i < rte_socket_count(); i++)
		if (rte_malloc_get_socket_stats(rte_socket_id_by_idx(i), &s) == 0)
			m.bytes += s.heap_allocsz_bytes;
	m.bytes -= RTE_MIN(m.bytes, (uint64_t)b->flows->nb * PORT_REPLAY_PATCH_LEN);
	for (unsigned int w = 0; w < b->workers; w++)
		m.slots += turn_relay_map_slots(b->dp->map, w);
	return m;
}

void box_limit(struct box *b, uint64_t frames)
{
	for (unsigned int q = 0; q < b->workers; q++)
		port_replay_limit(b->port, (uint16_t)q,
			frames == PORT_REPLAY_FOREVER
				? frames
				: frames / b->workers + (q < frames % b->workers));
}

// --- counters -----------------------------------------------------------------------------------

static void check_drops(const struct dp_stats *s)
{
	for (unsigned int i = 0; i < DP_DROP_END; i++)
		if (s->drop[i] != 0)
			box_die("%llu packets dropped: %s (%s)", (unsigned long long)s->drop[i],
				dp_drop_name(i), dp_drop_text(i));
}

static void check_turn(const struct turn_stats *t, const struct options *o)
{
	if (t->allocations != o->allocations || t->permissions != o->allocations ||
		t->channels != (o->indication ? 0 : o->allocations))
		box_die("of %u allocations %llu are left, with %llu permissions and %llu channels",
			o->allocations, (unsigned long long)t->allocations,
			(unsigned long long)t->permissions, (unsigned long long)t->channels);
}

// Checks that packets were handed over as configured: all of them or none.
static void check_handed(const struct box *b, const struct dp_stats *s, const struct options *o)
{
	if (s->handed_in != s->handed_out)
		box_die("%llu packets were handed over and %llu taken",
			(unsigned long long)s->handed_out, (unsigned long long)s->handed_in);
	if (s->handed_out != (o->handover ? s->rx - s->consumed : 0))
		box_die("%llu packets were handed over", (unsigned long long)s->handed_out);
}

struct dp_stats box_check(struct box *b, const struct options *o)
{
	struct port_counters k;
	struct dp_stats s;

	for (unsigned int w = 0; w < b->workers; w++)
		stats_publish(b->dp->worker[w]);
	dp_total_stats(b->dp, &s);
	// an answer of ARP or ND without news is dropped, not consumed
	s.consumed += s.drop[DP_DROP_ARP] + s.drop[DP_DROP_ICMP];
	s.drop[DP_DROP_ARP] = s.drop[DP_DROP_ICMP] = 0;
	check_drops(&s);
	check_turn(&s.turn, o);
	check_handed(b, &s, o);
	b->port->ops->counters(b->port, &k);
	if (k.rx_nombuf != 0)
		box_die("no buffers for %llu packets", (unsigned long long)k.rx_nombuf);
	if (s.held != 0)
		box_die("%llu packets are held", (unsigned long long)s.held);
	if (s.rx + s.made != s.tx + s.consumed)
		box_die("unbalanced: rx %llu + made %llu, tx %llu + consumed %llu",
			(unsigned long long)s.rx, (unsigned long long)s.made,
			(unsigned long long)s.tx, (unsigned long long)s.consumed);
	if (rte_mempool_in_use_count(b->dp->pool) != 0)
		box_die("%u packet buffers are missing", rte_mempool_in_use_count(b->dp->pool));
	return s;
}
