// SPDX-License-Identifier: BSD-3-Clause
// Reports the state area of the start to the log, telemetry and the control socket.
#include "state/state_facts.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <rte_telemetry.h>

#include "dp.h"
#include "dp_state.h"
#include "dpdk_compat.h"
#include "log/log.h"
#include "telemetry/rows.h"
#include "answers/shown.h"

static const char *const starts[] = {[DP_STATE_EMPTY] = "empty",
	[DP_STATE_TAKEN] = "taken",
	[DP_STATE_REFUSED] = "refused",
	[DP_STATE_CRASHED] = "crashed"};

// Numbers of restored records, and the size of the area, by their names in telemetry and on the
// control socket.
static const struct {
	const char *name;
	size_t offset, size; // in struct dp_state
} numbers[] = {
#define NUMBER(name, field)                                            \
	{                                                              \
		name, offsetof(struct dp_state, field),                \
			sizeof(((const struct dp_state *)NULL)->field) \
	}
	NUMBER("bytes", bytes),
	NUMBER("bytes_each", each),
	NUMBER("away_ms", away_ms),
	NUMBER("took_ms", took_ms),
	NUMBER("deaths", deaths),
	NUMBER("allocations", adopted.allocations),
	NUMBER("permissions", adopted.permissions),
	NUMBER("channels", adopted.channels),
	NUMBER("endpoints", adopted.endpoints),
	NUMBER("reservations", adopted.reservations),
	NUMBER("redirects", adopted.redirects),
	NUMBER("resting", adopted.resting),
#undef NUMBER
};
#define NB (sizeof(numbers) / sizeof(numbers[0]))

static uint64_t read_number(const struct dp_state *s, size_t i)
{
	const char *field = (const char *)s + numbers[i].offset;
	uint64_t wide;
	uint32_t narrow;

	memcpy(&narrow, field, sizeof(narrow));
	if (numbers[i].size == sizeof(narrow))
		return narrow;
	memcpy(&wide, field, sizeof(wide));
	return wide;
}

// --- the log -------------------------------------------------------------------------------------

static void log_taken(const struct dp_state *s)
{
	const struct turn_state_adopted *a = &s->adopted;

	LOG(START, NOTICE,
		"state: %" PRIu64 " allocations restored in %" PRIu64 " ms, with %" PRIu64
		" permissions, %" PRIu64 " channels, %" PRIu64 " reservations, %" PRIu64
		" redirects; slipring %s left them %" PRIu64 " ms ago",
		a->allocations, s->took_ms, a->permissions, a->channels, a->reservations,
		a->redirects, s->version, s->away_ms);
	for (unsigned int i = 0; i < TURN_STATE_LOST_END; i++)
		if (a->lost[i] > 0)
			LOG(START, NOTICE, "state: %" PRIu64 " not restored: %s: %s", a->lost[i],
				turn_state_loss_name(i), turn_state_loss_text(i));
}

void state_facts_log(const struct dp *d)
{
	struct dp_state s;

	if (!dp_state(d, &s))
		return;
	if (s.unkept[0] != '\0')
		LOG(START, ERR, "state: the calls of this process will end with it: %s", s.unkept);
	else
		LOG(START, INFO,
			"state: %s, %" PRIu64 " MB, %u bytes for each allocation that can exist",
			s.file, s.bytes >> 20, s.each);
	if (s.room[0] != '\0')
		LOG(START, WARNING, "state.file: %s", s.room);
	if (s.warning[0] != '\0')
		LOG(START, WARNING, "state: %s", s.warning);
	if (s.start == DP_STATE_TAKEN)
		log_taken(&s);
	if (s.start == DP_STATE_CRASHED)
		LOG(START, ERR,
			"state: the state of the last process is not restored, and its calls have "
			"ended: %s, and this state may be the cause; %s%s%s: slipringctl crash "
			"shows why they died; please report it",
			s.reason, s.aside ? "it is in " : "it could not be renamed",
			s.aside ? s.file : "", s.aside ? ".crashed" : "");
	else if (s.deaths > 0)
		LOG(START, WARNING,
			"state: %u processes in a row died soon after their start before this one",
			s.deaths);
	if (s.start == DP_STATE_REFUSED)
		LOG(START, WARNING,
			"state: the state of the last process cannot be restored, and its calls "
			"have ended: %s%s%s%s",
			s.reason, s.aside ? "; it is in " : "", s.aside ? s.file : "",
			s.aside ? ".refused, which may be removed" : "");
}

// --- telemetry and JSON --------------------------------------------------------------------------

void state_facts_add(struct rte_tel_data *t, const struct dp *d)
{
	char name[64] = "lost_";
	struct dp_state s;

	if (!dp_state(d, &s))
		return;
	rte_tel_data_add_dict_string(t, "start", starts[s.start]);
	rte_tel_data_add_dict_string(t, "why", s.reason);
	rte_tel_data_add_dict_string(t, "version", s.version);
	rte_tel_data_add_dict_u64(t, "kept", s.unkept[0] == '\0');
	for (size_t i = 0; i < NB; i++)
		rte_tel_data_add_dict_u64(t, numbers[i].name, read_number(&s, i));
	for (unsigned int i = 0; i < TURN_STATE_LOST_END; i++) {
		mgmt_rows_name(turn_state_loss_name(i), name + 5, sizeof(name) - 5);
		rte_tel_data_add_dict_u64(t, name, s.adopted.lost[i]);
	}
}

json_t *state_facts_shown(const struct dp *d)
{
	json_t *o, *lost;
	struct dp_state s;

	if (!dp_state(d, &s))
		return json_null();
	o = json_object();
	lost = json_object();
	json_object_set_new(o, "file", shown_text(s.file));
	json_object_set_new(o, "start", json_string(starts[s.start]));
	json_object_set_new(o, "why", shown_text(s.reason));
	json_object_set_new(o, "unkept", shown_text(s.unkept));
	json_object_set_new(o, "version", shown_text(s.version));
	for (size_t i = 0; i < NB; i++)
		json_object_set_new(o, numbers[i].name, shown_number(read_number(&s, i)));
	for (unsigned int i = 0; i < TURN_STATE_LOST_END; i++)
		if (s.adopted.lost[i] > 0)
			json_object_set_new(
				lost, turn_state_loss_name(i), shown_number(s.adopted.lost[i]));
	json_object_set_new(o, "lost", lost);
	return o;
}
