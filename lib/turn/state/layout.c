// SPDX-License-Identifier: BSD-3-Clause
// Says what the layout of the state area is, field by field, so that a change of it is noticed.
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

// FNV-1a: builds compare it, so it may not depend on a CPU as hash.h does.
static uint64_t digest_add(uint64_t sum, const void *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sum = (sum ^ ((const uint8_t *)data)[i]) * UINT64_C(0x100000001b3);
	return sum;
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
	return sum;
}
