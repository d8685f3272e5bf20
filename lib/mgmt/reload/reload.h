// SPDX-License-Identifier: BSD-3-Clause
// A reload reads the configuration file again, and applies all of it or nothing. Private to
// lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conf;
struct conf_change;
struct dp;
struct mgmt_reload;
struct own_parts;

// Result of the last reload that has ended.
enum mgmt_reload_end {
	MGMT_RELOAD_NONE, // no reload yet
	MGMT_RELOAD_SAME, // the file equals the running configuration
	MGMT_RELOAD_DONE,
	MGMT_RELOAD_REFUSED,
};

struct mgmt_reload_state {
	uint64_t asked, ended; // counts; equal if no reload is running
	uint64_t refused; // how many of the ended ones
	enum mgmt_reload_end how;
	uint64_t at_s; // time of day at which the last one ended
	unsigned int changes, allocations; // changed keys, and allocations that the change closed
	char text[256]; // a sentence for the log and for people
};

// running: the configuration from conf_load_and_report with which the data path was started;
// reloads write the new values into it. The parts must outlive the result. NULL without memory.
struct mgmt_reload *mgmt_reload_open(const struct own_parts *parts, struct conf *running);
// Gives up a running reload. Call it before dp_stop. NULL is fine.
void mgmt_reload_close(struct mgmt_reload *r);
// Asks for a reload. If one is running, another follows it. requester: the name for the log. renew:
// read the certificates, too, even if the file names the same ones. Any thread.
void mgmt_reload_ask(struct mgmt_reload *r, const char *requester, bool renew);
// Asks for the certificates in use to be read again, even if the file is refused. Any thread.
void mgmt_reload_certificates(struct mgmt_reload *r, const char *requester);
// Continues a requested reload, on the management lcore. Its time does not grow with the file, and
// it never waits. True if the next call should come within milliseconds; otherwise a tick is soon
// enough.
bool mgmt_reload_tick(struct mgmt_reload *r);
// Calls tell for each key that a reload would change now. Returns how many, or -1 with the first
// reason to refuse the file in error. Loading the file may take seconds, so call it in a thread
// that nobody waits for.
int mgmt_reload_diff(struct mgmt_reload *r, void (*tell)(void *ctx, const struct conf_change *c),
	void *ctx, char *error, size_t len);
// Copies the state of the last reload. Any thread.
void mgmt_reload_state(struct mgmt_reload *r, struct mgmt_reload_state *out);
