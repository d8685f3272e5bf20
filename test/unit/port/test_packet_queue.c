// SPDX-License-Identifier: BSD-3-Clause
// Queues of a packet port over system calls that the test answers: a frame that the kernel drops on
// transmit costs no other frame, refused super-frames leave in pieces without loss, and leftovers
// in a socket's queue are never mistaken for another frame.
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/if_packet.h>
#include <linux/virtio_net.h>

#include "packet/packet_rx.h"
#include "packet/packet_tx.h"
#include "port.h"
#include "slow_sum.h"
#include "test.h"
#include "vtap_world.h"

#define HEADER sizeof(struct virtio_net_hdr)
#define SLOT 2048

// --- sending -------------------------------------------------------------------------------------

static uint8_t sent[256]; // a byte of each frame that left, from after its headers
static unsigned int nb_sent, nb_supers; // refusals of super-frames that the caller saw
static unsigned int room; // frames that the kernel takes before it is full
static uint8_t whole[64][2048]; // the sent frames
static uint32_t lens[64];

static void keep_frame(const struct msghdr *h)
{
	uint32_t len = 0;

	for (unsigned int i = 1; i < h->msg_iovlen && nb_sent < RTE_DIM(whole); i++) {
		assert_true(len + h->msg_iov[i].iov_len <= sizeof(whole[0]));
		memcpy(whole[nb_sent] + len, h->msg_iov[i].iov_base, h->msg_iov[i].iov_len);
		len += (uint32_t)h->msg_iov[i].iov_len;
	}
	lens[nb_sent % RTE_DIM(lens)] = len;
}

// The kernel's result for a message; 0 if it takes the message.
static int judge(const struct msghdr *h)
{
	const struct virtio_net_hdr *super = h->msg_iov[0].iov_base;

	if (super->gso_type != VIRTIO_NET_HDR_GSO_NONE)
		return EINVAL;
	if (room == 0)
		return EAGAIN;
	return *(const uint8_t *)h->msg_iov[1].iov_base == 'x' ? ENOBUFS : 0;
}

int __wrap_sendmmsg(int fd, struct mmsghdr *msg, unsigned int n, int flags);
// Frames that begin with 'x' are dropped with ENOBUFS; the call ends there.
int __wrap_sendmmsg(int fd, struct mmsghdr *msg, unsigned int n, int flags)
{
	for (unsigned int i = 0; i < n; i++) {
		const int error = judge(&msg[i].msg_hdr);

		if (error != 0) {
			nb_supers += i == 0 && error == EINVAL;
			errno = error;
			return i > 0 ? (int)i : -1;
		}
		room--;
		keep_frame(&msg[i].msg_hdr);
		sent[nb_sent++ % sizeof(sent)] =
			*(const uint8_t *)msg[i].msg_hdr.msg_iov[1].iov_base;
	}
	return (int)n;
}

static struct packet_tx tx;
static struct port port;
static uint8_t bytes[70000];

static int tx_open(void **state)
{
	port = (struct port){.name = "wan", .uso = {64, 64, 65535}};
	packet_tx_init(&tx, -1, vtap_world_pool, &port);
	nb_sent = nb_supers = 0;
	room = 1000;
	return 0;
}

static int tx_close(void **state)
{
	super_kept_drop(&tx.kept);
	return vtap_world_whole(state);
}

static struct rte_mbuf *plain(char first)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(vtap_world_pool);

	memset(rte_pktmbuf_append(m, 60), first, 60);
	return m;
}

static void test_dropped(void **state)
{
	static const char frames[] = "xxabxcxxxdex";
	const uint16_t n = sizeof(frames) - 1;
	struct rte_mbuf *m[32];

	for (unsigned int i = 0; i < n; i++)
		m[i] = plain(frames[i]);
	assert_int_equal(packet_tx_burst(&tx, m, n), n);
	assert_int_equal(nb_sent, 5);
	assert_memory_equal(sent, "abcde", 5);
	assert_int_equal(tx.errors, 7);
	assert_int_equal(port.uso.segments, 64);
}

#define SIZE 1000
#define PIECES 20

static struct rte_mbuf *super(const struct shape *s)
{
	frame_make(s, bytes, true);
	return super_make(s, bytes, SIZE, VTAP_WORLD_ROOM);
}

