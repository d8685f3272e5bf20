// SPDX-License-Identifier: BSD-3-Clause
// The header fields of RFC 8656 sections 13 and 14, one row of doc/protocol.md each. Every row runs
// over all pairs of families, in both directions, for ChannelData and for indications, and on each
// of the three paths that a datagram may take. Expected values follow the RFC and are read from the
// bytes of the frame that leaves.
#include "bytes.h"
#include "datapath.h"
#include "drop_of.h"
#include "line_world.h"

#define PAIRS 4 // every pair of families: clients 0 to 3 of line_world.c
#define MTU 1500
#define INDICATION_FRONT(is_v4) ((is_v4) ? 36u : 48u) // RFC 8656 11.3: header, peer, DATA

// One of the paths through the appliance.
struct trial {
	unsigned int i; // client
	unsigned int leg;
	bool indications;
	enum line_way path;
};

// Checks a row for one trial.
typedef void trial_fn(const struct trial *t);

static bool from_v4(const struct trial *t)
{
	return addr_is_v4(t->leg == 0 ? &client[t->i].endpoint.addr : &peer[t->i].addr);
}

static bool to_v4(const struct trial *t)
{
	return addr_is_v4(t->leg == 0 ? &peer[t->i].addr : &client[t->i].endpoint.addr);
}

// --- datagrams ----------------------------------------------------------------------------------

static void put_send(struct world_datagram *d, unsigned int i, bool dont_fragment)
{
	static const uint8_t tid[STUN_TID_LEN] = {7}, data[20] = {1, 2, 3};
	struct stun_writer w;

	stun_begin(&w, d->data, sizeof(d->data), STUN_INDICATION, STUN_SEND, tid);
	stun_put_xor_addr(&w, STUN_XOR_PEER_ADDRESS, &peer[i]);
	if (dont_fragment)
		stun_put(&w, STUN_DONT_FRAGMENT, NULL, 0);
	stun_put(&w, STUN_DATA_ATTR, data, sizeof(data));
	d->len = stun_end(&w);
}

// Returns a datagram with 20 bytes of data, as its sender sends it in this trial.
static struct world_datagram datagram(const struct trial *t)
{
	struct world_datagram d = t->leg == 0 ? line_up(t->i) : line_down(t->i);

	d.ttl = 64;
	if (t->leg == 1)
		d.len = 20;
	else if (t->indications)
		put_send(&d, t->i, false);
	else
		line_data(&d, 20);
	return d;
}

static struct line_outcome pass_frame(const struct trial *t, const uint8_t *frame, size_t len)
{
	struct line_outcome o = line_pass(t->path, &client[t->i], 0, frame, len);

	if (o.len != 0)
		frame_check(o.frame);
	return o;
}

static struct line_outcome pass(const struct trial *t, const struct world_datagram *d)
{
	uint8_t frame[2048] = {0};
	const size_t len = world_frame(&world, d, frame);

	return pass_frame(t, frame, len);
}

static void assert_dropped(const struct line_outcome *o, unsigned int reason)
{
	assert_int_equal(o->len, 0);
	assert_string_equal(dp_drop_name(o->reason), dp_drop_name(reason));
}

// --- fields of a frame that left ----------------------------------------------------------------

static const uint8_t *ip_of(const struct trial *t, const struct line_outcome *o)
{
	const uint8_t *ip = o->frame + NET_ETH_LEN;

	assert_true(o->len > NET_ETH_LEN + NET_IP4_LEN);
	// neither options nor extension headers
	if (to_v4(t)) {
		assert_int_equal(ip[0], 0x45);
		assert_int_equal(ip[9], NET_PROTO_UDP);
	} else {
		assert_int_equal(ip[0] >> 4, 6);
		assert_int_equal(ip[6], NET_PROTO_UDP);
	}
	return ip;
}

static uint8_t class_of(const struct trial *t, const struct line_outcome *o)
{
	const uint8_t *ip = ip_of(t, o);

	return to_v4(t) ? ip[1] : (uint8_t)(load_be16(ip) >> 4);
}

static uint8_t hops_of(const struct trial *t, const struct line_outcome *o)
{
	return ip_of(t, o)[to_v4(t) ? 8 : 7];
}

// Flags and offset of IPv4.
static uint16_t fragment_field(const struct trial *t, const struct line_outcome *o)
{
	return load_be16(ip_of(t, o) + 6);
}

// --- rows ---------------------------------------------------------------------------------------

// RFC 7915 4.1, 5.1 and RFC 8656 13.2: one hop less, like a router; a packet without hops left is
// dropped.
static void row_hops(const struct trial *t)
{
	static const uint8_t in[] = {1, 2, 3, 64, 128, 255};

	for (unsigned int n = 0; n < RTE_DIM(in); n++) {
		struct world_datagram d = datagram(t);
		struct line_outcome o;

		d.ttl = in[n];
		o = pass(t, &d);
		if (in[n] == 1)
			assert_dropped(&o, DP_DROP_TTL);
		else
			assert_int_equal(hops_of(t, &o), in[n] - 1);
	}
}

