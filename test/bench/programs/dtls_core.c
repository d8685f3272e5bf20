// SPDX-License-Identifier: BSD-3-Clause
// dtls_core: the cost of DTLS clients for one worker, without any port of the kernel. Clients of
// libssl, each with an allocation and a channel, talk to a data path on a software port (the worlds
// of test/unit). Three things are timed, each in bursts of 32:
//
//	relay: a worker's round, which receives, relays and sends the burst
//	records: opening and sealing the burst's records with the worker's sessions, nothing else
//	port: receiving and sending a burst, nothing else
//
// The clock stands still while records are sealed, frames are put into the port, and all output is
// compared with the input: no datagram may be missing, wrong or come twice.
//
//	dtls_core [CLIENTS [SECONDS]]
//
// The last line is a JSON object: ns per datagram, as mean and as median of the bursts.
#include <stdlib.h>

#include <rte_cycles.h>

#include "bytes.h"
#include "clients/sessions.h"
#include "datapath.h"
#include "dp_burst.h"
#include "dtls.h"
#include "dtls_clients_world.h"
#include "path/worker.h"

#define SIZE 120 // bytes of a payload
#define MESSAGE (CHANNEL_HEADER_LEN + SIZE)
#define CHUNK (60 * DP_BURST) // datagrams between two checks of the output
#define ROUNDS_PER_MS 25
#define SAMPLES (1 << 16)

enum part { RELAY, RECORDS, PORT, PARTS };
enum direction { UP, DOWN, MIXED, WAYS };

static const char *const part_names[] = {"relay", "records", "port"};
static const char *const way_names[] = {"up", "down", "mixed"};

// A datagram that will be received.
struct item {
	unsigned int client;
	bool up; // from the client
	bool seen;
	uint16_t len;
	uint8_t frame[2048];
};

// A datagram for the measurement of records alone: first its input, then its output.
struct shot {
	struct dtls_session *session;
	bool up;
	int len;
	uint8_t data[512], *out;
};

struct cell {
	uint64_t bursts, cycles;
	uint32_t sample[SAMPLES]; // cycles of a burst
};

static unsigned int wanted = 10; // clients
static struct dtls_session *session[CLIENTS_MAX]; // the worker's
static double seconds = 1.5;

static struct port *port;
static struct item item[CHUNK];
static struct shot shot[DP_BURST];
static struct cell cell[PARTS][WAYS];
static uint32_t chunks;
static char cipher[64];

// --- input --------------------------------------------------------------------------------------

// ChannelData by which a datagram is recognized.
static void message_make(unsigned int j, uint8_t message[MESSAGE])
{
	store_be16(message, CLIENT_CHANNEL);
	store_be16(message + 2, SIZE);
	memset(message + 4, (int)(j + chunks), SIZE);
	store_be32(message + 4, j);
	store_be32(message + 8, chunks);
}

// A client's record is sealed here, and received once.
static void item_make(unsigned int j, enum direction direction)
{
	struct item *t = &item[j];
	const unsigned int i = (direction == MIXED ? j / 2 : j) % nb_clients;
	uint8_t message[MESSAGE];
	struct world_datagram d = {
		.df = true, .len = SIZE, .src = peer_of(i), .dst = client[i].relay};
	struct datagram record;

	t->up = direction == UP || (direction == MIXED && j % 2 == 0);
	t->client = i;
	t->seen = false;
	message_make(j, message);
	memcpy(d.data, message + CHANNEL_HEADER_LEN, SIZE);
	if (t->up) {
		assert_int_equal(SSL_write(end[i].ssl, message, MESSAGE), MESSAGE);
		assert_true(wire_take(&end[i].out, &record));
		d.src = client[i].endpoint;
		d.dst = client[i].server;
		d.len = record.len;
		memcpy(d.data, record.data, record.len);
	}
	t->len = (uint16_t)world_frame(&world, &d, t->frame);
}

// A burst that waits at the port, as on a NIC that verifies checksums.
static void put_burst(const struct item *t)
{
	for (unsigned int i = 0; i < DP_BURST; i++) {
		struct rte_mbuf *m = softport_mbuf(port, t[i].frame, t[i].len);

		m->ol_flags |= RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
		softport_put_mbuf(port, 0, m);
	}
}

