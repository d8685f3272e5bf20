// SPDX-License-Identifier: BSD-3-Clause
// Lists the layout of the state area, field by field, so that a change of it is noticed.
#include "state/record.h"

#define FIELD(record, name)                                                                       \
	{                                                                                         \
#record, #name, offsetof(struct record, name), sizeof(((struct record *)0)->name) \
	}
#define RECORD(record)                                \
	{                                             \
#record, "", 0, sizeof(struct record) \
	}

static const struct turn_state_field fields[] = {
	RECORD(state_header),
	FIELD(state_header, magic),
	FIELD(state_header, layout),
	FIELD(state_header, workers),
	FIELD(state_header, layout_digest),
	FIELD(state_header, size),
	FIELD(state_header, check),
	FIELD(state_header, listeners_at),
	FIELD(state_header, relay_at),
	FIELD(state_header, parts_at),
	FIELD(state_header, nb_listeners),
	FIELD(state_header, nb_relay),
	FIELD(state_header, shared),
	FIELD(state_header, life),
	FIELD(state_header, version),
	FIELD(state_header, boot_id),
	FIELD(state_header, keys.clients),
	FIELD(state_header, keys.quota),
	FIELD(state_header, keys.boot),
	FIELD(state_header, record_key),
	FIELD(state_header, offset),
	FIELD(state_header, alive_ms),
	FIELD(state_header, sealed),
	FIELD(state_header, spare2),
	RECORD(state_listener),
	FIELD(state_listener, addr),
	FIELD(state_listener, port),
	FIELD(state_listener, transport),
	FIELD(state_listener, spare),
	RECORD(state_part),
	FIELD(state_part, alloc_at),
	FIELD(state_part, usage_at),
	FIELD(state_part, permission_at),
	FIELD(state_part, channel_at),
	FIELD(state_part, endpoint_at),
	FIELD(state_part, nb_slots),
	FIELD(state_part, nb_permissions),
	FIELD(state_part, nb_channels),
	FIELD(state_part, nb_endpoints),
	RECORD(state_alloc),
	FIELD(state_alloc, word),
	FIELD(state_alloc, digest),
	FIELD(state_alloc, made_ms),
	FIELD(state_alloc, user),
	FIELD(state_alloc, client),
	FIELD(state_alloc, ident),
	FIELD(state_alloc, source),
	FIELD(state_alloc, token),
	FIELD(state_alloc, made),
	FIELD(state_alloc, client_port),
	FIELD(state_alloc, relay_port),
	FIELD(state_alloc, relay),
	FIELD(state_alloc, listener),
	FIELD(state_alloc, kind),
	FIELD(state_alloc, flags),
	FIELD(state_alloc, alg),
	FIELD(state_alloc, name_len),
	FIELD(state_alloc, spare),
	FIELD(state_alloc, tid),
	FIELD(state_alloc, mac),
	FIELD(state_alloc, name),
	FIELD(state_alloc, relay2),
	FIELD(state_alloc, relay2_port),
	FIELD(state_alloc, realm),
	FIELD(state_alloc, spare2),
	FIELD(state_alloc, ticket),
	FIELD(state_alloc, spare3),
	RECORD(state_permission),
	FIELD(state_permission, word),
	FIELD(state_permission, peer),
	FIELD(state_permission, slot),
	FIELD(state_permission, made),
	RECORD(state_channel),
	FIELD(state_channel, word),
	FIELD(state_channel, slot),
	FIELD(state_channel, made),
	FIELD(state_channel, permission),
	FIELD(state_channel, number),
	FIELD(state_channel, port),
	FIELD(state_channel, form),
	FIELD(state_channel, spare),
	RECORD(usage),
	FIELD(usage, bytes),
	FIELD(usage, datagrams),
	FIELD(usage, lost),
	FIELD(usage, told_s),
	FIELD(usage, made_s),
};

const struct turn_state_field *turn_state_fields(unsigned int *nb)
{
	*nb = sizeof(fields) / sizeof(fields[0]);
	return fields;
}

// FNV-1a: not hash.h, because results of that hash are part of the input.
static uint64_t digest_add(uint64_t sum, const void *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sum = (sum ^ ((const uint8_t *)data)[i]) * UINT64_C(0x100000001b3);
	return sum;
}

// Adds the parts of a record's format that are not fields: constants, and results of the keyed hash
// for known bytes. These depend on the CPU features that the build may use (hash.h), and a build
// with another hash would find all records damaged.
static uint64_t known_answers(uint64_t sum)
{
	static const struct hash_key key = {{1, 2, 3, 4}};
	static const char text[] = "what every build has to make the same of";
	static const struct state_alloc alloc = {.made_ms = 5, .user = 6, .made = 7};
	static const struct state_permission permission = {.peer.d = {8, 9}, .slot = 10};
	static const struct state_channel channel = {.slot = 11, .number = 0x4000, .form = 1};
	const uint64_t answers[] = {hash_bytes(&key, text, sizeof(text)),
		state_digest_alloc(&key, &alloc), state_digest_permission(&key, &permission),
		state_digest_channel(&key, &channel),
		state_word(&key, 12, STATE_ARRAY_ALLOC, 0x2aaaaaaaaa),
		state_word(&key, 13, STATE_ARRAY_PERMISSION, 0x5555555555 & STATE_TIME_MASK),
		state_word(&key, 14, STATE_ARRAY_CHANNEL, STATE_ENDED | 15),
		state_word(&key, 16, STATE_ARRAY_ENDPOINT, 17), STATE_WRITING, STATE_ALLOCATION,
		STATE_RESERVATION, STATE_REST, STATE_RFC8489, STATE_TCP, STATE_LIFE_BITS,
		STUN_ALG_MD5, STUN_ALG_SHA256, TURN_OVER_UDP, TURN_OVER_TCP, TURN_OVER_TLS,
		TURN_OVER_AUTO, TURN_OVER_DTLS, TURN_SPILL_BYTES, TURN_SPILL_DATAGRAMS,
		TURN_LOSS_PERMISSION, TURN_LOSS_SIZE, TURN_LOSS_WAY, TURN_LOSS_LIMIT,
		TURN_LOSS_OTHER};

	return digest_add(sum, answers, sizeof(answers));
}

uint64_t turn_state_digest(void)
{
	const uint32_t layout = TURN_STATE_LAYOUT;
	uint64_t sum = digest_add(UINT64_C(0xcbf29ce484222325), &layout, sizeof(layout));

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		sum = digest_add(sum, fields[i].record, strlen(fields[i].record) + 1);
		sum = digest_add(sum, fields[i].name, strlen(fields[i].name) + 1);
		sum = digest_add(sum, &fields[i].offset, sizeof(fields[i].offset));
		sum = digest_add(sum, &fields[i].size, sizeof(fields[i].size));
	}
	return known_answers(sum);
}
