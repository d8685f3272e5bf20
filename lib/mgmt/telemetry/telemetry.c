// SPDX-License-Identifier: BSD-3-Clause
// The /slipring commands of DPDK's telemetry socket. DPDK calls the handlers on its own threads,
// several at a time. It passes them no context and cannot unregister them. So the state has file
// scope and a lock, and handlers answer even when the server no longer runs.

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "block/block.h"
#include "clock.h"
#include "control.h"
#include "dp_realms.h"
#include "dpdk_compat.h"
#include "drain/drain.h"
#include "events/events.h"
#include "log/log.h"
#include "mgmt_features.h"
#include "telemetry/meanings.h"
#include "records/records.h"
#include "reload/reload.h"
#include "reload/in_use.h"
#include "telemetry/rows.h"
#include "state/state_facts.h"
#include "telemetry/histograms.h"
#include "telemetry/telemetry.h"
#include "watch/watch.h"

#define PAGE_ROWS 32

static struct {
	pthread_rwlock_t lock; // the management lcore writes, telemetry threads read
	struct dp *dp; // NULL = not running
	const struct conf *conf;
	struct control_parts parts;
	uint64_t started_s;
} state = {.lock = PTHREAD_RWLOCK_INITIALIZER};

static int answer_error(struct rte_tel_data *out, const char *reason)
{
	rte_tel_data_start_dict(out);
	rte_tel_data_add_dict_string(out, "error", reason);
	return 0;
}

// Adds an object to a top-level array. DPDK can write objects in arrays, but has no call to add
// one. So we add an array and then turn it into an object.
static struct rte_tel_data *array_object(struct rte_tel_data *array)
{
	struct rte_tel_data *o = rte_tel_data_alloc();

	if (o == NULL)
		return NULL;
	rte_tel_data_start_array(o, RTE_TEL_U64_VAL);
	if (rte_tel_data_add_array_container(array, o, 0) != 0) {
		rte_tel_data_free(o);
		return NULL;
	}
	rte_tel_data_start_dict(o);
	return o;
}

// Reads up to max numbers separated by commas. Returns how many there are, or -1.
static int parse_numbers(const char *params, unsigned int *v, int max)
{
	int n = 0;
	char *end;

	if (params == NULL)
		return 0;
	for (const char *p = params; n < max; p = end + 1) {
		unsigned long x;

		if (*p < '0' || *p > '9')
			return -1;
		errno = 0;
		x = strtoul(p, &end, 10);
		if (errno != 0 || x > UINT32_MAX)
			return -1;
		v[n++] = (unsigned int)x;
		if (*end == '\0')
			return n;
		if (*end != ',')
			return -1;
	}
	return -1;
}

static int handle_info(const char *params, struct rte_tel_data *out)
{
	struct mgmt_drain_state drain;

	mgmt_drain_state(state.parts.drain, &drain);
	rte_tel_data_start_dict(out);
	rte_tel_data_add_dict_string(out, "name", "slipring");
	rte_tel_data_add_dict_string(out, "version", SLIPRING_VERSION);
	rte_tel_data_add_dict_u64(out, "pid", (uint64_t)getpid());
	rte_tel_data_add_dict_u64(out, "uptime", clock_monotonic_s() - state.started_s);
	rte_tel_data_add_dict_u64(out, "workers", dp_workers(state.dp));
	rte_tel_data_add_dict_u64(out, "ready", drain.draining ? 0 : 1);
	return 0;
}

// Answers with `draining` alone unless the server drains. `deadline` is missing without a deadline.
static int handle_drain(const char *params, struct rte_tel_data *out)
{
	struct mgmt_drain_state s;

	mgmt_drain_state(state.parts.drain, &s);
	rte_tel_data_start_dict(out);
	rte_tel_data_add_dict_u64(out, "draining", s.draining);
	if (!s.draining)
		return 0;
	rte_tel_data_add_dict_u64(out, "since", s.since_s);
	if (s.has_deadline)
		rte_tel_data_add_dict_u64(out, "deadline", s.left_s);
	rte_tel_data_add_dict_u64(out, "below", s.below);
	rte_tel_data_add_dict_u64(out, "allocations", s.allocations);
	rte_tel_data_add_dict_u64(out, "refused", s.refused);
	return 0;
}

