// SPDX-License-Identifier: BSD-3-Clause
// Configuration of the log, and the names of its areas and levels.
#pragma once

#include <stdint.h>

// Areas of the log, each with its own level: X(enum, name, subject of its lines).
#define CONF_AREAS(X)                                                                       \
	X(CONF_AREA_START, "start", "starting and stopping, and the settings at the start") \
	X(CONF_AREA_CONFIG, "config", "problems of the configuration, and its signals")     \
	X(CONF_AREA_PORTS, "ports", "ports: links, bonds, steering")                        \
	X(CONF_AREA_ADDRESSES, "addresses", "addresses that the network gives and takes")   \
	X(CONF_AREA_STREAMS, "streams", "TCP, TLS and DTLS: certificates, connections")     \
	X(CONF_AREA_AUTH, "auth", "refused requests")                                       \
	X(CONF_AREA_SESSIONS, "sessions", "allocations made and ended")                     \
	X(CONF_AREA_WORKERS, "workers", "the workers: batching")                            \
	X(CONF_AREA_DPDK, "dpdk", "messages of DPDK and its drivers")                       \
	X(CONF_AREA_CONTROL, "control", "telemetry, control and this log")

enum conf_area {
#define X(id, name, meaning) id,
	CONF_AREAS(X)
#undef X
		CONF_AREA_END
};

enum conf_log_to { CONF_LOG_STDERR, CONF_LOG_SYSLOG, CONF_LOG_JOURNAL };
enum conf_log_format { CONF_LOG_TEXT, CONF_LOG_JSON };

struct conf_log {
	enum conf_log_to target;
	enum conf_log_format format;
	char *journal; // socket of journald
	int level; // syslog's LOG_ERR .. LOG_DEBUG
	int areas[CONF_AREA_END]; // level of each area; 0 = the common level
	uint32_t rate; // lines per second of an area; 0 = no limit
	uint32_t bursts_s; // seconds between log lines on batching; 0 = no lines
};

// The name of an area as the file spells it, or NULL for an invalid number.
const char *conf_area_name(unsigned int area);
// The area of that name, or -1.
int conf_area_find(const char *name);
// The name of a level, or NULL for a level that no key can have.
const char *conf_level_name(int level);
// The level of that name (syslog's number), or -1.
int conf_level_find(const char *name);
// The configured level of an area.
int conf_area_level(const struct conf_log *l, enum conf_area area);
