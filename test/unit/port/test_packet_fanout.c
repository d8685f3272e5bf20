// SPDX-License-Identifier: BSD-3-Clause
// Packet sockets on the loopback interface of the test's own network namespace: the kernel delivers
// real datagrams of both families to them. No datagram comes twice, not even while the sockets are
// being bound, and each comes to the socket that the port predicts.
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <linux/bpf.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <rte_thash.h>

#include "addr_text.h"
#include "bytes.h"
#include "packet/packet_bpf.h"
#include "packet/packet_fanout.h"
#include "packet/packet_filter.h"
#include "port.h"
#include "steer/port_steer.h"
#include "test.h"
#include "test_rand.h"

#define SOCKETS 3
#define NUMBERS 4096
#define LISTENER 3478
#define WAIT_MS 20000

static bool allowed; // may make a namespace, and load programs
static int filter = -1;
static struct test_rand rand_;

static int fds[SOCKETS];
static uint32_t next; // number in the payload of the next datagram
static unsigned int copies[NUMBERS],
	where[NUMBERS]; // by number: how often it came, and to which socket last
static unsigned int frames[SOCKETS];
static bool meanwhile; // datagrams come while the sockets are being set up

// --- datagrams -----------------------------------------------------------------------------------

static void set_end(bool v4, uint16_t port, struct sockaddr_storage *addr, socklen_t *len)
{
	*addr = (struct sockaddr_storage){.ss_family = v4 ? AF_INET : AF_INET6};
	*len = v4 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
	if (v4) {
		((struct sockaddr_in *)addr)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		((struct sockaddr_in *)addr)->sin_port = htons(port);
	} else {
		((struct sockaddr_in6 *)addr)->sin6_addr = in6addr_loopback;
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
	}
}

static int open_udp(bool v4, uint16_t port)
{
	struct sockaddr_storage addr;
	socklen_t len;
	const int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	set_end(v4, port, &addr, &len);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, len), 0);
	return fd;
}

// Sends a datagram to the kernel. When it has arrived, packet sockets have seen it. Returns its
// number.
static uint32_t deliver_long(bool v4, uint16_t sport, uint16_t dport, size_t len)
{
	const int src = open_udp(v4, sport), dst = open_udp(v4, dport);
	struct pollfd there = {.fd = dst, .events = POLLIN};
	struct sockaddr_storage dst_addr;
	static uint8_t data[8000];
	socklen_t at_len;

	assert_true(next < NUMBERS && len <= sizeof(data));
	set_end(v4, dport, &dst_addr, &at_len);
	store_be32(data + len - 4, next);
	assert_int_equal(sendto(src, data, len, 0, (struct sockaddr *)&dst_addr, at_len), len);
	assert_int_equal(poll(&there, 1, WAIT_MS), 1);
	close(src);
	close(dst);
	return next++;
}

static uint32_t deliver(bool v4, uint16_t sport, uint16_t dport)
{
	return deliver_long(v4, sport, dport, 8);
}

// Reads everything that the packet sockets have.
static void drain(void)
{
	static uint8_t frame[70000];

	for (unsigned int i = 0; i < SOCKETS; i++) {
		ssize_t len;

		while ((len = recv(fds[i], frame, sizeof(frame), 0)) > 0 || errno == ENETDOWN) {
			const uint32_t number = len > 42 ? load_be32(frame + len - 4) : NUMBERS;

			errno = 0;
			frames[i] += len > 0;
			if (number >= NUMBERS)
				continue;
			copies[number]++;
			where[number] = i;
		}
	}
}

int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	const int rc = __real_setsockopt(fd, level, name, value, len);

	if (meanwhile) {
		deliver(true, 5000, LISTENER);
		deliver(false, 5000, LISTENER);
	}
	return rc;
}

