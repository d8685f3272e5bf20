// SPDX-License-Identifier: BSD-3-Clause
// An event as a JSON object: doc/operations.md has the fields. Private to lib/mgmt.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "turn_config.h"
#include "turn_event.h"

struct json_t;

#define RECORD_REALM_LEN 64 // bytes of a realm's name that a record has, with its NUL

struct record {
	struct turn_event event;
	uint64_t wall_ms; // time of day
	// Its name: by the time that the record is written the number may be another's. "" = of
	// no realm.
	char realm[RECORD_REALM_LEN];
};

// Gives a record the name of its realm, as far as it has one; a long one is cut as by mgmt_label.
void records_line_realm(struct record *r, const char *name);

// The object of a record, the caller's; NULL without memory. Any thread.
struct json_t *records_line_object(const struct record *r, const struct turn_config *c);
// Writes an object as a line with its newline. Returns its length; 0 where it does not fit in len,
// or without memory.
size_t records_line_write(const struct json_t *object, char *buf, size_t len);
