// SPDX-License-Identifier: BSD-3-Clause
// The program that chooses the queue of a frame, for a TAP and for a group of packet sockets, run
// by the kernel on frames of the test. Expected results come from Microsoft's verification vectors
// of RSS, and from DPDK's Toeplitz hash.
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <rte_thash.h>

#include "addr_text.h"
#include "bytes.h"
#include "net.h"
#include "port.h"
#include "test.h"
#include "test_rand.h"
#include "bpf/bpf_sys.h"
#include "steer/steer_program.h"
#include "steer/steer_table.h"

#define BEFORE 14 // the kernel strips an Ethernet header from its input

static const uint8_t key[STEER_KEY] = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
	0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77,
	0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

static struct steer_table *table;
static int programs[] = {[STEER_AT_ETHERNET] = -1, [STEER_AT_IP] = -1}; // they share the table
static enum steer_begins begins; // the program under test
static uint8_t given[BEFORE + 256], *const frame = given + BEFORE;
static struct test_rand rand_;

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

// Loads a program; prints the kernel's verifier log on an error.
static int load(enum steer_begins layer, int map)
{
	struct bpf_insn insns[STEER_INSNS_MAX];
	static char log[1 << 20];
	union bpf_attr load = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insns = (uintptr_t)insns,
		.insn_cnt = steer_program_make(insns, map, layer),
		.license = (uintptr_t) "BSD",
		.log_buf = (uintptr_t)log,
		.log_size = sizeof(log),
		.log_level = 1};

	programs[layer] = bpf(BPF_PROG_LOAD, &load);
	if (programs[layer] < 0)
		print_error("%s\n", log);
	return programs[layer] < 0;
}

static int group_open(void **state)
{
	void *memory;
	const int map = bpf_sys_share(sizeof(*table), &memory);
	int rc;

	rand_ = test_rand_start("port_steer");
	if (map < 0)
		return 0; // not root, or qemu-user: the tests skip themselves
	table = memory;
	rc = load(STEER_AT_ETHERNET, map) | load(STEER_AT_IP, map);
	close(map);
	return rc;
}

static int group_close(void **state)
{
	if (table != NULL)
		munmap(table, sizeof(*table));
	for (unsigned int i = 0; i < 2; i++)
		if (programs[i] >= 0)
			close(programs[i]);
	return 0;
}

// Opens a table where the lowest bits of the hash are the queue.
static int open_table(enum steer_begins layer)
{
	begins = layer;
	if (table == NULL)
		return 0;
	steer_table_init(table, key, 1);
	for (unsigned int i = 0; i < STEER_RETA; i++)
		table->reta[i] = (uint8_t)i;
	return 0;
}

static int at_ethernet(void **state)
{
	return open_table(STEER_AT_ETHERNET);
}

static int at_ip(void **state)
{
	return open_table(STEER_AT_IP);
}

static void need_program(void)
{
	if (table == NULL)
		skip();
}

// The program's result for the first len bytes of the frame.
static uint32_t queue_of(uint32_t len)
{
	const uint32_t off = begins == STEER_AT_IP ? BEFORE : 0;
	union bpf_attr run = {.test = {.prog_fd = (uint32_t)programs[begins],
				      .data_in = (uintptr_t)(given + off),
				      .data_size_in = BEFORE + len - off}};

	store_be16(given + 12, 0x88b5); // so that the kernel ignores the content
	assert_int_equal(bpf(BPF_PROG_TEST_RUN, &run), 0);
	return run.test.retval;
}

// Writes a frame of UDP, and returns its length.
static uint32_t make(const struct endpoint *src, const struct endpoint *dst)
{
	const struct net_l2 l2 = {.dst = {2, 1}, .src = {2, 2}};
	const struct net_ip ip = {.ttl = 64};
	uint8_t *payload = frame + net_headers_len(addr_is_v4(&src->addr), 0);

	net_write_udp(payload, 8, &l2, src, dst, &ip, 0);
	return (uint32_t)(payload - frame) + 8;
}

static struct endpoint end(const char *address, uint16_t port)
{
	return (struct endpoint){addr_text(address), port};
}

static void hashes(struct endpoint src, struct endpoint dst, uint32_t with_ports, uint32_t without)
{
	const bool v4 = addr_is_v4(&src.addr);
	const uint32_t len = make(&src, &dst);

	assert_int_equal(queue_of(len), with_ports % STEER_RETA);
	if (v4)
		store_be16(frame + 20, 0x2000); // the first fragment of several
	else
		frame[20] = 44; // a fragment header
	assert_int_equal(queue_of(len), without % STEER_RETA);
	if (!v4)
		return;
	store_be16(frame + 20, 185); // another extension header
	store_be32(frame + 34, 0x12345678); // any bytes where the first fragment has its ports
	assert_int_equal(queue_of(len), without % STEER_RETA);
}

