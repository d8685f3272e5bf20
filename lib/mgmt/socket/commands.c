// SPDX-License-Identifier: BSD-3-Clause
// The commands of the control socket: their names and fields, and the format of requests and
// answers.
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "block/block_orders.h"
#include "clock.h"
#include "drain/drains.h"
#include "log/escape.h"
#include "explain/explain.h"
#include "log/log.h"
#include "socket/commands.h"
#include "answers/configs.h"
#include "answers/crashes.h"
#include "answers/listings.h"
#include "answers/logs.h"
#include "state/stop.h"

#define DENIED_MS 1000 // between lines of the log about orders of readers

static enum command_end show_help(struct command *c);

// True if a request only reads.
static bool only_reads(const json_t *in)
{
	return true;
}

static bool gives_order(const json_t *in)
{
	return false;
}

static bool log_reads(const json_t *in)
{
	return json_object_get(in, "area") == NULL && json_object_get(in, "level") == NULL &&
		json_object_get(in, "reopen") == NULL;
}

static bool config_reads(const json_t *in)
{
	const char *action = json_string_value(json_object_get(in, "do"));

	return json_object_get(in, "do") == NULL ||
		(action != NULL && (strcmp(action, "diff") == 0 || strcmp(action, "show") == 0));
}

// Only the connection that began a capture can ask for more of it, or stop it.
static bool capture_reads(const json_t *in)
{
	return json_is_true(json_object_get(in, "more")) ||
		json_is_true(json_object_get(in, "stop"));
}

// reads: true if readers may send this request. A row without it is for operators.
// fields: the allowed fields of a request besides v and cmd, each between spaces.
static const struct {
	const char *name;
	enum command_end (*run)(struct command *c);
	bool (*reads)(const json_t *in);
	const char *fields, *help;
} commands[] = {
	{"help", show_help, only_reads, " ", "The commands, and the fields of each."},
	{"status", facts_status, only_reads, " ",
		"The server: links, load, limits, rates, warnings."},
	{"allocations", listings_allocations, only_reads,
		" user realm client peer transport worker sort page rows ",
		"Live allocations. sort: rate, bitrate, age, datagrams, bytes."},
	{"show", listings_show, only_reads, " id page ", "All about one allocation."},
	{"kill", listings_kill, gives_order, " id user realm source peer ",
		"Ends allocations; answers their number."},
	{"block", block_orders_block, gives_order, " address user realm for why ",
		"Shuts out an address or prefix, or a user: for some seconds, or until unblocked."},
	{"unblock", block_orders_unblock, gives_order, " address user realm ", "Ends a block."},
	{"blocked", block_orders_list, only_reads, " page rows ", "The blocks, with their ends."},
	{"capture", captures_command, capture_reads,
		" id user realm client drop payload decrypted seconds datagrams bytes snap more "
		"stop ",
		"Frames of allocations, of an address or a drop reason; more: the frames captured "
		"yet."},
	{"users", listings_users, only_reads, " user realm sort page rows ",
		"Users that have allocations. sort: allocations, rate, bitrate, datagrams, bytes."},
	{"ports", facts_ports, only_reads, " xstats ",
		"Ports, their links and counters. xstats: the driver's, too."},
	{"workers", facts_workers, only_reads, " ", "Workers, their load and counters."},
	{"steering", facts_steering, only_reads, " ", "Steering of packets from peers."},
	{"neighbours", listings_neighbours, only_reads, " worker page rows ",
		"ARP and ND entries of a worker."},
	{"drops", facts_drops, only_reads, " all ",
		"Dropped datagrams by reason, with explanation and advice."},
	{"explain", explain, only_reads, " user realm source rows ",
		"The last attempts of a user or an address, and the likely cause of trouble."},
	{"log", logs_log, log_reads, " area level reopen ",
		"Areas of the log. area and level: sets one. reopen: the files of records."},
	{"config", configs_config, config_reads, " do effective origin from ",
		"The result of the last reload. do: diff, the changes that a reload would make; "
		"show, the running configuration; reload."},
	{"stop", stop_command, gives_order, " keep forget ",
		"Stops slipring. keep: the next process continues the calls; forget: they end."},
	{"drain", drains_drain, gives_order, " deadline below keep ",
		"Drains the server: no new allocations; it ends at below, or after deadline s. "
		"keep: the next process continues the remaining calls."},
	{"undrain", drains_undrain, gives_order, " ", "Cancels a drain."},
	{"records", logs_records, only_reads, " ", "Records written and lost."},
	{"watch", logs_watch, only_reads, " after ",
		"Events as records have them, after the number that the last answer has as next."},
	{"crash", crashes_crash, only_reads, " name ",
		"Reports of crashes; name: the lines of one."},
	{"fault", crashes_fault, gives_order, " what worker ms burst ",
		"Has a worker, or without it management, hang or crash: for tests alone."},
};

