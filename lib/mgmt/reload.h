// SPDX-License-Identifier: BSD-3-Clause
// A reload: the file is read again, whole or not at all. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conf;
struct conf_change;
struct dp;
struct mgmt_reload;
struct own_parts;

// What has become of the last one that has ended.
enum mgmt_reload_end {
	MGMT_RELOAD_NONE, // there has been none
	MGMT_RELOAD_SAME, // the file says what is in use
	MGMT_RELOAD_DONE,
	MGMT_RELOAD_REFUSED,
};

struct mgmt_reload_state {
	uint64_t asked, ended; // so many; none is under way when they are the same
	uint64_t refused; // of those that have ended
	enum mgmt_reload_end how;
	uint64_t at_s; // time of day at which it ended
	unsigned int changes, allocations; // changed keys, allocations ended by them
	char text[256]; // a sentence for the log and for people
};

// running: what the data path was started with by conf_load_said; it gets the new values. The parts
// outlive it. NULL without memory.
struct mgmt_reload *mgmt_reload_open(const struct own_parts *parts, struct conf *running);
// Gives up what is under way. Before dp_stop. NULL is fine.
void mgmt_reload_close(struct mgmt_reload *r);
// Asks for a reload; the next one, where one is under way. by: who asks, for the log. renew: of the
// certificates, too, which are else read where the file names others. Any thread.
void mgmt_reload_ask(struct mgmt_reload *r, const char *requester, bool renew);
// Asks for the certificates in use to be read again, whatever becomes of the file. Any thread.
void mgmt_reload_certificates(struct mgmt_reload *r, const char *requester);
// Goes on with what was asked for, on the management lcore. Nothing in it grows with the file, and
// it waits for nobody. True when it is to be called again
// within milliseconds; else a tick is soon enough.
bool mgmt_reload_tick(struct mgmt_reload *r);
// Tells what a reload would change now. Returns how many keys, or -1 with the first reason to
// refuse the file in error. It loads the file, which may take seconds: in a thread that nobody
// waits for.
int mgmt_reload_diff(struct mgmt_reload *r, void (*tell)(void *ctx, const struct conf_change *c),
	void *ctx, char *error, size_t len);
// Any thread.
void mgmt_reload_state(struct mgmt_reload *r, struct mgmt_reload_state *out);
