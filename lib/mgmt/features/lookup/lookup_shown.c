// SPDX-License-Identifier: BSD-3-Clause
// Shows the connection to slipring-accounts (lookup_thread.h).
#include <rte_telemetry.h>

#include "answers/shown.h"
#include "dpdk_compat.h"
#include "features/lookup/lookup_thread.h"

int lookup_telemetry(const char *params, struct rte_tel_data *out)
{
	struct lookup_state s;

	lookup_thread_state(&s);
	rte_tel_data_start_dict(out);
	rte_tel_data_add_dict_u64(out, "enabled", s.on);
	if (!s.on)
		return 0;
	rte_tel_data_add_dict_u64(out, "connected", s.connected);
	rte_tel_data_add_dict_u64(out, "since_s", s.since_s);
	rte_tel_data_add_dict_u64(out, "connections", s.connections);
	rte_tel_data_add_dict_u64(out, "no_connection", s.no_connection);
	rte_tel_data_add_dict_u64(out, "bad_records", s.bad_records);
	return 0;
}

json_t *lookup_json(void)
{
	struct lookup_state s;
	json_t *o = json_object();

	lookup_thread_state(&s);
	json_object_set_new(o, "enabled", json_boolean(s.on));
	if (!s.on)
		return o;
	json_object_set_new(o, "connected", json_boolean(s.connected));
	json_object_set_new(o, "since_s", shown_number(s.since_s));
	json_object_set_new(o, "connections", shown_number(s.connections));
	json_object_set_new(o, "no_connection", shown_number(s.no_connection));
	json_object_set_new(o, "bad_records", shown_number(s.bad_records));
	return o;
}
