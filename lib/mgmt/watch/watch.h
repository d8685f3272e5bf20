// SPDX-License-Identifier: BSD-3-Clause
// Watches over workers and management from a thread of its own, tells systemd how the service does,
// and has a crash leave a report. doc/decisions/0032-watchdog.md has the reasons.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct conf;
struct crash_files;
struct dp;
struct dp_fault_order;

// In this order, on the thread that becomes the management lcore:

// Starts the thread, before EAL: a start that takes long is told of. 0, or -1 with the reason in
// error. c stays until watch_stop.
int watch_start(const struct conf *c, char *error, unsigned int len);
// Once EAL has its lcores: makes them known, and opens the file for a crash report. 0 or -1.
int watch_lcores(const char *file_prefix, char *error, unsigned int len);
// The workers of d run: a crash report tells of them, until watch_stopping. Call it before anybody
// can ask anything of them.
void watch_workers(const struct dp *d);
// All runs: from now on the workers are watched, and the service is ready.
void watch_ready(const struct dp *d);
// The management loop goes round.
void watch_works(void);
// Whether a reload is under way: each change is told to systemd.
void watch_reloads(bool reloads);
// The workers are about to be stopped: nothing is watched any more.
void watch_stopping(void);
// Ends the thread. Without watch_start: nothing.
void watch_stop(void);

struct watch_counters {
	uint64_t workers, management, threads; // alarms; threads: of streams and exception ports
	uint64_t ticks, late; // looks of the watchdog, and those that came too late to count
	uint64_t reports; // of crashes that are kept
};

// Any thread.
void watch_counters(struct watch_counters *out);
// The files of reports; for the control thread.
const struct crash_files *watch_crashes(void);
// Has the management loop do that fault, BLOCK for a time or CALL, the next time it goes round. Any
// thread.
void watch_fault(const struct dp_fault_order *o);
