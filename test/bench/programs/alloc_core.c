// SPDX-License-Identifier: BSD-3-Clause
// The cost of an allocation in the state machine alone, without packets or data path. Clients
// allocate and release with requests that are built and signed before the clock runs. Time is the
// CPU time of this thread. Between cycles the shard's clock moves past the quarantine, so that
// every port rests as long as configured.
//
//	alloc_core [--allocations N] [--relay-addresses N] [--quarantine S] [--cycles N] [--state]
//
// --state: the shard writes a state area, too, in ordinary memory. Prints one JSON object.
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "csprng.h"
#include "turn.h"
#include "turn_config.h"
#include "turn_drop.h"
#include "turn_event.h"
#include "turn_line.h"
#include "turn_policy.h"
#include "turn_quota.h"
#include "turn_relay_map.h"
#include "turn_shard.h"
#include "turn_state.h"

#define REALM "turn.bench"
#define USER "ivan"
#define PASSWORD "pw"
#define PORT_LO 49152
#define PORT_HI 65535
#define PORTS (PORT_HI - PORT_LO + 1u) // of each relay address
#define NOW_MS 1000000
#define WALL_S 1700000000
#define REQUEST_MAX 256
#if __has_attribute(noclone) // clang neither has the attribute nor clones
#define WHOLE __attribute__((noinline, noclone))
#else
#define WHOLE __attribute__((noinline))
#endif
#define SUCCESS 0x0100 // class bits of a message type, RFC 8489 5

struct request {
	uint16_t len;
	uint8_t data[REQUEST_MAX];
};

struct client {
	struct endpoint endpoint;
	struct request allocate, release;
};

struct options {
	unsigned int allocations, relay_addresses, quarantine_s, cycles;
	bool state;
};

struct bench {
	struct options o;
	struct turn_config config;
	struct turn_policy *policy;
	struct turn_relay_map *map;
	struct turn_quota *quota;
	struct turn_event event; // the last one
	struct stun_crypto *crypto;
	struct csprng rng;
	struct turn_shard_params params;
	struct turn_shard *shard;
	struct stun_key key;
	struct client *client;
	struct turn_burst burst;
	uint64_t now_ms;
	uint32_t tids;
};

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "alloc_core: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	exit(1);
}

