// SPDX-License-Identifier: BSD-3-Clause
// A storm of each kind of packet that anyone can send, without a password and mostly with a spoofed
// address, during a call and requests of clients: no relayed datagram is lost, and all requests are
// answered.
#include "storm_world.h"
#include "bytes.h"
#include "datapath.h"
#include "dtls_cookie.h"
#include "icmp_frames.h"
#include "slow_sum.h"

#define DTLS_PORT 5349
#define HELLO_LEN DTLS_HELLO_MIN

// Another host behind the gateway each time; where nothing is spoofed all are one host.
static struct endpoint stranger(unsigned int i)
{
	return world_endpoint(i % 2 == 0 ? "198.51.100.5" : "198.51.100.6", (uint16_t)(20000 + i));
}

static struct endpoint dtls_server(void)
{
	return (struct endpoint){call.server.addr, DTLS_PORT};
}

// --- clients' datagrams --------------------------------------------------------------------------

static void hello(struct frame *f, const struct endpoint *src, unsigned int i, uint8_t cookie_len)
{
	const uint16_t len = (uint16_t)(HELLO_LEN + cookie_len);
	const struct endpoint server = dtls_server();
	uint8_t h[HELLO_LEN + DTLS_COOKIE_LEN] = {DTLS_HANDSHAKE, 0xfe, 0xff};

	store_be16(h + 11, (uint16_t)(len - DTLS_RECORD_LEN));
	h[13] = 1;
	store_be16(h + 15, (uint16_t)(len - DTLS_RECORD_LEN - DTLS_HANDSHAKE_LEN));
	store_be16(h + 23, (uint16_t)(len - DTLS_RECORD_LEN - DTLS_HANDSHAKE_LEN));
	store_be16(h + 25, 0xfefd);
	store_be32(h + 27, i);
	h[60] = cookie_len;
	for (unsigned int k = 0; k < cookie_len; k++)
		h[61 + k] = (uint8_t)(i * 7 + k * 13);
	keep(f, src, &server, h, len);
}

static void hello_bare(struct frame *f, unsigned int i)
{
	const struct endpoint src = stranger(i);

	hello(f, &src, i, 0);
}

static void hello_cookie(struct frame *f, unsigned int i)
{
	const struct endpoint src = stranger(i);

	hello(f, &src, i, DTLS_COOKIE_LEN);
}

// All in the name of one client, with both halves of the keys that a cookie can need.
static void hello_of_one(struct frame *f, unsigned int i)
{
	const struct endpoint src = stranger(0);

	hello(f, &src, i, DTLS_COOKIE_LEN);
}

// In the name of a client that relays over UDP.
static void hello_of_call(struct frame *f, unsigned int i)
{
	hello(f, &call.endpoint, i, DTLS_COOKIE_LEN);
}

static void hello_bad(struct frame *f, unsigned int i)
{
	hello_bare(f, i);
	f->data[STUN_AT + 60] = 200; // a cookie longer than the message
	store_be16(f->data + STUN_AT - 2, 0); // no UDP checksum
}

static void record(struct frame *f, unsigned int i)
{
	const struct endpoint src = stranger(i), server = dtls_server();
	uint8_t r[80] = {DTLS_APPLICATION, 0xfe, 0xfd, 0, 1};

	r[12] = sizeof(r) - DTLS_RECORD_LEN;
	keep(f, &src, &server, r, sizeof(r));
}

static void channel_data(struct frame *f, unsigned int i)
{
	const struct endpoint src = stranger(i);
	const uint8_t data[100] = {0x40, 1, 0, 96};

	keep(f, &src, &call.server, data, sizeof(data));
}

static void send_indication(struct frame *f, unsigned int i)
{
	const struct endpoint src = stranger(i);
	const uint8_t data[36] = {0, 0x16, 0, 16, 0x21, 0x12, 0xa4, 0x42, [20] = 0, 0x12, 0, 8};

	keep(f, &src, &call.server, data, sizeof(data));
}

static void to_relay(struct frame *f, unsigned int i)
{
	const struct endpoint src = stranger(i);

	keep(f, &src, &call.relay, "no permission", 13);
}

static void to_nobody(struct frame *f, unsigned int i)
{
	const struct endpoint src = stranger(i), closed = {call.server.addr, 9};

	keep(f, &src, &closed, "no listener", 11);
}

static void binding(struct frame *f, unsigned int i)
{
	const struct endpoint src = stranger(i);
	uint8_t m[STUN_HEADER_LEN] = {0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42};

	store_be32(m + 8, i);
	keep(f, &src, &call.server, m, sizeof(m));
}

