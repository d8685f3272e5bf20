// SPDX-License-Identifier: BSD-3-Clause
// Queues of a packet port over calls that the test answers: frames that the kernel drops on their
// way out cost no others, and what is left in a socket's queue is never taken for another frame.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/if_packet.h>
#include <linux/virtio_net.h>

#include "packet/packet_rx.h"
#include "packet/packet_tx.h"
#include "port.h"
#include "vtap_world.h"

#define HEADER sizeof(struct virtio_net_hdr)
#define SLOT 2048

// --- sending -------------------------------------------------------------------------------------

static uint8_t sent[64]; // first bytes of the frames that went out
static unsigned int nb_sent;

int __wrap_sendmmsg(int fd, struct mmsghdr *msg, unsigned int n, int flags);
// Frames that begin with 'x' are dropped, ENOBUFS; the call ends there.
int __wrap_sendmmsg(int fd, struct mmsghdr *msg, unsigned int n, int flags)
{
	for (unsigned int i = 0; i < n; i++) {
		const uint8_t first = *(const uint8_t *)msg[i].msg_hdr.msg_iov[1].iov_base;

		if (first == 'x' && i == 0) {
			errno = ENOBUFS;
			return -1;
		}
		if (first == 'x')
			return (int)i;
		sent[nb_sent++] = first;
	}
	return (int)n;
}

static void test_dropped(void **state)
{
	static const char frames[] = "xxabxcxxxdex";
	const uint16_t n = sizeof(frames) - 1;
	struct port port = {.name = "wan", .uso = {64, 64, 65535}};
	struct packet_tx q = {.port = &port, .pool = vtap_world_pool};
	struct rte_mbuf *m[32];

	for (unsigned int i = 0; i < n; i++) {
		m[i] = rte_pktmbuf_alloc(vtap_world_pool);
		memset(rte_pktmbuf_append(m[i], 60), frames[i], 60);
	}
	assert_int_equal(packet_tx_burst(&q, m, n), n);
	assert_int_equal(nb_sent, 5);
	assert_memory_equal(sent, "abcde", 5);
	assert_int_equal(q.errors, 7);
	assert_int_equal(port.uso.segments, 64);
}

// --- receiving -----------------------------------------------------------------------------------

static ssize_t queued[8]; // lengths of frames at the socket; negative: an error
static unsigned int at_queue;

ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags)
{
	const ssize_t len = queued[at_queue];

	if (len <= 0) {
		at_queue += len < 0;
		errno = len < 0 ? (int)-len : EAGAIN;
		return -1;
	}
	at_queue++;
	memset(msg->msg_iov[0].iov_base, 0, HEADER);
	memset(msg->msg_iov[1].iov_base, (int)(len & 0xff), 64);
	msg->msg_flags = 0;
	return len + (ssize_t)HEADER;
}

static _Alignas(16) uint8_t ring[4 * SLOT];

// A frame that is too long for its slot is at the socket.
static void arrives(unsigned int slot, uint32_t len)
{
	struct tpacket2_hdr *h = (void *)(ring + slot * SLOT);

	*h = (struct tpacket2_hdr){.tp_status = TP_STATUS_USER | TP_STATUS_COPY,
		.tp_len = len,
		.tp_snaplen = 1000,
		.tp_mac = 100};
}

static void test_left_over(void **state)
{
	struct packet_rx q = {.ring = ring, .slots = 4, .slot_len = SLOT, .pool = vtap_world_pool};
	struct rte_mbuf *m[4];

	// an error, what is left of a slot that was lost, and the frame
	memcpy(queued, (ssize_t[8]){-ENETDOWN, 5042, 5044, 5045}, sizeof(queued));
	arrives(0, 5044);
	arrives(1, 5045);
	assert_int_equal(packet_rx_burst(&q, m, 4), 2);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(m[i]->pkt_len, 5044 + i);
		assert_int_equal(*rte_pktmbuf_mtod(m[i], uint8_t *), (5044 + i) & 0xff);
		rte_pktmbuf_free(m[i]);
	}
	assert_int_equal(q.errors, 0);
	// nothing there: the slot is given up
	arrives(2, 5046);
	assert_int_equal(packet_rx_burst(&q, m, 4), 0);
	assert_int_equal(q.errors, 1);
}

static int group_open(void **state)
{
	return vtap_world_start("--file-prefix=packet_queue");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_dropped, vtap_world_whole),
		cmocka_unit_test_teardown(test_left_over, vtap_world_whole),
	};

	return cmocka_run_group_tests(tests, group_open, vtap_world_stop);
}