static void random_fill(void *ctx, void *buf, size_t len)
{
	if (getrandom(buf, len, 0) != (ssize_t)len)
		die("no random bytes");
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

// --- the shard and its surroundings -------------------------------------------------------------

static struct addr address(uint8_t net, uint32_t host)
{
	const uint8_t ip[4] = {net, (uint8_t)(host >> 16), (uint8_t)(host >> 8), (uint8_t)host};

	return addr_from_v4(ip);
}

static void configure(struct bench *b)
{
	static struct turn_user user = {.name = (char *)USER, .password = (char *)PASSWORD};
	static struct turn_listener listener;
	const unsigned int n = b->o.relay_addresses;
	struct addr *relay = calloc(n, sizeof(*relay));
	struct turn_local *local = calloc(n + 1, sizeof(*local));

	if (relay == NULL || local == NULL)
		die("out of memory");
	for (unsigned int i = 0; i < n; i++) {
		relay[i] = address(198, i + 1);
		local[i].addr = relay[i];
	}
	listener = (struct turn_listener){{address(192, 1), 3478}, TURN_OVER_UDP};
	local[n].addr = listener.endpoint.addr;
	for (unsigned int i = 0; i <= n; i++) {
		const char *subnet = i < n ? "198.0.0.0/8" : "192.0.0.0/24";

		if (addr_prefix_parse(subnet, &local[i].subnet) != 0)
			die("a prefix does not parse");
	}
	b->config = (struct turn_config){.first.name = (char *)REALM,
		.first.users = &user,
		.first.nb_users = 1,
		.nonce_lifetime_s = 600,
		.nonce_secret = (char *)"",
		.listeners = &listener,
		.nb_listeners = 1,
		.relay = relay,
		.nb_relay = n,
		.local = local,
		.nb_local = n + 1,
		.port_lo = PORT_LO,
		.port_hi = PORT_HI,
		.quarantine_s = b->o.quarantine_s,
		.hairpin = true,
		.workers = 1,
		.limits = {.permissions = 256,
			.channels = 256,
			.lifetime_default_s = 600,
			.lifetime_max_s = 3600}};
}

// Copies an event, as a worker puts it into a ring.
static void take_event(void *ctx, const struct turn_event *e)
{
	*(struct turn_event *)ctx = *e;
}

static struct turn_state *open_state(struct bench *b)
{
	static const uint8_t boot_id[TURN_STATE_BOOT_ID_LEN];
	static const struct turn_state_keys keys;
	const size_t size = (turn_state_size(&b->config, b->map) + 63) & ~(size_t)63;
	const struct turn_state_new n = {.config = &b->config,
		.map = b->map,
		.keys = &keys,
		.rng = &b->rng,
		.boot_id = boot_id,
		.version = "bench",
		.boot_ms = 2 * NOW_MS,
		.clock_ms = NOW_MS};
	void *mem = aligned_alloc(64, size);

	if (mem == NULL)
		die("no memory for a state area of %zu bytes", size);
	memset(mem, 0, size);
	return turn_state_create(mem, &n);
}

static void open_shard(struct bench *b)
{
	size_t size;
	void *mem;

	b->params = (struct turn_shard_params){.policy = b->policy,
		.config = &b->config,
		.map = b->map,
		.quota = b->quota,
		.crypto = b->crypto,
		.rng = &b->rng,
		.event = take_event,
		.ctx = &b->event};
	if (b->o.state)
		b->params.state = open_state(b);
	size = (turn_shard_size(&b->params) + 63) & ~(size_t)63;
	mem = aligned_alloc(64, size);
	if (mem == NULL)
		die("no memory for a shard of %zu bytes", size);
	memset(mem, 0, size);
	b->shard = turn_shard_create(mem, &b->params, b->now_ms);
	if (b->shard == NULL)
		die("the shard could not be made");
	turn_shard_round(b->shard, b->now_ms, WALL_S);
}

static void open_all(struct bench *b)
{
	struct hash_key hash;
	uint8_t boot_key[32];

	random_fill(NULL, &hash, sizeof(hash));
	random_fill(NULL, boot_key, sizeof(boot_key));
	csprng_init(&b->rng, random_fill, NULL);
	b->now_ms = NOW_MS;
	configure(b);
	b->crypto = stun_crypto_create();
	if (b->crypto == NULL)
		die("libcrypto does not work");
	b->policy = turn_policy_create(&b->config, b->crypto, boot_key);
	b->map = turn_relay_map_create(&b->config);
	b->quota = turn_quota_create(b->o.relay_addresses * PORTS, &hash);
	b->client = calloc(b->o.allocations, sizeof(*b->client));
	if (b->policy == NULL || b->map == NULL || b->quota == NULL || b->client == NULL)
		die("out of memory");
	if (!stun_key_make(b->crypto, STUN_ALG_MD5,
		    &(struct stun_credential){
			    USER, strlen(USER), REALM, PASSWORD, strlen(PASSWORD)},
		    &b->key))
		die("libcrypto makes no key");
	for (unsigned int i = 0; i < b->o.allocations; i++)
		b->client[i].endpoint =
			(struct endpoint){address(20, i + 1), (uint16_t)(1024 + i % 60000)};
	open_shard(b);
}

static void close_all(struct bench *b)
{
	turn_shard_close(b->shard);
	free(b->shard);
	free(b->params.state);
	if (turn_quota_total(b->quota) != 0)
		die("the quota was not released");
	turn_policy_free(b->policy);
	turn_relay_map_free(b->map);
	turn_quota_free(b->quota);
	stun_crypto_free(b->crypto);
	free(b->client);
	free(b->config.relay);
	free(b->config.local);
}

// Moves the shard's clock, and lets the shard do its due work.
static void advance(struct bench *b, uint64_t ms)
{
	b->now_ms += ms;
	turn_shard_round(b->shard, b->now_ms, WALL_S + (b->now_ms - NOW_MS) / 1000);
	while (turn_shard_expire(b->shard))
		;
}

// --- requests -----------------------------------------------------------------------------------

static void begin(struct bench *b, struct stun_writer *w, struct request *r, uint16_t method)
{
	uint8_t tid[STUN_TID_LEN] = {'b', 'e', 'n', 'c', 'h'};

	store_be32(tid + 8, ++b->tids);
	stun_begin(w, r->data, sizeof(r->data), STUN_REQUEST, method, tid);
	if (method == STUN_ALLOCATE)
		stun_put_u32(w, STUN_REQUESTED_TRANSPORT, (uint32_t)IPPROTO_UDP << 24);
	else
		stun_put_u32(w, STUN_LIFETIME, 0);
}

static void finish(struct stun_writer *w, struct request *r)
{
	r->len = stun_end(w);
	if (r->len == 0)
		die("a request does not fit");
}

static void look(struct turn_view *v, const struct client *c, const struct request *r)
{
	*v = (struct turn_view){.src = c->endpoint.addr,
		.src_port = c->endpoint.port,
		.data = r->data,
		.len = r->len,
		.leg = TURN_FROM_CLIENT,
		.via = TURN_NO_WORKER};
}

// Gets the nonce of a 401, as a client does; returns its length.
static size_t ask_nonce(struct bench *b, struct client *c, uint8_t nonce[REQUEST_MAX])
{
	struct stun_writer w;
	struct stun_msg m;

	begin(b, &w, &c->allocate, STUN_ALLOCATE);
	finish(&w, &c->allocate);
	look(&b->burst.view[0], c, &c->allocate);
	b->burst.n = 1;
	turn_route_begin(b->shard, &b->burst);
	turn_route_finish(b->shard, &b->burst, 0);
	if (b->burst.plan.verdict != TURN_REPLY ||
		stun_parse(b->burst.side.front, b->burst.plan.front_len, &m) != 0 ||
		!stun_has(&m, STUN_NONCE) || m.alen[STUN_NONCE] > REQUEST_MAX)
		die("no nonce was given");
	memcpy(nonce, m.data + m.off[STUN_NONCE], m.alen[STUN_NONCE]);
	return m.alen[STUN_NONCE];
}

static void prepare(struct bench *b, struct client *c)
{
	struct request *const request[] = {&c->allocate, &c->release};
	uint8_t nonce[REQUEST_MAX];
	const size_t nonce_len = ask_nonce(b, c, nonce);

	for (int i = 0; i < 2; i++) {
		struct stun_writer w;

		begin(b, &w, request[i], i == 0 ? STUN_ALLOCATE : STUN_REFRESH);
		stun_put(&w, STUN_USERNAME, USER, strlen(USER));
		stun_put(&w, STUN_REALM, REALM, strlen(REALM));
		stun_put(&w, STUN_NONCE, nonce, nonce_len);
		stun_put_integrity(&w, b->crypto, STUN_ALG_MD5, &b->key);
		finish(&w, request[i]);
	}
}

// --- measurements -------------------------------------------------------------------------------

// Ends the process when the last answer is not a success.
static void check(const struct bench *b)
{
	if (b->burst.plan.verdict != TURN_REPLY ||
		(load_be16(b->burst.side.front) & 0x0110) != SUCCESS)
		die("a request was refused");
}

// Sends one request of every client, in bursts as a worker gets them. Returns the CPU seconds. No
// other function has this name: valgrind counts in it.
WHOLE static double route_all(struct bench *b, bool release)
{
	const unsigned int n = b->o.allocations;
	const double start = cpu_seconds();

	for (unsigned int i = 0; i < n; i += TURN_BURST) {
		b->burst.n = n - i < TURN_BURST ? n - i : TURN_BURST;
		for (unsigned int k = 0; k < b->burst.n; k++) {
			const struct client *c = &b->client[i + k];

			look(&b->burst.view[k], c, release ? &c->release : &c->allocate);
		}
		turn_shard_round(b->shard, b->now_ms, WALL_S + (b->now_ms - NOW_MS) / 1000);
		turn_route_begin(b->shard, &b->burst);
		for (unsigned int k = 0; k < b->burst.n; k++) {
			turn_route_finish(b->shard, &b->burst, k);
			check(b);
		}
		turn_shard_expire(b->shard);
	}
	return cpu_seconds() - start;
}

static void check_count(const struct bench *b, uint64_t wanted)
{
	struct turn_stats stats;

	turn_shard_stats(b->shard, &stats);
	if (stats.allocations != wanted)
		die("%llu allocations are there, not %llu", (unsigned long long)stats.allocations,
			(unsigned long long)wanted);
}

static void print(const struct bench *b, double allocating, double releasing)
{
	const double done = (double)b->o.allocations * b->o.cycles;
	const double slots = turn_relay_map_slots(b->map, 0);
	const double shard = (double)turn_shard_size(&b->params);
	struct turn_stats stats;

	turn_shard_stats(b->shard, &stats);
	printf("{\"allocs_per_cpu_s\":%.0f,\"ns_allocate\":%.1f,\"ns_release\":%.1f,"
	       "\"port_reused_early\":%llu,\"allocations\":%u,\"relay_addresses\":%u,"
	       "\"quarantine_s\":%u,\"cycles\":%u,\"bytes_shard\":%.1f}\n",
		done / (allocating + releasing), allocating / done * 1e9, releasing / done * 1e9,
		(unsigned long long)stats.port_reused_early, b->o.allocations, b->o.relay_addresses,
		b->o.quarantine_s, b->o.cycles, shard / slots);
}

static void measure(struct bench *b)
{
	double allocating = 0, releasing = 0;

	// the first cycle warms up
	for (unsigned int cycle = 0; cycle <= b->o.cycles; cycle++) {
		double a, r;

		for (unsigned int i = 0; i < b->o.allocations; i++)
			prepare(b, &b->client[i]);
		a = route_all(b, false);
		check_count(b, b->o.allocations);
		advance(b, 1000);
		r = route_all(b, true);
		check_count(b, 0);
		advance(b, 1000 * ((uint64_t)b->o.quarantine_s + 1));
		if (cycle > 0) {
			allocating += a;
			releasing += r;
		}
	}
	print(b, allocating, releasing);
}

// --- arguments ----------------------------------------------------------------------------------

static unsigned int number(const char *name, const char *text, unsigned long lo, unsigned long hi)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || value < lo || value > hi)
		die("--%s %s: must be a number from %lu to %lu", name, text, lo, hi);
	return (unsigned int)value;
}

