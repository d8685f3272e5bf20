// SPDX-License-Identifier: BSD-3-Clause
// Converts an event to a JSON object, field by field. Empty fields are left out.
#include "records/records_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "conf_records.h"
#include "log/escape.h"
#include "events/event_text.h"

#define V4_NETWORK (96 + 24) // bits of the 128-bit form
#define V6_NETWORK 48

static void put_text(json_t *o, const char *name, const char *text)
{
	if (text[0] != '\0')
		json_object_set_new_nocheck(o, name, json_string_nocheck(text));
}

static void put_number(json_t *o, const char *name, uint64_t value)
{
	json_object_set_new_nocheck(o, name, json_integer((json_int_t)value));
}

// As text, because many readers of JSON have no 64-bit integers.
static void put_id(json_t *o, const char *name, uint64_t id)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, id);
	if (id != 0)
		put_text(o, name, text);
}

static void put_endpoint(json_t *o, const char *name, const struct endpoint *e)
{
	static const struct addr none;
	char text[ADDR_TEXT_LEN + 8];

	if (addr_eq(&e->addr, &none))
		return;
	if (e->port != 0)
		put_text(o, name, addr_format_endpoint(e, text, sizeof(text)));
	else
		put_text(o, name, addr_format(&e->addr, text, sizeof(text)));
}

// Puts as much of an address as a record may have.
static void put_part(json_t *o, const char *name, const struct endpoint *e, enum conf_detail detail)
{
	char text[ADDR_TEXT_LEN + 8];
	struct addr network;
	bool is_v4;

	if (detail == CONF_DETAIL_FULL)
		put_endpoint(o, name, e);
	if (detail != CONF_DETAIL_NETWORK || addr_eq(&e->addr, &(struct addr){0}))
		return;
	is_v4 = addr_is_v4(&e->addr);
	network = addr_prefix_at(&e->addr, is_v4 ? V4_NETWORK : V6_NETWORK).addr;
	addr_format(&network, text, sizeof(text));
	strcat(text, is_v4 ? "/24" : "/48");
	put_text(o, name, text);
}

static void put_time(json_t *o, uint64_t wall_ms)
{
	const time_t s = (time_t)(wall_ms / 1000);
	char text[64];
	struct tm tm;
	size_t n;

	gmtime_r(&s, &tm);
	n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + n, sizeof(text) - n, ".%03uZ", (unsigned int)(wall_ms % 1000));
	put_text(o, "time", text);
}

static void put_usage(json_t *o, const struct turn_usage *u)
{
	static const char *const legs[] = {"from_client", "from_peers"};
	json_t *lost = json_object();

	for (unsigned int i = 0; i < 2; i++) {
		json_t *leg = json_object();

		put_number(leg, "datagrams", u->leg[i].datagrams);
		put_number(leg, "bytes", u->leg[i].bytes);
		json_object_set_new_nocheck(o, legs[i], leg);
	}
	for (unsigned int i = 0; i < TURN_LOSS_END; i++)
		put_number(lost, turn_loss_name(i), u->lost[i]);
	json_object_set_new_nocheck(o, "lost", lost);
}

static void put_why(json_t *o, const struct turn_event *e)
{
	const struct event_text_why reason = event_text_why(e);

	if (e->kind == TURN_EVENT_REFUSED)
		put_number(o, "code", reason.code);
	put_text(o, "why", reason.name);
	if (e->more > 0)
		put_number(o, "times", e->more);
}

void records_line_realm(struct record *r, const char *name)
{
	if (r->event.kind == TURN_EVENT_CONNECTION) // no request has named a realm yet
		return;
	if (strlen(name) < sizeof(r->realm))
		strcpy(r->realm, name);
	else
		snprintf(r->realm, sizeof(r->realm), "%.*s~%08x", RECORD_REALM_LEN - 10, name,
			mgmt_label_digits(name));
}

struct json_t *records_line_object(const struct record *r, const struct turn_config *c)
{
	const struct turn_event *e = &r->event;
	char user[EVENT_TEXT_USER_LEN], realm[3 * RECORD_REALM_LEN];
	json_t *o = json_object();

	if (o == NULL)
		return NULL;
	put_time(o, r->wall_ms);
	put_text(o, "event", event_text_kind(e));
	if (r->seq > 0)
		put_number(o, "seq", r->seq);
	put_id(o, "id", e->id);
	if (e->kind == TURN_EVENT_MOVED)
		put_id(o, "was", e->was);
	put_text(o, "user", event_text_user(e, user));
	if (e->others)
		json_object_set_new_nocheck(o, "others", json_true());
	mgmt_escape(r->realm, strlen(r->realm), realm, sizeof(realm));
	put_text(o, "realm", realm);
	put_part(o, "client", &e->client, r->client_detail);
	if (e->kind == TURN_EVENT_ROAMED)
		put_part(o, "from", &e->old_client, r->client_detail);
	put_text(o, "transport", event_text_transport(c, e));
	if (e->kind != TURN_EVENT_CONNECTION)
		put_number(o, "worker", e->worker);
	put_endpoint(o, "relay", &e->relay);
	put_part(o, "peer", &e->peer,
		e->kind == TURN_EVENT_PEER ? r->peer_detail : CONF_DETAIL_FULL);
	put_text(o, "method", event_text_method(e));
	put_why(o, e);
	put_text(o, "offered", event_text_offered(e, user));
	if (turn_event_refuses(e->kind))
		json_object_set_new_nocheck(o, "proved", json_boolean(e->proved));
	if (e->kind == TURN_EVENT_MADE || e->kind == TURN_EVENT_INTERIM ||
		e->kind == TURN_EVENT_MOVED || e->kind == TURN_EVENT_ROAMED)
		put_number(o, "lifetime", e->lifetime_s);
	if (e->kind == TURN_EVENT_ENDED)
		put_number(o, "seconds", e->lifetime_s);
	if (e->kind == TURN_EVENT_ENDED || e->kind == TURN_EVENT_INTERIM)
		put_usage(o, &e->usage);
	return o;
}

size_t records_line_write(const struct json_t *object, char *buf, size_t len)
{
	const size_t n = json_dumpb(object, buf, len, JSON_COMPACT | JSON_ENSURE_ASCII);

	if (n == 0 || n >= len)
		return 0;
	buf[n] = '\n';
	return n + 1;
}
