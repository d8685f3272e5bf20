// SPDX-License-Identifier: BSD-3-Clause
// Runs a capture from its start to its end. It asks all workers three times: to report allocations
// that are made and end, to list the existing ones, and to copy the frames of the matching ones. So
// it misses none between two questions. While the capture runs, the workers' reports keep the list
// up to date.
#include "capture/captures.h"

#include <stdlib.h>
#include <string.h>

#include "capture/captures_rows.h"
#include "clock.h"
#include "log/log.h"
#include "socket/commands.h"
#include "socket/fields.h"
#include "answers/shown.h"

#define TICK_US 10000
#define SECONDS 60 // default of the request
#define SECONDS_MAX 3600
#define DATAGRAMS 10000
#define DATAGRAMS_MAX 10000000
#define BYTES (64u << 20)
#define BYTES_MAX (1u << 30)
#define SNAP_MIN 64
#define HEARD_MS 10000 // a capture ends when its client asks for nothing for this time
#define RETRY_MS 1000
#define SETTLED_NS (20 * UINT64_C(1000000)) // older frames of all workers are in the buffer by now
#define ANSWER_ROOM (CLIENTS_ANSWER_MAX / 2)

enum phase { PHASE_LISTEN, PHASE_FIND, PHASE_SET };

static void close_all(struct control *k)
{
	struct captures *s = &k->captures;

	LOG(CONTROL, NOTICE, "capture ended (%s), %ju frames with %ju bytes given, %s",
		s->end_reason, (uintmax_t)s->given, (uintmax_t)s->given_bytes, s->order);
	dp_capture_close(k->dp);
	json_decref(s->made);
	free(s->order);
	*s = (struct captures){.state = CAPTURES_NONE};
}

static void end_capture(struct captures *s, const char *reason)
{
	s->state = CAPTURES_ENDS;
	s->end_reason = reason;
}

static bool add_allocation(struct control *k, const struct turn_info *i)
{
	struct captures *s = &k->captures;

	if (!dp_capture_add(k->dp, i))
		return false;
	json_array_append_new(s->made, shown_allocation(k->dp, i));
	return true;
}

// --- questions to workers ------------------------------------------------------------------------

static struct dp_question set_question(const struct capture_filter *f)
{
	return (struct dp_question){.kind = DP_ASK_CAPTURE, .capture = f};
}

static bool begin_take(struct scan *s, const struct dp_answer *a)
{
	if (s->phase != PHASE_FIND)
		return true;
	for (unsigned int i = 0; i < a->nb && !s->enough; i++) {
		s->enough = s->got == DP_CAPTURE_ENDS;
		s->got += add_allocation(s->control, &a->rows[i]);
	}
	s->control->captures.left_out |= s->enough;
	return true;
}

// True if all workers have answered all questions, or the capture fails.
static bool begin_end(struct scan *s)
{
	const struct turn_filter *f = &s->control->captures.follow;

	if (s->phase == PHASE_SET || f->wants == 0)
		return true;
	if (s->phase == PHASE_LISTEN) {
		s->phase = PHASE_FIND;
		s->question = (struct dp_question){
			.kind = DP_ASK_ROWS, .max = DP_ANSWER_ROWS, .filter = *f};
		if ((f->wants & TURN_FILTER_ID) != 0)
			s->first = s->last = turn_listing_worker(f->id);
		return false;
	}
	if ((f->wants & TURN_FILTER_ID) != 0 && s->got == 0) {
		snprintf(s->error, sizeof(s->error),
			"id: there is no such allocation: it has ended, or never existed");
		return true;
	}
	s->phase = PHASE_SET;
	s->question = set_question(dp_capture_filter(s->control->dp));
	s->first = 0;
	s->last = dp_workers(s->control->dp) - 1;
	return false;
}

static void begin_done(struct scan *s)
{
	struct captures *c = &s->control->captures;

	if (s->error[0] != '\0' || s->client == NULL) {
		end_capture(c, s->client == NULL ? "client gone" : "refused");
		c->client = s->error[0] != '\0' ? NULL : c->client;
		return;
	}
	c->state = CAPTURES_RUNS;
	c->heard_ms = clock_monotonic_ms();
	c->until_ms += c->heard_ms;
	json_object_set_new(s->out, "allocations", c->made);
	c->made = json_array();
	json_object_set_new(s->out, "left_out", json_boolean(c->left_out));
	json_object_set_new(
		s->out, "shared", json_boolean(turn_config_shares_ports(&s->control->conf->turn)));
}

static const struct scan_kind begin_kind = {
	.orders = true, .take = begin_take, .end = begin_end, .done = begin_done};

static bool set_take(struct scan *s, const struct dp_answer *a)
{
	return true;
}

static bool set_end(struct scan *s)
{
	return true;
}

static void set_done(struct scan *s)
{
	struct captures *c = &s->control->captures;

	c->asking = false;
	if (s->error[0] != '\0')
		c->retry_ms = clock_monotonic_ms() + RETRY_MS;
	if (s->error[0] != '\0' && c->state == CAPTURES_RUNS)
		end_capture(c, "a worker does not answer");
	else if (s->error[0] == '\0' && s->question.capture == NULL)
		c->state = CAPTURES_LEFT;
}

