// SPDX-License-Identifier: BSD-3-Clause
// Words for events. Names come from clients, so they are always escaped.
#include "events/event_text.h"

#include <stdio.h>
#include <string.h>

#include "log/escape.h"
#include "stream.h"
#include "stun.h"
#include "turn_refusal.h"

const char *event_text_kind(const struct turn_event *e)
{
	static const char *const names[] = {[TURN_EVENT_MADE] = "made",
		[TURN_EVENT_INTERIM] = "interim",
		[TURN_EVENT_ENDED] = "ended",
		[TURN_EVENT_REFUSED] = "refused",
		[TURN_EVENT_CONNECTION] = "connection-refused",
		[TURN_EVENT_ROAMED] = "roamed",
		[TURN_EVENT_MOVED] = "moved",
		[TURN_EVENT_PEER] = "peer"};

	return e->kind < sizeof(names) / sizeof(names[0]) ? names[e->kind] : "unknown";
}

const char *event_text_method(const struct turn_event *e)
{
	if (e->kind != TURN_EVENT_REFUSED)
		return "";
	switch (e->method) {
	case STUN_BINDING:
		return "Binding";
	case STUN_ALLOCATE:
		return "Allocate";
	case STUN_REFRESH:
		return "Refresh";
	case STUN_CREATE_PERMISSION:
		return "CreatePermission";
	case STUN_CHANNEL_BIND:
		return "ChannelBind";
	default:
		return "unknown";
	}
}

struct event_text_why event_text_why(const struct turn_event *e)
{
	const struct turn_refusal_info *r = turn_refusal_info(e->reason);
	const struct stream_refusal_info *s = stream_refusal_info(e->reason);
	const char *end = turn_end_name(e->reason);

	if (e->kind == TURN_EVENT_REFUSED && r != NULL)
		return (struct event_text_why){r->code, r->name, r->text, r->advice};
	if (e->kind == TURN_EVENT_CONNECTION && s != NULL)
		return (struct event_text_why){0, s->name, s->text, s->advice};
	if (e->kind == TURN_EVENT_ENDED && end != NULL)
		return (struct event_text_why){0, end, turn_end_text(e->reason), ""};
	return (struct event_text_why){0, "", "", ""};
}

const char *event_text_transport(const struct turn_config *c, const struct turn_event *e)
{
	static const char *const names[] = {[TURN_OVER_UDP] = "udp",
		[TURN_OVER_TCP] = "tcp",
		[TURN_OVER_TLS] = "tls",
		[TURN_OVER_AUTO] = "auto",
		[TURN_OVER_DTLS] = "dtls"};

	// only DTLS handshakes have no listener
	if (e->listener >= c->nb_listeners)
		return e->kind == TURN_EVENT_CONNECTION ? "dtls" : "";
	return names[c->listeners[e->listener].transport];
}

static unsigned int name_len(const struct turn_event *e)
{
	return e->name_len < TURN_EVENT_NAME_LEN ? e->name_len : TURN_EVENT_NAME_LEN;
}

char *event_text_user(const struct turn_event *e, char buf[EVENT_TEXT_USER_LEN])
{
	const bool has_user = e->kind != TURN_EVENT_CONNECTION;

	mgmt_escape(e->name, has_user ? name_len(e) : 0, buf, EVENT_TEXT_USER_LEN);
	return buf;
}

char *event_text_offered(const struct turn_event *e, char buf[EVENT_TEXT_USER_LEN])
{
	const unsigned int len = e->kind == TURN_EVENT_CONNECTION ? name_len(e) : 0;

	for (unsigned int i = 0; i < len; i++) // the stream threads have removed all unsafe
		// characters
		buf[i] = e->name[i] >= ' ' && e->name[i] < 0x7f ? e->name[i] : '?';
	buf[len] = '\0';
	return buf;
}
