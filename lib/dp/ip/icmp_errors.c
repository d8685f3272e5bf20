// SPDX-License-Identifier: BSD-3-Clause
// ICMP errors about packets that the data path has sent (RFC 8656 section 11.5). An error comes in
// on any worker and goes to the worker that owns the allocation, which judges it.
//
// Anybody can send an error in the name of any router, so its source proves nothing and is not
// checked. The check is that we can have sent the quoted datagram: from the relayed transport
// address of a live allocation to an address with a live permission, or from a listener to the
// client of an allocation.
#include "ip/icmp_errors.h"
#include "addr.h"
#include "clients/client.h"
#include "ask/hot.h"
#include "datapath.h"
#include "drop_of.h"
#include "icmp_error.h"
#include "ip/path_mtu.h"
#include "link/local_addrs.h"
#include "link/nexthop.h"
#include "net.h"
#include "steering/steer.h"
#include "turn.h"
#include "turn_icmp.h"
#include "turn_relay_map.h"
#include "turn_shard.h"
#include "path/worker.h"
#include "workers/handover.h"
#include "workers/mbuf_meta.h"

// Home of a client to which we have sent: the home of the client's own datagrams.
static unsigned int client_home(
	const struct worker *w, const struct net_icmp_error *e, uint8_t listener, uint8_t port)
{
	const struct dp *d = w->dp;
	const struct net_frame client_frame = {.src = e->dst.addr,
		.dst = e->src.addr,
		.sport = e->dst.port,
		.dport = e->src.port,
		.is_v4 = addr_is_v4(&e->dst.addr)};
	const struct rte_mbuf none = {.ol_flags = 0};
	struct addr via;

	nexthop_find(w->hot, &e->src.addr, &e->dst.addr, &port, &via);
	return steer_client_home(d, &d->port[port], &none, &client_frame, listener);
}

// Finds the sender of the datagram that an error is about, and the worker that owns it. False if
// the data path did not send it.
static bool find_home(const struct worker *w, const struct net_icmp_error *e,
	struct icmp_note *note, unsigned int *home)
{
	const struct local_addrs *local = w->local;
	const struct local_addr *laddr = local_addrs_find(local, &e->src.addr);
	int listener;

	if (laddr == NULL || laddr->kind != LOCAL_OWN)
		return false;
	listener = local_addrs_listener(local, laddr, e->src.port);
	if (listener < 0)
		return laddr->relay >= 0 &&
			turn_relay_map_home(w->dp->map, (unsigned int)laddr->relay, e->src.port,
				home, &note->slot);
	note->to_client = true;
	note->listener = (uint8_t)listener;
	note->dtls = local_addrs_dtls(local, laddr, e->src.port);
	*home = client_home(w, e, note->listener, laddr->port);
	return true;
}

// True if an error comes in on one port but is about packets of another one, and one of the two is
// isolated (apart): hosts on one port know nothing about packets on the other.
static bool is_foreign(const struct worker *w, uint8_t port, const struct addr *src)
{
	const struct local_addr *laddr = local_addrs_find(w->local, src);
	const uint32_t both = UINT32_C(1) << port | UINT32_C(1) << laddr->port;

	return laddr->port != port && (w->hot->apart & both) != 0;
}

bool icmp_errors_input(
	struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_frame *f)
{
	const uint8_t *icmp = rte_pktmbuf_mtod_offset(m, const uint8_t *, f->payload_off);
	struct icmp_note note = {.off = f->payload_off, .len = f->payload_len, .is_v4 = f->is_v4};
	struct net_icmp_error e;
	// an error of the kernel, about a program
	const bool loopback = w->dp->port[port].port->loopback;
	unsigned int home;

	if (!net_icmp_error_is(f, icmp) || !net_icmp_error_parse(f, icmp, &e) ||
		!addr_eq(&e.src.addr, &f->dst) || !find_home(w, &e, &note, &home))
		return false;
	if (local_addrs_ours(w->local, &f->src) && !loopback) {
		worker_drop(w, m, drop_of_net(NET_DROP_MARTIAN_SOURCE));
	} else if (unlikely(is_foreign(w, port, &e.src.addr))) {
		worker_drop(w, m, drop_of_net(NET_DROP_NOT_FOR_US));
	} else if (local_addrs_ours(w->local, &e.dst.addr) && !loopback) {
		// datagrams to our own addresses never leave this host
		worker_drop(w, m, DP_DROP_ICMP_QUOTE);
	} else if (home != w->id) {
		mbuf_meta_of(m)->icmp = note;
		handover_icmp(w, home, m);
	} else {
		icmp_errors_take(w, m, &note);
	}
	return true;
}

