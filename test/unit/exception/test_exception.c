// SPDX-License-Identifier: BSD-3-Clause
// The exception port of a whole data path: packets that reach the kernel, packets of the kernel
// that reach the wire, byte by byte; packets that do not, by their counters; limits.
#include "datapath.h"
#include "drop_of.h"
#include "exception/exception.h"
#include "exception/exception_thread.h"
#include "exception_world.h"
#include "see/stats.h"
#include "path/worker.h"

// --- destinations -------------------------------------------------------------------------------

static void tcp_both_ways(const struct world_setup *s, bool v6)
{
	struct packet p = packet_tcp(40000, 22, SYN);

	exception_world_open(*s, EXCEPTION_ALLOWED);
	world_run(&world);
	if (v6) {
		p.src = "fd99::77";
		p.dst = "fd99::1";
	}
	p.vlan = s->vlan;
	packet_up(p, true);
	p.flags = ACK;
	p.len = 1400;
	packet_up(p, true);
	p.vlan = 0;
	packet_down(packet_back(p), true);
	assert_int_equal(world_drops(&world), 0);
	assert_int_equal(exception_world_counters().to_kernel[EXC_TCP], 2);
	assert_int_equal(exception_world_counters().from_kernel[EXC_TCP], 1);
	// a port that is not allowed
	p = packet_tcp(40000, 23, SYN);
	p.vlan = s->vlan;
	packet_up(p, false);
	assert_int_equal(world_dropped(&world, DP_DROP_EXC_DENIED), 1);
	assert_int_equal(exception_world_counters().to_kernel_denied, 1);
	p.vlan = 0;
	packet_down(packet_back(p), false);
	assert_int_equal(world_dropped(&world, DP_DROP_EXC_FOREIGN), 1);
	assert_int_equal(exception_world_counters().from_kernel_foreign, 1);
	assert_int_equal(world_drops(&world), 2);
	exception_world_close();
}

static void test_tcp(void **state)
{
	tcp_both_ways(&exception_one, false);
	tcp_both_ways(&exception_one, true);
	tcp_both_ways(&exception_tagged, false);
	tcp_both_ways(&exception_tagged, true);
	tcp_both_ways(&exception_few, false);
}

// Answers of other hosts' servers come in, connections from their ports do not.
static void test_client(void **state)
{
	exception_world_open(exception_one, EXCEPTION_ALLOWED);
	packet_down(packet_back(packet_tcp(179, 40000, 0)), true);
	packet_up(packet_tcp(179, 40000, SYN | ACK), true);
	packet_up(packet_tcp(179, 40000, SYN), false);
	assert_int_equal(world_dropped(&world, DP_DROP_EXC_DENIED), 1);
	exception_world_close();
}

static void test_off(void **state)
{
	const struct packet p = packet_tcp(40000, 22, SYN);

	world_open(&world, &exception_one);
	world_inject(&world, 0, frame, packet_make(&p, frame));
	world_run(&world);
	assert_int_equal(world_dropped(&world, drop_of_net(NET_DROP_PROTOCOL)), 1);
	assert_int_equal(world_drops(&world), 1);
	world_close(&world);
}

static void test_addresses(void **state)
{
	struct packet p = packet_tcp(40000, 22, SYN);

	exception_world_open(exception_one, EXCEPTION_ALLOWED);
	p.dst = "10.99.0.2"; // not our address
	packet_up(p, false);
	assert_int_equal(world_dropped(&world, drop_of_net(NET_DROP_NOT_FOR_US)), 1);
	p.dst = "10.99.0.255";
	packet_up(p, false);
	assert_int_equal(world_dropped(&world, drop_of_net(NET_DROP_MARTIAN_DESTINATION)), 1);
	p = packet_tcp(40000, 22, SYN);
	p.src = "10.99.0.255";
	packet_up(p, false);
	assert_int_equal(world_dropped(&world, drop_of_net(NET_DROP_MARTIAN_SOURCE)), 1);
	assert_int_equal(world_drops(&world), 3);
	exception_world_close();
}

