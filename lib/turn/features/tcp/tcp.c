// SPDX-License-Identifier: BSD-3-Clause
// TCP allocations: the rules of RFC 6062 for Allocate, Connect, ConnectionBind and
// ConnectionAttempt. Requests are judged here; a granted one becomes an order for the thread that
// has the sockets.
#include "turn_tcp.h"
#include "events/tell.h"
#include "relayed/external.h"
#include "relayed/relayed.h"
#include "requests/elsewhere.h"
#include "requests/method.h"
#include "requests/permit.h"
#include "features/tcp/tcp.h"
#include "shard.h"

// True if the client came over TCP or TLS (RFC 6062 5.1, 5.4).
static bool is_client(const struct turn_request *r)
{
	const struct turn_shard *s = r->s;

	return r->v->listener < s->nb_listeners &&
		turn_listener_is_stream(&s->listener[r->v->listener]);
}

enum turn_refusal tcp_may_ask(const struct turn_request *r)
{
	if (!is_client(r))
		return TURN_REFUSED_TCP_CLIENT;
	return stun_has(&r->m, STUN_DONT_FRAGMENT) || stun_has(&r->m, STUN_EVEN_PORT)
		? TURN_REFUSED_MALFORMED
		: TURN_GRANTED;
}

// --- orders --------------------------------------------------------------------------------------

// True if an order can have this outcome, enum turn_answer.
static bool may_end(const struct turn_order *o, unsigned int answer)
{
	static const uint8_t outcomes[] = {
		[TURN_ORDER_LISTEN] = 1 << TURN_ANSWER_DONE | 1 << TURN_ANSWER_NO_PORT,
		[TURN_ORDER_CONNECT] = 1 << TURN_ANSWER_DONE | 1 << TURN_ANSWER_EXISTS |
			1 << TURN_ANSWER_FAILED | 1 << TURN_ANSWER_QUOTA | 1 << TURN_ANSWER_DENIED,
		[TURN_ORDER_BIND] = 1 << TURN_ANSWER_DONE | 1 << TURN_ANSWER_UNKNOWN,
		[TURN_ORDER_REKEY] = 1 << TURN_ANSWER_DONE,
	};

	return (outcomes[o->kind] >> answer & 1) != 0;
}

// Begins the order of a request.
static struct turn_order *order_begin(struct turn_request *r, enum turn_order_kind kind)
{
	struct turn_order *o = &r->side->order;

	*o = (struct turn_order){
		.kind = (uint8_t)kind, .realm = r->policy->number, .listener = r->v->listener};
	r->ordered = true;
	memcpy(o->ident, r->cred.ident, sizeof(o->ident));
	// Many clients share the kid, so the token itself must be the same.
	if (cred_is_token(&r->cred))
		cred_quota_ident(r->policy, r->s->crypto, &r->m, &r->cred, o->ident);
	return o;
}

// The order of a request about the allocation of r->slot.
static struct turn_order *order_of(struct turn_request *r, enum turn_order_kind kind)
{
	struct turn_order *o = order_begin(r, kind);

	o->allocation = alloc_id(r->s, r->slot);
	o->port_index = tcp_table_port_index(r->s, r->slot);
	return o;
}

// The stream threads know an allocation's token only from orders.
void tcp_refreshed(struct turn_request *r)
{
	if (cred_is_token(&r->cred) && alloc_is_tcp(r->s, r->slot) &&
		!alloc_is_of_far(r->s, r->slot, &r->cred, r->policy->number))
		order_of(r, TURN_ORDER_REKEY);
}

enum turn_refusal tcp_answer(struct turn_request *r, struct turn_plan *plan)
{
	static const uint16_t codes[] = {
#define X(id, code) [id] = code,
		TURN_ORDER_ANSWERS(X)
#undef X
	};
	struct turn_order *o = &r->side->order;
	uint16_t total = 0;

	for (unsigned int i = 0; i < TURN_ANSWER_END; i++) {
		uint16_t len;

		if (!may_end(o, i))
			continue;
		if (codes[i] != 0)
			request_begin_error(r, codes[i]);
		len = request_sign(r, true);
		if (len == 0)
			return TURN_REFUSED_INTERNAL;
		o->len[i] = len;
		r->w.buf += len;
		r->w.cap = (uint16_t)(r->w.cap - len);
		total = (uint16_t)(total + len);
	}
	*plan = (struct turn_plan){
		.verdict = TURN_REPLY, .flags = TURN_PLAN_ORDER, .front_len = total};
	return TURN_GRANTED;
}

