// SPDX-License-Identifier: BSD-3-Clause
// request_core: the cost of an allocation in a whole worker, from frame to frame. Clients allocate
// and release with requests that are built and signed before the clock runs. Time is the CPU time
// of this thread. No relayed transport address is used twice.
//
//	request_core EAL_ARGS -- [--clients N] [--cycles N] [--burst N]
//
// Prints one JSON object.
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_eal.h>

#include "box.h"
#include "bytes.h"
#include "dp_burst.h"
#include "net.h"
#include "replay.h"
#include "see/stats.h"
#include "stun.h"
#include "visits.h"
#include "path/worker.h"

#define USER "bench" // name, password and realm of the box
#define SLOTS (8 * 16384) // relayed transport addresses: eight relay addresses
#define ROUNDS_MAX 1000 // most rounds until all waiting requests are answered

enum { ALLOCATE, RELEASE, KINDS };

struct frame {
	uint16_t len;
	uint8_t data[PORT_REPLAY_INJECT_MAX];
};

struct bench {
	struct options o;
	unsigned int clients, cycles, burst;
	struct flows flows;
	struct box box;
	struct stun_crypto *crypto;
	struct stun_key key;
	struct frame *frame[KINDS]; // one per client
	struct turn_burst turn;
	uint32_t tids;
};

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

// --- requests -----------------------------------------------------------------------------------

static void begin(struct bench *n, struct stun_writer *w, uint8_t *out, size_t room, int kind)
{
	uint8_t tid[STUN_TID_LEN] = {'b', 'e', 'n', 'c', 'h'};

	store_be32(tid + 8, ++n->tids);
	stun_begin(
		w, out, room, STUN_REQUEST, kind == ALLOCATE ? STUN_ALLOCATE : STUN_REFRESH, tid);
	if (kind == ALLOCATE)
		stun_put_u32(w, STUN_REQUESTED_TRANSPORT, (uint32_t)IPPROTO_UDP << 24);
	else
		stun_put_u32(w, STUN_LIFETIME, 0);
}

// Gets the nonce of a 401 from the worker's shard, without a frame. m points into the burst.
static void ask_nonce(struct bench *n, const struct endpoint *client, struct stun_msg *m)
{
	const struct turn_plan *plan = &n->turn.plan;
	uint8_t request[64];
	struct stun_writer w;

	begin(n, &w, request, sizeof(request), ALLOCATE);
	n->turn.view[0] = (struct turn_view){.src = client->addr,
		.src_port = client->port,
		.data = request,
		.len = stun_end(&w),
		.leg = TURN_FROM_CLIENT,
		.via = TURN_NO_WORKER};
	n->turn.n = 1;
	turn_route_begin(n->box.worker->shard, &n->turn);
	turn_route_finish(n->box.worker->shard, &n->turn, 0);
	if (plan->verdict != TURN_REPLY ||
		stun_parse(n->turn.side.front, plan->front_len, m) != 0 || !stun_has(m, STUN_NONCE))
		box_die("no nonce was given");
}

static void frame_make(struct bench *n, struct frame *f, const struct endpoint *client,
	const struct stun_msg *challenge, int kind)
{
	const struct endpoint server = flows_server(&n->flows);
	const uint16_t headers = net_headers_len(true, 0);
	uint8_t *payload = f->data + headers;
	const struct net_ip ip = {.ttl = 64, .df = true};
	struct net_l2 l2 = {0};
	struct stun_writer w;
	uint16_t len;

	begin(n, &w, payload, sizeof(f->data) - headers, kind);
	stun_put(&w, STUN_USERNAME, USER, strlen(USER));
	stun_put(&w, STUN_REALM, USER, strlen(USER));
	stun_put(&w, STUN_NONCE, challenge->data + challenge->off[STUN_NONCE],
		challenge->alen[STUN_NONCE]);
	stun_put_integrity(&w, n->crypto, STUN_ALG_MD5, &n->key);
	len = stun_end(&w);
	if (len == 0)
		box_die("a request does not fit");
	memcpy(l2.dst, n->box.port->mac, 6);
	memcpy(l2.src, visits_gateway_mac, 6);
	net_write_udp(payload, len, &l2, client, &server, &ip, 0);
	store_be16(payload - 2,
		csum_udp(&client->addr, &server.addr, payload - NET_UDP_LEN,
			(uint16_t)(len + NET_UDP_LEN)));
	f->len = (uint16_t)(headers + len);
}

static void frames_make(struct bench *n)
{
	for (unsigned int i = 0; i < n->clients; i++) {
		const struct endpoint client = flows_client(&n->flows, i);
		struct stun_msg challenge;

		ask_nonce(n, &client, &challenge);
		for (int kind = 0; kind < KINDS; kind++)
			frame_make(n, &n->frame[kind][i], &client, &challenge, kind);
	}
}

// --- measurements -------------------------------------------------------------------------------

