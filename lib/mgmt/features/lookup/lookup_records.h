// SPDX-License-Identifier: BSD-3-Clause
// The protocol between slipring and the program that looks up users, doc/accounts.md: records of
// fixed size over a Unix stream socket, with integers in network byte order. PURE
#pragma once

#include "dp_lookup.h"

#define LOOKUP_QUESTION_LEN 1344
#define LOOKUP_ANSWER_LEN 1104

// Writes the record of a question.
void lookup_records_put(const struct dp_lookup_question *q, uint8_t out[LOOKUP_QUESTION_LEN]);

enum lookup_record { LOOKUP_RECORD_BAD, LOOKUP_RECORD_ANSWER, LOOKUP_RECORD_SECRET };

// Reads a record of the program into *a or *s; nothing in it is trusted.
enum lookup_record lookup_records_read(const uint8_t in[LOOKUP_ANSWER_LEN],
	struct turn_lookup_answer *a, struct turn_lookup_secret *s);