static const struct scan_kind set_kind = {
	.orders = true, .take = set_take, .end = set_end, .done = set_done};

// Sends the filter to all workers, or withdraws it. False without memory: the next tick tries
// again. A filter is written only when it can be sent: until then workers use the old one.
static bool send_filter(struct control *k, bool wanted)
{
	struct command nobody = {.control = k};
	struct scan *s = scans_new(&nobody, &set_kind, -1);

	if (s == NULL)
		return false;
	s->question = set_question(wanted ? dp_capture_filter(k->dp) : NULL);
	k->captures.asking = true;
	scans_begin(s);
	return true;
}

// --- while it runs -------------------------------------------------------------------------------

// Handles the workers' reports about allocations. An ended one is removed at once: its addresses
// may belong to another allocation next.
static void notes_take(struct control *k)
{
	struct captures *s = &k->captures;
	struct dp_capture_note n;
	uint64_t lost;

	while (dp_capture_note(k->dp, &n)) {
		if (n.ended)
			s->dirty |= dp_capture_remove(k->dp, n.info.id);
		else
			s->dirty |= add_allocation(k, &n.info);
		if (n.ended && (s->follow.wants & TURN_FILTER_ID) != 0)
			end_capture(s, "the allocation has ended");
	}
	dp_capture_lost(k->dp, &lost);
	if (lost > 0)
		end_capture(s, "allocations come and go too fast");
}

static void check_limits(struct control *k, uint64_t now_ms)
{
	struct captures *s = &k->captures;

	notes_take(k);
	if (s->client == NULL)
		end_capture(s, "client gone");
	else if (now_ms >= s->until_ms)
		end_capture(s, "seconds");
	else if (now_ms - s->heard_ms >= HEARD_MS)
		end_capture(s, "its client asks for nothing");
}

int64_t captures_step(struct control *k)
{
	const uint64_t now_ms = clock_monotonic_ms();
	struct captures *s = &k->captures;

	if (s->state == CAPTURES_RUNS)
		check_limits(k, now_ms);
	if (s->state == CAPTURES_RUNS && s->dirty && !s->asking)
		s->dirty = !send_filter(k, true);
	if (s->state == CAPTURES_ENDS && !s->asking && now_ms >= s->retry_ms)
		send_filter(k, false);
	if (s->state == CAPTURES_LEFT && (s->client == NULL || now_ms - s->heard_ms >= HEARD_MS))
		close_all(k);
	return s->state != CAPTURES_NONE ? TICK_US : -1;
}

void captures_gone(struct control *k, const struct client *c)
{
	if (k->captures.client == c)
		k->captures.client = NULL;
}

void captures_close(struct control *k)
{
	json_decref(k->captures.made);
	free(k->captures.order);
	k->captures = (struct captures){.state = CAPTURES_NONE};
}

// --- captured frames -----------------------------------------------------------------------------

// Adds frames older than before_ns to an answer.
static void frames_add(struct control *k, json_t *rows, uint64_t before_ns)
{
	struct captures *s = &k->captures;
	const struct dp_capture_frame *f;
	size_t room = ANSWER_ROOM;

	while (s->datagrams > 0 && (f = dp_capture_first(k->dp, before_ns)) != NULL) {
		if (CAPTURES_ROW_BYTES(f->cut) > room)
			return;
		room -= CAPTURES_ROW_BYTES(f->cut);
		if (f->cut > s->bytes) {
			s->datagrams = 0;
			if (s->state == CAPTURES_RUNS)
				end_capture(s, "bytes");
			return;
		}
		json_array_append_new(rows, captures_row(k->dp, k->conf, f));
		s->bytes -= f->cut;
		s->given++;
		s->given_bytes += f->cut;
		dp_capture_next(k->dp);
		if (--s->datagrams == 0 && s->state == CAPTURES_RUNS)
			end_capture(s, "datagrams");
	}
}

static enum command_end answer_more(struct command *c, bool stop)
{
	struct control *k = c->control;
	struct captures *s = &k->captures;
	json_t *rows = json_array();
	uint64_t lost_notes;

	json_object_set_new(c->out, "rows", rows);
	s->heard_ms = clock_monotonic_ms();
	if (stop && s->state == CAPTURES_RUNS)
		end_capture(s, "stopped");
	if (s->state == CAPTURES_RUNS)
		frames_add(k, rows, clock_wall_ns() - SETTLED_NS);
	else if (s->state == CAPTURES_LEFT)
		frames_add(k, rows, UINT64_MAX);
	json_object_set_new(c->out, "lost", shown_number(dp_capture_lost(k->dp, &lost_notes)));
	json_object_set_new(c->out, "allocations", s->made);
	s->made = json_array();
	if (s->state == CAPTURES_LEFT && json_array_size(rows) == 0) {
		json_object_set_new(c->out, "end", json_string(s->end_reason));
		close_all(k);
	}
	return COMMAND_DONE;
}

// --- the request ---------------------------------------------------------------------------------

