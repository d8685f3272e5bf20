// SPDX-License-Identifier: BSD-3-Clause
// The results as one JSON object.
#include <jansson.h>

#include "report/report.h"
#include "report/words.h"

// Makes a string of words, which may have a name of the command line. If they are not UTF-8, each
// byte beyond ASCII becomes a question mark.
static json_t *text_value(char *text)
{
	json_t *v = json_string(text);

	if (v != NULL)
		return v;
	for (char *c = text; *c != '\0'; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	return json_string(text);
}

static json_t *endpoint_value(const struct endpoint *e)
{
	char text[ADDR_TEXT_LEN + 8];

	return e->port != 0 ? json_string(addr_format_endpoint(e, text, sizeof(text)))
			    : json_null();
}

static json_t *times_value(const struct result *r)
{
	json_t *o = json_object();

	for (unsigned int i = 0; i < NB_STEPS; i++)
		if (r->us[i] != STEP_NOT_DONE)
			json_object_set_new(o, step_name(i), json_real((double)r->us[i] / 1000));
	return o;
}

static json_t *result_value(const struct report *p, const struct result *r)
{
	char wrong[WORDS_SIZE], advice[WORDS_SIZE];
	json_t *o = json_object();

	json_object_set_new(o, "transport", json_string(transport_name(r->transport)));
	json_object_set_new(o, "ok", json_boolean(r->ok));
	json_object_set_new(o, "absent", json_boolean(r->absent));
	json_object_set_new(o, "step", json_string(step_name(r->step)));
	json_object_set_new(
		o, "error", r->ok ? json_null() : text_value(words_what(r, p->host, wrong)));
	json_object_set_new(
		o, "advice", r->ok ? json_null() : text_value(words_advice(r, p->host, advice)));
	json_object_set_new(o, "code", r->code != 0 ? json_integer(r->code) : json_null());
	json_object_set_new(o, "ms", times_value(r));
	json_object_set_new(o, "address", endpoint_value(&r->server));
	json_object_set_new(o, "mapped", endpoint_value(&r->mapped));
	json_object_set_new(o, "relayed", endpoint_value(&r->relayed));
	json_object_set_new(o, "alternate", endpoint_value(&r->alternate));
	json_object_set_new(o, "realm", r->realm[0] != '\0' ? json_string(r->realm) : json_null());
	json_object_set_new(o, "certificate_days",
		r->not_after_s != 0 ? json_integer(result_days(r, p->now_s)) : json_null());
	json_object_set_new(
		o, "relay_firewall_tested", json_boolean(r->ok && !r->authless && !r->paired));
	return o;
}

void report_json(FILE *out, const struct report *p)
{
	json_t *o = json_object(), *list = json_array();

	json_object_set_new(o, "server", json_string(p->server));
	json_object_set_new(o, "ok", json_boolean(p->ok));
	for (unsigned int i = 0; i < p->n; i++)
		json_array_append_new(list, result_value(p, &p->result[i]));
	json_object_set_new(o, "transports", list);
	json_dumpf(o, out, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	fputc('\n', out);
	json_decref(o);
}