// --- Allocate ------------------------------------------------------------------------------------

// Makes the allocation on an allocated slot and port.
static enum turn_refusal make_alloc(struct turn_request *r, const struct alloc_new *n)
{
	struct turn_shard *s = r->s;

	if (!alloc_make(s, r->v, n)) {
		tcp_table_give(s, n->port_index, n->quota.user);
		return TURN_REFUSED_NO_MEMORY;
	}
	r->slot = n->slot;
	method_put_allocation(r, n->slot);
	tell_made(r);
	order_of(r, TURN_ORDER_LISTEN)->endpoint = alloc_relay(s, n->slot);
	return TURN_GRANTED;
}

// Allocates the TCP port, and a slot of a relay address like any other; its UDP port stays unused
// meanwhile. It allocates both or neither.
static enum turn_refusal take_port(const struct turn_request *r, bool is_v4, struct alloc_new *n)
{
	struct turn_shard *s = r->s;
	const struct relayed_want want = {.is_v4 = is_v4,
		.kind = RELAY_PORTS_ANY,
		.user = n->quota.user,
		.per_user = r->policy->limits.per_user};
	enum turn_refusal refusal = tcp_table_take(s, n->quota.user, &n->port_index);

	if (refusal != TURN_GRANTED)
		return refusal;
	refusal = relayed_take(s, &want, &n->slot);
	if (refusal != TURN_GRANTED)
		tcp_table_give(s, n->port_index, n->quota.user);
	return refusal;
}

enum turn_refusal tcp_allocate(struct turn_request *r, bool is_v4, uint32_t lifetime_s)
{
	struct turn_shard *s = r->s;
	struct alloc_new n = {.lifetime_ms = lifetime_s * 1000,
		.tid = stun_tid(&r->m),
		.cred = &r->cred,
		.kind = ALLOC_TCP};
	enum turn_refusal refusal = method_count_one(r, &n.quota);

	if (refusal != TURN_GRANTED)
		return refusal;
	refusal = take_port(r, is_v4, &n);
	if (refusal != TURN_GRANTED) {
		const struct elsewhere_want want = {.family = {!is_v4, is_v4}, .is_tcp = true};

		quota_give(s->quota, &n.quota);
		return elsewhere_allocate(r, &want, refusal);
	}
	refusal = make_alloc(r, &n);
	if (refusal != TURN_GRANTED) {
		quota_give(s->quota, &n.quota);
		relayed_give(s, n.slot, n.quota.user);
	}
	return refusal;
}

// --- Connect and ConnectionBind ------------------------------------------------------------------

// Judges a peer over TCP. Local programs are not peers: they cannot be reached over TCP.
static enum turn_peer_class peer_class(
	const struct turn_policy *p, const struct addr *a, uint16_t port)
{
	const enum turn_peer_class class = turn_policy_peer(p, a, port != 0 ? TURN_PORT_ANY : port);

	return class == TURN_PEER_OWN && !p->hairpin ? TURN_PEER_NEVER : class;
}

// Judges the peer of a Connect. Among the addresses of this box only relayed transport addresses
// for TCP can be peers: *peer_index gets the index of the port. Connect cannot reach local
// listeners.
static enum turn_refusal peer_admit(
	struct turn_request *r, struct endpoint *peer, uint32_t *peer_index)
{
	const struct turn_shard *s = r->s;
	const uint16_t off = r->m.off[STUN_XOR_PEER_ADDRESS];
	const enum turn_refusal refusal = permit_decode(s, &r->slot, &r->m, off, peer);
	enum turn_peer_class class;

	*peer_index = TURN_NONE;
	if (refusal != TURN_GRANTED)
		return refusal;
	r->peer = *peer;
	class = peer_class(alloc_policy(s, r->slot), &peer->addr, peer->port);
	if (class == TURN_PEER_OWN) {
		*peer_index = tcp_table_at(s, peer->port);
		if (*peer_index == TURN_NONE)
			return TURN_REFUSED_TCP_OWN;
		return permit_admit(s, r->slot, peer, TURN_PORT_ANY);
	}
	return class == TURN_PEER_NEVER && policy_is_own(alloc_policy(s, r->slot), &peer->addr)
		? TURN_REFUSED_PEER_OWN
		: permit_admit(s, r->slot, peer, peer->port != 0 ? TURN_PORT_ANY : 0);
}

