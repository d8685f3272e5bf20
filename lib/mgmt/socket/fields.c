// SPDX-License-Identifier: BSD-3-Clause
// Reads the fields of requests.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dp_realms.h"
#include "log/escape.h"
#include "reload/in_use.h"
#include "socket/fields.h"

const char *const fields_transports[] = {[TURN_OVER_UDP] = "udp",
	[TURN_OVER_TCP] = "tcp",
	[TURN_OVER_TLS] = "tls",
	[TURN_OVER_AUTO] = "auto",
	[TURN_OVER_DTLS] = "dtls",
	[TURN_OVER_DTLS + 1] = NULL};

bool fields_number(
	struct command *c, const char *name, const struct fields_range *range, uint64_t *out)
{
	const json_t *v = json_object_get(c->in, name);

	if (v == NULL)
		return true;
	if (!json_is_integer(v) || json_integer_value(v) < 0 ||
		(uint64_t)json_integer_value(v) < range->lo ||
		(uint64_t)json_integer_value(v) > range->hi) {
		commands_refuse(c, "%s: must be a number from %" PRIu64 " to %" PRIu64, name,
			range->lo, range->hi);
		return false;
	}
	*out = (uint64_t)json_integer_value(v);
	return true;
}

// Reads the id of an allocation, as a string of digits or a number. *has: the field exists.
static bool field_id(struct command *c, bool *has, uint64_t *id)
{
	const json_t *v = json_object_get(c->in, "id");
	const char *text = json_string_value(v);
	char *end = NULL;

	*has = v != NULL;
	if (v == NULL)
		return true;
	errno = 0;
	if (json_is_integer(v) && json_integer_value(v) >= 0) {
		*id = (uint64_t)json_integer_value(v);
		return true;
	}
	if (text != NULL && text[0] >= '0' && text[0] <= '9')
		*id = strtoull(text, &end, 10);
	if (end != NULL && *end == '\0' && errno == 0)
		return true;
	commands_refuse(c, "id: must be the number of an allocation, as shown by allocations");
	return false;
}

bool fields_name(struct command *c, bool *has, char out[FIELDS_NAME_LEN])
{
	const json_t *v = json_object_get(c->in, "user");
	const char *text = json_string_value(v);

	*has = v != NULL;
	if (v == NULL || (text != NULL && mgmt_unescape(text, out, FIELDS_NAME_LEN)))
		return true;
	commands_refuse(c,
		"user: must be a name, as shown by allocations: %%XX is "
		"a byte that is not printable, and %%25 is %%");
	return false;
}

bool fields_realm(struct command *c, bool *has, uint8_t *number)
{
	const json_t *v = json_object_get(c->in, "realm");
	const char *text = json_string_value(v);
	char name[FIELDS_REALM_LEN];

	*has = v != NULL;
	*number = 0;
	if (v == NULL ||
		(text != NULL && mgmt_unescape(text, name, sizeof(name)) &&
			dp_realm_find(c->control->dp, name, number)))
		return true;
	commands_refuse(c, "realm: there is no realm of that name: status shows their names");
	return false;
}

uint32_t fields_realms(const struct control *k)
{
	uint32_t nb;

	in_use_read();
	nb = turn_config_nb_realms(&k->conf->turn) - 1;
	in_use_done();
	return nb;
}

// Users of two realms are different users, even if they have the same name.
bool fields_whose(struct command *c, bool in_realm)
{
	const uint32_t others = fields_realms(c->control);

	if (in_realm || others == 0)
		return true;
	commands_refuse(c,
		"realm: missing: a user needs a realm, as there are %u; status shows their names",
		others + 1);
	return false;
}

static bool field_user(struct command *c, struct turn_filter *f)
{
	char name[FIELDS_NAME_LEN];
	bool has, in_realm;

	if (!fields_name(c, &has, name) || !fields_realm(c, &in_realm, &f->realm))
		return false;
	if (in_realm)
		f->wants |= TURN_FILTER_REALM;
	if (!has)
		return true;
	if (!fields_whose(c, in_realm))
		return false;
	if (dp_filter_user(c->control->dp, c->control->crypto, name, f))
		return true;
	commands_refuse(c, "user: libcrypto failed");
	return false;
}

