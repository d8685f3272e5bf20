// SPDX-License-Identifier: BSD-3-Clause
// Answers telemetry queries for the meaning of counters, from the lists that define them. So the
// log, the documents and displays have the same text.
#include <string.h>

#include "dpdk_compat.h"
#include "telemetry/meanings.h"
#include "telemetry/rows.h"
#include "turn_refusal.h"

// The longest string that DPDK's telemetry takes, with its NUL.
#define TEXT_MAX 128

struct meaning {
	const char *name, *text;
};

// Does not compile if the text is too long.
#define MEANING(name, text)                                                                    \
	{name, (text) + 0 * sizeof(struct {                                                    \
		 char c;                                                                       \
		 _Static_assert(sizeof(text) <= TEXT_MAX, "telemetry takes no longer string"); \
	 })},

#define X(id, name, text) MEANING(name, text)
static const struct meaning drops[] = {NET_DROPS(X) TURN_DROPS(X) DP_DROPS(X){NULL, NULL}};
#undef X
#define X(id, code, name, phrase, text, advice) MEANING(name, #code " " text)
static const struct meaning refusals[] = {TURN_REFUSALS(X){NULL, NULL}};
#undef X
#define X(field, text) MEANING(#field, text)
static const struct meaning streams[] = {STREAM_COUNTERS(X){NULL, NULL}};
static const struct meaning dtls[] = {DP_DTLS_COUNTERS(X){NULL, NULL}};
#undef X
#define F(field, kind, metric, text) MEANING(#field, text)
#define V(key, value, kind, metric, text) MEANING(#key, text)
static const struct meaning stats[] = {DP_STATS(F, V, F){NULL, NULL}};
static const struct meaning worker[] = {
	DP_WORKER_COUNTERS(F) DP_POLL_COUNTERS(F) DP_SUPER_COUNTERS(F){NULL, NULL}};
static const struct meaning bursts[] = {
	DP_POLL_COUNTERS(F) DP_SHORT_COUNTERS(F) DP_SUPER_COUNTERS(F){NULL, NULL}};
static const struct meaning ports[] = {PORT_COUNTERS(F){NULL, NULL}};
static const struct meaning exception[] = {DP_EXCEPTION_COUNTERS(F){NULL, NULL}};

bool mgmt_meanings_add(struct rte_tel_data *t, const char *list_name)
{
	const struct {
		const char *name;
		const struct meaning *rows;
	} lists[] = {
		{"drops", drops},
		{"refusals", refusals},
		{"streams", streams},
		{"dtls", dtls},
		{"stats", stats},
		{"worker", worker},
		{"bursts", bursts},
		{"ports", ports},
		{"exception", exception},
	};
	char name[64];

	for (unsigned int i = 0; list_name != NULL && i < RTE_DIM(lists); i++) {
		if (strcmp(list_name, lists[i].name) != 0)
			continue;
		for (const struct meaning *m = lists[i].rows; m->name != NULL; m++)
			rte_tel_data_add_dict_string(
				t, mgmt_rows_name(m->name, name, sizeof(name)), m->text);
		return true;
	}
	return false;
}
