// SPDX-License-Identifier: BSD-3-Clause
// Describes events of the data path in words, for the log, records and tables. Any thread. Private
// to lib/mgmt.
#pragma once

#include <stdint.h>

#include "turn_config.h"
#include "turn_event.h"

#define EVENT_TEXT_USER_LEN (3 * TURN_EVENT_NAME_LEN + 1)

// Why a request or connection was refused, or why an allocation ended.
struct event_text_why {
	uint16_t code; // of the answer; 0 = no answer
	const char *name, *text;
	const char *advice; // what to do; "" = nothing is wrong
};

// "made", "interim", "ended", "refused", "connection-refused", "roamed", "moved", "peer"; "unknown"
// for any other value.
const char *event_text_kind(const struct turn_event *e);
// "Allocate", "Refresh" and so on; "" for an event without a request.
const char *event_text_method(const struct turn_event *e);
// All fields are empty unless something was refused or has ended.
struct event_text_why event_text_why(const struct turn_event *e);
// Transport of the listener, as the configuration file spells it; "" if it is unknown.
const char *event_text_transport(const struct turn_config *c, const struct turn_event *e);
// The user's name, safe in any line: bytes that are not printable ASCII, '%', '"' and '\' become
// %XX. Returns buf.
char *event_text_user(const struct turn_event *e, char buf[EVENT_TEXT_USER_LEN]);
// The offer of a TLS client whose connection was refused, escaped like a name; "" = unknown.
char *event_text_offered(const struct turn_event *e, char buf[EVENT_TEXT_USER_LEN]);
