// SPDX-License-Identifier: BSD-3-Clause
// The programs that divide an interface between a packet port and the kernel, run by the kernel
// itself on frames of the test (BPF_PROG_TEST_RUN).
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "addr.h"
#include "bpf/bpf_sys.h"
#include "bytes.h"
#include "packet/packet_bpf.h"
#include "packet/packet_filter.h"
#include "packet/packet_moving.h"
#include "port.h"
#include "test.h"

#define SOCKET_TAKES UINT32_MAX
#define SOCKET_NOT 0
#define KERNEL_LOSES 2 // TCX_DROP
#define KERNEL_HAS UINT32_MAX // TCX_NEXT

static int program[2] = {-1, -1};
static int shared = -1; // map of addresses that can change

// A frame that is built piece by piece.
struct frame {
	uint8_t data[256];
	uint32_t len;
};

static struct addr address(const char *text)
{
	struct addr a;

	assert_int_equal(addr_parse(text, &a), 0);
	return a;
}

static void put(struct frame *f, const void *bytes, uint32_t n)
{
	memcpy(f->data + f->len, bytes, n);
	f->len += n;
}

static void put16(struct frame *f, uint16_t v)
{
	store_be16(f->data + f->len, v);
	f->len += 2;
}

static void ethernet(struct frame *f, uint16_t type)
{
	*f = (struct frame){.len = 12};
	put16(f, type);
}

// An IPv4 header with options (multiple of 4 bytes) and the field of flags and fragment offset.
static void ip4(
	struct frame *f, const char *dst, uint8_t proto, unsigned int options, uint16_t part)
{
	const struct addr a = address(dst);
	uint8_t h[60] = {(uint8_t)(0x45 + options / 4), [8] = 64, [9] = proto};

	store_be16(h + 6, part);
	memcpy(h + 16, a.b + 12, 4);
	ethernet(f, 0x0800);
	put(f, h, 20 + options);
}

static void ip6(struct frame *f, const char *dst, uint8_t next)
{
	const struct addr a = address(dst);
	uint8_t h[40] = {0x60, [6] = next, [7] = 64};

	memcpy(h + 24, a.b, 16);
	ethernet(f, 0x86dd);
	put(f, h, sizeof(h));
}

static void udp(struct frame *f, uint16_t dport)
{
	put16(f, 40000);
	put16(f, dport);
	put16(f, 8 + 32);
	put16(f, 0);
	f->len += 32;
}

// An extension header of IPv6 of 8 + 8 * more bytes.
static void extension(struct frame *f, uint8_t next, uint8_t more)
{
	const uint8_t h[8] = {next, more};

	put(f, h, sizeof(h));
	f->len += 8u * more;
}

static void load(const struct port_own *local, uint32_t nb)
{
	for (unsigned int i = 0; i < 2; i++) {
		uint32_t n;
		struct bpf_insn *code =
			packet_filter_make(&(struct packet_filter){i, local, nb, shared}, &n);

		assert_non_null(code);
		if (program[i] >= 0)
			close(program[i]);
		// in the kernel's test runs a socket's program begins after the Ethernet header
		program[i] = packet_bpf_load(PACKET_BPF_INGRESS, code, n);
		free(code);
		if (program[i] == -EPERM || program[i] == -ENOSYS)
			skip();
		if (program[i] < 0)
			fail_msg("program %u of %u instructions: %s", i, n, strerror(-program[i]));
	}
}

static uint32_t run(int fd, const struct frame *f)
{
	union bpf_attr test;

	memset(&test, 0, sizeof(test));
	test.test.prog_fd = (uint32_t)fd;
	test.test.data_in = (uintptr_t)f->data;
	test.test.data_size_in = f->len;
	test.test.repeat = 1;
	if (syscall(SYS_bpf, BPF_PROG_TEST_RUN, &test, sizeof(test)) != 0)
		fail_msg("test run: %s", strerror(errno));
	return test.test.retval;
}

#define EXPECT(f, socket, kernel) expect(f, socket, kernel, __LINE__)
static void expect(const struct frame *f, uint32_t socket, uint32_t kernel, int line)
{
	const uint32_t s = run(program[PACKET_FILTER_SOCKET], f);
	const uint32_t k = run(program[PACKET_FILTER_KERNEL], f);

	if (s != socket || k != kernel)
		fail_msg("line %d: socket %u, kernel %u", line, s, k);
}

