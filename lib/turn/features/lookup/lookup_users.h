// SPDX-License-Identifier: BSD-3-Clause
// Keys of looked-up users, and the questions that have no answer yet. A fixed number of records:
// a new user takes the record of one who has not been seen for long.
#pragma once

#include "rates/limiter.h"
#include "stun.h"
#include "tables/table.h"
#include "turn_config.h"
#include "turn_lookup.h"

struct lookup_secrets;
struct turn_shard;
struct turn_shard_params;

enum lookup_state {
	LOOKUP_FREE,
	LOOKUP_ASKED, // there never was an answer
	LOOKUP_USER, // md5, sha256: len 0 = no such key
	LOOKUP_NOBODY, // there is no such user
};

struct lookup_user {
	uint8_t ident[TURN_IDENT_LEN]; // of name and realm
	uint8_t state; // enum lookup_state
	bool seen; // since the record was last considered for another user
	bool has_md5, has_sha256;
	uint16_t question; // its place, or LOOKUP_NO_QUESTION
	uint32_t realm; // hash of its name: see lookup_realm(); 0 until a request has named it
	uint32_t answered; // when the last answer about the user came; in seconds, as the others
	uint32_t until, stale_until; // until when the answer holds, or may be used without another
	uint8_t md5[16], sha256[32];
};
#define LOOKUP_NO_QUESTION UINT16_MAX

struct lookup_question {
	uint64_t id; // 0 = free
	uint64_t asked_ms;
	uint32_t user;
	uint16_t next, prev; // in the order of asking; next also links the free places
};

// The looked-up users of a shard. nb_users is 0 if nobody is looked up.
struct lookup {
	struct lookup_user *user;
	struct lookup_question *question;
	struct table by_ident;
	struct hash_key key;
	struct limiter each; // questions by source
	struct limit limit;
	struct lookup_secrets *secrets; // of each realm, by its number
	uint32_t nb_users, nb_questions;
	uint32_t hand; // the next record to consider for another user
	uint32_t deadline_ms;
	uint16_t first, last, free; // questions
	uint64_t serial; // of the last question
};

size_t lookup_size(const struct turn_shard_params *p, uint32_t permissions);
void lookup_init(struct turn_shard *s, void *mem, const struct turn_shard_params *p);
// Time in seconds as the records count.
uint32_t lookup_now(const struct turn_shard *s);
// Hash of a realm's name.
uint32_t lookup_realm(const struct turn_shard *s, const char *realm);
// The record of a user, or NULL.
struct lookup_user *lookup_find(struct turn_shard *s, const uint8_t ident[TURN_IDENT_LEN]);
// The record of a user, which is made if it is missing. NULL if no record can be reused: questions
// about the users of all records that were considered have no answer yet.
struct lookup_user *lookup_make(struct turn_shard *s, const uint8_t ident[TURN_IDENT_LEN]);
// Asks about a user about whom no question waits. Fills in q->id. False if too many questions wait,
// or the data path cannot take it.
bool lookup_ask(struct turn_shard *s, struct lookup_user *u, struct turn_lookup_question *q);
