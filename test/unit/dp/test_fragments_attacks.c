// SPDX-License-Identifier: BSD-3-Clause
// What strangers do with fragments beside flooding (test_fragments_bomb.c): fragments by a way that
// their source is not behind.
#include "bytes.h"
#include "datapath.h"
#include "drop_of.h"
#include "dp_world.h"

#define WAN 0
#define SIDE 1
#define SIDE_ID 100

static struct dp_world world;
static struct ip_long in;
static struct ip_pieces pieces;

static void with_fragments(struct dp_world *w)
{
	w->conf.fragments = (struct conf_fragments){.flows = 16,
		.per_source = 4,
		.longest = 9000,
		.buffers = 8,
		.timeout_ms = 1000,
		.rate = 10000};
}

// --- ways ----------------------------------------------------------------------------------------

static const struct world_setup vlans = {.workers = 1,
	.rx_queues = 1,
	.tx_queues = 1,
	.two_ports = true,
	.side_vlan = SIDE_ID,
	.change = with_fragments};

// A Binding request of a host to the listener of wan, in two fragments; both untagged.
static void cut_binding(const char *from, uint32_t id)
{
	const uint8_t tid[STUN_TID_LEN] = {1};
	const struct port *p = world.dp->port[WAN].port;
	uint8_t macs[12] = {[6] = 2, 9, 9, 9, 9, 9};
	struct stun_writer w;

	memset(&in, 0, offsetof(struct ip_long, data));
	in.src = world_endpoint(from, 5000);
	in.dst = world_endpoint("10.99.0.1", 3478);
	in.id = id;
	in.ttl = 60;
	stun_begin(&w, in.data, sizeof(in.data), STUN_REQUEST, STUN_BINDING, tid);
	in.len = stun_end(&w);
	memcpy(macs, p->mac, 6);
	ip_pieces_cut(&pieces, &in, macs, 36);
	assert_int_equal(pieces.n, 2);
}

static void put(const uint8_t *frame, size_t len)
{
	softport_put(world.dp->port[WAN].port, 0, frame, len);
	world_run(&world);
}

// Puts a frame on side's VLAN.
static void put_tagged(const uint8_t *frame, size_t len)
{
	uint8_t tagged[1600];

	memcpy(tagged, frame, 12);
	store_be16(tagged + 12, 0x8100);
	store_be16(tagged + 14, SIDE_ID);
	memcpy(tagged + 16, frame + 12, len - 12);
	put(tagged, len + 4);
}

static unsigned int answers(void)
{
	const unsigned int n = world.nb_seen;

	world.nb_seen = 0;
	return n;
}

static uint64_t dropped(enum net_drop reason)
{
	return world_dropped(&world, drop_of_net(reason));
}

// Either fragment comes by a VLAN that the source is not behind. Then the datagram does not come
// about, whichever comes last.
static void fragments_come_the_way_of_their_source(void **state)
{
	world_open(&world, &vlans);
	cut_binding("10.99.0.20", 1);
	put(pieces.frame[0], pieces.len[0]);
	put(pieces.frame[1], pieces.len[1]);
	assert_int_equal(answers(), 1);
	for (unsigned int first = 0; first < 2; first++) { // by the wrong way
		cut_binding("10.99.0.20", 2 + first);
		put_tagged(pieces.frame[first], pieces.len[first]);
		assert_int_equal(dropped(NET_DROP_NOT_FOR_US), first + 1);
		assert_int_equal(world_stats(&world).held, first);
		put(pieces.frame[1 - first], pieces.len[1 - first]);
		assert_int_equal(answers(), 0);
		assert_int_equal(world_stats(&world).held, first + 1);
	}
	// from behind side, to an address of wan, by wan: it is wan's, but not from there
	cut_binding("10.98.0.20", 9);
	put(pieces.frame[0], pieces.len[0]);
	assert_int_equal(dropped(NET_DROP_MARTIAN_SOURCE), 1);
	world_close(&world);
}

// Eight bytes by another way would be an overlap.
static void nobody_spoils_what_comes_by_another_way(void **state)
{
	uint8_t junk[1600];

	world_open(&world, &vlans);
	cut_binding("10.99.0.20", 1);
	memcpy(junk, pieces.frame[1], pieces.len[1]);
	memset(junk + pieces.len[1] - 8, 0x5a, 8);
	put_tagged(junk, pieces.len[1]);
	assert_int_equal(dropped(NET_DROP_NOT_FOR_US), 1);
	put(pieces.frame[0], pieces.len[0]);
	put_tagged(junk, pieces.len[1]);
	put(pieces.frame[1], pieces.len[1]);
	assert_int_equal(answers(), 1);
	assert_int_equal(dropped(NET_DROP_FRAGMENT_OVERLAP), 0);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fragments_come_the_way_of_their_source),
		cmocka_unit_test(nobody_spoils_what_comes_by_another_way),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