#define OURS(f) EXPECT(f, SOCKET_TAKES, KERNEL_LOSES)
#define COPY(f) EXPECT(f, SOCKET_TAKES, KERNEL_HAS)
#define THEIRS(f) EXPECT(f, SOCKET_NOT, KERNEL_HAS)

static int setup(void **state)
{
	struct port_own local[] = {
		{address("2001:db8::1"), 3478, 3478},
		{address("192.0.2.1"), 3478, 3478},
		{address("192.0.2.1"), 49152, 65535},
		{address("2001:db8::1"), 49152, 65535},
		{address("192.0.2.2"), 5349, 5349},
	};

	(void)state;
	packet_filter_sort(local, 5);
	load(local, 5);
	return 0;
}

static void test_udp4(void **state)
{
	static const struct {
		const char *dst;
		uint16_t port;
		bool ours;
	} rows[] = {
		{"192.0.2.1", 3478, true},
		{"192.0.2.1", 3477, false},
		{"192.0.2.1", 3479, false},
		{"192.0.2.1", 49151, false},
		{"192.0.2.1", 49152, true},
		{"192.0.2.1", 65535, true},
		{"192.0.2.1", 0, false},
		{"192.0.2.2", 3478, false},
		{"192.0.2.2", 5349, true},
		{"192.0.2.2", 50000, false},
		{"192.0.2.3", 3478, false},
		{"192.0.2.0", 3478, false},
		{"255.255.255.255", 3478, false},
		{"0.0.0.0", 3478, false},
	};
	struct frame f;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ip4(&f, rows[i].dst, 17, 0, 0);
		udp(&f, rows[i].port);
		EXPECT(&f, rows[i].ours ? SOCKET_TAKES : SOCKET_NOT,
			rows[i].ours ? KERNEL_LOSES : KERNEL_HAS);
		ip4(&f, rows[i].dst, 17, 40, 0); // the maximum of options
		udp(&f, rows[i].port);
		EXPECT(&f, rows[i].ours ? SOCKET_TAKES : SOCKET_NOT,
			rows[i].ours ? KERNEL_LOSES : KERNEL_HAS);
		ip4(&f, rows[i].dst, 6, 0, 0); // TCP
		udp(&f, rows[i].port);
		THEIRS(&f);
	}
}

static void test_udp6(void **state)
{
	struct frame f;

	(void)state;
	ip6(&f, "2001:db8::1", 17);
	udp(&f, 3478);
	OURS(&f);
	ip6(&f, "2001:db8::1", 17);
	udp(&f, 3479);
	THEIRS(&f);
	ip6(&f, "2001:db8:0:0:1::1", 17); // only the last word is equal
	udp(&f, 3478);
	THEIRS(&f);
	ip6(&f, "2001:db8::1", 6);
	udp(&f, 3478);
	THEIRS(&f);
}

static void test_extensions(void **state)
{
	struct frame f;

	(void)state;
	ip6(&f, "2001:db8::1", 0);
	extension(&f, 60, 0);
	extension(&f, 43, 2);
	extension(&f, 17, 1);
	udp(&f, 3478);
	OURS(&f);
	ip6(&f, "2001:db8::1", 60);
	extension(&f, 17, 0);
	udp(&f, 3479);
	THEIRS(&f);
	ip6(&f, "2001:db8::1", 60); // leads beyond the end of the frame
	extension(&f, 60, 0);
	f.data[14 + 40 + 1] = 255;
	assert_int_equal(run(program[PACKET_FILTER_SOCKET], &f), SOCKET_NOT);
	assert_int_not_equal(run(program[PACKET_FILTER_KERNEL], &f), KERNEL_LOSES);
}

static void test_fragments(void **state)
{
	static const uint8_t first[8] = {17, 0, 0, 1}, later[8] = {17, 0, 0x05, 0xa8};
	struct frame f;

	(void)state;
	ip4(&f, "192.0.2.1", 17, 0, 0x2000);
	udp(&f, 3478);
	OURS(&f);
	ip4(&f, "192.0.2.1", 17, 0, 0x2000);
	udp(&f, 53);
	THEIRS(&f);
	ip4(&f, "192.0.2.1", 17, 0, 0x00b9);
	udp(&f, 53); // an ICMP error has no ports there
	COPY(&f);
	for (uint32_t last = 1; last < 8; last++) { // not every interface pads it
		f.len = 14 + 20 + last;
		COPY(&f);
	}
	ip4(&f, "192.0.2.1", 6, 0, 0x00b9);
	udp(&f, 3478);
	THEIRS(&f);
	ip6(&f, "2001:db8::1", 44);
	put(&f, first, 8);
	udp(&f, 3478);
	OURS(&f);
	ip6(&f, "2001:db8::1", 44);
	put(&f, first, 8);
	udp(&f, 53);
	THEIRS(&f);
	ip6(&f, "2001:db8::1", 44);
	put(&f, later, 8);
	udp(&f, 53);
	COPY(&f);
}