// A request with a valid nonce, and a signature that is wrong in the last byte.
static void bad_signature(struct frame *f, unsigned int i)
{
	static uint16_t port = 50000;
	struct world_client c;

	if (i == 0)
		port = 50000;
	client_at(&c, &port, 0);
	assert_int_equal(client_permit(&world, &c, &peer), 437);
	request_make(f, &c, STUN_REFRESH, 600);
	f->data[f->len - 1] ^= 1;
	store_be16(f->data + STUN_AT - 2, 0);
}

// --- hosts and routers ---------------------------------------------------------------------------

static void arp(
	struct frame *f, uint8_t operation, const char *sender, const char *target, unsigned int i)
{
	const struct addr sender_addr = world_endpoint(sender, 0).addr,
			  target_addr = world_endpoint(target, 0).addr;
	const uint8_t *ours = world.dp->port[0].port->mac;
	uint8_t *a = f->data + NET_ETH_LEN;

	memset(f->data, 0, 60);
	memcpy(f->data, ours, 6);
	store_be32(f->data + 8, 0x33330000 + i);
	f->data[6] = 2;
	store_be16(f->data + 12, NET_ETHERTYPE_ARP);
	store_be16(a, 1);
	store_be16(a + 2, NET_ETHERTYPE_IP4);
	a[4] = 6;
	a[5] = 4;
	a[7] = operation;
	memcpy(a + 8, f->data + 6, 6);
	memcpy(a + 14, sender_addr.b + 12, 4);
	memcpy(a + 18, ours, 6);
	memcpy(a + 24, target_addr.b + 12, 4);
	f->len = 60;
}

static const char *host(unsigned int i)
{
	static char text[16];

	snprintf(text, sizeof(text), "10.99.0.%u", 100 + i % 100);
	return text;
}

static void arp_question(struct frame *f, unsigned int i)
{
	arp(f, 1, host(i), "10.99.0.1", i);
}

static void arp_unasked(struct frame *f, unsigned int i)
{
	arp(f, 2, host(i), "10.99.0.1", i);
}

// ICMPv6 between two hosts of the link, len bytes with a zero checksum field.
static void icmp6(
	struct frame *f, const char *src_text, const char *dst_text, uint8_t *m, uint16_t len)
{
	const struct addr src = world_endpoint(src_text, 0).addr,
			  dst = world_endpoint(dst_text, 0).addr;
	uint8_t *ip = f->data + NET_ETH_LEN;

	memset(f->data, 0, NET_ETH_LEN + NET_IP6_LEN);
	memcpy(f->data, world.dp->port[0].port->mac, 6);
	memcpy(f->data + 6, (const uint8_t[]){2, 0, 0, 0, 0, 0x52}, 6);
	store_be16(f->data + 12, NET_ETHERTYPE_IP6);
	ip[0] = 0x60;
	store_be16(ip + 4, len);
	ip[6] = 58;
	ip[7] = 255;
	memcpy(ip + 8, src.b, 16);
	memcpy(ip + 24, dst.b, 16);
	store_be16(m + 2, (uint16_t)~slow_sum(slow_sum(0, ip + 8, 32) + 58u + len, m, len));
	memcpy(ip + NET_IP6_LEN, m, len);
	f->len = (uint16_t)(NET_ETH_LEN + NET_IP6_LEN + len);
}

static void neighbour(struct frame *f, uint8_t type, const char *target, unsigned int i)
{
	const struct addr t = world_endpoint(target, 0).addr;
	char src_text[16];
	// with the link-layer address as an option
	uint8_t m[32] = {type, [4] = type == 136 ? 0x60 : 0, [24] = type == 135 ? 1 : 2, 1, 2};

	snprintf(src_text, sizeof(src_text), "fd99::%x", 0x100 + i % 100);
	memcpy(m + 8, t.b, 16);
	m[31] = (uint8_t)i;
	icmp6(f, src_text, "fd99::1", m, sizeof(m));
}

static void nd_question(struct frame *f, unsigned int i)
{
	neighbour(f, 135, "fd99::1", i);
}

static void nd_unasked(struct frame *f, unsigned int i)
{
	char target[16];

	snprintf(target, sizeof(target), "fd99::%x", 0x100 + i % 100);
	neighbour(f, 136, target, i);
}

static void ping6(struct frame *f, unsigned int i)
{
	uint8_t m[64] = {128, [6] = (uint8_t)(i >> 8), (uint8_t)i};

	icmp6(f, "fd99::20", "fd99::1", m, sizeof(m));
}