// --- on the home worker -------------------------------------------------------------------------

// Takes one indication from the worker's share of icmp.errors-in.
static bool take_indication(struct worker *w)
{
	const struct limit share = {w->hot->errors_in, w->hot->errors_in};

	return share.rate > 0 && bucket_take(&w->errors_in, &share, w->now_ms * BUCKET_MS);
}

static void about_peer(struct worker *w, struct rte_mbuf *m, const struct icmp_note *note,
	const struct net_icmp_error *e)
{
	struct turn_icmp about = {.relay = e->src,
		.peer = e->dst,
		.slot = note->slot,
		.data = e->mtu,
		.type = e->type,
		.code = e->code};
	enum turn_drop reason = turn_icmp_judge(w->shard, &about);
	uint8_t message[TURN_ICMP_LEN_MAX];

	// first: forged errors may use up the limit of the client's indications, but must not stop
	// us from learning
	if (reason == TURN_OK && e->too_big)
		path_mtu_learn(w, e, about.slot, TURN_FROM_PEER);
	if (reason == TURN_OK && !turn_icmp_tells(w->shard, about.slot))
		reason = TURN_DROP_ICMP_UNTOLD;
	if (reason == TURN_OK && !turn_icmp_allows(w->shard, about.slot))
		reason = TURN_DROP_ICMP_RATE;
	if (reason != TURN_OK)
		worker_drop(w, m, drop_of_turn(reason));
	else if (!take_indication(w))
		worker_drop(w, m, DP_DROP_ICMP_TOTAL);
	else
		client_indicate(
			w, m, about.slot, message, turn_icmp_indication(w->shard, &about, message));
}

// Slot of the allocation of a client to which we have sent over UDP or DTLS, or TURN_NONE. Then
// *worker is the worker to which the client has been redirected, or TURN_NO_WORKER.
static uint32_t slot_of_client(const struct worker *w, const struct icmp_note *note,
	const struct net_icmp_error *e, uint8_t *worker)
{
	const uint8_t listeners[] = {note->listener, note->dtls};

	*worker = TURN_NO_WORKER;
	for (unsigned int i = 0; i < RTE_DIM(listeners); i++) {
		const struct turn_view v = {
			.src = e->dst.addr, .src_port = e->dst.port, .listener = listeners[i]};
		uint32_t left_ms, slot = turn_shard_client(w->shard, &v, &left_ms);

		if (slot != TURN_NONE)
			return slot;
		if (*worker == TURN_NO_WORKER)
			*worker = turn_redirect_to(w->shard, &v);
	}
	return TURN_NONE;
}

// Only the path MTU is used: a client that is gone need not be told.
static void about_client(struct worker *w, struct rte_mbuf *m, const struct icmp_note *note,
	const struct net_icmp_error *e)
{
	unsigned int reason = DP_OK;
	uint8_t dst;
	const uint32_t slot = slot_of_client(w, note, e, &dst);

	if (slot == TURN_NONE && dst != TURN_NO_WORKER && !note->redirected) {
		mbuf_meta_of(m)->icmp = *note;
		mbuf_meta_of(m)->icmp.redirected = true;
		handover_icmp(w, dst, m);
		return;
	}
	if (slot == TURN_NONE)
		reason = drop_of_turn(TURN_DROP_ICMP_NO_ALLOCATION);
	else if (!e->too_big)
		reason = DP_DROP_ICMP;
	else
		path_mtu_learn(w, e, slot, TURN_FROM_CLIENT);
	if (reason == DP_OK && !turn_icmp_allows(w->shard, slot))
		reason = drop_of_turn(TURN_DROP_ICMP_RATE);
	if (reason != DP_OK) {
		worker_drop(w, m, reason);
		return;
	}
	w->live.consumed++;
	rte_pktmbuf_free(m);
}

void icmp_errors_take(struct worker *w, struct rte_mbuf *m, const struct icmp_note *note)
{
	const struct net_frame f = {.kind = note->is_v4 ? NET_ICMP : NET_ICMP6,
		.payload_off = note->off,
		.payload_len = note->len,
		.is_v4 = note->is_v4};
	struct net_icmp_error e;

	// parsed again for its contents; it was parsed first on the worker where it came in
	net_icmp_error_parse(&f, rte_pktmbuf_mtod_offset(m, const uint8_t *, note->off), &e);
	if (note->to_client)
		about_client(w, m, note, &e);
	else
		about_peer(w, m, note, &e);
}
