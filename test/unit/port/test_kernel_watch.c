// SPDX-License-Identifier: BSD-3-Clause
// Addresses and routers of an interface, from a kernel that the test plays: it answers rtnetlink
// dumps in any number of parts, and may be interrupted or run out of room.
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include "kernel_watch.h"
#include "test.h"

#define PARTS 64
#define PART_LEN 4096
#define MANY 200

// --- the kernel ---------------------------------------------------------------------------------

struct part {
	char data[PART_LEN];
	size_t len;
};

static struct kernel {
	uint32_t nb[2]; // addresses, by [is_v4]: 10.0.X.Y and fd00::X:Y
	uint32_t flags; // of all addresses
	uint32_t each; // addresses per part
	struct part queue[PARTS]; // not received yet
	unsigned int head, tail;
	bool news;
	int asked; // dumps until now
	int interrupted; // number of the dump that is interrupted; 0 = none
	int receiving, fails; // receive calls until now; the call that fails
	int code; // error code in DONE
} kernel;

static struct part *part_new(void)
{
	assert_true(kernel.tail < PARTS);
	kernel.queue[kernel.tail].len = 0;
	return &kernel.queue[kernel.tail++];
}

static struct nlmsghdr *message(struct part *p, const struct nlmsghdr *q, uint16_t type)
{
	struct nlmsghdr *n = mnl_nlmsg_put_header(p->data + p->len);

	n->nlmsg_type = type;
	n->nlmsg_flags = NLM_F_MULTI | (kernel.interrupted == kernel.asked ? NLM_F_DUMP_INTR : 0);
	n->nlmsg_seq = q->nlmsg_seq;
	return n;
}

static void put_address(struct part *p, const struct nlmsghdr *q, bool is_v4, uint32_t i)
{
	struct nlmsghdr *n = message(p, q, RTM_NEWADDR);
	struct ifaddrmsg *m = mnl_nlmsg_put_extra_header(n, sizeof(*m));
	uint8_t a[16] = {is_v4 ? 10 : 0xfd};

	m->ifa_family = is_v4 ? AF_INET : AF_INET6;
	m->ifa_prefixlen = is_v4 ? 24 : 64;
	m->ifa_index = if_nametoindex("lo");
	a[is_v4 ? 2 : 14] = (uint8_t)(i >> 8);
	a[is_v4 ? 3 : 15] = (uint8_t)i;
	mnl_attr_put(n, IFA_ADDRESS, is_v4 ? 4 : 16, a);
	mnl_attr_put_u32(n, IFA_FLAGS, kernel.flags);
	p->len += n->nlmsg_len;
}

static void put_router(struct part *p, const struct nlmsghdr *q, bool is_v4)
{
	struct nlmsghdr *n = message(p, q, RTM_NEWROUTE);
	struct rtmsg *m = mnl_nlmsg_put_extra_header(n, sizeof(*m));
	const uint8_t a[16] = {is_v4 ? 10 : 0xfe, 9, 9, 9};

	m->rtm_family = is_v4 ? AF_INET : AF_INET6;
	m->rtm_type = RTN_UNICAST;
	mnl_attr_put(n, RTA_GATEWAY, is_v4 ? 4 : 16, a);
	mnl_attr_put_u32(n, RTA_OIF, if_nametoindex("lo"));
	p->len += n->nlmsg_len;
}

// Port id that mnl_socket_bind gave to the socket.
static unsigned int self;

ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *s, const void *buf, size_t len);
ssize_t __wrap_mnl_socket_recvfrom(const struct mnl_socket *s, void *buf, size_t cap);

ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *s, const void *buf, size_t len)
{
	const struct nlmsghdr *q = buf;
	const bool is_v4 = *(const uint8_t *)mnl_nlmsg_get_payload(q) == AF_INET;
	struct part *p = part_new();
	struct nlmsghdr *n;

	self = mnl_socket_get_portid(s);
	kernel.asked++;
	for (uint32_t i = 0; q->nlmsg_type == RTM_GETADDR && i < kernel.nb[is_v4]; i++) {
		if (i > 0 && i % kernel.each == 0)
			p = part_new();
		put_address(p, q, is_v4, i);
	}
	if (q->nlmsg_type == RTM_GETROUTE)
		put_router(p, q, is_v4);
	p = part_new();
	n = message(p, q, NLMSG_DONE);
	*(int32_t *)mnl_nlmsg_put_extra_header(n, sizeof(int32_t)) = kernel.code;
	p->len = n->nlmsg_len;
	return (ssize_t)len;
}