static bool read_flag(struct command *c, const char *name, bool *out)
{
	const json_t *v = json_object_get(c->in, name);

	*out = json_is_true(v);
	if (v == NULL || json_is_boolean(v))
		return true;
	commands_refuse(c, "%s: must be true or false", name);
	return false;
}

static bool drop_field(struct command *c, unsigned int *drop)
{
	const json_t *v = json_object_get(c->in, "drop");
	const char *text = json_string_value(v);

	for (*drop = 0; v != NULL && text != NULL && *drop < DP_DROP_END; ++*drop)
		if (strcmp(dp_drop_name(*drop), text) == 0)
			return true;
	*drop = DP_DROP_END;
	if (v == NULL)
		return true;
	commands_refuse(c, "drop: must be the name of a drop reason, see drops");
	return false;
}

// Reads the filter of the capture and its limits.
static bool wanted_fields(struct command *c, struct dp_capture_wanted *w)
{
	struct captures *s = &c->control->captures;
	uint64_t seconds = SECONDS, datagrams = DATAGRAMS, bytes = BYTES,
		 snap = DP_CAPTURE_SNAP_MAX;

	if (!fields_filter(c, &w->follow) || !drop_field(c, &w->drop) ||
		!read_flag(c, "payload", &w->payload) ||
		!read_flag(c, "decrypted", &w->decrypted) ||
		!fields_number(c, "seconds", &(struct fields_range){1, SECONDS_MAX}, &seconds) ||
		!fields_number(
			c, "datagrams", &(struct fields_range){1, DATAGRAMS_MAX}, &datagrams) ||
		!fields_number(c, "bytes", &(struct fields_range){SNAP_MIN, BYTES_MAX}, &bytes) ||
		!fields_number(
			c, "snap", &(struct fields_range){SNAP_MIN, DP_CAPTURE_SNAP_MAX}, &snap))
		return false;
	w->snap = (uint32_t)snap;
	w->of_source = (w->follow.wants & TURN_FILTER_CLIENT) != 0;
	w->source = w->follow.client;
	s->until_ms = seconds * 1000;
	s->datagrams = datagrams;
	s->bytes = bytes;
	return true;
}

// True if this client may capture that: clients that only the group admits get headers only.
static bool is_allowed(const struct command *c, const struct dp_capture_wanted *w)
{
	return (!w->payload && !w->decrypted) || c->client->role == ROLE_OWNER;
}

static enum command_end check_wanted(struct command *c, const struct dp_capture_wanted *w)
{
	const unsigned int wants = w->follow.wants & ~TURN_FILTER_REALM; // only qualifies the user
	const unsigned int named =
		(unsigned int)__builtin_popcount(wants) + (w->drop < DP_DROP_END);

	if (named != 1)
		return commands_refuse(c, "say what to capture: one of id, user, client and drop");
	if (!is_allowed(c, w))
		return commands_refuse(c,
			"payload, decrypted: only root and the user that slipring runs as may see "
			"them");
	if ((wants & TURN_FILTER_ID) != 0 &&
		turn_listing_worker(w->follow.id) >= dp_workers(c->control->dp))
		return commands_refuse(
			c, "id: there is no such allocation: no worker has such numbers");
	return COMMAND_DONE;
}

static enum command_end begin_capture(struct command *c)
{
	struct captures *s = &c->control->captures;
	struct dp_capture_wanted w = {0};
	struct scan *scan;

	*s = (struct captures){.state = CAPTURES_NONE};
	if (!wanted_fields(c, &w) || check_wanted(c, &w) != COMMAND_DONE)
		return COMMAND_REFUSED;
	if (dp_capture_open(c->control->dp, &w) != 0)
		return commands_refuse(c, "no memory");
	scan = scans_new(c, &begin_kind, -1);
	s->order = commands_order(c);
	s->made = json_array();
	if (scan == NULL || s->order == NULL || s->made == NULL) {
		free(scan);
		captures_close(c->control);
		dp_capture_close(c->control->dp);
		return commands_refuse(c, "no memory");
	}
	LOG(CONTROL, NOTICE, "capture, %s%s, by order %s",
		w.payload ? "with payload" : "headers alone", w.decrypted ? ", decrypted" : "",
		s->order);
	s->follow = w.follow;
	s->state = CAPTURES_BEGINS;
	s->client = c->client;
	scan->question = set_question(dp_capture_filter(c->control->dp));
	scan->phase = PHASE_LISTEN;
	scans_begin(scan);
	return COMMAND_LATER;
}

enum command_end captures_command(struct command *c)
{
	struct captures *s = &c->control->captures;
	bool next, stop;

	if (!read_flag(c, "more", &next) || !read_flag(c, "stop", &stop))
		return COMMAND_REFUSED;
	if (next || stop) {
		if (s->state == CAPTURES_NONE || s->client != c->client)
			return commands_refuse(c, "more: this connection has no capture under way");
		return answer_more(c, stop);
	}
	if (s->state != CAPTURES_NONE)
		return commands_refuse(c, "another capture is under way: there is one at a time");
	return begin_capture(c);
}