static int handle_stats(const char *params, struct rte_tel_data *out)
{
	struct dp_stats s;

	dp_total_stats(state.dp, &s);
	rte_tel_data_start_dict(out);
	mgmt_rows_add_stats(out, &s);
	rte_tel_data_add_dict_u64(out, "buffers", state.conf->mbufs);
	rte_tel_data_add_dict_u64(out, "buffers_free", dp_buffers_free(state.dp));
	return 0;
}

static int handle_drops(const char *params, struct rte_tel_data *out)
{
	struct dp_stats s;

	dp_total_stats(state.dp, &s);
	rte_tel_data_start_dict(out);
	mgmt_rows_add_drops(out, &s);
	return 0;
}

static int handle_refusals(const char *params, struct rte_tel_data *out)
{
	struct dp_stats s;

	dp_total_stats(state.dp, &s);
	rte_tel_data_start_dict(out);
	mgmt_rows_add_refusals(out, &s);
	return 0;
}

static int handle_workers(const char *params, struct rte_tel_data *out)
{
	rte_tel_data_start_array(out, RTE_TEL_INT_VAL);
	for (unsigned int i = 0; i < dp_workers(state.dp); i++)
		rte_tel_data_add_array_int(out, (int)i);
	return 0;
}

static int handle_worker(const char *params, struct rte_tel_data *out)
{
	struct dp_stats s;
	unsigned int w;

	if (parse_numbers(params, &w, 1) != 1)
		return answer_error(out, "usage: /slipring/worker,WORKER");
	if (!dp_worker_stats(state.dp, w, &s))
		return answer_error(out, "no such worker");
	rte_tel_data_start_dict(out);
	rte_tel_data_add_dict_u64(out, "lcore", dp_worker_lcore(state.dp, w));
	mgmt_rows_add_stats(out, &s);
	mgmt_rows_add_worker(out, &s);
	return 0;
}

static int handle_bursts(const char *params, struct rte_tel_data *out)
{
	struct dp_stats s;
	unsigned int w;
	const int n = parse_numbers(params, &w, 1);

	if (n < 0)
		return answer_error(out, "usage: /slipring/bursts or /slipring/bursts,WORKER");
	if (n == 0)
		dp_total_stats(state.dp, &s);
	else if (!dp_worker_stats(state.dp, w, &s))
		return answer_error(out, "no such worker");
	rte_tel_data_start_dict(out);
	mgmt_rows_add_bursts(out, &s);
	return 0;
}

static int handle_histograms(const char *params, struct rte_tel_data *out)
{
	struct turn_sums sums;
	struct dp_stats s;
	unsigned int w;
	const int n = parse_numbers(params, &w, 1);

	if (n < 0)
		return answer_error(
			out, "usage: /slipring/histograms or /slipring/histograms,WORKER");
	if (n == 0)
		dp_total_stats(state.dp, &s);
	else if (!dp_worker_stats(state.dp, w, &s))
		return answer_error(out, "no such worker");
	dp_realm_sums(state.dp, &s, n == 0 ? -1 : (int)w, &sums);
	rte_tel_data_start_dict(out);
	mgmt_sums_add_histograms(out, &s, &sums);
	return 0;
}

// A reply of DPDK has 16 KB: more realms may not fit, as names can be long.
#define REALMS_PAGE 16

// Adds the realm with an index in the configuration: 0 is auth.realm. False if there is no such
// realm.
static bool add_realm(struct rte_tel_data *out, const struct dp_stats *s, unsigned int index)
{
	const struct turn_config *t = &state.conf->turn;
	struct rte_tel_data *o = index < turn_config_nb_realms(t) ? array_object(out) : NULL;
	const struct turn_realm *realm;
	struct dp_realm r;

	if (o == NULL)
		return false;
	realm = turn_config_realm(t, index);
	dp_realm_stats(state.dp, s, realm->number, &r);
	mgmt_sums_add_realm(o, realm->name, &r);
	return true;
}

static int handle_realms(const char *params, struct rte_tel_data *out)
{
	unsigned int page = 0, i = 0;
	struct dp_stats s;

	if (parse_numbers(params, &page, 1) < 0 || page > TURN_REALM_NUMBERS)
		return answer_error(out, "usage: /slipring/realms or /slipring/realms,PAGE");
	dp_total_stats(state.dp, &s);
	rte_tel_data_start_array(out, RTE_TEL_CONTAINER);
	in_use_read();
	while (i < REALMS_PAGE && add_realm(out, &s, page * REALMS_PAGE + i))
		i++;
	in_use_done();
	return 0;
}