int __real_bind(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	const int rc = __real_bind(fd, addr, len);

	if (meanwhile && addr->sa_family == AF_PACKET) {
		deliver(true, 5000, LISTENER);
		deliver(false, 5000, LISTENER);
	}
	return rc;
}

// --- the world -----------------------------------------------------------------------------------

static void set_loopback(bool up, int mtu)
{
	const int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq r = {.ifr_name = "lo"};

	r.ifr_mtu = mtu;
	assert_int_equal(ioctl(fd, SIOCSIFMTU, &r), 0);
	r.ifr_flags = up ? IFF_UP : 0;
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &r), 0);
	close(fd);
}

static int group_open(void **state)
{
	struct port_own local[] = {
		{addr_text("127.0.0.1"), 1, 65535, false}, {addr_text("::1"), 1, 65535, false}};
	struct bpf_insn *code;
	uint32_t nb;

	rand_ = test_rand_start("packet_fanout");
	if (unshare(CLONE_NEWNET) != 0)
		return 0; // not root: the tests skip themselves
	packet_filter_sort(local, 2);
	code = packet_filter_make(
		&(struct packet_filter){.whom = PACKET_FILTER_SOCKET, .owned = local, .nb_own = 2},
		&nb);
	filter = packet_bpf_load(PACKET_BPF_SOCKET, code, nb);
	free(code);
	allowed = filter >= 0;
	return 0;
}

static int test_open(void **state)
{
	const int on = 1;

	if (!allowed)
		return 0;
	set_loopback(true, 1500);
	next = 0;
	memset(copies, 0, sizeof(copies));
	memset(frames, 0, sizeof(frames));
	for (unsigned int i = 0; i < SOCKETS; i++) {
		fds[i] = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fds[i] < 0)
			return -1;
		setsockopt(fds[i], SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on));
	}
	return 0;
}

static int test_close(void **state)
{
	for (unsigned int i = 0; i < SOCKETS && allowed; i++)
		close(fds[i]);
	return 0;
}

static void start(int chooses)
{
	const struct packet_fanout f = {
		.index = (int)if_nametoindex("lo"), .filter = filter, .chooses = chooses};

	assert_int_equal(packet_fanout_start(&f, fds, SOCKETS), 0);
}

// Starts a port on the sockets.
static void start_steered(struct port_steer *s, struct port *p)
{
	int program;

	*p = (struct port){.nb_rxq = SOCKETS};
	program = port_steer_open(s, p, NULL, STEER_AT_IP);
	assert_true(program >= 0);
	start(program);
	close(program);
	port_steer_tell(s, p);
	assert_true(p->rss && p->rss_udp);
}

// --- tests ---------------------------------------------------------------------------------------

static void once(int chooses)
{
	uint32_t first;

	meanwhile = true;
	start(chooses);
	meanwhile = false;
	first = next;
	assert_true(first > 10);
	for (unsigned int i = 0; i < 40; i++)
		deliver(i % 2, (uint16_t)(20000 + i), LISTENER);
	drain();
	for (uint32_t i = 0; i < first; i++)
		assert_in_range(copies[i], 0, 1);
	for (uint32_t i = first; i < next; i++)
		assert_int_equal(copies[i], 1);
}

static void test_once(void **state)
{
	struct port p = {.nb_rxq = SOCKETS};
	struct port_steer s = {0};
	int program;

	if (!allowed)
		skip();
	program = port_steer_open(&s, &p, NULL, STEER_AT_IP);
	assert_true(program >= 0);
	once(program);
	close(program);
	port_steer_close(&s);
}

// The kernel refuses the program.
static void test_once_hashed(void **state)
{
	if (!allowed)
		skip();
	once(-1);
	for (unsigned int i = 0; i < SOCKETS; i++)
		assert_true(frames[i] > 0);
}

