// SPDX-License-Identifier: BSD-3-Clause
// One request of a client, from its first transmission to the answer or the last timeout (RFC 8489
// 6.2.1). No copy of the request is kept. A retransmission is built again from the client and the
// population; these do not change meanwhile, so the bytes are identical.
#include "client/request.h"

#include <netinet/in.h>

#include "client/auth.h"
#include "client/population.h"

#define RTO_MS 500 // RFC 8489 6.2.1: first retransmission timeout, doubled each time
#define RC 7 // transmissions in all
#define RM 16 // RTOs to wait after the last transmission
#define TI_MS 39500 // RFC 8489 6.2.2: timeout over a reliable transport

// RFC 8489 6.2.1 wants times kept to a millisecond. A tick of the wheel is 16 of its time units, so
// the unit here is a sixteenth of a millisecond.
void request_timer(struct clients *p, uint32_t i, uint64_t when_ms)
{
	wheel_set(&p->wheel, i, when_ms * WHEEL_TICK_MS);
}

static void put_allocate(const struct clients *p, struct stun_writer *w)
{
	stun_put_u32(w, STUN_REQUESTED_TRANSPORT, (uint32_t)IPPROTO_UDP << 24);
	if (p->family != 0)
		stun_put_u32(w, STUN_REQUESTED_ADDRESS_FAMILY, (uint32_t)p->family << 24);
	if (p->config->dont_fragment)
		stun_put(w, STUN_DONT_FRAGMENT, NULL, 0);
}

static void put_attributes(const struct clients *p, uint32_t i, struct stun_writer *w)
{
	const struct client *cl = &p->client[i];

	switch (cl->method) {
	case STUN_ALLOCATE:
		put_allocate(p, w);
		stun_put_u32(w, STUN_LIFETIME, p->config->lifetime_s);
		break;
	case STUN_REFRESH:
		stun_put_u32(w, STUN_LIFETIME, cl->deleting ? 0 : p->config->lifetime_s);
		break;
	case STUN_CHANNEL_BIND:
		stun_put_u32(w, STUN_CHANNEL_NUMBER, (uint32_t)cl->channel << 16);
		stun_put_xor_addr(w, STUN_XOR_PEER_ADDRESS, &cl->peer);
		break;
	case STUN_CREATE_PERMISSION:
		stun_put_xor_addr(w, STUN_XOR_PEER_ADDRESS, &cl->peer);
		break;
	}
}

static size_t request_write(struct clients *p, uint32_t i, uint8_t *out)
{
	const struct client *cl = &p->client[i];
	struct stun_writer w;

	stun_begin(&w, out, p->message_max, STUN_REQUEST, cl->method, cl->tid);
	put_attributes(p, i, &w);
	if (!cl->bare)
		auth_sign(p, i, &w);
	return stun_end(&w);
}

size_t request_renew(struct clients *p, uint32_t i, uint64_t now_ms, uint8_t *out)
{
	struct client *cl = &p->client[i];
	size_t len;

	csprng_bytes(p->rng, cl->tid, STUN_TID_LEN);
	cl->bare = !auth_ready(p, i);
	cl->tampered = false;
	len = request_write(p, i, out);
	if (len == 0) {
		request_end(p, i);
		return 0;
	}
	cl->pending = true;
	cl->tries = config_reliable(p->config) ? RC : 1;
	cl->sent_ms = (uint32_t)now_ms;
	stat_add(&p->stats.requests, 1);
	request_timer(p, i, now_ms + (config_reliable(p->config) ? TI_MS : RTO_MS));
	return len;
}

size_t request_begin(
	struct clients *p, uint32_t i, enum stun_method method, uint64_t now_ms, uint8_t *out)
{
	struct client *cl = &p->client[i];

	cl->method = (uint8_t)method;
	cl->challenges = 0;
	cl->challenged = false;
	return request_renew(p, i, now_ms, out);
}

size_t request_again(struct clients *p, uint32_t i, uint64_t now_ms, uint8_t *out)
{
	struct client *cl = &p->client[i];
	uint64_t wait_ms;

	if (cl->tries == RC)
		return 0;
	cl->tries++;
	stat_add(&p->stats.retransmissions, 1);
	// counted from now, not from the due time: a sender that fell behind must not send a burst
	wait_ms = cl->tries < RC ? (uint64_t)RTO_MS << (cl->tries - 1) : RM * RTO_MS;
	request_timer(p, i, now_ms + wait_ms);
	return request_write(p, i, out);
}

bool request_matches(const struct client *cl, const struct stun_msg *m)
{
	return cl->pending && (m->cls == STUN_SUCCESS || m->cls == STUN_ERROR) &&
		m->method == cl->method && memcmp(stun_tid(m), cl->tid, STUN_TID_LEN) == 0;
}

void request_end(struct clients *p, uint32_t i)
{
	p->client[i].pending = false;
	wheel_cancel(&p->wheel, i);
}