#define NB (sizeof(commands) / sizeof(commands[0]))

static enum command_end show_help(struct command *c)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < NB; i++) {
		// skip the space at either end
		const char *fields = commands[i].fields + 1;
		const size_t len = strlen(fields);

		json_array_append_new(rows,
			json_pack("{s:s, s:s%, s:s}", "cmd", commands[i].name, "fields", fields,
				len > 0 ? len - 1 : 0, "help", commands[i].help));
	}
	json_object_set_new(c->out, "rows", rows);
	return COMMAND_DONE;
}

enum command_end commands_refuse(struct command *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->error, sizeof(c->error), fmt, ap);
	va_end(ap);
	return COMMAND_REFUSED;
}

char *commands_order(const struct command *c)
{
	char *in = json_dumps(c->in, JSON_COMPACT | JSON_ENSURE_ASCII), *text = NULL;

	if (in != NULL &&
		asprintf(&text, "%.512s of uid %u, pid %d", in, (unsigned int)c->client->uid,
			(int)c->client->pid) < 0)
		text = NULL;
	free(in);
	return text;
}

void commands_answer(struct control *k, struct client *c, json_t *out, const char *error)
{
	static const char lost[] = "{\"v\":1,\"ok\":false,\"error\":\"answer is too long, or there "
				   "is no memory: ask for fewer rows\"}\n";
	json_t *all = error == NULL
		? json_pack("{s:i, s:b}", "v", COMMANDS_VERSION, "ok", 1)
		: json_pack("{s:i, s:b, s:s}", "v", COMMANDS_VERSION, "ok", 0, "error", error);
	char *text = NULL, *line;
	size_t len;

	if (error == NULL && json_object_update(all, out) != 0)
		json_object_clear(all);
	if (json_object_size(all) > 0)
		text = json_dumps(all, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(all);
	json_decref(out);
	len = text != NULL ? strlen(text) : 0;
	line = text != NULL && len < CLIENTS_ANSWER_MAX ? realloc(text, len + 2) : NULL;
	if (line == NULL) {
		free(text);
		clients_answer(&k->clients, c, strdup(lost), sizeof(lost) - 1);
		return;
	}
	memcpy(line + len, "\n", 2);
	clients_answer(&k->clients, c, line, len + 1);
}

#define QUOTED 32 // bytes of a name that a refusal quotes

// Quotes the beginning of a name in a request: it is escaped, because half a UTF-8 character would
// spoil the answer.
static const char *quote_name(const char *name, char buf[3 * QUOTED + 1])
{
	mgmt_escape(name, strnlen(name, QUOTED), buf, 3 * QUOTED + 1);
	return buf;
}

// Returns the first field that the command does not have, or NULL.
static const char *strange_field(const json_t *in, const char *fields)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)in, key, value)
	{
		char word[32];

		if (strcmp(key, "v") == 0 || strcmp(key, "cmd") == 0)
			continue;
		if (snprintf(word, sizeof(word), " %s ", key) >= (int)sizeof(word) ||
			strchr(key, ' ') != NULL || strstr(fields, word) == NULL)
			return key;
	}
	return NULL;
}

