// SPDX-License-Identifier: BSD-3-Clause
// An event as a JSON object: doc/operations.md describes the fields. Private to lib/mgmt.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "turn_config.h"
#include "turn_event.h"

struct json_t;

#define RECORD_REALM_LEN 64 // bytes of a realm's name in a record, with its NUL

struct record {
	struct turn_event event;
	uint64_t wall_ms; // time of day
	uint64_t seq; // number of the record among those of its file; 0 = not queued yet
	uint8_t peer_detail; // of a PEER: enum conf_detail
	uint8_t client_detail; // enum conf_detail
	// Name of the realm, because its number may be reused before the record is written. "" = no
	// realm.
	char realm[RECORD_REALM_LEN];
};

// Sets the name of a record's realm, if it has one; a long name is cut like in mgmt_label().
void records_line_realm(struct record *r, const char *name);

// Makes the object of a record, which the caller frees; NULL without memory. Any thread.
struct json_t *records_line_object(const struct record *r, const struct turn_config *c);
// Writes an object as a line with its newline. Returns its length; 0 if it does not fit in len
// bytes, or without memory.
size_t records_line_write(const struct json_t *object, char *buf, size_t len);
