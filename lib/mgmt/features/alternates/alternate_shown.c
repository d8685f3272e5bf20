// SPDX-License-Identifier: BSD-3-Clause
// Shows whether clients are sent to other servers: on DPDK's telemetry socket, and in the answer to
// the command status.
#include "features/alternates/alternate.h"

#include <stddef.h>

#include <rte_telemetry.h>

#include "answers/shown.h"
#include "dpdk_compat.h"

int alternate_telemetry(const char *params, struct rte_tel_data *out)
{
	struct mgmt_alternates_state s;

	mgmt_alternates_state(&s);
	rte_tel_data_start_dict(out);
	rte_tel_data_add_dict_u64(out, "servers", s.servers);
	if (s.servers == 0)
		return 0;
	rte_tel_data_add_dict_u64(out, "sends", s.sends);
	rte_tel_data_add_dict_u64(out, "sent", s.sent);
	if (s.allocations_from > 0)
		rte_tel_data_add_dict_u64(out, "allocations_from", s.allocations_from);
	if (s.datagrams_from == 0)
		return 0;
	rte_tel_data_add_dict_u64(out, "datagrams_from", s.datagrams_from);
	rte_tel_data_add_dict_u64(out, "datagrams", s.datagrams);
	return 0;
}

json_t *alternate_json(void)
{
	static const char *const reasons[] = {
		[TURN_ALTERNATES_ALWAYS] = "always",
		[TURN_ALTERNATES_DATAGRAMS] = "datagrams",
		[TURN_ALTERNATES_ALLOCATIONS] = "allocations",
	};
	struct mgmt_alternates_state s;
	json_t *o = json_object();

	mgmt_alternates_state(&s);
	json_object_set_new(o, "servers", shown_number(s.servers));
	if (s.servers == 0)
		return o;
	json_object_set_new(o, "sends", s.sends ? json_string(reasons[s.reason]) : json_null());
	json_object_set_new(o, "sent", shown_number(s.sent));
	if (s.allocations_from > 0)
		json_object_set_new(o, "allocations_from", shown_number(s.allocations_from));
	if (s.datagrams_from > 0) {
		json_object_set_new(o, "datagrams_from", shown_number(s.datagrams_from));
		json_object_set_new(o, "datagrams", shown_number(s.datagrams));
	}
	return o;
}