// "Verifying the RSS hash calculation" of Microsoft's documentation.
static void test_vectors(void **state)
{
	need_program();
	hashes(end("66.9.149.187", 2794), end("161.142.100.80", 1766), 0x51ccc178, 0x323e8fc2);
	hashes(end("199.92.111.2", 14230), end("65.69.140.83", 4739), 0xc626b0ea, 0xd718262a);
	hashes(end("24.19.198.95", 12898), end("12.22.207.184", 38024), 0x5c2b394a, 0xd2d0a5de);
	hashes(end("38.27.205.30", 48228), end("209.142.163.6", 2217), 0xafc7327f, 0x82989176);
	hashes(end("153.39.163.191", 44251), end("202.188.127.2", 1303), 0x10e828a2, 0x5d1809c5);
	hashes(end("3ffe:2501:200:1fff::7", 2794), end("3ffe:2501:200:3::1", 1766), 0x40207d3d,
		0x2cc18cd5);
	hashes(end("3ffe:501:8::260:97ff:fe40:efab", 14230), end("ff02::1", 4739), 0xdde51bbf,
		0x0f0c461c);
	hashes(end("3ffe:1900:4545:3:200:f8ff:fe21:67cf", 44251),
		end("fe80::200:f8ff:fe21:67cf", 38024), 0x02d1feef, 0x4b61e985);
}

static struct endpoint any(bool v4)
{
	struct endpoint e = {.port = (uint16_t)test_rand_below(&rand_, 65536)};
	uint8_t b[16];

	test_rand_fill(&rand_, b, sizeof(b));
	b[0] |= 1; // not a free place of the table
	e.addr = v4 ? addr_from_v4(b) : addr_from_v6(b);
	return e;
}

static uint32_t softrss(const struct endpoint *src, const struct endpoint *dst)
{
	const bool v4 = addr_is_v4(&src->addr);
	uint32_t tuple[9], n = 0;

	for (unsigned int k = v4 ? 3 : 0; k < 4; k++)
		tuple[n++] = load_be32(&src->addr.w[k]);
	for (unsigned int k = v4 ? 3 : 0; k < 4; k++)
		tuple[n++] = load_be32(&dst->addr.w[k]);
	tuple[n++] = (uint32_t)src->port << 16 | dst->port;
	return rte_softrss(tuple, n, key);
}

static void test_random(void **state)
{
	need_program();
	for (unsigned int i = 0; i < 2000; i++) {
		const struct endpoint src = any(i % 2), dst = any(i % 2);
		const uint32_t len = make(&src, &dst);

		assert_int_equal(queue_of(len), softrss(&src, &dst) % STEER_RETA);
		frame[i % 2 ? 23 : 20] = 6; // TCP has its ports at the offsets of UDP's
		assert_int_equal(queue_of(len + 20),
			begins == STEER_AT_IP ? 0 : softrss(&src, &dst) % STEER_RETA);
	}
}

// Options of IPv4 lie before the ports.
static void test_options(void **state)
{
	const struct endpoint src = end("10.1.2.3", 40000), dst = end("10.3.2.1", 3478);
	const uint32_t len = make(&src, &dst);

	need_program();
	memmove(frame + 54, frame + 34, 16);
	memset(frame + 34, 1, 20);
	frame[14] = 0x4a;
	assert_int_equal(queue_of(len + 20), softrss(&src, &dst) % STEER_RETA);
}

static void test_others(void **state)
{
	const struct endpoint src = end("10.1.2.3", 40000), dst = end("10.3.2.1", 3478);
	const uint32_t len = make(&src, &dst);

	need_program();
	// the kernel wants a complete IPv4 header, or at least one byte
	for (uint32_t cut = begins == STEER_AT_IP ? 34 : 15; cut < 38; cut++)
		assert_int_equal(queue_of(cut), 0);
	store_be16(frame + 12, NET_ETHERTYPE_ARP);
	assert_int_equal(queue_of(len), 0);
}

// --- rules --------------------------------------------------------------------------------------

static uint32_t find_queue(const char *address, uint16_t port)
{
	const struct endpoint src = end(strchr(address, ':') ? "fd99::77" : "10.9.9.9", 5000),
			      dst = end(address, port);

	return queue_of(make(&src, &dst));
}