// RFC 8656 14, RFC 7915 4.1, 5.1: every DSCP and every ECN value, CE too.
static void row_class(const struct trial *t)
{
	for (unsigned int tos = 0; tos < 256; tos++) {
		struct world_datagram d = datagram(t);
		struct line_outcome o;

		d.tos = (uint8_t)tos;
		o = pass(t, &d);
		assert_int_equal(class_of(t, &o), tos);
	}
}

// RFC 8656 13.1, 13.2: no flow label is made, so it is zero, whatever the sender's was.
static void row_flow_label(const struct trial *t)
{
	const struct world_datagram d = datagram(t);
	uint8_t frame[2048] = {0};
	const size_t len = world_frame(&world, &d, frame);
	struct line_outcome o;

	if (!from_v4(t)) {
		frame[15] |= 0x0a;
		store_be16(frame + 16, 0xbcde);
	}
	o = pass_frame(t, frame, len);
	if (!to_v4(t))
		assert_int_equal(load_be32(ip_of(t, &o)) & 0xfffff, 0);
}

// RFC 8656 14: DF is copied. 13.3: a packet that came by IPv6 has no DF.
static void row_df(const struct trial *t)
{
	for (unsigned int df = 0; df < 2; df++) {
		struct world_datagram d = datagram(t);
		struct line_outcome o;

		d.df = df != 0;
		o = pass(t, &d);
		if (to_v4(t))
			assert_int_equal(fragment_field(t, &o), df && from_v4(t) ? 0x4000 : 0);
		else
			ip_of(t, &o);
	}
}

// RFC 8656 14: DONT-FRAGMENT sets DF from IPv4 to IPv4. 13: it is ignored where a family is IPv6.
static void row_dont_fragment(const struct trial *t)
{
	struct world_datagram d = datagram(t);
	struct line_outcome o;

	if (t->leg == 1)
		return;
	put_send(&d, t->i, true);
	o = pass(t, &d);
	if (to_v4(t))
		assert_int_equal(fragment_field(t, &o), from_v4(t) ? 0x4000 : 0);
	else
		ip_of(t, &o);
}

// RFC 8656 14: the server chooses the identification. Without DF it must be unique (RFC 6864).
static void row_identification(const struct trial *t)
{
	const struct world_datagram d = datagram(t);
	uint8_t frame[2048] = {0};
	const size_t len = world_frame(&world, &d, frame);
	uint16_t id[3];

	if (!to_v4(t))
		return;
	for (unsigned int n = 0; n < RTE_DIM(id); n++) {
		const struct line_outcome o = pass_frame(t, frame, len); // an equal frame each time

		id[n] = load_be16(ip_of(t, &o) + 4);
	}
	assert_true(id[0] != id[1] && id[1] != id[2] && id[0] != id[2]);
}

// RFC 791: the reserved flag is 0 in what the server sends.
static void row_reserved_flag(const struct trial *t)
{
	const struct world_datagram d = datagram(t);
	uint8_t frame[2048] = {0};
	const size_t len = world_frame(&world, &d, frame);
	struct line_outcome o;

	if (!from_v4(t) || !to_v4(t))
		return;
	frame[20] |= 0x80;
	frame_set_checksums(frame);
	o = pass_frame(t, frame, len);
	assert_int_equal(fragment_field(t, &o), 0);
}

// Inserts `made`, len bytes, after the fixed header of IPv4 or IPv6. Returns the new length.
static size_t insert(uint8_t *frame, size_t offset, const uint8_t *made, size_t len, size_t all)
{
	memmove(frame + offset + len, frame + offset, all - offset);
	memcpy(frame + offset, made, len);
	return all + len;
}

// RFC 8656 14: the system's IPv4 options; there are no such options.
static void options_of_ip4(const struct trial *t)
{
	static const uint8_t nops[4] = {1, 1, 1, 1};
	const struct world_datagram d = datagram(t);
	uint8_t frame[2048] = {0};
	size_t len = world_frame(&world, &d, frame);
	uint32_t sum = 0;
	struct line_outcome o;

	len = insert(frame, NET_ETH_LEN + NET_IP4_LEN, nops, sizeof(nops), len);
	frame[14] = 0x46;
	store_be16(frame + 16, (uint16_t)(load_be16(frame + 16) + sizeof(nops)));
	store_be16(frame + 24, 0);
	for (unsigned int n = 0; n < 24; n += 2)
		sum += load_be16(frame + NET_ETH_LEN + n);
	store_be16(frame + 24, (uint16_t) ~((sum & 0xffff) + (sum >> 16)));
	o = pass_frame(t, frame, len);
	assert_dropped(&o, drop_of_net(NET_DROP_IP_OPTIONS));
}