static void put_shots(const struct item *t)
{
	const uint16_t headers = net_headers_len(true, 0);

	for (unsigned int i = 0; i < DP_BURST; i++) {
		struct shot *s = &shot[i];

		s->session = session[t[i].client];
		s->up = t[i].up;
		s->out = s->data;
		s->len = s->up ? t[i].len - headers : MESSAGE;
		assert_true((size_t)s->len <= sizeof(s->data));
		if (s->up)
			memcpy(s->data, t[i].frame + headers, (size_t)s->len);
		else
			message_make((unsigned int)(t + i - item), s->data);
	}
}

// --- the clock ----------------------------------------------------------------------------------

// Never inlined: callgrind counts this function by its name.
static __rte_noinline uint64_t run_relay(void)
{
	const uint64_t tsc = world.dp->tsc_start + world.ms * world.dp->tsc_per_ms;
	const uint64_t start = rte_rdtsc();

	worker_round(world.dp->worker[0], tsc);
	return rte_rdtsc() - start;
}

static __rte_noinline uint64_t run_records(void)
{
	const uint64_t start = rte_rdtsc();

	for (unsigned int i = 0; i < DP_BURST; i++) {
		struct shot *s = &shot[i];
		struct dtls_wire wire = {.in = s->data, .in_len = (uint16_t)s->len};

		if (s->up)
			s->len = dtls_session_read(s->session, &wire, &s->out);
		else
			s->len = dtls_session_write(s->session, s->data, (size_t)s->len, s->out);
	}
	return rte_rdtsc() - start;
}

static uint64_t run_port(void)
{
	struct rte_mbuf *m[DP_BURST];
	const uint64_t start = rte_rdtsc();
	const uint16_t n = port_rx(port, 0, m, DP_BURST), sent = port_tx(port, 0, m, n);
	const uint64_t took = rte_rdtsc() - start;

	assert_int_equal(sent, DP_BURST);
	for (unsigned int i = 0; i < DP_BURST; i++)
		rte_pktmbuf_free(softport_take_mbuf(port));
	return took;
}

// --- output -------------------------------------------------------------------------------------

// Puts the results of the records alone where verify looks for relayed datagrams.
static void show_shots(const struct item *t)
{
	for (unsigned int i = 0; i < DP_BURST; i++) {
		const struct world_client *c = &client[t[i].client];
		const int skip = t[i].up ? CHANNEL_HEADER_LEN : 0;
		struct world_datagram *d = &world.seen[world.nb_seen++];

		assert_true(shot[i].len > skip);
		d->src = t[i].up ? c->relay : c->server;
		d->dst = t[i].up ? peer_of(t[i].client) : c->endpoint;
		d->len = (uint16_t)(shot[i].len - skip);
		memcpy(d->data, shot[i].out + skip, d->len);
	}
}

// Makes ChannelData of what a peer or a client has received; its length.
static int unseal(const struct world_datagram *d, unsigned int i, bool up, uint8_t got[2048])
{
	if (up) {
		memcpy(got + CHANNEL_HEADER_LEN, d->data, d->len);
		store_be16(got, CLIENT_CHANNEL);
		store_be16(got + 2, d->len);
		return CHANNEL_HEADER_LEN + d->len;
	}
	wire_put(&end[i].in, d->data, d->len);
	return SSL_read(end[i].ssl, got, 2048);
}

static void verify(void)
{
	uint8_t got[2048], message[MESSAGE];

	assert_int_equal(world.nb_seen, CHUNK);
	for (unsigned int k = 0; k < CHUNK; k++) {
		const struct world_datagram *d = &world.seen[k];
		const bool up = d->dst.port >= PEER_PORT;
		const unsigned int i = d->dst.port - (up ? PEER_PORT : CLIENT_PORT);
		uint32_t j;

		assert_true(i < nb_clients);
		assert_true(endpoint_eq(&d->src, up ? &client[i].relay : &client[i].server));
		assert_int_equal(unseal(d, i, up, got), MESSAGE);
		j = load_be32(got + CHANNEL_HEADER_LEN);
		assert_true(j < CHUNK && !item[j].seen && item[j].up == up && item[j].client == i);
		item[j].seen = true;
		message_make(j, message);
		assert_memory_equal(got, message, MESSAGE);
	}
	world.nb_seen = 0;
}

// --- figures -------------------------------------------------------------------------------------

static uint64_t run_burst(enum part part, unsigned int first)
{
	uint64_t took;

	if (part == RECORDS) {
		put_shots(item + first);
		took = run_records();
		show_shots(item + first);
		return took;
	}
	put_burst(item + first);
	return part == RELAY ? run_relay() : run_port();
}

