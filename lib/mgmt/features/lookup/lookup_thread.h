// SPDX-License-Identifier: BSD-3-Clause
// The thread that asks slipring-accounts about users, on behalf of the workers. It connects to the
// program's socket, and connects again when it is gone. One thread of the process.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

struct conf;
struct dp;
struct rte_tel_data;

struct lookup_state {
	bool on; // users are looked up
	bool connected;
	uint64_t since_s; // seconds since the connection was made or lost
	uint64_t connections; // made since the start
	uint64_t no_connection; // questions answered with "no answer" for want of one
	uint64_t bad_records; // each ended a connection
};

// Starts the thread, if users are looked up. 0, or -errno after logging the reason.
int lookup_thread_open(struct dp *d, const struct conf *c);
// After a reload: connects again, so that the secrets of new realms come.
void lookup_thread_reload(void);
void lookup_thread_close(void);
// Any thread.
void lookup_thread_state(struct lookup_state *out);

// Show that state on DPDK's telemetry socket, and in the answer to the command status.
int lookup_telemetry(const char *params, struct rte_tel_data *out);
json_t *lookup_json(void);