static void rules_of(const char *address, const char *other_addr)
{
	const struct port_rule
		odd = {.dst = addr_text(address), .port = 1, .mask = 1, .queue = 201},
		slice = {.dst = addr_text(address), .port = 0xc004, .mask = 0xff07, .queue = 202};
	uint32_t before[8];

	for (uint16_t i = 0; i < 8; i++)
		before[i] = find_queue(address, 0xc000 + i);
	assert_int_equal(steer_table_add(table, &odd), 0);
	assert_int_equal(steer_table_add(table, &slice), 0);
	for (uint16_t i = 0; i < 8; i++)
		assert_int_equal(find_queue(address, 0xc000 + i),
			i % 2            ? 201
				: i == 4 ? 202
					 : before[i]);
	assert_int_equal(find_queue(address, 0xc0fc), 202);
	assert_int_not_equal(find_queue(address, 0xc104), 202);
	assert_int_not_equal(find_queue(other_addr, 0xc001), 201);
	frame[strchr(address, ':') ? 20 : 23] = 6;
	assert_int_not_equal(queue_of(100), 201); // rules are for UDP
	steer_table_remove(table, &odd);
	assert_int_equal(find_queue(address, 0xc001), before[1]);
	assert_int_equal(find_queue(address, 0xc004), 202);
	steer_table_remove(table, &slice);
	assert_int_equal(find_queue(address, 0xc004), before[4]);
}

static void test_rules(void **state)
{
	need_program();
	rules_of("192.0.2.1", "192.0.2.2");
	rules_of("192.0.2.3", "192.0.2.1");
	rules_of("2001:db8::1", "2001:db8::2");
	rules_of("2001:db8:0:1::1", "2001:db8::1");
}

// An address that the network replaces keeps its rules, however often that happens.
static void test_moved(void **state)
{
	static const char *const v4[] = {"192.0.2.1", "192.0.2.9"};
	static const char *const v6[] = {"2001:db8::1", "2001:db8:0:1::1"};

	need_program();
	for (unsigned int family = 0; family < 2; family++) {
		const char *const *a = family == 0 ? v4 : v6;
		const struct addr addr[] = {addr_text(a[0]), addr_text(a[1])};
		const struct port_rule odd = {.dst = addr[0], .port = 1, .mask = 1, .queue = 201};

		assert_int_equal(steer_table_add(table, &odd), 0);
		for (unsigned int i = 0; i < 20; i++) {
			steer_table_move(table, &addr[i % 2], &addr[(i + 1) % 2]);
			assert_int_equal(find_queue(a[(i + 1) % 2], 0xc001), 201);
			assert_int_not_equal(find_queue(a[i % 2], 0xc001), 201);
		}
		steer_table_move(table, &addr[1], &addr[0]); // the address has no rules
		assert_int_equal(find_queue(a[0], 0xc001), 201);
	}
}

// All ports of an address; the maximum number of addresses of each family.
static void test_addresses(void **state)
{
	need_program();
	for (unsigned int v4 = 0; v4 < 2; v4++) {
		char text[32];

		for (unsigned int i = 0; i <= STEER_ADDRS; i++) {
			struct port_rule r = {.queue = (uint16_t)(210 + i)};

			snprintf(text, sizeof(text), v4 ? "192.0.2.%u" : "2001:db8::%u", i + 1);
			r.dst = addr_text(text);
			assert_int_equal(steer_table_add(table, &r), i < STEER_ADDRS ? 0 : -ENOSPC);
			if (i < STEER_ADDRS)
				assert_int_equal(find_queue(text, (uint16_t)(i * 9000)), 210 + i);
			else
				assert_true(find_queue(text, 9) < STEER_RETA);
		}
	}
}

// Queues are assigned in turn.
static void test_queues(void **state)
{
	need_program();
	for (uint16_t queues = 1; queues < 9; queues++) {
		const struct endpoint src = any(true), dst = any(true);

		steer_table_init(table, key, queues);
		assert_int_equal(
			queue_of(make(&src, &dst)), softrss(&src, &dst) % STEER_RETA % queues);
	}
}

#define BOTH(test)                                                                    \
	cmocka_unit_test_setup(test, at_ethernet),                                    \
	{                                                                             \
		.name = #test " of packets", .test_func = (test), .setup_func = at_ip \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(test_vectors),
		BOTH(test_random),
		BOTH(test_options),
		BOTH(test_others),
		BOTH(test_rules),
		BOTH(test_moved),
		BOTH(test_addresses),
		BOTH(test_queues),
	};

	return cmocka_run_group_tests(tests, group_open, group_close);
}
