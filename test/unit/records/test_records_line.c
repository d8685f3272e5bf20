// SPDX-License-Identifier: BSD-3-Clause
// Lines of records: how much of an address they have.
#include <string.h>

#include <jansson.h>

#include "addr_text.h"
#include "conf.h"
#include "records/records_line.h"
#include "test.h"

static struct turn_listener listener = {.transport = TURN_OVER_UDP};
static const struct turn_config config = {.listeners = &listener, .nb_listeners = 1};

static struct record record_of(enum turn_event_kind kind)
{
	return (struct record){.wall_ms = UINT64_C(1767323045678),
		.event = {.kind = (uint8_t)kind,
			.id = 7,
			.client = {addr_text("192.0.2.7"), 5000},
			.relay = {addr_text("203.0.113.5"), 49152},
			.name_len = 4,
			.name = "ivan"}};
}

// Checks a field of the record's line; NULL = it is left out.
static void assert_field(const struct record *r, const char *name, const char *value)
{
	json_t *o = records_line_object(r, &config);
	const json_t *field = json_object_get(o, name);

	assert_non_null(o);
	if (value == NULL)
		assert_null(field);
	else
		assert_string_equal(json_string_value(field), value);
	json_decref(o);
}

static void test_peer(void **state)
{
	struct record r = record_of(TURN_EVENT_PEER);

	r.event.peer = (struct endpoint){addr_text("198.51.100.129"), 0};
	assert_field(&r, "event", "peer");
	assert_field(&r, "id", "7");
	assert_field(&r, "user", "ivan");
	assert_field(&r, "client", "192.0.2.7:5000");
	assert_field(&r, "relay", "203.0.113.5:49152");
	assert_field(&r, "peer", "198.51.100.129");
	assert_field(&r, "lifetime", NULL);
	assert_field(&r, "lost", NULL);
	r.event.peer.port = 80;
	assert_field(&r, "peer", "198.51.100.129:80");
	r.peer_detail = CONF_DETAIL_NETWORK;
	assert_field(&r, "peer", "198.51.100.0/24");
	r.event.peer.addr = addr_text("2001:db8:1:ffff:1::9");
	assert_field(&r, "peer", "2001:db8:1::/48");
}

// The peer of a refused request is always whole: nothing was relayed to it.
static void test_refused_peer(void **state)
{
	struct record r = record_of(TURN_EVENT_REFUSED);

	r.peer_detail = CONF_DETAIL_NONE;
	r.event.peer = (struct endpoint){addr_text("198.51.100.129"), 9};
	assert_field(&r, "peer", "198.51.100.129:9");
}

// Records have as much of clients' addresses as they may; a part of an address has no port.
static void test_client(void **state)
{
	struct record r = record_of(TURN_EVENT_ROAMED);

	r.event.old_client = (struct endpoint){addr_text("2001:db8:1:2::3"), 6000};
	assert_field(&r, "from", "[2001:db8:1:2::3]:6000");
	r.client_detail = CONF_DETAIL_NETWORK;
	assert_field(&r, "client", "192.0.2.0/24");
	assert_field(&r, "from", "2001:db8:1::/48");
	r.client_detail = CONF_DETAIL_NONE;
	assert_field(&r, "client", NULL);
	assert_field(&r, "from", NULL);
	assert_field(&r, "relay", "203.0.113.5:49152");
	r.event.client = (struct endpoint){0};
	r.client_detail = CONF_DETAIL_NETWORK; // many addresses
	assert_field(&r, "client", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_peer),
		cmocka_unit_test(test_refused_peer),
		cmocka_unit_test(test_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