static int handle_ports(const char *params, struct rte_tel_data *out)
{
	rte_tel_data_start_array(out, RTE_TEL_CONTAINER);
	for (unsigned int i = 0; i < dp_ports(state.dp); i++) {
		struct rte_tel_data *o = array_object(out);

		if (o == NULL)
			return -ENOMEM;
		mgmt_rows_add_port(o, dp_port(state.dp, i));
	}
	return 0;
}

static int handle_steering(const char *params, struct rte_tel_data *out)
{
	rte_tel_data_start_array(out, RTE_TEL_CONTAINER);
	for (unsigned int i = 0; i < 2 * dp_ports(state.dp); i++) {
		struct rte_tel_data *o = array_object(out);

		if (o == NULL)
			return -ENOMEM;
		mgmt_rows_add_steering(o, state.dp, i / 2, i % 2 == 0);
	}
	return 0;
}

static int handle_exception(const char *params, struct rte_tel_data *out)
{
	struct dp_exception e;

	rte_tel_data_start_array(out, RTE_TEL_CONTAINER);
	for (unsigned int i = 0; i < dp_ports(state.dp); i++) {
		struct rte_tel_data *o = dp_exception(state.dp, i, &e) ? array_object(out) : NULL;

		if (o != NULL)
			mgmt_rows_add_exception(o, dp_port(state.dp, i)->name, &e);
	}
	return 0;
}

static int handle_addresses(const char *params, struct rte_tel_data *out)
{
	struct dp_learned rows[DP_LEARNED_MAX];
	const unsigned int n = dp_learned(state.dp, rows);

	rte_tel_data_start_array(out, RTE_TEL_CONTAINER);
	for (unsigned int i = 0; i < n; i++) {
		struct rte_tel_data *o = array_object(out);

		if (o != NULL)
			mgmt_rows_add_learned(o, &rows[i]);
	}
	return 0;
}

static int handle_allocations(const char *params, struct rte_tel_data *out)
{
	struct turn_info rows[PAGE_ROWS];
	unsigned int v[2] = {0, 0};
	int n;

	if (parse_numbers(params, v, 2) < 1)
		return answer_error(out, "usage: /slipring/allocations,WORKER,PAGE");
	n = dp_list(state.dp, v[0], v[1], rows);
	if (n == -EBUSY)
		return answer_error(out, "busy");
	if (n == -ERANGE)
		return answer_error(out, "no such worker");
	if (n < 0)
		return answer_error(out, "listing failed");
	rte_tel_data_start_array(out, RTE_TEL_CONTAINER);
	for (int i = 0; i < n; i++) {
		struct rte_tel_data *o = array_object(out);

		if (o == NULL)
			return -ENOMEM;
		mgmt_rows_add_allocation(o, &rows[i], dp_realm_name(state.dp, rows[i].realm));
	}
	return 0;
}

static int handle_streams(const char *params, struct rte_tel_data *out)
{
	struct stream_stats s = {0};

	dp_streams(state.dp, &s); // all zero if no listener takes streams
	rte_tel_data_start_dict(out);
#define X(field, text) rte_tel_data_add_dict_u64(out, #field, s.field);
	STREAM_COUNTERS(X)
#undef X
	return 0;
}

// A reply of DPDK has 16 KB: more certificates may not fit, as paths can be long.
#define CERTIFICATES_PAGE 32

static int handle_certificates(const char *params, struct rte_tel_data *out)
{
	struct stream_certificate c;
	unsigned int page = 0;

	if (parse_numbers(params, &page, 1) < 0 || page > STREAM_LISTENERS_MAX)
		return answer_error(
			out, "usage: /slipring/certificates or /slipring/certificates,PAGE");
	rte_tel_data_start_array(out, RTE_TEL_CONTAINER);
	for (unsigned int i = 0; i < CERTIFICATES_PAGE; i++) {
		struct rte_tel_data *o = dp_certificate(state.dp, page * CERTIFICATES_PAGE + i, &c)
			? array_object(out)
			: NULL;

		if (o != NULL)
			mgmt_rows_add_certificate(o, &c);
	}
	return 0;
}