// Sends one request of every client. Returns the CPU seconds, copying of frames included.
static double send_all(struct bench *n, int kind)
{
	struct worker *w = n->box.worker;
	const double start = cpu_seconds();

	for (unsigned int i = 0; i < n->clients; i++) {
		const struct frame *f = &n->frame[kind][i];
		const int rc = port_replay_inject(n->box.port, 0, f->data, f->len);

		if (rc != 0)
			box_die("a frame for the replay port: %s", strerror(-rc));
		if (i % n->burst == n->burst - 1)
			box_round(&n->box);
	}
	for (unsigned int i = 0; i < ROUNDS_MAX && (i == 0 || w->backlog.n > 0); i++)
		box_round(&n->box);
	return cpu_seconds() - start;
}

// Checks that all requests were answered and have had their effect.
static void check(struct bench *n, uint64_t sent_before, uint64_t allocations)
{
	struct dp_stats s;

	stats_publish(n->box.worker);
	dp_total_stats(n->box.dp, &s);
	for (unsigned int i = 0; i < DP_DROP_END; i++)
		if (s.drop[i] != 0)
			box_die("%llu requests dropped: %s", (unsigned long long)s.drop[i],
				dp_drop_name(i));
	if (s.tx - s.made - sent_before != n->clients)
		box_die("%llu of %u requests were answered",
			(unsigned long long)(s.tx - s.made - sent_before), n->clients);
	if (s.turn.allocations != allocations)
		box_die("%llu allocations are there, not %llu",
			(unsigned long long)s.turn.allocations, (unsigned long long)allocations);
}

static uint64_t answers(const struct bench *n)
{
	return n->box.worker->live.tx - n->box.worker->live.made;
}

static void measure(struct bench *n)
{
	const double done = (double)n->clients * n->cycles;
	double spent[KINDS] = {0};

	// the first cycle warms up
	for (unsigned int cycle = 0; cycle <= n->cycles; cycle++) {
		box_settle(&n->box); // also gives the shard the current time
		frames_make(n);
		for (int kind = 0; kind < KINDS; kind++) {
			const uint64_t before = answers(n);
			const double seconds = send_all(n, kind);

			check(n, before, kind == ALLOCATE ? n->clients : 0);
			if (cycle > 0)
				spent[kind] += seconds;
		}
	}
	printf("{\"allocates_per_cpu_s\":%.0f,\"requests_per_cpu_s\":%.0f,\"ns_allocate\":%.1f,"
	       "\"ns_release\":%.1f,\"clients\":%u,\"cycles\":%u,\"burst\":%u}\n",
		done / spent[ALLOCATE], 2 * done / (spent[ALLOCATE] + spent[RELEASE]),
		spent[ALLOCATE] / done * 1e9, spent[RELEASE] / done * 1e9, n->clients, n->cycles,
		n->burst);
}

// --- from start to end --------------------------------------------------------------------------

static unsigned int number(const char *name, const char *text, unsigned long lo, unsigned long hi)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || value < lo || value > hi)
		box_die("--%s %s: must be a number from %lu to %lu", name, text, lo, hi);
	return (unsigned int)value;
}

static void parse(int argc, char **argv, struct bench *n)
{
	static const struct option options[] = {{"clients", required_argument, NULL, 'n'},
		{"cycles", required_argument, NULL, 'c'}, {"burst", required_argument, NULL, 'b'},
		{0}};
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'n')
			n->clients = number("clients", optarg, 1, FLOWS_HOSTS);
		else if (c == 'c')
			n->cycles = number("cycles", optarg, 1, SLOTS);
		else if (c == 'b')
			n->burst = number("burst", optarg, 1, DP_BURST - 1);
		else
			exit(1);
	}
	if ((uint64_t)n->clients * (n->cycles + 1) > SLOTS)
		box_die("%u clients in %u cycles and one to warm up take more than %u ports",
			n->clients, n->cycles, SLOTS);
}

static void bench_open(struct bench *n)
{
	n->o = (struct options){.allocations = SLOTS,
		.mbufs = 16384,
		.is_v4 = true,
		.workers = 1,
		.verified = true};
	n->crypto = stun_crypto_create();
	for (int kind = 0; kind < KINDS; kind++)
		n->frame[kind] = calloc(n->clients, sizeof(*n->frame[kind]));
	if (flows_init(&n->flows, true, n->clients) != 0 || n->frame[ALLOCATE] == NULL ||
		n->frame[RELEASE] == NULL)
		box_die("no memory for %u clients", n->clients);
	if (n->crypto == NULL ||
		!stun_key_make(n->crypto, STUN_ALG_MD5,
			&(struct stun_credential){USER, strlen(USER), USER, USER, strlen(USER)},
			&n->key))
		box_die("no MD5 or HMAC-SHA1 from libcrypto");
	box_open(&n->box, &n->o, &n->flows);
}

static void bench_close(struct bench *n)
{
	box_close(&n->box);
	flows_fini(&n->flows);
	stun_crypto_free(n->crypto);
	for (int kind = 0; kind < KINDS; kind++)
		free(n->frame[kind]);
}

int main(int argc, char **argv)
{
	// after a full burst requests wait, because more may come: one fewer
	static struct bench n = {.clients = 4096, .cycles = 24, .burst = DP_BURST - 1};
	const int eal_argc = rte_eal_init(argc, argv);

	if (eal_argc < 0)
		box_die("EAL does not start");
	parse(argc - eal_argc, argv + eal_argc, &n);
	bench_open(&n);
	measure(&n);
	bench_close(&n);
	return rte_eal_cleanup() == 0 ? 0 : 1;
}
