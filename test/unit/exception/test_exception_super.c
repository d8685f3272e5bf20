// SPDX-License-Identifier: BSD-3-Clause
// TCP super-frames through the exception port: whole where the port takes them, cut where it does
// not, without loss and with every segment counted.
#include "datapath.h"
#include "drop_of.h"
#include "exception/exception.h"
#include "exception/exception_thread.h"
#include "exception_world.h"
#include "super/super.h"
#include "see/stats.h"
#include "path/worker.h"

// A TCP super-frame of n segments, in a chain of buffers of the port's pool.
static struct rte_mbuf *super(struct port *port, const struct packet *like, unsigned int n)
{
	static uint8_t whole[65536];
	struct packet p = *like;
	struct rte_mbuf *head, *last;
	size_t len, done = 1900;

	p.len = (uint16_t)(n * 1000 - 100);
	len = packet_make(&p, whole);
	head = last = softport_mbuf(port, whole, RTE_MIN(len, done));
	for (; done < len; done += 1900) {
		last->next = softport_mbuf(port, whole + done, RTE_MIN(len - done, (size_t)1900));
		last = last->next;
		head->nb_segs++;
	}
	head->pkt_len = (uint32_t)len;
	head->tso_segsz = 1000;
	head->ol_flags = RTE_MBUF_F_RX_LRO | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	return head;
}