// Packets that the data path itself receives never go to the kernel, whatever is allowed.
static void test_udp(void **state)
{
	struct packet p = packet_tcp(40000, 161, 0);

	exception_world_open(exception_one, EXCEPTION_ALLOWED);
	p.proto = IPPROTO_UDP;
	packet_up(p, true);
	packet_down(packet_back(p), true);
	p.sport = 53;
	p.dport = 33333;
	packet_up(p, true);
	packet_down(packet_back(p), true);
	assert_int_equal(exception_world_counters().to_kernel[EXC_UDP], 2);
	assert_int_equal(exception_world_counters().from_kernel[EXC_UDP], 2);
	assert_int_equal(world_drops(&world), 0);
	p = packet_tcp(40000, 162, 0);
	p.proto = IPPROTO_UDP;
	packet_up(p, false);
	assert_int_equal(world_dropped(&world, DP_DROP_NO_LISTENER), 1);
	p.dport = 50000; // a relay port
	packet_up(p, false);
	assert_int_equal(world_dropped(&world, drop_of_turn(TURN_DROP_PEER_NO_ALLOCATION)), 1);
	packet_down(packet_back(p), false);
	p.dport = 3478; // a listener's
	packet_up(p, false);
	packet_down(packet_back(p), false);
	assert_int_equal(world_dropped(&world, DP_DROP_EXC_FOREIGN), 2);
	exception_world_close();
}

// The kernel may send allowed packets, and nothing else.
static void test_foreign(void **state)
{
	const struct packet good = packet_back(packet_tcp(40000, 22, ACK));
	static const char *const not_ours[] = {
		"10.99.0.2", "10.98.0.1", "10.99.0.255", "127.0.0.1"};
	struct packet p = good;
	uint64_t foreign = 0;
	size_t len;

	exception_world_open(exception_one, EXCEPTION_ALLOWED);
	for (size_t i = 0; i < RTE_DIM(not_ours); i++, foreign++) {
		p.src = not_ours[i];
		packet_down(p, false);
	}
	// another MAC, our MAC with the group bit, a frame to ourselves
	len = packet_make(&good, frame);
	frame[11] ^= 1;
	assert_int_equal(exception_world_down(frame, len), 0);
	foreign++;
	packet_make(&good, frame);
	memcpy(frame, frame + 6, 6);
	assert_int_equal(exception_world_down(frame, len), 0);
	foreign++;
	// to a group, truncated, another protocol, on another VLAN, a fragment
	p = good;
	p.dst = "224.0.0.5";
	packet_down(p, false);
	foreign++;
	packet_make(&good, frame);
	assert_int_equal(exception_world_down(frame, 40), 0);
	foreign++;
	for (unsigned int i = 0; i < 3; i++, foreign++) {
		packet_make(&good, frame);
		if (i == 0)
			frame[23] = 89;
		else if (i == 1)
			store_be16(frame + 12, 0x88cc); // LLDP
		else
			store_be16(frame + 20, 0x2000);
		store_be16(frame + 24, 0);
		store_be16(frame + 24, (uint16_t)~csum_fold(csum_add(0, frame + 14, 20)));
		assert_int_equal(exception_world_down(frame, len), 0);
	}
	p = good;
	p.vlan = 5;
	assert_int_equal(exception_world_down(frame, packet_make(&p, frame)), 0);
	foreign++;
	// a frame with a priority tag, which belongs to no VLAN
	len = packet_make(&p, frame);
	store_be16(frame + 14, 0xe000);
	assert_int_equal(exception_world_down(frame, len), 0);
	foreign++;
	assert_int_equal(world_dropped(&world, DP_DROP_EXC_FOREIGN), foreign);
	// an interface with an MTU that somebody has raised
	p = good;
	p.len = 1461;
	packet_down(p, false);
	assert_int_equal(world_dropped(&world, DP_DROP_MTU), 1);
	assert_int_equal(world_drops(&world), foreign + 1);
	exception_world_close();
}

// --- neighbours and pings -----------------------------------------------------------------------

