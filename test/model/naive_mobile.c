// SPDX-License-Identifier: BSD-3-Clause
// Tickets and moves (RFC 8016 3): a ticket is a text that the server gave. It belongs to a group,
// which is one allocation or the two of a dual one.
#include "naive.h"

#define PATH_MS 30000 // the RFC says nothing; slipring waits this long

// Live holds of a group.
static unsigned int members(struct naive *n, uint32_t group, struct naive_hold *out[2])
{
	unsigned int nb = 0;

	for (unsigned int i = 0; i < NAIVE_HOLDS && group != 0; i++)
		if (naive_live(n, &n->hold[i]) && n->hold[i].mobile.group == group) {
			assert_true(nb < 2);
			out[nb++] = &n->hold[i];
		}
	return nb;
}

static void spread(struct naive *n, const struct naive_mobile *m)
{
	for (unsigned int i = 0; i < NAIVE_HOLDS; i++)
		if (n->hold[i].used && n->hold[i].mobile.group == m->group)
			n->hold[i].mobile = *m;
}

struct naive_hold *naive_path(struct naive *n, unsigned int client)
{
	for (unsigned int i = 0; i < NAIVE_HOLDS; i++) {
		struct naive_hold *h = &n->hold[i];

		if (naive_live(n, h) && h->mobile.has_path && h->mobile.path == client &&
			n->now_ms < h->mobile.path_until_ms)
			return h;
	}
	return NULL;
}

void naive_give(struct naive *n, uint32_t group, unsigned int client)
{
	for (unsigned int i = 0; i < NAIVE_HOLDS; i++)
		if (n->hold[i].used && n->hold[i].mobile.group == group)
			n->hold[i].client = client;
}

static void arrive(struct naive *n, struct naive_mobile *m)
{
	naive_give(n, m->group, m->path);
	m->has_path = false;
	spread(n, m);
	n->moves++;
	n->all_moves++;
}

void naive_moved(struct naive *n, uint32_t group)
{
	struct naive_hold *h[2];
	struct naive_mobile m;

	assert_true(members(n, group, h) > 0);
	m = h[0]->mobile;
	m.before[0] = '\0';
	arrive(n, &m);
}

static uint32_t group_of(const struct naive *n, const char *text)
{
	for (unsigned int i = 0; i < NAIVE_TICKETS; i++)
		if (n->ticket[i].group != 0 && strcmp(n->ticket[i].text, text) == 0)
			return n->ticket[i].group;
	return 0;
}

// Stores a ticket that was given. False if there was already one with this text.
static bool keep(struct naive *n, const char *text, uint32_t group)
{
	struct naive_ticket *t = &n->ticket[n->nb_tickets % NAIVE_TICKETS];

	if (group_of(n, text) != 0)
		return false;
	n->nb_tickets++;
	memcpy(t->text, text, sizeof(t->text));
	t->group = group;
	return true;
}

// --- Allocate

bool naive_ticket_codes(const struct naive *n, const struct op *op, struct naive_set *allowed)
{
	if (op->ticket == TICKET_NONE || (op->ticket == TICKET_EMPTY && model_may_move(n->config)))
		return true;
	naive_may(allowed, model_may_move(n->config) ? 400 : 405);
	return false;
}

const char *naive_judge_ticket(struct naive *n, const struct op *op, const struct outcome *o)
{
	struct naive_hold *h = naive_allocation(n, op->client), *sibling;

	if (h->mobile.group != 0) // a retransmission
		return strcmp(o->ticket, h->mobile.ticket) == 0 || op->ticket == TICKET_NONE
			? NULL
			: "retransmission got another ticket";
	if ((o->ticket[0] != '\0') != (op->ticket == TICKET_EMPTY && model_may_move(n->config)))
		return "a ticket that was not requested, or no ticket on request";
	if (o->ticket[0] == '\0')
		return NULL;
	h->mobile.group = ++n->groups;
	memcpy(h->mobile.ticket, o->ticket, sizeof(h->mobile.ticket));
	for (int v4 = 0; v4 < 2; v4++) {
		sibling = naive_of_family(n, op->client, v4);
		if (sibling != NULL)
			sibling->mobile = h->mobile;
	}
	return keep(n, o->ticket, h->mobile.group) ? NULL : "a ticket that was given before";
}

// --- Refresh

static bool is_family(const struct naive_hold *h, int family)
{
	return family == 0 || addr_is_v4(&h->relay.addr) == (family == 1);
}

// The hold that the client of a 5-tuple has or will have.
static struct naive_hold *own_of(struct naive *n, unsigned int client)
{
	struct naive_hold *h = naive_allocation(n, client);

	return h != NULL ? h : naive_path(n, client);
}

// True if a ticket of an allocation is its latest, or the one before that, which stays valid for
// some time.
static bool is_good(const struct naive *n, const struct naive_hold *h, const char *text)
{
	return strcmp(text, h->mobile.ticket) == 0 ||
		(strcmp(text, h->mobile.before) == 0 && n->now_ms < h->mobile.before_until_ms);
}

