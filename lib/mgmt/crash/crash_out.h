// SPDX-License-Identifier: BSD-3-Clause
// Writes the lines of a crash report from a signal handler: takes no lock, allocates no memory, and
// is bounded. Private to lib/mgmt.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CRASH_REPORT_MAX (64 * 1024) // bytes of a report

struct crash_out {
	int fd;
	size_t total; // bytes written
	size_t len;
	char line[512]; // longer lines are cut
};

// Append to the line. Bytes of a text that are not printable ASCII become '?'.
void crash_out_text(struct crash_out *o, const char *text);
void crash_out_number(struct crash_out *o, uint64_t v);
void crash_out_hex(struct crash_out *o, uint64_t v); // as 0x1f
void crash_out_bytes(struct crash_out *o, const uint8_t *bytes, size_t n); // as 001f
// Writes the line. It is in the file even if the next line faults.
void crash_out_end(struct crash_out *o);
// The UTC time of day as 2026-11-23T18:04:29Z, for seconds since 1970.
void crash_out_time(struct crash_out *o, int64_t seconds);