static void run_chunk(enum part part, enum direction direction, bool counts)
{
	struct cell *c = &cell[part][direction];

	chunks++;
	for (unsigned int j = 0; j < CHUNK; j++)
		item_make(j, direction);
	for (unsigned int first = 0; first < CHUNK; first += DP_BURST) {
		const uint64_t took = run_burst(part, first);

		world.ms += first / DP_BURST % ROUNDS_PER_MS == 0;
		if (!counts)
			continue;
		c->sample[c->bursts++ % SAMPLES] = (uint32_t)RTE_MIN(took, (uint64_t)UINT32_MAX);
		c->cycles += took;
	}
	if (part == RELAY)
		world_run(&world); // sent packets are received, and ARP is answered
	if (part != PORT)
		verify();
}

static void open_clients(void)
{
	const struct world_setup setup = {
		.workers = 1, .rx_queues = 1, .tx_queues = 1, .dtls = true};

	clients_world_open(&setup);
	for (unsigned int i = 0; i < wanted; i++)
		client_place("10.99.0.20", world.dtls + 2); // 10.99.0.1:5349
	handshake_all();
	for (unsigned int i = 0; i < wanted; i++) {
		const struct endpoint *client_addr = &client[i].endpoint;
		const struct session *s = sessions_find(world.dp->worker[0], &client_addr->addr,
			client_addr->port, (uint8_t)(world.dtls + 2), SESSION_OPEN);

		allocate(i);
		assert_non_null(s);
		session[i] = s->dtls;
	}
}

static void measure(void **state)
{
	const uint64_t length = (uint64_t)(seconds * (double)rte_get_tsc_hz());
	uint64_t start = 0, dropped;

	open_clients();
	dropped = world_drops(&world); // parts of handshakes that arrived twice
	port = world.dp->port[0].port;
	snprintf(cipher, sizeof(cipher), "%s", SSL_get_cipher_name(end[0].ssl));
	// the first pass warms up
	for (unsigned int n = 0; n < 2 || rte_rdtsc() - start < length; n++) {
		if (n == 1)
			start = rte_rdtsc();
		for (unsigned int k = 0; k < PARTS * WAYS; k++)
			run_chunk(k % PARTS, k / PARTS, n > 0);
	}
	assert_int_equal(world_drops(&world), dropped);
	clients_world_close();
}

static int sample_cmp(const void *a, const void *b)
{
	const uint32_t l = *(const uint32_t *)a, r = *(const uint32_t *)b;

	return (l > r) - (l < r);
}

static void print_cell(struct cell *c)
{
	const uint64_t n = RTE_MIN(c->bursts, (uint64_t)SAMPLES);
	const double unit = (double)rte_get_tsc_hz() / 1e9 * DP_BURST; // cycles for 1 ns a datagram

	qsort(c->sample, n, sizeof(c->sample[0]), sample_cmp);
	printf("{\"ns\":%.2f,\"median\":%.2f}", (double)c->cycles / (double)c->bursts / unit,
		c->sample[n / 2] / unit);
}

static void print_figures(void)
{
	printf("{\"clients\":%u,\"size\":%u,\"cipher\":\"%s\",\"datagrams\":%llu", nb_clients, SIZE,
		cipher, (unsigned long long)cell[RELAY][UP].bursts * DP_BURST);
	for (unsigned int direction = 0; direction < WAYS; direction++) {
		printf(",\"%s\":{", way_names[direction]);
		for (unsigned int part = 0; part < PARTS; part++) {
			printf("%s\"%s\":", part > 0 ? "," : "", part_names[part]);
			print_cell(&cell[part][direction]);
		}
		printf("}");
	}
	printf("}\n");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(measure)}; // the worlds assert

	if (argc > 1)
		wanted = (unsigned int)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		seconds = strtod(argv[2], NULL);
	if (argc > 3 || wanted < 1 || wanted > CLIENTS_MAX || !(seconds >= 0.01 && seconds <= 60)) {
		fprintf(stderr, "usage: dtls_core [CLIENTS [SECONDS]]: up to %u, 0.01 to 60\n",
			CLIENTS_MAX);
		return 2;
	}
	world_eal();
	if (cmocka_run_group_tests(tests, NULL, NULL) != 0)
		return 1;
	print_figures();
	return 0;
}