static bool field_client(struct command *c, const char *name, struct turn_filter *f)
{
	const json_t *v = json_object_get(c->in, name);
	const char *text = json_string_value(v);

	if (v == NULL)
		return true;
	f->wants |= TURN_FILTER_CLIENT;
	if (text != NULL && addr_prefix_parse(text, &f->client) == 0)
		return true;
	commands_refuse(c, "%s: must be an address or prefix, such as 192.0.2.0/24", name);
	return false;
}

// "a.b.c.d:port" or "[v6]:port".
static bool endpoint_read(const char *text, struct endpoint *out)
{
	const char *colon = strrchr(text, ':');
	const bool v6 = text[0] == '[';
	const size_t len = colon != NULL ? (size_t)(colon - text) : 0;
	char host[ADDR_TEXT_LEN + 2], *end;
	unsigned long port;

	if (len <= 2 || len >= sizeof(host) || (text[len - 1] == ']') != v6 || colon[1] < '0' ||
		colon[1] > '9')
		return false;
	memcpy(host, text, len);
	host[len - v6] = '\0';
	port = strtoul(colon + 1, &end, 10);
	if (*end != '\0' || port == 0 || port > UINT16_MAX ||
		addr_parse(host + v6, &out->addr) != 0 || (strchr(host, ':') != NULL) != v6)
		return false;
	out->port = (uint16_t)port;
	return true;
}

static bool field_peer(struct command *c, struct turn_filter *f)
{
	const json_t *v = json_object_get(c->in, "peer");
	const char *text = json_string_value(v);

	if (v == NULL)
		return true;
	f->wants |= TURN_FILTER_PEER;
	if (text == NULL ||
		(addr_parse(text, &f->peer.addr) != 0 && !endpoint_read(text, &f->peer))) {
		commands_refuse(c,
			"peer: must be an address, or an address and port of a channel: "
			"192.0.2.1:5000, [2001:db8::1]:5000");
		return false;
	}
	f->peer.addr = addr_canonical(f->peer.addr); // in the form of permissions
	return true;
}

bool fields_word(struct command *c, const char *name, const char *const *words, unsigned int *out)
{
	const json_t *v = json_object_get(c->in, name);
	const char *text = json_string_value(v);
	char list[128] = "";

	if (v == NULL)
		return true;
	for (unsigned int i = 0; words[i] != NULL; i++) {
		if (text != NULL && strcmp(text, words[i]) == 0) {
			*out = i;
			return true;
		}
		if (words[i][0] != '\0')
			snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
				list[0] != '\0' ? ", " : "", words[i]);
	}
	commands_refuse(c, "%s: must be one of %s", name, list);
	return false;
}

bool fields_filter(struct command *c, struct turn_filter *f)
{
	unsigned int transport = UINT8_MAX;
	bool has;

	*f = (struct turn_filter){0};
	if (!field_id(c, &has, &f->id) || !field_user(c, f) || !field_client(c, "client", f) ||
		!field_client(c, "source", f) || !field_peer(c, f) ||
		!fields_word(c, "transport", fields_transports, &transport))
		return false;
	if (has)
		f->wants |= TURN_FILTER_ID;
	if (transport != UINT8_MAX)
		f->wants |= TURN_FILTER_TRANSPORT;
	f->transport = (uint8_t)transport;
	return true;
}

bool fields_page(struct command *c, unsigned int *page, unsigned int *rows)
{
	uint64_t p = 0, r = FIELDS_ROWS;

	if (!fields_number(
		    c, "page", &(struct fields_range){0, UINT32_MAX / FIELDS_ROWS_MAX}, &p) ||
		!fields_number(c, "rows", &(struct fields_range){1, FIELDS_ROWS_MAX}, &r))
		return false;
	*page = (unsigned int)p;
	*rows = (unsigned int)r;
	return true;
}

bool fields_worker(struct command *c, int *worker)
{
	uint64_t w = UINT64_MAX;

	*worker = -1;
	if (!fields_number(
		    c, "worker", &(struct fields_range){0, dp_workers(c->control->dp) - 1}, &w))
		return false;
	if (w != UINT64_MAX)
		*worker = (int)w;
	return true;
}