// The queue that the port predicts for a datagram between two ports of the loopback interface.
static unsigned int told(const struct port *p, bool v4, uint16_t sport, uint16_t dport)
{
	uint32_t tuple[9] = {0}, n = v4 ? 2 : 8;
	_Alignas(uint32_t) uint8_t key[PORT_RSS_KEY_MAX];

	memcpy(key, p->rss_key, sizeof(key));
	if (v4)
		tuple[0] = tuple[1] = INADDR_LOOPBACK;
	else
		tuple[3] = tuple[7] = 1;
	tuple[n++] = (uint32_t)sport << 16 | dport;
	return p->reta[rte_softrss(tuple, n, key) % p->reta_size];
}

static void assert_told(const struct port *p, unsigned int flows)
{
	for (unsigned int i = 0; i < flows; i++) {
		const uint16_t sport = (uint16_t)(10000 + test_rand_below(&rand_, 50000));
		const uint32_t number = deliver(i % 2, sport, LISTENER);

		drain();
		assert_int_equal(copies[number], 1);
		assert_int_equal(where[number], told(p, i % 2, sport, LISTENER));
	}
}

static void test_told(void **state)
{
	struct port_steer s;
	struct port p;

	if (!allowed)
		skip();
	start_steered(&s, &p);
	assert_told(&p, 300);
	for (unsigned int i = 0; i < SOCKETS; i++)
		assert_true(frames[i] > 30);
	port_steer_close(&s);
}

// Sockets leave the group with the interface, and come back to it.
static void test_down(void **state)
{
	struct port_steer s;
	struct port p;

	if (!allowed)
		skip();
	start_steered(&s, &p);
	for (unsigned int i = 0; i < 3; i++) {
		set_loopback(false, 1500);
		set_loopback(true, 1500);
		assert_told(&p, 60);
	}
	port_steer_close(&s);
}

static void test_rules(void **state)
{
	struct port_rule r = {.port = 50001, .mask = 0xff01};
	char reason[64];
	void *flow[2];
	struct port_steer s;
	struct port p;

	if (!allowed)
		skip();
	start_steered(&s, &p);
	for (unsigned int v4 = 0; v4 < 2; v4++) {
		r.dst = addr_text(v4 ? "127.0.0.1" : "::1");
		r.queue = (uint16_t)(1 + v4);
		r.port = 50001 & r.mask;
		assert_int_equal(port_steer_rule(&s, &r, &flow[v4], reason, sizeof(reason)), 0);
	}
	for (unsigned int i = 0; i < 80; i++) {
		const uint16_t sport = (uint16_t)(20000 + i), odd = (uint16_t)(50001 + 2 * (i / 4));
		const uint32_t number = deliver(i % 2, sport, odd);
		const uint32_t even = deliver(i % 2, sport, odd - 1);

		drain();
		assert_int_equal(where[number], 1 + i % 2);
		assert_int_equal(where[even], told(&p, i % 2, sport, odd - 1));
	}
	for (unsigned int v4 = 0; v4 < 2; v4++)
		port_steer_unrule(&s, flow[v4]);
	assert_told(&p, 10);
	port_steer_close(&s);
}

// All fragments of a datagram come to one socket.
static void test_fragments(void **state)
{
	struct port_steer s;
	struct port p;

	if (!allowed)
		skip();
	start_steered(&s, &p);
	for (unsigned int i = 0; i < 20; i++) {
		unsigned int receivers = 0;

		memset(frames, 0, sizeof(frames));
		deliver_long(i % 2, (uint16_t)(20000 + i), LISTENER, 4000);
		drain();
		for (unsigned int k = 0; k < SOCKETS; k++)
			receivers += frames[k] == 3;
		assert_int_equal(frames[0] + frames[1] + frames[2], 3);
		assert_int_equal(receivers, 1);
	}
	port_steer_close(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, test_open, test_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_once),
		TEST(test_once_hashed),
		TEST(test_told),
		TEST(test_down),
		TEST(test_rules),
		TEST(test_fragments),
	};

	return cmocka_run_group_tests(tests, group_open, NULL);
}