// Asserts that the sent frames [begin, begin + nb) are datagrams [first, ...) of a super-frame.
static void assert_pieces(
	const struct shape *s, unsigned int begin, unsigned int nb, unsigned int first)
{
	const uint32_t headers = shape_headers(s), l4 = shape_l4(s);

	for (unsigned int i = 0; i < nb; i++) {
		const uint32_t offset = (first + i) * SIZE;
		const uint8_t *f = whole[begin + i];
		const struct shape piece = {.v6 = s->v6, .payload = SIZE};

		assert_int_equal(lens[begin + i], headers + SIZE);
		for (uint32_t k = 0; k < SIZE; k++)
			assert_int_equal(f[headers + k],
				(uint8_t)((offset + k) * 31 + ((offset + k) >> 8) + s->seed));
		// checks that a receiver makes
		assert_int_equal(
			slow_sum(vtap_world_pseudo_sum(&piece, f), f + l4, lens[begin + i] - l4),
			0xffff);
	}
}

// A refused super-frame switches super-frames off for good, and leaves in pieces; so do all later
// ones, which are no longer offered whole. Frames stay in order.
static void test_cut(void **state)
{
	for (unsigned int v6 = 0; v6 < 2; v6++) {
		const struct shape s = {.v6 = v6, .payload = PIECES * SIZE, .seed = 3};
		struct rte_mbuf *m[4];

		tx_open(state);
		m[0] = plain('a');
		m[1] = super(&s);
		m[2] = super(&s);
		m[3] = plain('b');
		assert_int_equal(packet_tx_burst(&tx, m, 4), 4);
		assert_int_equal(nb_sent, 2 * PIECES + 2);
		assert_int_equal(sent[0], 'a');
		assert_pieces(&s, 1, PIECES, 0);
		assert_pieces(&s, 1 + PIECES, PIECES, 0);
		assert_int_equal(sent[2 * PIECES + 1], 'b');
		assert_int_equal(nb_supers, 1);
		assert_int_equal(port.uso.segments, 0);
		assert_int_equal(tx.kept.cut, 2);
		assert_int_equal(tx.errors, 0);
	}
}

// The kernel gets full in the middle of the pieces: the rest leaves before anything else.
static void test_cut_full(void **state)
{
	const struct shape s = {.payload = PIECES * SIZE};
	struct rte_mbuf *m[2] = {super(&s), plain('b')};

	room = 5;
	assert_int_equal(packet_tx_burst(&tx, m, 2), 1);
	assert_int_equal(nb_sent, 5);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(packet_tx_burst(&tx, &m[1], 1), 0);
	room = 3;
	assert_int_equal(packet_tx_burst(&tx, &m[1], 1), 0);
	assert_int_equal(nb_sent, 8);
	room = 100;
	assert_int_equal(packet_tx_burst(&tx, &m[1], 1), 1);
	assert_int_equal(nb_sent, PIECES + 1);
	assert_pieces(&s, 0, PIECES, 0);
	assert_int_equal(sent[PIECES], 'b');
	assert_int_equal(tx.kept.cut, 1);
	assert_int_equal(tx.errors, 0);
}

// The kernel takes nothing: the caller keeps the super-frame.
static void test_cut_later(void **state)
{
	const struct shape s = {.payload = PIECES * SIZE};
	struct rte_mbuf *m = super(&s);
	const unsigned int in_use = rte_mempool_in_use_count(vtap_world_pool);

	room = 0;
	assert_int_equal(packet_tx_burst(&tx, &m, 1), 0);
	assert_int_equal(rte_mempool_in_use_count(vtap_world_pool), in_use);
	assert_int_equal(tx.kept.cut, 0);
	room = 100;
	assert_int_equal(packet_tx_burst(&tx, &m, 1), 1);
	assert_pieces(&s, 0, PIECES, 0);
	assert_int_equal(tx.errors, 0);
}

// The caller also keeps it while there are no buffers for the pieces.
static void test_cut_no_buffers(void **state)
{
	const struct shape s = {.payload = PIECES * SIZE};
	struct rte_mbuf *held[VTAP_WORLD_POOL], *m = super(&s);
	unsigned int n = 0;

	while (n < VTAP_WORLD_POOL && (held[n] = rte_pktmbuf_alloc(vtap_world_pool)) != NULL)
		n++;
	assert_int_equal(packet_tx_burst(&tx, &m, 1), 0);
	rte_pktmbuf_free_bulk(held, n);
	assert_int_equal(packet_tx_burst(&tx, &m, 1), 1);
	assert_pieces(&s, 0, PIECES, 0);
	assert_int_equal(tx.errors, 0);
}