void naive_move_codes(struct naive *n, const struct op *op, struct naive_set *allowed)
{
	const uint32_t group = op->ticket == TICKET_TEXT ? group_of(n, op->ticket_text) : 0;
	const struct naive_hold *occupant = own_of(n, op->client);
	struct naive_hold *h[2];
	const unsigned int nb = members(n, group, h);

	if (!model_may_move(n->config))
		return naive_may(allowed, 405);
	if (op->ticket == TICKET_EMPTY)
		return naive_may(allowed, 400);
	if (nb == 0)
		return naive_may(allowed, 437);
	if (h[0]->key != op->user)
		return naive_may(allowed, 441);
	if (occupant != NULL && occupant->mobile.group != group)
		return naive_may(allowed, 437);
	if (!is_good(n, h[0], op->ticket_text))
		return naive_may(allowed, 437);
	if (op->family > 2 ||
		(!is_family(h[0], op->family) && (nb == 1 || !is_family(h[1], op->family))))
		return naive_may(allowed, 443);
	naive_may(allowed, 0);
	if (occupant == NULL && model_may_lack_moves(n->config))
		naive_may(allowed, 508);
}

// The client of an allocation, or another host at another 5-tuple, sends its ticket.
static const char *shown(
	struct naive *n, const struct op *op, const struct outcome *o, struct naive_mobile *m)
{
	const struct naive_hold *here = naive_allocation(n, op->client);
	const struct naive_hold *on_path = here == NULL ? naive_path(n, op->client) : NULL;
	const bool again = strcmp(op->ticket_text, m->ticket) != 0;

	if (again && (here != NULL || on_path != NULL)) {
		if (strcmp(o->ticket, m->ticket) != 0)
			return "the same Refresh got another ticket";
	} else {
		if (!keep(n, o->ticket, m->group))
			return "a ticket that was given before, or no ticket";
		memcpy(m->before, op->ticket_text, sizeof(m->before));
		memcpy(m->ticket, o->ticket, sizeof(m->ticket));
		m->before_until_ms = n->now_ms + PATH_MS;
	}
	if (here != NULL) {
		m->has_path = false;
	} else if (on_path == NULL) {
		m->has_path = true;
		m->path = op->client;
		m->path_until_ms = n->now_ms + PATH_MS;
	}
	spread(n, m);
	if (on_path != NULL && !again)
		arrive(n, m);
	return NULL;
}

const char *naive_judge_move(struct naive *n, const struct op *op, const struct outcome *o)
{
	const bool end = op->has_lifetime && op->lifetime_s == 0;
	struct naive_hold *h[2];
	const unsigned int nb = members(n, group_of(n, op->ticket_text), h);
	struct naive_mobile m = h[0]->mobile;
	const char *wrong = NULL;

	if (o->lifetime_s != (end ? 0 : naive_lifetime(n, op)))
		return "wrong LIFETIME";
	if (!end || (op->family != 0 && nb == 2))
		wrong = shown(n, op, o, &m);
	else if (o->ticket[0] != '\0')
		wrong = "a ticket of an ended allocation";
	for (unsigned int i = 0; i < nb && wrong == NULL; i++) {
		if (!is_family(h[i], op->family))
			continue;
		if (end) {
			naive_release(n, h[i]);
			continue;
		}
		h[i]->expires_ms = n->now_ms + o->lifetime_s * UINT64_C(1000);
		h[i]->granted_s = o->lifetime_s;
	}
	return wrong;
}

// --- input on a path

// True if an op on the path of an allocation makes the path permanent: media that is relayed, and
// requests of its user that need an allocation.
static bool is_used(const struct naive *n, const struct op *op, const struct outcome *o,
	const struct naive_hold *h)
{
	if (op->kind == OP_SEND || op->kind == OP_CHANNEL_DATA)
		return o->verdict == TURN_RELAY || o->verdict == TURN_SEND;
	if (op->kind != OP_REFRESH && op->kind != OP_PERMIT && op->kind != OP_BIND)
		return false;
	return naive_stranger_code(n, op) == 0 && !op->unknown && !naive_is_other(n, h, op) &&
		o->code != 401;
}

// True if a request from a 5-tuple with an allocation concerns another allocation.
static bool asks_for_another(struct naive *n, const struct op *op, const struct outcome *o,
	const struct naive_hold *occupant)
{
	struct naive_hold *h[2];

	if ((op->kind != OP_ALLOCATE && op->kind != OP_REFRESH) || op->unknown ||
		naive_stranger_code(n, op) != 0 || o->code == 401)
		return false;
	if (op->kind == OP_ALLOCATE)
		return occupant->tid != op->tid || !naive_is_same(n, occupant, op);
	return op->ticket == TICKET_TEXT && members(n, group_of(n, op->ticket_text), h) > 0 &&
		h[0]->key == op->user && h[0]->mobile.group != occupant->mobile.group &&
		is_good(n, h[0], op->ticket_text);
}

const char *naive_judge(struct naive *n, const struct op *op, const struct outcome *o)
{
	struct naive_hold *h = op->kind != OP_PEER ? naive_path(n, op->client) : NULL;
	const bool by_ticket = op->kind == OP_REFRESH && op->ticket != TICKET_NONE;
	const struct naive_hold *occupant =
		op->kind != OP_PEER ? naive_allocation(n, op->client) : NULL;
	struct naive_mobile left;
	const char *wrong;
	unsigned int was;
	uint32_t group;

	if (occupant != NULL && occupant->mobile.has_path &&
		n->now_ms < occupant->mobile.path_until_ms &&
		asks_for_another(n, op, o, occupant)) {
		left = occupant->mobile;
		arrive(n, &left);
	}
	if (h == NULL || by_ticket)
		return naive_judge_own(n, op, o);
	was = h->client;
	group = h->mobile.group;
	if (is_used(n, op, o, h)) {
		naive_moved(n, group);
		return naive_judge_own(n, op, o);
	}
	naive_give(n, group, op->client); // for this check only
	wrong = naive_judge_own(n, op, o);
	naive_give(n, group, was);
	return wrong;
}