ssize_t __wrap_mnl_socket_recvfrom(const struct mnl_socket *s, void *buf, size_t cap)
{
	const struct part *p = &kernel.queue[kernel.head];

	if ((fcntl(mnl_socket_get_fd(s), F_GETFL) & O_NONBLOCK) != 0) {
		errno = kernel.news ? ENOBUFS : EAGAIN;
		kernel.news = false;
		return -1;
	}
	if (++kernel.receiving == kernel.fails) {
		errno = ENOBUFS;
		return -1;
	}
	assert_true(kernel.head < kernel.tail); // otherwise it would wait forever
	assert_true(p->len <= cap);
	memcpy(buf, p->data, p->len);
	for (size_t offset = 0; offset < p->len;) {
		struct nlmsghdr *n = (struct nlmsghdr *)((char *)buf + offset);

		n->nlmsg_pid = self;
		offset += MNL_ALIGN(n->nlmsg_len);
	}
	kernel.head++;
	return (ssize_t)p->len;
}

// --- reported addresses -------------------------------------------------------------------------

static struct port_kernel_watch *watch;
static unsigned int told[2];
static struct addr last[2], router[2];

static void tell(void *ctx, const struct port_kernel_address *a)
{
	const bool is_v4 = addr_is_v4(&a->prefix.addr);

	told[is_v4]++;
	last[is_v4] = a->prefix.addr;
}

static int look(void)
{
	told[0] = told[1] = 0;
	if (kernel.head == kernel.tail)
		kernel.head = kernel.tail = 0;
	return port_kernel_watch_read(watch, tell, NULL, router);
}

static int begin(void **state)
{
	char error[128];

	kernel = (struct kernel){.nb = {1, 1}, .each = 20};
	watch = port_kernel_watch_open(NULL, "lo", error, sizeof(error));
	return watch != NULL ? 0 : -1;
}

static int end(void **state)
{
	port_kernel_watch_close(watch);
	return 0;
}

// --- tests --------------------------------------------------------------------------------------

static void all_addresses_are_told(void **state)
{
	kernel.nb[0] = kernel.nb[1] = MANY;
	assert_int_equal(look(), 0);
	assert_int_equal(told[0], MANY);
	assert_int_equal(told[1], MANY);
	assert_int_equal(last[0].b[15], MANY - 1);
	assert_int_equal(last[1].b[15], MANY - 1);
	assert_int_equal(router[0].b[0], 0xfe);
	assert_int_equal(router[1].b[12], 10);
}

static void those_that_cannot_be_used_are_not(void **state)
{
	kernel.flags = IFA_F_TENTATIVE;
	assert_int_equal(look(), 0);
	assert_int_equal(told[0] + told[1], 0);
	kernel.flags = IFA_F_DADFAILED;
	assert_int_equal(look(), 0);
	assert_int_equal(told[0] + told[1], 0);
	kernel.flags = IFA_F_TEMPORARY; // for IPv4 this bit means "secondary"
	assert_int_equal(look(), 0);
	assert_int_equal(told[0], 0);
	assert_int_equal(told[1], 1);
}

static void news_are_asked_for_first_and_when_there_are_some(void **state)
{
	assert_true(port_kernel_watch_news(watch));
	assert_int_equal(look(), 0);
	assert_false(port_kernel_watch_news(watch));
	kernel.news = true;
	assert_true(port_kernel_watch_news(watch));
	assert_false(port_kernel_watch_news(watch));
}

// A dump that was interrupted (NLM_F_DUMP_INTR) is read to its end, so that the next read begins
// with the answer to the next dump.
static void an_interrupted_dump_is_asked_for_again(void **state)
{
	kernel.nb[1] = MANY;
	for (int dump = 1; dump <= 4; dump++) {
		kernel.interrupted = kernel.asked + dump;
		assert_true(look() < 0);
		assert_true(port_kernel_watch_news(watch));
		assert_int_equal(look(), 0);
		assert_int_equal(told[0], 1);
		assert_int_equal(told[1], MANY);
		assert_false(port_kernel_watch_news(watch));
	}
}

// The unread rest of a failed dump precedes the answer to the next one.
static void an_old_answer_is_not_taken_for_the_new_one(void **state)
{
	kernel.nb[1] = MANY;
	kernel.fails = 3;
	assert_int_equal(look(), -ENOBUFS);
	assert_true(port_kernel_watch_news(watch));
	kernel.nb[1] = 1;
	assert_int_equal(look(), 0);
	assert_int_equal(told[0], 1);
	assert_int_equal(told[1], 1);
	assert_int_equal(last[1].b[15], 0);
	assert_false(port_kernel_watch_news(watch));
}

static void an_error_at_the_end_is_one(void **state)
{
	kernel.code = -ENOMEM;
	assert_int_equal(look(), -ENOMEM);
	assert_true(port_kernel_watch_news(watch));
	kernel.code = 0;
	assert_int_equal(look(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_addresses_are_told, begin, end),
		cmocka_unit_test_setup_teardown(those_that_cannot_be_used_are_not, begin, end),
		cmocka_unit_test_setup_teardown(
			news_are_asked_for_first_and_when_there_are_some, begin, end),
		cmocka_unit_test_setup_teardown(an_interrupted_dump_is_asked_for_again, begin, end),
		cmocka_unit_test_setup_teardown(
			an_old_answer_is_not_taken_for_the_new_one, begin, end),
		cmocka_unit_test_setup_teardown(an_error_at_the_end_is_one, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
