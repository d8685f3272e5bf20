// SPDX-License-Identifier: BSD-3-Clause
// Watches workers and management from a separate thread, notifies systemd of the state of the
// service, and lets a crash write a report. doc/decisions/0032-watchdog.md has the reasons.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct conf;
struct crash_files;
struct dp;
struct dp_fault_order;

// In this order, on the thread that becomes the management lcore:

// Starts the thread, before EAL, so that it reports a long start to systemd. c must stay valid
// until watch_stop. 0, or -1 with the reason in error.
int watch_start(const struct conf *c, char *error, unsigned int len);
// Call it once EAL has its lcores: it registers them, and opens the file for a crash report. 0 or
// -1.
int watch_lcores(const char *file_prefix, char *error, unsigned int len);
// The workers of d run: a crash report describes them, until watch_stopping. Call it before any
// other thread can use the workers.
void watch_workers(const struct dp *d);
// The start is complete: from now on the workers are watched, and the service is ready.
void watch_ready(const struct dp *d);
// Call it in each round of the management loop.
void watch_works(void);
// True while a reload runs: systemd is notified of each change.
void watch_reloads(bool reloads);
// The workers will be stopped: nothing is watched any more.
void watch_stopping(void);
// Ends the thread. Does nothing without watch_start.
void watch_stop(void);

struct watch_counters {
	uint64_t workers, management, threads; // alarms; threads: those of streams and exception
		// ports
	uint64_t ticks, late; // ticks of the watchdog, and those that came too late to count
	uint64_t reports; // crash reports that are kept
};

// Any thread.
void watch_counters(struct watch_counters *out);
// The files of reports. The control thread only.
const struct crash_files *watch_crashes(void);
// Lets the management loop execute a fault in its next round: BLOCK for a time, or CALL. Any
// thread.
void watch_fault(const struct dp_fault_order *o);