static void parse(int argc, char **argv, struct options *o)
{
	static const struct option options[] = {{"allocations", required_argument, NULL, 'a'},
		{"relay-addresses", required_argument, NULL, 'r'},
		{"quarantine", required_argument, NULL, 'q'},
		{"cycles", required_argument, NULL, 'c'}, {"state", no_argument, NULL, 's'}, {0}};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'a')
			o->allocations = number("allocations", optarg, 1, 1000000);
		else if (c == 'r')
			o->relay_addresses = number("relay-addresses", optarg, 1, 256);
		else if (c == 'q')
			o->quarantine_s = number("quarantine", optarg, 0, 3600);
		else if (c == 'c')
			o->cycles = number("cycles", optarg, 1, 1000000);
		else if (c == 's')
			o->state = true;
		else
			exit(1);
	}
	if (optind < argc)
		die("%s: not an option", argv[optind]);
	if (o->allocations > o->relay_addresses * PORTS)
		die("%u relay addresses have ports for %u allocations", o->relay_addresses,
			o->relay_addresses * PORTS);
}

int main(int argc, char **argv)
{
	static struct bench b = {.o = {.allocations = 10000,
					 .relay_addresses = 1,
					 .quarantine_s = 120,
					 .cycles = 10}};

	parse(argc, argv, &b.o);
	open_all(&b);
	measure(&b);
	close_all(&b);
	return 0;
}
