// SPDX-License-Identifier: BSD-3-Clause
// Finds the fault that an error code means, and describes faults in words.
#include "report/words.h"

#include <stdio.h>

#include "turn_rest.h"

#define NAME_LEN 16 // of a name in braces, with its NUL

static const struct {
	const char *wrong, *advice;
} texts[NB_FAULTS] = {{"nothing is wrong", ""},
#define X(id, wrong, advice) [id] = {wrong, advice},
	FAULTS(X)
#undef X
};

static enum fault judge_401(const struct words_facts *facts)
{
	const size_t len = strlen(facts->user);
	struct turn_rest_name rest;

	if (turn_rest_looks_like(facts->user, len) && turn_rest_read(facts->user, len, &rest) &&
		rest.expiry_s < facts->now_s)
		return FAULT_EXPIRED;
	return facts->from_secret ? FAULT_SECRET : FAULT_PASSWORD;
}

enum fault words_fault(enum step step, unsigned int code, const struct words_facts *facts)
{
	switch (code) {
	case 300:
		return FAULT_ALTERNATE;
	case 401:
		return step >= STEP_ALLOCATE ? judge_401(facts) : FAULT_CODE;
	case 403:
		return step == STEP_PERMISSION ? FAULT_PEER : FAULT_FORBIDDEN;
	case 438:
		return FAULT_STALE;
	case 486:
		return FAULT_QUOTA;
	case 508:
		return FAULT_CAPACITY;
	default:
		return FAULT_CODE;
	}
}

// --- texts ---------------------------------------------------------------------------------------

static void endpoint_value(const struct endpoint *e, char value[WORDS_SIZE])
{
	if (e->port != 0)
		addr_format_endpoint(e, value, WORDS_SIZE);
	else
		snprintf(value, WORDS_SIZE, "an unknown address");
}

// Writes the value of a name in braces.
static void value_of(const struct result *r, const char *host, const char *name, char *value)
{
	const bool datagram = transport_is_datagram(r->transport);

	value[0] = '\0';
	if (strcmp(name, "host") == 0)
		snprintf(value, WORDS_SIZE, "%s", host);
	else if (strcmp(name, "server") == 0)
		endpoint_value(&r->server, value);
	else if (strcmp(name, "protocol") == 0)
		snprintf(value, WORDS_SIZE, "%s", datagram ? "UDP" : "TCP");
	else if (strcmp(name, "port") == 0)
		snprintf(value, WORDS_SIZE, "%u", r->server.port);
	else if (strcmp(name, "name") == 0)
		snprintf(value, WORDS_SIZE, "%s", r->name);
	else if (strcmp(name, "user") == 0)
		snprintf(value, WORDS_SIZE, "%s", r->user);
	else if (strcmp(name, "realm") == 0)
		snprintf(value, WORDS_SIZE, "%s", r->realm);
	else if (strcmp(name, "relay") == 0)
		endpoint_value(&r->relayed, value);
	else if (strcmp(name, "peer") == 0)
		addr_format(&r->peer.addr, value, WORDS_SIZE);
	else if (strcmp(name, "code") == 0)
		snprintf(value, WORDS_SIZE, "%u", r->code);
}

// Copies a text, and replaces the names in braces. Cuts the text if it does not fit.
static void expand_text(const char *text, const struct result *r, const char *host, char *out)
{
	char value[WORDS_SIZE], name[NAME_LEN];
	const char *end;
	size_t n = 0;

	while (*text != '\0' && n + 1 < WORDS_SIZE) {
		end = *text == '{' ? strchr(text, '}') : NULL;
		if (end == NULL) {
			out[n++] = *text++;
			continue;
		}
		snprintf(name, sizeof(name), "%.*s", (int)(end - text - 1), text + 1);
		value_of(r, host, name, value);
		n += strlen(value);
		snprintf(out + n - strlen(value), WORDS_SIZE - (n - strlen(value)), "%s", value);
		if (n > WORDS_SIZE - 1)
			n = WORDS_SIZE - 1;
		text = end + 1;
	}
	out[n] = '\0';
}

// Texts of other programs must not break lines, nor change a terminal.
static void clean_text(char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

char *words_what(const struct result *r, const char *host, char out[WORDS_SIZE])
{
	size_t len;

	expand_text(texts[r->fault].wrong, r, host, out);
	len = strlen(out);
	if (r->detail[0] != '\0')
		snprintf(out + len, WORDS_SIZE - len, " (%s)", r->detail);
	clean_text(out);
	return out;
}

char *words_advice(const struct result *r, const char *host, char out[WORDS_SIZE])
{
	expand_text(texts[r->fault].advice, r, host, out);
	clean_text(out);
	return out;
}