enum turn_refusal method_connect(struct turn_request *r)
{
	struct endpoint peer;
	enum turn_refusal refusal;
	struct turn_order *o;
	uint32_t peer_index;

	if (!alloc_is_tcp(r->s, r->slot))
		return TURN_REFUSED_TCP_METHOD;
	if (!stun_has(&r->m, STUN_XOR_PEER_ADDRESS))
		return TURN_REFUSED_MALFORMED;
	refusal = peer_admit(r, &peer, &peer_index);
	if (refusal != TURN_GRANTED)
		return refusal;
	o = order_of(r, TURN_ORDER_CONNECT);
	o->endpoint = peer;
	o->peer_index = peer_index;
	o->id = tcp_table_number(r->s);
	stun_put_u32(&r->w, STUN_CONNECTION_ID, o->id);
	tell_peer(r->s, r->slot, &peer);
	return TURN_GRANTED;
}

// The connection to bind may belong to any worker, so only the stream threads know it.
enum turn_refusal method_connection_bind(struct turn_request *r)
{
	uint32_t id;

	if (!is_client(r))
		return TURN_REFUSED_TCP_CLIENT;
	if (!stun_get_u32(&r->m, STUN_CONNECTION_ID, &id))
		return TURN_REFUSED_MALFORMED;
	if (r->slot != TURN_NONE) // a control connection cannot be a data connection, too
		return TURN_REFUSED_TCP_METHOD;
	order_begin(r, TURN_ORDER_BIND)->id = id;
	return TURN_GRANTED;
}

// --- ConnectionAttempt ---------------------------------------------------------------------------

// True if a policy allows an endpoint as a peer. Only another allocation can connect from one of
// our addresses: the kernel's sockets are bound to an interface, and local traffic uses another
// one.
static bool may_be_peer(const struct turn_policy *p, const struct addr *a, uint16_t port)
{
	const enum turn_peer_class class = peer_class(p, a, port);

	return class == TURN_PEER_ALLOW || class == TURN_PEER_OWN;
}

bool turn_tcp_may_be_peer(const struct turn_policy *p, uint8_t realm, const struct endpoint *peer)
{
	return may_be_peer(policy_realm(p, realm), &peer->addr, peer->port);
}

// Slot of the allocation to which the peer has connected, if the peer is allowed.
static uint32_t admitted_slot(
	struct turn_shard *s, uint32_t port_index, uint64_t allocation, const struct addr *peer)
{
	const uint32_t slot = tcp_table_slot(s, port_index, allocation);

	if (slot == TURN_NONE || alloc_left(s, slot) == 0 || !peers_permission_live(s, slot, peer))
		return TURN_NONE;
	return may_be_peer(alloc_policy(s, slot), peer, 1) ? slot : TURN_NONE;
}

void turn_tcp_attempt(struct turn_shard *s, uint32_t port_index, uint64_t allocation,
	const struct endpoint *peer, struct turn_side *side)
{
	const struct endpoint told = {external_told(&s->policy->external, &peer->addr), peer->port};
	struct turn_order *o = &side->order;
	struct stun_writer w;
	uint8_t tid[16];

	*o = (struct turn_order){.allocation = allocation,
		.port_index = port_index,
		.endpoint = *peer,
		.kind = TURN_ORDER_ADMIT};
	if (admitted_slot(s, port_index, allocation, &peer->addr) == TURN_NONE)
		return;
	o->id = tcp_table_number(s);
	turn_tids_next(&s->tids, tid);
	stun_begin(&w, side->front, sizeof(side->front), STUN_INDICATION, STUN_CONNECTION_ATTEMPT,
		tid);
	stun_put_u32(&w, STUN_CONNECTION_ID, o->id);
	stun_put_xor_addr(&w, STUN_XOR_PEER_ADDRESS, &told);
	o->len[TURN_ANSWER_DONE] = stun_end(&w);
}

void turn_tcp_ended(struct turn_shard *s, uint32_t port_index, uint64_t allocation)
{
	const uint32_t slot = tcp_table_slot(s, port_index, allocation);

	if (slot != TURN_NONE)
		alloc_end(s, slot, TURN_END_PORT);
}