// A super-frame that cannot be cut is freed and counted; this does not change how others are sent.
static void test_cut_wrong(void **state)
{
	const struct shape s = {.payload = PIECES * SIZE};
	struct rte_mbuf *m[3] = {super(&s), super(&s), plain('b')};

	m[0]->tso_segsz = 0;
	m[1]->l4_len = 0;
	assert_int_equal(packet_tx_burst(&tx, m, 3), 3);
	assert_int_equal(nb_sent, 1);
	assert_int_equal(tx.errors, 2);
	assert_int_equal(tx.kept.cut, 0);
	assert_int_equal(port.uso.segments, 64);
	m[0] = super(&s);
	m[0]->tso_segsz = 200; // more pieces than a port takes
	assert_int_equal(packet_tx_burst(&tx, m, 1), 1);
	assert_int_equal(tx.errors, 3);
}

// Without another packet to send, the pieces still leave as soon as the kernel takes them.
static void test_cut_tick(void **state)
{
	const struct shape s = {.payload = PIECES * SIZE};
	struct rte_mbuf *m = super(&s);

	room = 5;
	assert_int_equal(packet_tx_burst(&tx, &m, 1), 1);
	for (unsigned int i = 0; i < SUPER_KEPT_TICKS - 1; i++)
		super_kept_tick(&tx.kept);
	room = 5;
	super_kept_tick(&tx.kept); // that restarts the second
	assert_int_equal(nb_sent, 10);
	for (unsigned int i = 0; i < SUPER_KEPT_TICKS - 2; i++)
		super_kept_tick(&tx.kept);
	room = 100;
	super_kept_tick(&tx.kept);
	assert_int_equal(nb_sent, PIECES);
	assert_pieces(&s, 0, PIECES, 0);
	assert_int_equal(tx.kept.cut, 1);
	assert_int_equal(tx.errors, 0);
	super_kept_tick(&tx.kept);
	assert_int_equal(nb_sent, PIECES);
}

// Pieces that the kernel refuses for a second would come too late, and block the queue.
static void test_cut_given_up(void **state)
{
	const struct shape s = {.payload = PIECES * SIZE};
	struct rte_mbuf *m[2] = {super(&s), plain('b')};

	room = 5;
	assert_int_equal(packet_tx_burst(&tx, m, 2), 1);
	for (unsigned int i = 0; i < SUPER_KEPT_TICKS; i++) {
		assert_int_equal(tx.errors, 0);
		super_kept_tick(&tx.kept);
	}
	assert_int_equal(tx.errors, PIECES - 5);
	assert_int_equal(rte_mempool_in_use_count(vtap_world_pool), 1);
	room = 100;
	assert_int_equal(packet_tx_burst(&tx, m + 1, 1), 1);
	assert_int_equal(nb_sent, 6);
}

// Closing frees half-sent super-frames, and counts them.
static void test_cut_close(void **state)
{
	const struct shape s = {.payload = PIECES * SIZE};
	struct rte_mbuf *m = super(&s);

	room = 5;
	assert_int_equal(packet_tx_burst(&tx, &m, 1), 1);
	super_kept_drop(&tx.kept);
	assert_int_equal(tx.errors, PIECES - 5);
	assert_int_equal(rte_mempool_in_use_count(vtap_world_pool), 0);
}

// --- receiving -----------------------------------------------------------------------------------

static ssize_t queued[8]; // lengths of frames on the socket; negative: an error
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

// A frame that is too long for its slot arrives on the socket.
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

	// an error, the rest of a lost slot, and the frame
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
	// the queue is empty: the slot is given up
	arrives(2, 5046);
	assert_int_equal(packet_rx_burst(&q, m, 4), 0);
	assert_int_equal(q.errors, 1);
}

static int group_open(void **state)
{
	return vtap_world_start("--file-prefix=packet_queue");
}

#define SENDING(name) cmocka_unit_test_setup_teardown(name, tx_open, tx_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SENDING(test_dropped),
		SENDING(test_cut),
		SENDING(test_cut_full),
		SENDING(test_cut_later),
		SENDING(test_cut_no_buffers),
		SENDING(test_cut_wrong),
		SENDING(test_cut_tick),
		SENDING(test_cut_given_up),
		SENDING(test_cut_close),
		cmocka_unit_test_teardown(test_left_over, vtap_world_whole),
	};

	return cmocka_run_group_tests(tests, group_open, vtap_world_stop);
}
