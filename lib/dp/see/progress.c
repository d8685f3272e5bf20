// SPDX-License-Identifier: BSD-3-Clause
// The progress of a worker, for other threads and for signal handlers: it takes no lock, and does
// not trust the memory that a worker is using.
#include "see/progress.h"

#include <rte_mbuf.h>

#include "bytes.h"
#include "datapath.h"
#include "dp_burst.h"
#include "protocols.h"
#include "stun.h"
#include "path/worker.h"

#define TAGS 2
#define CHANNEL_LEN 4
#define STUN_LEN 20

static const char *const stages[] = {
#define X(id, name, meaning) [id] = name,
	DP_STAGES(X)
#undef X
};

const char *dp_stage_name(unsigned int stage)
{
	return stage < DP_STAGE_END ? stages[stage] : NULL;
}

bool dp_progress(const struct dp *d, unsigned int worker, struct dp_progress *out)
{
	const struct progress *p;
	uint32_t doing;

	if (worker >= d->nb_made || d->worker[worker] == NULL)
		return false;
	p = &d->worker[worker]->progress;
	doing = __atomic_load_n(&p->doing, __ATOMIC_RELAXED);
	*out = (struct dp_progress){.rounds = __atomic_load_n(&p->rounds, __ATOMIC_RELAXED),
		.stage = (uint8_t)doing,
		.source_id = (uint8_t)(doing >> 8),
		.taken = (uint16_t)(doing >> 16)};
	return true;
}

bool dp_thread_progress(const struct dp *d, unsigned int index, struct dp_thread *out)
{
	struct stream_progress s;

	if (d->streams != NULL && stream_progress(d->streams, index, &s)) {
		*out = (struct dp_thread){.rounds = s.rounds, .tid = s.tid, .clock = s.clock};
		snprintf(out->name, sizeof(out->name), "stream-%u", index);
		return true;
	}
	if (!d->exception_running || index != (d->streams != NULL ? d->nb_streams : 0))
		return false;
	*out = (struct dp_thread){.name = "exception",
		.tid = __atomic_load_n(&d->exception_tid, __ATOMIC_ACQUIRE),
		.rounds = __atomic_load_n(&d->exception_rounds, __ATOMIC_RELAXED)};
	if (pthread_getcpuclockid(d->exception_thread, &out->clock) != 0)
		return false;
	return true;
}

// --- headers -------------------------------------------------------------------------------------

// Bytes of a message header, which may be shown; n: number of readable bytes of the payload.
static size_t message_len(const uint8_t *p, size_t n, size_t payload)
{
	size_t channel;

	if (n >= STUN_LEN && (p[0] & 0xc0) == 0 && load_be32(p + 4) == STUN_COOKIE)
		return STUN_LEN;
	if (n < CHANNEL_LEN || (p[0] & 0xc0) != 0x40)
		return 0;
	channel = CHANNEL_LEN + load_be16(p + 2); // padding may follow (RFC 8656 section 12.5)
	return payload >= channel && payload < channel + 4 ? CHANNEL_LEN : 0;
}

static size_t udp_len(const uint8_t *frame, size_t n, size_t offset)
{
	size_t payload;

	if (n < offset + NET_UDP_LEN)
		return offset;
	payload = load_be16(frame + offset + 4);
	payload = payload > NET_UDP_LEN ? payload - NET_UDP_LEN : 0;
	offset += NET_UDP_LEN;
	return offset + message_len(frame + offset, RTE_MIN(n - offset, payload), payload);
}

static size_t ip4_len(const uint8_t *frame, size_t n, size_t offset)
{
	const uint8_t *ip = frame + offset;
	const size_t len = n > offset ? (ip[0] & 15) * 4u : 0;

	if (n < offset + NET_IP4_LEN || ip[0] >> 4 != 4 || len < NET_IP4_LEN || n < offset + len)
		return 0;
	if (ip[NET_IP4_PROTO_AT] != NET_PROTO_UDP ||
		(load_be16(ip + NET_IP4_FRAGMENT_AT) & 0x1fff) != 0)
		return offset + len;
	return udp_len(frame, n, offset + len);
}

static size_t ip6_len(const uint8_t *frame, size_t n, size_t offset)
{
	const uint8_t *ip = frame + offset;

	if (n < offset + NET_IP6_LEN || ip[0] >> 4 != 6)
		return 0;
	if (ip[NET_IP6_NEXT_AT] != NET_PROTO_UDP)
		return offset + NET_IP6_LEN;
	return udp_len(frame, n, offset + NET_IP6_LEN);
}

size_t progress_headers_len(const uint8_t *frame, size_t n)
{
	size_t offset = NET_ETH_LEN;

	if (n < NET_ETH_LEN)
		return 0;
	for (unsigned int i = 0; i < TAGS && n >= offset + NET_VLAN_LEN; i++) {
		if (load_be16(frame + offset - 2) != NET_ETHERTYPE_VLAN)
			break;
		offset += NET_VLAN_LEN;
	}
	switch (load_be16(frame + offset - 2)) {
	case NET_ETHERTYPE_IP4:
		return ip4_len(frame, n, offset);
	case NET_ETHERTYPE_IP6:
		return ip6_len(frame, n, offset);
	case NET_ETHERTYPE_ARP:
		return offset;
	}
	return 0;
}

bool dp_progress_headers(const struct dp *d, unsigned int worker, unsigned int i, dp_copier *copy,
	struct dp_headers *out)
{
	const struct rte_mbuf *mbuf;
	struct rte_mbuf m;
	size_t n;

	if (worker >= d->nb_made || i >= DP_BURST ||
		!copy(&mbuf, &d->worker[worker]->burst.m[i], sizeof(mbuf)) || mbuf == NULL ||
		!copy(&m, mbuf, sizeof(m)) || m.data_off > m.buf_len)
		return false;
	n = RTE_MIN(RTE_MIN((size_t)m.data_len, (size_t)(m.buf_len - m.data_off)),
		(size_t)DP_HEADERS_MAX);
	if (!copy(out->bytes, (const char *)m.buf_addr + m.data_off, n))
		return false;
	out->len = m.pkt_len;
	out->nb = (uint8_t)progress_headers_len(out->bytes, n);
	return out->nb > 0;
}