static void icmp_error(struct frame *f, const struct endpoint *src, const struct endpoint *dst)
{
	const struct icmp_frame e = {
		.reporter = "198.51.100.5", .src = *src, .dst = *dst, .type = 3, .code = 3};
	uint8_t frame[2048];

	f->len = (uint16_t)icmp_frame_write(&world, &e, frame);
	memcpy(f->data, frame, f->len);
}

// About a datagram that nobody has sent, and about datagrams of a live call.
static void icmp_nobody(struct frame *f, unsigned int i)
{
	const struct endpoint dst = stranger(i);

	icmp_error(f, &call.server, &dst);
}

static void icmp_of_call(struct frame *f, unsigned int i)
{
	icmp_error(f, &call.relay, &peer);
}

// The first fragment of a datagram without a second one, each from another source.
static void fragment(struct frame *f, unsigned int i)
{
	static struct ip_long d = {.len = 560, .ttl = 60};
	struct ip_pieces *p = calloc(1, sizeof(*p));
	uint8_t macs[12] = {0};

	assert_non_null(p);
	d.src = stranger(i);
	d.src.addr.b[14] = (uint8_t)i;
	d.dst = call.server;
	d.id = i;
	memcpy(macs, world.dp->port[0].port->mac, 6);
	macs[6] = 2;
	ip_pieces_cut(p, &d, macs, 304);
	f->len = (uint16_t)p->len[0];
	assert_true(f->len <= FRAME_MAX);
	memcpy(f->data, p->frame[0], f->len);
	free(p);
}

// --- storms --------------------------------------------------------------------------------------

static const struct kind {
	const char *name;
	void (*make)(struct frame *f, unsigned int i);
} kinds[] = {
	{"ClientHellos", hello_bare},
	{"ClientHellos with false cookies", hello_cookie},
	{"ClientHellos in the name of one client", hello_of_one},
	{"ClientHellos in the name of the call", hello_of_call},
	{"malformed ClientHellos", hello_bad},
	{"records of no session", record},
	{"ChannelData of nobody", channel_data},
	{"indications of nobody", send_indication},
	{"datagrams of peers without permission", to_relay},
	{"datagrams to no listener", to_nobody},
	{"Bindings", binding},
	{"bad signatures", bad_signature},
	{"ARP questions", arp_question},
	{"ARP answers that nobody asked for", arp_unasked},
	{"ND questions", nd_question},
	{"ND answers that nobody asked for", nd_unasked},
	{"echo requests", ping6},
	{"ICMP errors about nothing", icmp_nobody},
	{"ICMP errors about a call", icmp_of_call},
	{"fragments", fragment},
};

static struct frame frames[CLIENTS];

static void strangers_begin(const struct kind *k)
{
	struct world_client c;

	world_begin(1, true);
	world_client(&world, &c, "198.51.100.5", 19999); // the route there is known
	assert_int_equal(client_permit(&world, &c, &peer), 437);
	for (unsigned int i = 0; i < CLIENTS; i++)
		k->make(&frames[i], i);
}

static void test_call(void **state)
{
	const uint64_t rates[] = {200000, 1000000, 3000000};

	for (unsigned int i = 0; i < RTE_DIM(kinds); i++) {
		for (unsigned int r = 0; r < RTE_DIM(rates); r++) {
			strangers_begin(&kinds[i]);
			call_begins(0, 0, 20000);
			begin_others(frames, CLIENTS, 0, rates[r]);
			run(30);
			if (calls.lost > 0 || calls.back != calls.sent)
				print_message("%s, %u a second: %u of the call's %u lost\n",
					kinds[i].name, (unsigned int)rates[r],
					(unsigned int)(calls.sent - calls.back),
					(unsigned int)calls.sent);
			check_call();
			world_close(&world);
		}
	}
}

// All clients get their answers: known clients during three million packets a second, and strangers
// during 200,000 a second.
static void askers_beside(bool known, uint64_t per_second)
{
	for (unsigned int i = 0; i < RTE_DIM(kinds); i++) {
		strangers_begin(&kinds[i]);
		askers_make(ASKERS, 30000, known);
		call_begins(0, 0, 20000);
		begin_others(frames, CLIENTS, 0, per_second);
		run_askers(0);
		check_call();
		world_close(&world);
	}
}

static void test_known(void **state)
{
	askers_beside(true, 3000000);
}

static void test_newcomers(void **state)
{
	askers_beside(false, 200000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_call),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_newcomers),
	};

	world_eal();
	return cmocka_run_group_tests_name("storm_strangers", tests, NULL, NULL);
}
