// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of lib/mgmt only.
#pragma once

#include "dpdk_compat.h"
#include "mgmt.h"

// --- report.c: what the log says of a run --------------------------------------------------------

void mgmt_report_start(const struct dp *d, const struct conf *c, const char *memory);
// "1 address with 16384 ports each (49152-65535), 16383 allocations at most": what ports and limits
// allow. Returns buf.
const char *mgmt_relay_text(const struct turn_config *t, char *buf, size_t len);
void mgmt_report_stop(const struct dp *d, uint64_t uptime_s);

// --- bursts.c: batching in the log ---------------------------------------------------------------

// One line per worker every now and then. Management lcore only.
struct mgmt_bursts {
	uint64_t every_ms, due_ms;
	struct dp_stats *before; // of each worker when it was told last; NULL = nothing is told
};

// Names of the classes of burst sizes.
extern const char *const mgmt_burst_classes[DP_BURST_CLASSES];

// every_s 0: never tells. 0, or -ENOMEM. Times are those of one monotonic clock, in milliseconds.
int mgmt_bursts_start(struct mgmt_bursts *b, const struct dp *d, uint32_t every_s, uint64_t now_ms);
void mgmt_bursts_tick(struct mgmt_bursts *b, const struct dp *d, uint64_t now_ms);
void mgmt_bursts_stop(struct mgmt_bursts *b);
// What a worker's counters say, or rather their growth, as one line without newline; cut when len
// (not 0) is too short. Returns its length.
size_t mgmt_bursts_line(char *buf, size_t len, unsigned int worker, const struct dp_stats *s);
// 0 when there is no whole.
double mgmt_ratio(uint64_t part, uint64_t whole);

// --- telemetry.c ---------------------------------------------------------------------------------

// Registers the commands. d and c stay valid until mgmt_telemetry_stop, which waits for handlers
// that are at work. 0 or -errno.
int mgmt_telemetry_start(struct dp *d, const struct conf *c);
void mgmt_telemetry_stop(void);

// --- rows.c: data path structures as telemetry data ----------------------------------------------

struct rte_tel_data;

// Counter names have dashes, names in telemetry data must not. Returns buf.
char *mgmt_telemetry_name(const char *name, char *buf, size_t len);
// A string from outside, safe inside JSON and without loss: what is not printable ASCII, '%', '"'
// and '\' is written as %XX. buf holds three times the length; returns buf.
char *mgmt_telemetry_text(const char *text, char *buf, size_t len);

void mgmt_telemetry_add_stats(struct rte_tel_data *t, const struct dp_stats *s);
void mgmt_telemetry_add_worker(struct rte_tel_data *t, const struct dp_stats *s);
void mgmt_telemetry_add_bursts(struct rte_tel_data *t, const struct dp_stats *s);
void mgmt_telemetry_add_drops(struct rte_tel_data *t, const struct dp_stats *s);
void mgmt_telemetry_add_port(struct rte_tel_data *t, struct port *p);
void mgmt_telemetry_add_steering(
	struct rte_tel_data *t, const struct dp *d, unsigned int port, bool is_v4);
void mgmt_telemetry_add_exception(
	struct rte_tel_data *t, const char *port, const struct dp_exception *e);
void mgmt_telemetry_add_allocation(struct rte_tel_data *t, const struct turn_info *i);
void mgmt_telemetry_add_config(struct rte_tel_data *t, const struct conf *c);