// RFC 8656 13.1, 13.2: the system's extension headers; there are no such headers.
static void extensions_of_ip6(const struct trial *t)
{
	static const uint8_t types[] = {NET_PROTO_HOP_BY_HOP, NET_PROTO_DESTINATION};
	static const uint8_t padded[8] = {NET_PROTO_UDP, 0, 1, 4};

	for (unsigned int n = 0; n < RTE_DIM(types); n++) {
		const struct world_datagram d = datagram(t);
		uint8_t frame[2048] = {0};
		size_t len = world_frame(&world, &d, frame);
		struct line_outcome o;

		len = insert(frame, NET_ETH_LEN + NET_IP6_LEN, padded, sizeof(padded), len);
		frame[20] = types[n];
		store_be16(frame + 18, (uint16_t)(load_be16(frame + 18) + sizeof(padded)));
		o = pass_frame(t, frame, len);
		ip_of(t, &o);
	}
}

static void row_options(const struct trial *t)
{
	if (from_v4(t))
		options_of_ip4(t);
	else
		extensions_of_ip6(t);
}

// RFC 768, RFC 8200 8.1, RFC 7915 4.5: an absent checksum stays absent over IPv4, and is computed
// over IPv6.
static void row_checksum(const struct trial *t)
{
	struct world_datagram d = datagram(t);
	struct line_outcome o = pass(t, &d);

	assert_int_not_equal(load_be16(frame_udp(o.frame) + 6), 0); // frame_check verified it
	if (!from_v4(t))
		return;
	d.no_checksum = true;
	o = pass(t, &d);
	ip_of(t, &o);
	if (to_v4(t))
		assert_int_equal(load_be16(frame_udp(o.frame) + 6), 0);
	else
		assert_int_not_equal(load_be16(frame_udp(o.frame) + 6), 0);
}

// RFC 8656 14 (RFC 1122), 13.2: with DF, or over IPv6, a packet that has grown past the MTU is not
// sent; one that is a byte shorter is sent whole.
static void row_mtu(const struct trial *t)
{
	const uint16_t headers = (to_v4(t) ? NET_IP4_LEN : NET_IP6_LEN) + NET_UDP_LEN;
	struct world_datagram d = datagram(t);
	struct line_outcome o;
	uint16_t front;

	if (t->leg == 0 || from_v4(t) != to_v4(t))
		return;
	front = t->indications ? INDICATION_FRONT(to_v4(t)) : CHANNEL_HEADER_LEN;
	d.df = true;
	d.len = (uint16_t)(MTU - headers - front);
	if (t->indications)
		d.len &= 0xfffc; // DATA is padded to 4
	o = pass(t, &d);
	assert_int_equal(o.len, NET_ETH_LEN + headers + front + d.len);
	d.len += t->indications ? 4 : 1;
	o = pass(t, &d);
	assert_dropped(&o, DP_DROP_MTU);
}

// --- trials -------------------------------------------------------------------------------------

static void settle_indications(unsigned int i)
{
	for (unsigned int n = 0; n < 3; n++) {
		for (unsigned int leg = 0; leg < 2; leg++) {
			const struct trial t = {.i = i, .leg = leg, .indications = true};
			const struct world_datagram d = datagram(&t);

			world_send(&world, &d);
		}
		world_run(&world);
	}
	world.nb_seen = 0;
}

static void open_clients(bool indications)
{
	line_open(&line_one, indications ? 0 : PAIRS);
	for (unsigned int i = 0; indications && i < PAIRS; i++) {
		line_client(i);
		assert_int_equal(client_permit(&world, &client[i], &peer[i]), 0);
		settle_indications(i);
	}
}

// Asserts that the datagram took the path that the trial asks for.
static void assert_way(const struct trial *t)
{
	const struct world_datagram d = datagram(t);
	const struct line_outcome o = pass(t, &d);

	assert_int_equal(o.by_line, t->path == LINE_BY_LINE && from_v4(t) == to_v4(t));
}

static void run_row(void **state)
{
	trial_fn *row = *(trial_fn **)*state;

	for (unsigned int indications = 0; indications < 2; indications++) {
		open_clients(indications != 0);
		for (unsigned int n = 0; n < PAIRS * 2 * 3; n++) {
			const struct trial t = {.i = n % PAIRS,
				.leg = n / PAIRS % 2,
				.indications = indications != 0,
				.path = (enum line_way)(n / (2 * PAIRS))};

			line_new_ids();
			assert_way(&t);
			row(&t);
		}
		world_close(&world);
	}
}

int main(void)
{
#define ROW(field)                                                                   \
	{                                                                            \
		.name = #field, .test_func = run_row, .initial_state = &(trial_fn *) \
		{                                                                    \
			field                                                        \
		}                                                                    \
	}
	const struct CMUnitTest tests[] = {
		ROW(row_hops),
		ROW(row_class),
		ROW(row_flow_label),
		ROW(row_df),
		ROW(row_dont_fragment),
		ROW(row_identification),
		ROW(row_reserved_flag),
		ROW(row_options),
		ROW(row_checksum),
		ROW(row_mtu),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
