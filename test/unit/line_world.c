// SPDX-License-Identifier: BSD-3-Clause
#include "line_world.h"

#include "bytes.h"

struct world world;
struct world_client client[LINE_CLIENTS];
struct endpoint peer[LINE_CLIENTS];

const struct world_setup line_one = {.workers = 1, .rx_queues = 1, .tx_queues = 1};

// --- checksums, slowly --------------------------------------------------------------------------

static uint16_t slow_sum(uint32_t sum, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		sum += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return (uint16_t)sum;
}

uint8_t *frame_udp(uint8_t *frame)
{
	return frame + NET_ETH_LEN + (frame[14] >> 4 == 4 ? NET_IP4_LEN : NET_IP6_LEN);
}

// As a sender computes it, from nothing (RFC 768, RFC 8200 8.1).
uint16_t frame_udp_checksum(uint8_t *frame)
{
	const bool is_v4 = frame[14] >> 4 == 4;
	uint8_t *udp = frame_udp(frame);
	const uint16_t len = load_be16(udp + 4), was = load_be16(udp + 6);
	const unsigned int addrs = is_v4 ? 8 : 32;
	uint16_t sum;

	store_be16(udp + 6, 0);
	sum = (uint16_t)~slow_sum(17u + len, udp - addrs, addrs + len);
	store_be16(udp + 6, was);
	return sum != 0 ? sum : 0xffff;
}

// RFC 791. Zero is an ordinary value of it.
uint16_t frame_ip_checksum(uint8_t *frame)
{
	const uint16_t was = load_be16(frame + 24);
	uint16_t sum;

	store_be16(frame + 24, 0);
	sum = (uint16_t)~slow_sum(0, frame + 14, NET_IP4_LEN);
	store_be16(frame + 24, was);
	return sum;
}

void frame_set_checksums(uint8_t *frame)
{
	if (frame[14] >> 4 == 4)
		store_be16(frame + 24, frame_ip_checksum(frame));
	store_be16(frame_udp(frame) + 6, frame_udp_checksum(frame));
}

// --- the world ----------------------------------------------------------------------------------

// Every pair of families, on-link and behind the gateway, and a client on the second port.
static const struct {
	const char *client, *peer;
} cast[LINE_CLIENTS] = {
	{"10.99.0.20", "10.99.0.30"},
	{"fd99::20", "fd99::30"},
	{"198.51.100.5", "fd99::31"},
	{"2a00:db9::5", "198.51.100.9"},
	{"10.98.0.20", "10.99.0.31"},
};

struct world_datagram line_up(unsigned int i)
{
	return (struct world_datagram){.src = client[i].at, .dst = client[i].server};
}

struct world_datagram line_down(unsigned int i)
{
	return (struct world_datagram){.src = peer[i], .dst = client[i].relay};
}

// ChannelData of len bytes of data.
void line_data(struct world_datagram *d, uint16_t len)
{
	test_rand_fill(&world.rand, d->data, (size_t)len + CHANNEL_HEADER_LEN);
	store_be16(d->data, LINE_CHANNEL);
	store_be16(d->data + 2, len);
	d->len = (uint16_t)(len + CHANNEL_HEADER_LEN);
}

// Makes sure that the ways to the hosts are known, and noted in the lines.
void line_settle(unsigned int i)
{
	struct world_datagram d, got;

	for (unsigned int n = 0; n < 2; n++) {
		d = line_up(i);
		line_data(&d, 8);
		world_send(&world, &d);
		d = line_down(i);
		d.len = 8;
		world_send(&world, &d);
		world_run(&world);
		assert_true(world_take(&world, &peer[i], &got));
		assert_true(world_take(&world, &client[i].at, &got));
	}
	assert_int_equal(world.nb_seen, 0);
}

void line_open(const struct world_setup *s, unsigned int nb)
{
	world_open(&world, s);
	for (unsigned int i = 0; i < nb; i++) {
		struct world_client *c = &client[i];

		world_client(&world, c, cast[i].client, (uint16_t)(40000 + i));
		if (i == 4)
			c->server = world.listeners[2].at;
		peer[i] = world_endpoint(cast[i].peer, (uint16_t)(7000 + i));
		assert_int_equal(client_allocate(&world, c, addr_is_v4(&peer[i].addr) ? 4 : 6), 0);
		assert_int_equal(client_bind(&world, c, LINE_CHANNEL, &peer[i]), 0);
		line_settle(i);
	}
}

void line_dropped(const struct world_datagram *d, unsigned int reason)
{
	const struct dp_stats before = world_stats(&world);
	struct dp_stats after;

	for (unsigned int n = 0; n < 4; n++) // by any queue
		world_send(&world, d);
	world_run(&world);
	after = world_stats(&world);
	if (after.drop[reason] != before.drop[reason] + 4)
		world_drops(&world);
	assert_int_equal(after.drop[reason], before.drop[reason] + 4);
	assert_int_equal(after.tx, before.tx);
	assert_int_equal(world.nb_seen, 0);
}