// Refuses an order of a reader, and logs one a second: a reader must not fill the log.
static enum command_end deny_order(struct command *c, const char *name)
{
	const char *group = c->control->conf->control.group;
	const uint64_t now_ms = clock_monotonic_ms();
	char *order = commands_order(c);

	c->control->clients.denied++;
	if (order != NULL &&
		(c->control->denied_ms == 0 || now_ms - c->control->denied_ms >= DENIED_MS)) {
		c->control->denied_ms = now_ms;
		LOG(CONTROL, WARNING, "refused, as readers give no orders: %s", order);
	}
	free(order);
	return commands_refuse(c,
		"%s: this is an order, and uid %u is only a reader: use sudo, or become a member "
		"of %s",
		name, (unsigned int)c->client->uid,
		group != NULL ? group : "control.group, which is not set");
}

// Runs an order of an operator. A refused one is logged here, others by what they do.
static enum command_end run_order(struct command *c, enum command_end (*run)(struct command *c))
{
	const enum command_end end = run(c);
	char *order = end == COMMAND_REFUSED ? commands_order(c) : NULL;

	if (order != NULL)
		LOG(CONTROL, NOTICE, "order refused (%s): %s", c->error, order);
	free(order);
	return end;
}

static enum command_end run_command(struct command *c)
{
	const json_t *v = json_object_get(c->in, "v");
	const char *name = json_string_value(json_object_get(c->in, "cmd"));
	char text[3 * QUOTED + 1];
	const char *strange;

	if (v != NULL && json_integer_value(v) != COMMANDS_VERSION)
		return commands_refuse(c, "v: this server speaks version 1");
	if (name == NULL)
		return commands_refuse(c, "cmd: missing, or not a string");
	for (size_t i = 0; i < NB; i++) {
		if (strcmp(name, commands[i].name) != 0)
			continue;
		strange = strange_field(c->in, commands[i].fields);
		if (strange != NULL)
			return commands_refuse(c, "%s: %s has no such field; see help",
				quote_name(strange, text), name);
		if (commands[i].reads != NULL && commands[i].reads(c->in))
			return commands[i].run(c);
		if (c->client->role < ROLE_OPERATOR)
			return deny_order(c, name);
		return run_order(c, commands[i].run);
	}
	return commands_refuse(c, "cmd: %s: no such command; see help", quote_name(name, text));
}

// Parses a request. NULL with the reason in error if it is not valid.
static json_t *read_request(struct client *c, const char *line, size_t len, char *error)
{
	json_error_t parse_error;
	json_t *in;

	if (lines_depth(line, len) > COMMANDS_DEPTH) {
		snprintf(
			error, COMMANDS_ERROR, "no request: nested deeper than %d", COMMANDS_DEPTH);
		return NULL;
	}
	in = json_loadb(line, len, JSON_REJECT_DUPLICATES, &parse_error);
	if (json_is_object(in))
		return in;
	snprintf(error, COMMANDS_ERROR, "no request: %.160s",
		in == NULL ? parse_error.text : "must be a JSON object, one per line");
	json_decref(in);
	return NULL;
}

void commands_line(void *control, struct client *client, char *line, size_t len)
{
	struct command c = {.control = control, .client = client};
	enum command_end end = COMMAND_REFUSED;

	c.in = read_request(client, line, len, c.error);
	client->bad = c.in == NULL ? client->bad + 1 : 0;
	c.out = json_object();
	if (c.in != NULL && c.out != NULL)
		end = run_command(&c);
	json_decref(c.in);
	if (end == COMMAND_LATER)
		return;
	commands_answer(c.control, client, c.out, end == COMMAND_DONE ? NULL : c.error);
}