static void neighbours(bool v6)
{
	const struct addr theirs = world_endpoint(v6 ? "fd99::77" : "10.99.0.77", 0).addr,
			  ours = world_endpoint(v6 ? "fd99::1" : "10.99.0.1", 0).addr,
			  third_host = world_endpoint(v6 ? "fd99::5" : "10.99.0.5", 0).addr;
	struct net_l2 from_us = {0}, from_them = {0};
	const unsigned int class = v6 ? EXC_ND : EXC_ARP;
	size_t len;

	exception_world_open(exception_one, 0);
	memcpy(from_us.src, world.dp->port[0].port->mac, 6);
	memcpy(from_us.dst, their_mac, 6);
	memcpy(from_them.src, from_us.dst, 6);
	memcpy(from_them.dst, from_us.src, 6);
	// the kernel's request leaves, and the answer reaches both
	len = net_write_ask(frame, &from_us, &ours, &theirs, NULL);
	assert_int_equal(exception_world_down(frame, len), len);
	assert_memory_equal(got, frame, len);
	len = net_write_answer(frame, &from_them, &theirs, &ours);
	world_inject(&world, 0, frame, len);
	exception_world_run();
	assert_int_equal(softport_take(exception()->kernel, got, sizeof(got)), len);
	assert_memory_equal(got, frame, len);
	// another host's request is answered once, by the data path, and passed to the kernel
	len = net_write_ask(frame, &from_them, &theirs, &ours, NULL);
	world_inject(&world, 0, frame, len);
	exception_world_run();
	assert_int_equal(world.answers, 1);
	assert_int_equal(softport_take(exception()->kernel, got, sizeof(got)), len);
	len = net_write_answer(frame, &from_us, &ours, &theirs);
	assert_int_equal(exception_world_down(frame, len), 0);
	assert_int_equal(exception_world_counters().from_kernel_answered, 1);
	// a request about other hosts reaches neither; nor may the kernel ask in another host's
	// name
	len = net_write_ask(frame, &from_them, &theirs, &third_host, NULL);
	world_inject(&world, 0, frame, len);
	exception_world_run();
	assert_int_equal(softport_take(exception()->kernel, got, sizeof(got)), 0);
	len = net_write_ask(frame, &from_us, &third_host, &theirs, NULL);
	assert_int_equal(exception_world_down(frame, len), 0);
	assert_int_equal(world_dropped(&world, DP_DROP_EXC_FOREIGN), 1);
	assert_int_equal(exception_world_counters().to_kernel[class], 2);
	assert_int_equal(exception_world_counters().from_kernel[class], 1);
	exception_world_close();
}

static void test_neighbours(void **state)
{
	neighbours(false);
	neighbours(true);
}

static size_t ping(uint8_t type, bool from_us)
{
	struct packet p = packet_tcp(0x0800, 1, 0);
	uint8_t *icmp = frame + 34;
	size_t len;

	p.proto = IPPROTO_UDP;
	p = from_us ? packet_back(p) : p;
	len = packet_make(&p, frame);
	frame[23] = IPPROTO_ICMP;
	store_be16(frame + 24, 0);
	store_be16(frame + 24, (uint16_t)~csum_fold(csum_add(0, frame + 14, 20)));
	memset(icmp, 0, 8);
	icmp[0] = type;
	store_be16(icmp + 2, (uint16_t)~csum_fold(csum_add(0, icmp, len - 34)));
	return len;
}

static void test_pings(void **state)
{
	static const struct conf_service icmp = {IPPROTO_ICMP, false, 0};

	exception_world_open(exception_one, 0);
	world_inject(&world, 0, frame, ping(8, false));
	exception_world_run();
	assert_int_equal(world.echoes, 1);
	assert_int_equal(softport_take(exception()->kernel, got, sizeof(got)), 0);
	assert_int_equal(exception_world_down(frame, ping(8, true)), 0);
	exception_world_close();
	exception_world_open(exception_one, 0);
	exception_rules_free(&exception()->rules);
	exception()->rules.ping = icmp.proto == IPPROTO_ICMP;
	world_inject(&world, 0, frame, ping(8, false));
	exception_world_run();
	assert_int_equal(world.echoes, 0);
	assert_int_equal(softport_take(exception()->kernel, got, sizeof(got)), ping(8, false));
	assert_memory_equal(got, frame, ping(8, false));
	assert_int_equal(exception_world_down(frame, ping(0, true)), ping(0, true));
	assert_memory_equal(got, frame, ping(0, true));
	assert_int_equal(exception_world_counters().to_kernel[EXC_ICMP], 1);
	assert_int_equal(exception_world_counters().from_kernel[EXC_ICMP], 1);
	exception_world_close();
}