// Asserts that m is a whole super-frame of n segments like p.
static void is_whole(struct rte_mbuf *m, const struct packet *p, unsigned int n)
{
	struct rte_mbuf *cut[64];
	struct packet one_of = *p;

	assert_non_null(m);
	assert_true((m->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0);
	assert_int_equal(port_super_cut(m, world.dp->pool, cut, 64), n);
	one_of.len = 1000;
	assert_int_equal(packet_make(&one_of, frame), cut[0]->pkt_len);
	assert_int_equal(load_be16(rte_pktmbuf_mtod(cut[0], uint8_t *) + 12),
		p->vlan != 0 ? 0x8100 : 0x0800);
	rte_pktmbuf_free_bulk(cut, n);
	rte_pktmbuf_free(m);
}

static void supers(const struct world_setup *s, const struct port_super *tso)
{
	struct packet p = packet_tcp(40000, 22, ACK);
	struct port *wan, *kernel;
	uint64_t rx, tx;
	uint8_t *l4;
	size_t len;

	exception_world_open(*s, EXCEPTION_ALLOWED);
	wan = world.dp->port[0].port;
	kernel = exception()->kernel;
	wan->rx_super = true;
	wan->tso = *tso;
	kernel->tso.segments = 256;
	p.vlan = s->vlan;
	rx = world_stats(&world).rx;
	tx = world_stats(&world).tx;
	softport_put_mbuf(wan, 0, super(wan, &p, 40));
	exception_world_run();
	p.vlan = 0;
	is_whole(softport_take_mbuf(kernel), &p, 40);
	assert_int_equal(exception_world_counters().to_kernel[EXC_TCP], 40);
	assert_int_equal(exception_world_counters().to_kernel_super_frames, 1);
	assert_int_equal(exception_world_counters().to_kernel_super_segments, 40);
	assert_int_equal(world_stats(&world).rx - rx, 40);
	// and back, in this order between two plain frames
	p = packet_back(p);
	len = packet_make(&(struct packet){.src = p.src,
				  .dst = p.dst,
				  .sport = 22,
				  .dport = 40000,
				  .proto = IPPROTO_TCP,
				  .flags = ACK,
				  .from_us = true},
		frame);
	softport_put(kernel, 0, frame, len);
	softport_put_mbuf(kernel, 0, super(kernel, &p, 30));
	softport_put(kernel, 0, frame, len);
	p.vlan = s->vlan;
	len += s->vlan != 0 ? NET_VLAN_LEN : 0;
	for (unsigned int i = 0; i < 20; i++) {
		struct worker *w = world.dp->worker[0];

		exception_thread_turn(exception(), exception_ns += 1000000);
		worker_round(w, world.dp->tsc_start + world.ms * world.dp->tsc_per_ms);
		stats_publish(w);
		world_balance(&world, 0);
	}
	assert_int_equal(exception_world_counters().from_kernel[EXC_TCP], 32);
	assert_int_equal(world_stats(&world).tx - tx, 32);
	assert_int_equal(softport_take(wan, got, sizeof(got)), len);
	if (tso->segments >= 30 && tso->size_min <= 1000) {
		is_whole(softport_take_mbuf(wan), &p, 30);
		assert_int_equal(exception_world_counters().from_kernel_super_segments, 30);
		assert_int_equal(exception_world_counters().from_kernel_cut, 0);
	} else {
		for (unsigned int i = 0; i < 30; i++) {
			assert_true(softport_take(wan, got, sizeof(got)) > 0);
			l4 = got + packet_headers(&p) - 20;
			assert_int_equal(load_be32(l4 + 4), 1000 + 1000 * i);
		}
		assert_int_equal(exception_world_counters().from_kernel_cut, 1);
	}
	assert_int_equal(softport_take(wan, got, sizeof(got)), len);
	assert_int_equal(world_drops(&world), 0);
	exception_world_close();
}

static void test_super(void **state)
{
	static const struct port_super whole = {.segments = 64, .bufs = 64, .bytes = 65535},
				       fewer = {.segments = 29, .bufs = 64, .bytes = 65535},
				       larger = {.segments = 64,
					       .bufs = 64,
					       .bytes = 65535,
					       .size_min = 1001},
				       none = {0};

	supers(&exception_one, &whole);
	supers(&exception_tagged, &whole);
	supers(&exception_one, &fewer);
	supers(&exception_tagged, &fewer);
	supers(&exception_one, &larger);
	supers(&exception_one, &none);
}

// An interface without super-frames gets the segments, in order.
static void test_super_cut(void **state)
{
	struct packet p = packet_tcp(40000, 22, ACK);
	struct port *wan;

	exception_world_open(exception_tagged, EXCEPTION_ALLOWED);
	wan = world.dp->port[0].port;
	wan->rx_super = true;
	p.vlan = exception_tagged.vlan;
	softport_put_mbuf(wan, 0, super(wan, &p, 40));
	exception_world_run();
	p.vlan = 0;
	for (unsigned int i = 0; i < 40; i++) {
		assert_int_equal(softport_take(exception()->kernel, got, sizeof(got)),
			packet_headers(&p) + (i < 39 ? 1000 : 900));
		assert_int_equal(load_be32(got + packet_headers(&p) - 16), 1000 + 1000 * i);
		assert_int_equal(load_be16(got + 12), 0x0800);
	}
	assert_int_equal(exception_world_counters().to_kernel_lost, 0);
	// an interface that is full
	p.vlan = exception_tagged.vlan;
	softport_limit(exception()->kernel, 15);
	softport_put_mbuf(wan, 0, super(wan, &p, 40));
	exception_world_run();
	assert_int_equal(exception_world_counters().to_kernel_lost, 25);
	assert_int_equal(world_drops(&world), 0);
	exception_world_close();
}

// For no receiver, with a wrong checksum, or inconsistent: all segments are dropped and counted.
static void test_super_dropped(void **state)
{
	struct packet p = packet_tcp(40000, 22, ACK);
	struct rte_mbuf *m;
	struct port *wan;

	exception_world_open(exception_one, EXCEPTION_ALLOWED);
	wan = world.dp->port[0].port;
	wan->rx_super = true;
	p.dport = 23;
	softport_put_mbuf(wan, 0, super(wan, &p, 40));
	exception_world_run();
	assert_int_equal(world_dropped(&world, DP_DROP_EXC_DENIED), 40);
	p = packet_tcp(40000, 22, ACK);
	m = super(wan, &p, 40);
	m->ol_flags &= ~RTE_MBUF_F_RX_L4_CKSUM_MASK;
	softport_put_mbuf(wan, 0, m);
	exception_world_run();
	assert_int_equal(world_dropped(&world, drop_of_net(NET_DROP_UDP_CHECKSUM)), 40);
	p.src = "10.99.0.255";
	softport_put_mbuf(wan, 0, super(wan, &p, 40));
	exception_world_run();
	assert_int_equal(world_dropped(&world, drop_of_net(NET_DROP_MARTIAN_SOURCE)), 40);
	// from the kernel
	p = packet_back(packet_tcp(40000, 23, ACK));
	softport_put_mbuf(exception()->kernel, 0, super(exception()->kernel, &p, 40));
	exception_world_run();
	assert_int_equal(world_dropped(&world, DP_DROP_EXC_FOREIGN), 40);
	p = packet_back(packet_tcp(40000, 22, ACK));
	m = super(exception()->kernel, &p, 40);
	m->tso_segsz = 0;
	softport_put_mbuf(exception()->kernel, 0, m);
	exception_world_run();
	assert_int_equal(world_dropped(&world, DP_DROP_SUPER), 1);
	assert_int_equal(world_drops(&world), 161);
	assert_int_equal(softport_take(exception()->kernel, got, sizeof(got)), 0);
	exception_world_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_super),
		cmocka_unit_test(test_super_cut),
		cmocka_unit_test(test_super_dropped),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