// An ICMP message of a type, about a packet of that protocol.
static void icmp(struct frame *f, bool v4, uint8_t type, uint8_t about)
{
	uint8_t body[64] = {type};

	if (v4)
		ip4(f, "192.0.2.1", 1, 0, 0);
	else
		ip6(f, "2001:db8::1", 58);
	body[8 + (v4 ? 9 : 6)] = about;
	put(f, body, sizeof(body));
}

static void test_icmp(void **state)
{
	static const struct {
		bool v4;
		uint8_t type, about;
		bool copy;
	} rows[] = {
		{true, 3, 17, true},
		{true, 11, 17, true},
		{true, 12, 17, true},
		{true, 3, 6, false},
		{true, 8, 17, false},
		{true, 0, 17, false},
		{true, 5, 17, false},
		{false, 1, 17, true},
		{false, 2, 17, true},
		{false, 3, 17, true},
		{false, 4, 17, true},
		{false, 2, 44, true},
		{false, 2, 6, false},
		{false, 128, 17, false},
		{false, 129, 17, false},
		{false, 133, 0, false},
		{false, 134, 0, false},
		{false, 135, 0, true},
		{false, 136, 0, true},
		{false, 137, 17, false},
		{false, 143, 0, false},
	};
	struct frame f;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		icmp(&f, rows[i].v4, rows[i].type, rows[i].about);
		EXPECT(&f, rows[i].copy ? SOCKET_TAKES : SOCKET_NOT, KERNEL_HAS);
	}
}

static void test_others(void **state)
{
	static const uint16_t types[] = {0x88cc, 0x8847, 0x0600, 0x8864};
	struct frame f;

	(void)state;
	ethernet(&f, 0x0806);
	f.len = 60;
	COPY(&f);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		ethernet(&f, types[i]);
		f.len = 60;
		THEIRS(&f);
	}
}

// Frames that end anywhere are neither lost to the kernel nor taken, unless they contain the ports.
static void test_short(void **state)
{
	struct frame f;

	(void)state;
	ip4(&f, "192.0.2.1", 17, 0, 0);
	udp(&f, 3478);
	for (f.len = 34; f.len < 42; f.len++) {
		assert_int_equal(run(program[PACKET_FILTER_SOCKET], &f), SOCKET_NOT);
		assert_int_not_equal(run(program[PACKET_FILTER_KERNEL], &f), KERNEL_LOSES);
	}
	ip6(&f, "2001:db8::1", 17);
	udp(&f, 3478);
	for (f.len = 54; f.len < 58; f.len++) {
		assert_int_equal(run(program[PACKET_FILTER_SOCKET], &f), SOCKET_NOT);
		assert_int_not_equal(run(program[PACKET_FILTER_KERNEL], &f), KERNEL_LOSES);
	}
}

// Each of many addresses is found, and adjacent addresses are not.
static void test_many(void **state)
{
	struct port_own local[1200];
	struct frame f;
	char text[64];

	(void)state;
	for (unsigned int i = 0; i < 600; i++) {
		snprintf(text, sizeof(text), "10.%u.%u.8", i % 3, i / 3);
		local[2 * i] = (struct port_own){address(text), 3478, 3478, false};
		snprintf(text, sizeof(text), "fd00::%x:%x", i % 7, i / 7); // with equal last words
		local[2 * i + 1] = (struct port_own){address(text), 3478, 3480, false};
	}
	packet_filter_sort(local, 1200);
	load(local, 1200);
	for (unsigned int i = 0; i < 600; i++) {
		snprintf(text, sizeof(text), "10.%u.%u.8", i % 3, i / 3);
		ip4(&f, text, 17, 0, 0);
		udp(&f, 3478);
		OURS(&f);
		snprintf(text, sizeof(text), "10.%u.%u.9", i % 3, i / 3);
		ip4(&f, text, 17, 0, 0);
		udp(&f, 3478);
		THEIRS(&f);
		snprintf(text, sizeof(text), "fd00::%x:%x", i % 7, i / 7);
		ip6(&f, text, 17);
		udp(&f, 3480);
		OURS(&f);
		snprintf(text, sizeof(text), "fd00::8000:%x:%x", i % 7, i / 7);
		ip6(&f, text, 17);
		udp(&f, 3480);
		THEIRS(&f);
	}
}