// An error about a datagram from our port `ours` to port `theirs`.
static size_t unreachable(uint16_t ours, uint16_t theirs)
{
	uint8_t *icmp = frame + 34, *ip = icmp + 8;

	ping(3, false);
	frame[17] = 20 + 8 + 28;
	store_be16(frame + 24, 0);
	store_be16(frame + 24, (uint16_t)~csum_fold(csum_add(0, frame + 14, 20)));
	memset(ip, 0, 28);
	ip[0] = 0x45;
	store_be16(ip + 2, 28);
	ip[9] = IPPROTO_UDP;
	memcpy(ip + 12, frame + 30, 4);
	store_be16(ip + 20, ours);
	store_be16(ip + 22, theirs);
	store_be16(ip + 24, 8);
	store_be16(icmp + 2, 0);
	store_be16(icmp + 2, (uint16_t)~csum_fold(csum_add(0, icmp, 36)));
	return 34 + 36;
}

// To the kernel if the kernel sent the datagram, not if it was relayed.
static void test_errors(void **state)
{
	exception_world_open(exception_one, EXCEPTION_ALLOWED);
	world_inject(&world, 0, frame, unreachable(33333, 53));
	exception_world_run();
	assert_int_equal(
		softport_take(exception()->kernel, got, sizeof(got)), unreachable(33333, 53));
	assert_memory_equal(got, frame, 70);
	world_inject(&world, 0, frame, unreachable(50000, 53));
	exception_world_run();
	world_inject(&world, 0, frame, unreachable(3478, 53));
	exception_world_run();
	assert_int_equal(softport_take(exception()->kernel, got, sizeof(got)), 0);
	assert_int_equal(world_dropped(&world, drop_of_turn(TURN_DROP_ICMP_NO_ALLOCATION)), 2);
	exception_world_close();
}

// An ICMPv6 error of a neighbour to the port's link-local address, which is not in the
// configuration, about a UDP datagram from there. It stopped the server once.
static size_t unreachable_link_local(uint16_t ours, uint16_t theirs)
{
	const struct packet p = {
		.src = "fd99::77", .dst = "fd99::1", .proto = IPPROTO_UDP, .len = 40 + 8};
	const struct addr *local = &world.dp->port[0].link_local;
	const struct addr neighbor = world_endpoint(p.src, 0).addr;
	const size_t len = packet_make(&p, frame);
	uint8_t *ip = frame + 14, *icmp = ip + 40, *about = icmp + 8;
	uint32_t sum;

	ip[6] = IPPROTO_ICMPV6;
	memcpy(ip + 24, local->b, 16);
	memset(icmp, 0, len - 54);
	icmp[0] = 1;
	icmp[1] = 4; // port unreachable
	memcpy(about, ip, 8);
	about[6] = IPPROTO_UDP;
	store_be16(about + 4, 8);
	memcpy(about + 8, local->b, 16);
	memcpy(about + 24, neighbor.b, 16);
	store_be16(about + 40, ours);
	store_be16(about + 42, theirs);
	sum = csum_addrs(&neighbor, local) + IPPROTO_ICMPV6 + (uint32_t)(len - 54);
	store_be16(icmp + 2, (uint16_t)~csum_fold(csum_add(sum, icmp, len - 54)));
	return len;
}

static void test_error_to_link_local(void **state)
{
	static const struct {
		uint16_t ours, theirs;
	} about[] = {{161, 40000}, {33333, 53}, {50000, 40000}, {3478, 40000}};
	size_t len;

	exception_world_open(exception_one, EXCEPTION_ALLOWED);
	for (size_t i = 0; i < RTE_DIM(about); i++) {
		len = unreachable_link_local(about[i].ours, about[i].theirs);
		world_inject(&world, 0, frame, len);
		exception_world_run();
		assert_int_equal(softport_take(exception()->kernel, got, sizeof(got)), len);
		assert_memory_equal(got, frame, len);
	}
	assert_int_equal(exception_world_counters().to_kernel[EXC_ICMP], RTE_DIM(about));
	// a port that no rule allows
	world_inject(&world, 0, frame, unreachable_link_local(33333, 40001));
	exception_world_run();
	assert_int_equal(softport_take(exception()->kernel, got, sizeof(got)), 0);
	assert_int_equal(world_dropped(&world, DP_DROP_ICMP_QUOTE), 1);
	assert_int_equal(world_drops(&world), 1);
	exception_world_close();
}

// --- limits -------------------------------------------------------------------------------------