// Answers with the workers' counters of sessions and the stream threads' counters of handshakes.
static int handle_dtls(const char *params, struct rte_tel_data *out)
{
	struct stream_stats threads = {0};
	struct dp_stats s;

	dp_total_stats(state.dp, &s);
	dp_streams(state.dp, &threads);
	rte_tel_data_start_dict(out);
#define X(field, text) rte_tel_data_add_dict_u64(out, #field, s.dtls.field);
	DP_DTLS_COUNTERS(X)
#undef X
	rte_tel_data_add_dict_u64(out, "handshakes", threads.dtls_handshakes);
	rte_tel_data_add_dict_u64(out, "handshake_failed", threads.dtls_failed);
	rte_tel_data_add_dict_u64(out, "refused_total", threads.dtls_refused_total);
	rte_tel_data_add_dict_u64(out, "refused_source", threads.dtls_refused_source);
	rte_tel_data_add_dict_u64(out, "refused_network", threads.dtls_refused_network);
	rte_tel_data_add_dict_u64(out, "handshake_overrun", threads.dtls_overrun);
	return 0;
}

static int handle_records(const char *params, struct rte_tel_data *out)
{
	const struct records_counters c = records_counters(mgmt_events_records(state.parts.events));

	rte_tel_data_start_dict(out);
	rte_tel_data_add_dict_u64(out, "written", c.written);
	rte_tel_data_add_dict_u64(out, "lost", c.lost);
	rte_tel_data_add_dict_u64(out, "unsent", c.unsent);
	rte_tel_data_add_dict_u64(out, "waiting", c.waiting);
	return 0;
}

static int handle_state(const char *params, struct rte_tel_data *out)
{
	rte_tel_data_start_dict(out);
	state_facts_add(out, state.dp);
	return 0;
}

static int handle_blocked(const char *params, struct rte_tel_data *out)
{
	uint32_t addresses, users;

	mgmt_blocks_count(state.parts.blocks, &addresses, &users);
	rte_tel_data_start_dict(out);
	rte_tel_data_add_dict_u64(out, "addresses", addresses);
	rte_tel_data_add_dict_u64(out, "users", users);
	return 0;
}

// `at` is 0 until the first reload has ended.
static int handle_reloads(const char *params, struct rte_tel_data *out)
{
	struct mgmt_reload_state s;

	mgmt_reload_state(state.parts.reload, &s);
	rte_tel_data_start_dict(out);
	rte_tel_data_add_dict_u64(out, "ended", s.ended);
	rte_tel_data_add_dict_u64(out, "refused", s.refused);
	rte_tel_data_add_dict_u64(out, "last_refused", s.how == MGMT_RELOAD_REFUSED);
	rte_tel_data_add_dict_u64(out, "at", s.at_s);
	return 0;
}

static int handle_config(const char *params, struct rte_tel_data *out)
{
	rte_tel_data_start_dict(out);
	in_use_read();
	mgmt_rows_add_config(out, state.conf);
	in_use_done();
	return 0;
}

static int handle_meanings(const char *params, struct rte_tel_data *out)
{
	rte_tel_data_start_dict(out);
	if (!mgmt_meanings_add(out, params))
		return answer_error(out,
			"usage: /slipring/meanings,drops|refusals|streams|dtls|"
			"stats|worker|bursts|ports|exception");
	return 0;
}

// Adds three entries per area, because DPDK 22.11 does not write nested objects.
static int handle_log(const char *params, struct rte_tel_data *out)
{
	struct mgmt_log_area a;
	char name[64];

	rte_tel_data_start_dict(out);
	for (unsigned int i = 0; mgmt_log_area(i, &a); i++) {
		const char *area = conf_area_name(i);

		snprintf(name, sizeof(name), "%s_level", area);
		rte_tel_data_add_dict_string(out, name, conf_level_name(a.level));
		snprintf(name, sizeof(name), "%s_lines", area);
		rte_tel_data_add_dict_u64(out, name, a.lines);
		snprintf(name, sizeof(name), "%s_suppressed", area);
		rte_tel_data_add_dict_u64(out, name, a.suppressed);
	}
	rte_tel_data_add_dict_u64(out, "lost", mgmt_log_lost());
	return 0;
}

static int handle_watchdog(const char *params, struct rte_tel_data *out)
{
	struct watch_counters c;

	watch_counters(&c);
	rte_tel_data_start_dict(out);
	rte_tel_data_add_dict_u64(out, "alarms_workers", c.workers);
	rte_tel_data_add_dict_u64(out, "alarms_management", c.management);
	rte_tel_data_add_dict_u64(out, "alarms_threads", c.threads);
	rte_tel_data_add_dict_u64(out, "ticks", c.ticks);
	rte_tel_data_add_dict_u64(out, "late_ticks", c.late);
	rte_tel_data_add_dict_u64(out, "crash_reports", c.reports);
	return 0;
}

