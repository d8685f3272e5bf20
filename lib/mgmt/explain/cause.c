// SPDX-License-Identifier: BSD-3-Clause
// Each attempt gets a weight: how well it explains that a client cannot connect. The cause is the
// newest attempt of the largest weight. An attempt that the client overcame later has no weight.
#include "explain/cause.h"

#include <string.h>

#include "events/event_text.h"
#include "stream.h"
#include "stun.h"
#include "turn_refusal.h"

enum weight {
	WEIGHT_NONE,
	WEIGHT_USUAL, // nothing is wrong
	WEIGHT_GOOD, // the request was granted
	WEIGHT_FOLLOWS, // a refusal that follows from another one, or that working clients get, too
	WEIGHT_ENDED, // not ended by the client
	WEIGHT_REFUSED,
};

static enum weight weight_refused(const struct attempt *a)
{
	if (a->kind == TURN_EVENT_CONNECTION)
		return a->reason == STREAM_REFUSED_DTLS_UNKNOWN ? WEIGHT_FOLLOWS : WEIGHT_REFUSED;
	switch ((enum turn_refusal)a->reason) {
	case TURN_REFUSED_NO_ALLOCATION:
	case TURN_REFUSED_GUESSES:
	case TURN_REFUSED_NONCE_FOREIGN:
	case TURN_REFUSED_PEER_FAMILY:
		return WEIGHT_FOLLOWS;
	default:
		return WEIGHT_REFUSED;
	}
}

static enum weight weight_of(const struct attempt *a)
{
	switch ((enum turn_event_kind)a->kind) {
	case TURN_EVENT_MADE:
		return WEIGHT_GOOD;
	case TURN_EVENT_ENDED:
		// the client ended the call, by a Refresh or with the connection
		if (a->reason == TURN_END_CLIENT ||
			(a->reason == TURN_END_CONNECTION && a->relayed))
			return a->held != 0 ? WEIGHT_ENDED : WEIGHT_GOOD;
		return a->reason == TURN_END_KILLED ? WEIGHT_REFUSED : WEIGHT_ENDED;
	case TURN_EVENT_REFUSED:
	case TURN_EVENT_CONNECTION:
		return cause_advice(a)[0] == '\0' ? WEIGHT_USUAL : weight_refused(a);
	default:
		return WEIGHT_NONE;
	}
}

// True if two attempts belong to one user at one address. Events of ended allocations have shorter
// names.
static bool is_same(const struct attempt *made, const struct attempt *a)
{
	size_t of_made = made->name_len, of_a = a->name_len;
	const char *name = attempts_user(made->name, &of_made);
	const char *other_name = attempts_user(a->name, &of_a);

	if (a->kind == TURN_EVENT_CONNECTION) // the client has not sent a name yet
		return addr_eq(&made->client.addr, &a->client.addr);
	if (made->realm != a->realm)
		return false;
	if (a->kind == TURN_EVENT_ENDED && of_made > of_a)
		of_made = of_a;
	return addr_eq(&made->client.addr, &a->client.addr) && of_made == of_a &&
		memcmp(name, other_name, of_a) == 0;
}

// After a refusal that other clients have caused, an attempt from the same address proves within
// this time that the cause is gone.
#define OTHERS_MS 600000

// True if the refusal was caused by other clients of its address or network: success of one of them
// soon afterwards proves nothing about the refused client.
static bool is_for_others(const struct attempt *a)
{
	if (a->kind != TURN_EVENT_CONNECTION)
		return false;
	switch ((enum stream_refusal)a->reason) {
	case STREAM_REFUSED_TOTAL:
	case STREAM_REFUSED_SOURCE:
	case STREAM_REFUSED_NETWORK:
	case STREAM_REFUSED_DTLS_TOTAL:
	case STREAM_REFUSED_DTLS_SOURCE:
	case STREAM_REFUSED_DTLS_NETWORK:
		return true;
	default:
		return false;
	}
}

// True if an allocation was made after a[i], so that a[i] no longer matters.
static bool is_overcome(const struct attempt *a, unsigned int i)
{
	if (a[i].kind == TURN_EVENT_MADE ||
		(a[i].kind == TURN_EVENT_REFUSED &&
			(a[i].method == STUN_CREATE_PERMISSION ||
				a[i].method == STUN_CHANNEL_BIND)))
		return false;
	for (unsigned int k = 0; k < i; k++)
		if (a[k].kind == TURN_EVENT_MADE && is_same(&a[k], &a[i]) &&
			a[k].wall_ms >= a[i].wall_ms + (is_for_others(&a[i]) ? OTHERS_MS : 0))
			return true;
	return false;
}

// Advice on media that was held back, by the rate that did it.
static const char *const held_advice[] = {
	[TURN_LOSS_ALLOCATION - TURN_LOSS_KEPT] =
		"it sent or was sent more than limits.rates, and the rest was dropped: "
		"raise that, or have the application send less; slipringctl show ID and the "
		"records show how much",
	[TURN_LOSS_USER - TURN_LOSS_KEPT] =
		"all of the user's allocations together had more than limits.rates, and the "
		"rest was dropped: slipringctl allocations --user NAME shows how much each has",
	[TURN_LOSS_REALM - TURN_LOSS_KEPT] =
		"all users of the realm together had more than limits.rates, and the rest "
		"was dropped: slipringctl users shows how much each has; a rate of users keeps "
		"one from using it up",
};

const char *cause_advice(const struct attempt *a)
{
	const struct turn_event e = attempts_event(a);

	for (unsigned int i = TURN_LOSS_KEPT; i < TURN_LOSS_END; i++)
		if (attempts_held(a, i))
			return held_advice[i - TURN_LOSS_KEPT];
	if (a->kind == TURN_EVENT_MADE)
		return "nothing is wrong yet; if no media arrives, slipringctl show ID shows its "
		       "peers and losses";
	if (a->kind != TURN_EVENT_ENDED)
		return event_text_why(&e).advice;
	switch ((enum turn_end)a->reason) {
	case TURN_END_KILLED:
		return "the log says who ordered that";
	case TURN_END_EXPIRED:
		return "the client is gone, or its packets no longer arrive: slipringctl drops";
	case TURN_END_CONNECTION:
		return "the client or the network has ended it";
	default:
		return "";
	}
}

// A client that was asked for credentials and has sent none is not stored: all clients begin like
// that.
static const struct cause nothing = {-1, true,
	"nothing is known: no attempt was granted or refused since the start, or the room for it "
	"went to others",
	"slipringctl ports and drops tell whether packets arrive at all, and whether "
	"limits.unauthenticated or the limit of guesses hold somebody back; the records have "
	"earlier attempts; a client that was asked for credentials and gave none is not kept"};

struct cause cause_find(const struct attempt *a, unsigned int n)
{
	enum weight most = WEIGHT_NONE;
	struct turn_event e;
	int row = -1;

	for (unsigned int i = 0; i < n; i++) {
		const enum weight w = is_overcome(a, i) ? WEIGHT_NONE : weight_of(&a[i]);

		if (w > most) {
			most = w;
			row = (int)i;
		}
	}
	if (row < 0)
		return nothing;
	e = attempts_event(&a[row]);
	if (e.kind == TURN_EVENT_MADE)
		return (struct cause){
			row, a[row].held != 0, "an allocation was made", cause_advice(&a[row])};
	return (struct cause){row, most > WEIGHT_GOOD || a[row].held != 0, event_text_why(&e).text,
		cause_advice(&a[row])};
}