// A flood for a kernel that takes nothing: up to a limit packets wait, the rest is dropped; ARP
// gets through.
static void test_flood(void **state)
{
	const struct packet p = packet_tcp(40000, 22, SYN);
	const struct addr theirs = world_endpoint("10.99.0.77", 0).addr,
			  ours = world_endpoint("10.99.0.1", 0).addr;
	struct net_l2 l2 = {0};
	uint64_t full;
	size_t len;

	exception_world_open(exception_one, EXCEPTION_ALLOWED);
	len = packet_make(&p, frame);
	for (unsigned int i = 0; i < 1000; i++)
		world_inject(&world, 0, frame, len);
	world_run(&world);
	assert_int_equal(
		exception_world_counters().to_kernel[EXC_TCP], exception_entry.buffers * 3 / 4);
	assert_int_equal(
		world_dropped(&world, DP_DROP_EXC_RATE), 1000 - exception_entry.buffers * 3 / 4);
	assert_int_equal(
		exception_world_counters().to_kernel_rate, world_dropped(&world, DP_DROP_EXC_RATE));
	memcpy(l2.src, their_mac, 6);
	memcpy(l2.dst, world.dp->port[0].port->mac, 6);
	len = net_write_answer(frame, &l2, &theirs, &ours);
	for (unsigned int i = 0; i < 100; i++)
		world_inject(&world, 0, frame, len);
	full = world_dropped(&world, DP_DROP_EXC_RATE);
	world_run(&world);
	assert_int_equal(
		exception_world_counters().to_kernel[EXC_ARP], exception_entry.buffers / 4);
	assert_int_equal(
		world_dropped(&world, DP_DROP_EXC_RATE) - full, 100 - exception_entry.buffers / 4);
	// once the kernel takes packets there is room again
	exception_world_run();
	for (unsigned int i = 0; i < exception_entry.buffers; i++)
		assert_true(softport_take(exception()->kernel, got, sizeof(got)) > 0);
	packet_up(p, true);
	exception_world_close();
}

// Each direction is limited to the rate, and packets for the wire wait where the kernel sees them.
static void test_rate(void **state)
{
	const struct packet in = packet_tcp(40000, 22, ACK), out = packet_back(in);
	unsigned int taken = 0;
	size_t len;

	exception_world_open(exception_one, EXCEPTION_ALLOWED);
	len = packet_make(&in, frame);
	exception()->limit = (struct limit){1000, 64};
	exception()->to_meter = exception()->from_meter = (struct bucket){0};
	for (unsigned int ms = 0; ms < 100; ms++) {
		for (unsigned int i = 0; i < 10; i++) {
			packet_make(&in, frame);
			world_inject(&world, 0, frame, len);
			packet_make(&out, frame);
			softport_put(exception()->kernel, 0, frame, len);
		}
		world_round(&world);
		exception_ns += 1000000;
		while (exception_thread_turn(exception(), exception_ns) > 0)
			;
		while (softport_take(exception()->kernel, got, sizeof(got)) > 0)
			taken++;
	}
	world_run(&world);
	assert_in_range(taken, 160, 165); // the burst of 64, and one a millisecond
	assert_in_range(world.segments, 160, 165);
	assert_int_equal(exception_world_counters().from_kernel[EXC_TCP], world.segments);
	exception_world_close();
}

// A round sends no more of the kernel's packets than its budget, however many there are.
static void test_budget(void **state)
{
	const struct packet p = packet_back(packet_tcp(40000, 22, ACK));
	struct worker *w;
	size_t len;

	exception_world_open(exception_one, EXCEPTION_ALLOWED);
	len = packet_make(&p, frame);
	for (unsigned int i = 0; i < 1000; i++)
		softport_put(exception()->kernel, 0, frame, len);
	while (exception_thread_turn(exception(), exception_ns += 100000000) > 0)
		;
	assert_int_equal(exception()->queued - exception()->taken, exception_entry.buffers);
	w = world.dp->worker[0];
	worker_round(w, world.dp->tsc_start + world.ms * world.dp->tsc_per_ms);
	stats_publish(w);
	assert_int_equal(exception_world_counters().from_kernel[EXC_TCP], EXCEPTION_TAKE);
	exception_world_close(); // with all packets that still wait
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tcp),
		cmocka_unit_test(test_client),
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_udp),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_neighbours),
		cmocka_unit_test(test_pings),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_error_to_link_local),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_budget),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