static const struct command {
	const char *name;
	int (*handle)(const char *params, struct rte_tel_data *out);
	const char *help;
} commands[] = {
	{"/slipring/stats", handle_stats, "Counters of all workers together."},
	{"/slipring/drops", handle_drops, "Datagrams dropped, by reason."},
	{"/slipring/refusals", handle_refusals, "Requests refused, by reason."},
	{"/slipring/workers", handle_workers, "Ids of the workers."},
	{"/slipring/worker", handle_worker, "Counters of one worker. Parameter: worker."},
	{"/slipring/bursts", handle_bursts,
		"Batching: how full bursts were. Parameter: worker; all without it."},
	{"/slipring/histograms", handle_histograms,
		"Times in a worker; lifetimes and bytes of allocations. Parameter: worker."},
	{"/slipring/realms", handle_realms,
		"Datagrams that each realm has relayed and lost, 16 a page. Parameter: page."},
	{"/slipring/ports", handle_ports, "Ports and their counters."},
	{"/slipring/steering", handle_steering,
		"Steering of packets from peers, by port and family."},
	{"/slipring/exception", handle_exception,
		"Exception ports: packets to and from the kernel, by class."},
	{"/slipring/addresses", handle_addresses,
		"Addresses assigned by the network, and their changes."},
	{"/slipring/allocations", handle_allocations,
		"Live allocations, 32 a page. Parameters: worker, page."},
	{"/slipring/streams", handle_streams, "TCP and TLS clients: connections and counters."},
	{"/slipring/certificates", handle_certificates,
		"Certificates in use, and when they expire, 32 a page. Parameter: page."},
	{"/slipring/dtls", handle_dtls, "DTLS clients: sessions, handshakes and counters."},
	{"/slipring/records", handle_records, "Records of sessions: written, lost, waiting."},
	{"/slipring/state", handle_state, "The state area, and allocations restored at the start."},
	{"/slipring/blocked", handle_blocked, "Number of blocked addresses and users."},
	{"/slipring/drain", handle_drain, "State and progress of a drain."},
#define X(name, handle, help) {name, handle, help},
	MGMT_COMMANDS(X)
#undef X
		{"/slipring/reloads", handle_reloads,
			"Reloads: number, refusals, and the last result."},
	{"/slipring/config", handle_config, "Key facts of the configuration, no secrets."},
	{"/slipring/meanings", handle_meanings,
		"Meaning of counters. Parameter: a list, such as drops or stats."},
	{"/slipring/watchdog", handle_watchdog,
		"Alarms about workers and management; reports of crashes."},
	{"/slipring/log", handle_log, "Areas of the log: level, lines written and suppressed."},
	// last in the table, so that a client that sees "ready" can use all others
	{"/slipring/info", handle_info,
		"Name, version, pid, uptime, number of workers, ready: 0 while it drains."},
};

static int dispatch_command(const char *cmd, const char *params, struct rte_tel_data *out)
{
	int rc = -EINVAL;

	pthread_rwlock_rdlock(&state.lock);
	for (unsigned int i = 0; i < RTE_DIM(commands); i++) {
		if (strcmp(cmd, commands[i].name) != 0)
			continue;
		rc = state.dp != NULL ? commands[i].handle(params, out)
				      : answer_error(out, "not running");
		break;
	}
	pthread_rwlock_unlock(&state.lock);
	return rc;
}

int mgmt_telemetry_start(struct dp *d, const struct conf *c, const struct control_parts *parts)
{
	int rc = 0;

	pthread_rwlock_wrlock(&state.lock);
	state.dp = d;
	state.conf = c;
	state.parts = *parts;
	state.started_s = clock_monotonic_s();
	pthread_rwlock_unlock(&state.lock);
	for (unsigned int i = 0; i < RTE_DIM(commands) && rc == 0; i++)
		rc = rte_telemetry_register_cmd(
			commands[i].name, dispatch_command, commands[i].help);
	return rc;
}

void mgmt_telemetry_stop(void)
{
	pthread_rwlock_wrlock(&state.lock);
	state.dp = NULL;
	state.conf = NULL;
	state.parts.events = NULL;
	state.parts.drain = NULL;
	state.parts.reload = NULL;
	pthread_rwlock_unlock(&state.lock);
}
