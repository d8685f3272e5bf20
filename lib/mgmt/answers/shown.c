// SPDX-License-Identifier: BSD-3-Clause
// Converts structures of the data path to JSON.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dp_realms.h"
#include "telemetry/rows.h"
#include "socket/fields.h"
#include "answers/shown.h"

json_t *shown_text(const char *text)
{
	char buf[1024];

	return json_string(mgmt_rows_text(text, buf, sizeof(buf)));
}

json_t *shown_number(uint64_t n)
{
	return json_integer((json_int_t)n);
}

// "" for ::
static json_t *shown_addr(const struct addr *a)
{
	static const struct addr none;
	char text[ADDR_TEXT_LEN];

	return json_string(addr_eq(a, &none) ? "" : addr_format(a, text, sizeof(text)));
}

json_t *shown_endpoint(const struct endpoint *e)
{
	char text[ADDR_TEXT_LEN + 8];

	return json_string(addr_format_endpoint(e, text, sizeof(text)));
}

json_t *shown_id(uint64_t id)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, id);
	return json_string(text);
}

json_t *shown_user(const struct turn_info *i)
{
	const char *colon = i->rest ? strchr(i->user, ':') : NULL;

	return shown_text(colon != NULL && colon[1] != '\0' ? colon + 1 : i->user);
}

static void shown_usage(json_t *o, const struct turn_usage *u)
{
	json_t *lost = json_object();

	json_object_set_new(o, "rx", shown_number(u->leg[TURN_FROM_CLIENT].datagrams));
	json_object_set_new(o, "tx", shown_number(u->leg[TURN_FROM_PEER].datagrams));
	json_object_set_new(o, "rx_bytes", shown_number(u->leg[TURN_FROM_CLIENT].bytes));
	json_object_set_new(o, "tx_bytes", shown_number(u->leg[TURN_FROM_PEER].bytes));
	for (unsigned int i = 0; i < TURN_LOSS_END; i++)
		json_object_set_new(lost, turn_loss_name(i), shown_number(u->lost[i]));
	json_object_set_new(o, "lost", lost);
}

json_t *shown_allocation(const struct dp *d, const struct turn_info *i)
{
	json_t *o = json_object();

	json_object_set_new(o, "id", shown_id(i->id));
	if (i->sibling != 0)
		json_object_set_new(o, "sibling", shown_id(i->sibling));
	json_object_set_new(o, "user", shown_text(i->user));
	json_object_set_new(o, "realm", shown_text(dp_realm_name(d, i->realm)));
	json_object_set_new(o, "worker", shown_number(turn_listing_worker(i->id)));
	json_object_set_new(o, "transport", json_string(fields_transports[i->transport]));
	json_object_set_new(o, "client", shown_endpoint(&i->client));
	json_object_set_new(o, "relay", shown_endpoint(&i->relay));
	json_object_set_new(o, "told", shown_endpoint(&i->told));
	json_object_set_new(o, "age", shown_number(i->age_s));
	json_object_set_new(o, "expires", shown_number(i->expires_s));
	shown_usage(o, &i->usage);
	json_object_set_new(o, "peers", shown_number(i->permissions));
	json_object_set_new(o, "channels", shown_number(i->channels));
	if (i->is_tcp) {
		json_object_set_new(o, "protocol", json_string("tcp"));
		json_object_set_new(o, "connections", shown_number(i->connections));
	}
	return o;
}

static void add_way(json_t *o, const struct dp *d, const struct dp_route *w)
{
	json_object_set_new(o, "port", json_string(w->known ? dp_port(d, w->port)->name : ""));
	json_object_set_new(o, "via", w->known ? shown_addr(&w->via) : json_string(""));
}

static json_t *permissions_of(const struct dp *d, const struct dp_detail *t)
{
	json_t *rows = json_array();

	for (unsigned int i = 0; i < t->turn.nb_permissions; i++) {
		const struct turn_permission_info *p = &t->turn.permission[i];
		json_t *o = json_object();

		json_object_set_new(o, "peer", shown_addr(&p->peer));
		json_object_set_new(o, "left", shown_number(p->left_s));
		add_way(o, d, &t->permission[i]);
		json_array_append_new(rows, o);
	}
	return rows;
}

static json_t *channels_of(const struct turn_detail *t)
{
	json_t *rows = json_array();

	for (unsigned int i = 0; i < t->nb_channels; i++) {
		json_t *o = json_object();
		char number[8];

		snprintf(number, sizeof(number), "0x%04x", t->channel[i].number);
		json_object_set_new(o, "channel", json_string(number));
		json_object_set_new(o, "peer", shown_endpoint(&t->channel[i].peer));
		json_object_set_new(o, "left", shown_number(t->channel[i].left_s));
		json_array_append_new(rows, o);
	}
	return rows;
}

static void add_more(json_t *o, const struct turn_detail *t, unsigned int page)
{
	const unsigned int seen = (page + 1) * TURN_DETAIL_ROWS;

	if (t->info.permissions > seen || t->info.channels > seen)
		json_object_set_new(o, "next", shown_number(page + 1));
}

json_t *shown_detail(const struct dp *d, const struct dp_detail *t, unsigned int page)
{
	json_t *o = json_object(), *row = shown_allocation(d, &t->turn.info);
	json_t *path = json_object();
	static const char *const algorithms[] = {[STUN_ALG_MD5] = "md5",
		[STUN_ALG_SHA256] = "sha256",
		[TURN_ALGORITHM_TOKEN] = "access-token"};

	add_way(path, d, &t->client);
	json_object_set_new(row, "way", path);
	json_object_set_new(row, "rest", json_boolean(t->turn.info.rest));
	json_object_set_new(row, "algorithm", json_string(algorithms[t->turn.algorithm]));
	json_object_set_new(row, "rfc8489", json_boolean(t->turn.rfc8489));
	json_object_set_new(row, "token", json_boolean(t->turn.token));
	if (t->cipher != NULL)
		json_object_set_new(row, "cipher", json_string(t->cipher));
	if (t->turn.via != TURN_NO_WORKER)
		json_object_set_new(row, "redirected-by", shown_number(t->turn.via));
	if (t->turn.copy.port != 0)
		json_object_set_new(row, "line", shown_endpoint(&t->turn.copy));
	json_object_set_new(row, "permissions", permissions_of(d, t));
	json_object_set_new(row, "bound", channels_of(&t->turn));
	json_object_set_new(o, "allocation", row);
	add_more(o, &t->turn, page);
	return o;
}

json_t *shown_neighbour(const struct dp *d, const struct neigh_info *n)
{
	json_t *o = json_object();
	char mac[20];

	snprintf(mac, sizeof(mac), "%02x:%02x:%02x:%02x:%02x:%02x", n->mac[0], n->mac[1], n->mac[2],
		n->mac[3], n->mac[4], n->mac[5]);
	json_object_set_new(o, "address", shown_addr(&n->target));
	json_object_set_new(o, "port", json_string(dp_port(d, n->port)->name));
	json_object_set_new(o, "mac", json_string(mac));
	json_object_set_new(o, "state", json_string(neigh_state_name(n->state)));
	json_object_set_new(o, "held", shown_number(n->held));
	json_object_set_new(o, "gateway", json_boolean(n->kept));
	return o;
}