static void test_none(void **state)
{
	struct frame f;

	(void)state;
	load(NULL, 0);
	ip4(&f, "192.0.2.1", 17, 0, 0);
	udp(&f, 3478);
	THEIRS(&f);
	ip6(&f, "2001:db8::1", 17);
	udp(&f, 3478);
	THEIRS(&f);
}

// Asserts that a datagram to an address and port is ours, or is not.
static void expect_datagram(const char *addr, uint16_t port, bool ours, int line)
{
	struct frame f;

	if (strchr(addr, ':') != NULL)
		ip6(&f, addr, 17);
	else
		ip4(&f, addr, 17, 0, 0);
	udp(&f, port);
	if (ours)
		expect(&f, SOCKET_TAKES, KERNEL_LOSES, line);
	else
		expect(&f, SOCKET_NOT, KERNEL_HAS, line);
}

// Addresses from the network change without a new program; the other ones stay.
static void test_moving(void **state)
{
	static const struct {
		const char *v4, *v6;
	} given[] = {{"10.0.0.9", "2001:db8:1::9"}, {"192.0.2.200", "2001:db8:2::9"},
		{"10.0.0.0", "2001:db8:1::"}, {"10.0.0.9", "2001:db8:1::9"}};
	const struct addr first4 = address(given[0].v4), first6 = address(given[0].v6);
	struct port_own local[] = {{address("10.0.0.1"), 3478, 3478, false},
		{first4, 3478, 3478, true}, {first4, 50000, 50999, true},
		{address("2001:db8::1"), 3478, 3478, false}, {first6, 50000, 50999, true},
		{first6, 3478, 3478, true}};
	void *memory;
	struct packet_moving *m;

	(void)state;
	shared = bpf_sys_share(sizeof(*m), &memory);
	if (shared < 0)
		skip();
	m = memory;
	packet_filter_sort(local, 6);
	load(local, 6);
	for (unsigned int i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
		const struct addr v4 = address(given[i].v4), v6 = address(given[i].v6);

		packet_moving_put(m, &v4);
		packet_moving_put(m, &v6);
		for (unsigned int k = 0; k < sizeof(given) / sizeof(given[0]); k++) {
			const bool now = strcmp(given[i].v4, given[k].v4) == 0;

			expect_datagram(given[k].v4, 3478, now, __LINE__);
			expect_datagram(given[k].v4, 50999, now, __LINE__);
			expect_datagram(given[k].v4, 51000, false, __LINE__);
			expect_datagram(given[k].v6, 3478, now, __LINE__);
			expect_datagram(given[k].v6, 50000, now, __LINE__);
			expect_datagram(given[k].v6, 49999, false, __LINE__);
		}
		expect_datagram("10.0.0.1", 3478, true, __LINE__);
		expect_datagram("10.0.0.1", 50000, false, __LINE__);
		expect_datagram("2001:db8::1", 3478, true, __LINE__);
	}
	munmap(m, sizeof(*m));
	close(shared);
	shared = -1;
}

static void test_too_many(void **state)
{
	struct port_own *local = calloc(8192, sizeof(*local));
	uint32_t n;

	(void)state;
	assert_non_null(local);
	for (unsigned int i = 0; i < 8192; i++) {
		local[i] = (struct port_own){address("fd00::1"), 1, 2, false};
		store_be32(local[i].addr.b + 12, i * 7919);
	}
	packet_filter_sort(local, 8192);
	errno = 0;
	assert_null(packet_filter_make(
		&(struct packet_filter){
			.whom = PACKET_FILTER_KERNEL, .owned = local, .nb_own = 8192},
		&n));
	assert_int_equal(errno, E2BIG);
	free(local);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_too_many),
		cmocka_unit_test_setup(test_udp4, setup),
		cmocka_unit_test_setup(test_udp6, setup),
		cmocka_unit_test_setup(test_extensions, setup),
		cmocka_unit_test_setup(test_fragments, setup),
		cmocka_unit_test_setup(test_icmp, setup),
		cmocka_unit_test_setup(test_others, setup),
		cmocka_unit_test_setup(test_short, setup),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_moving),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
