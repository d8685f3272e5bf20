// SPDX-License-Identifier: BSD-3-Clause
// Hides the differences between the supported DPDK releases, 22.11 to 24.11. All other code uses
// the names of 22.11.
#pragma once

#include <pthread.h>

#include <rte_eth_bond.h>
#include <rte_eth_bond_8023ad.h>
#include <rte_lcore.h>
#include <rte_telemetry.h>
#include <rte_thread.h>
#include <rte_version.h>

#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)

// 23.11 has these names and deprecates the old ones.
#define rte_tel_data_add_array_u64 rte_tel_data_add_array_uint
#define rte_tel_data_add_dict_u64 rte_tel_data_add_dict_uint
#define rte_eth_bond_slave_add rte_eth_bond_member_add
#define rte_eth_bond_active_slaves_get rte_eth_bond_active_members_get
#define rte_eth_bond_8023ad_slave_info rte_eth_bond_8023ad_member_info

typedef uint32_t dpdk_thread_result;

#else

typedef void *dpdk_thread_result;

#endif

// Starts a control thread, which does not run on the CPUs of the lcores. *thread gets its id for
// pthread_join; ignore the thread's result there. Returns 0 or an error number, negative or
// positive.
static inline int dpdk_thread_start(
	pthread_t *thread, const char *name, dpdk_thread_result (*run)(void *arg), void *arg)
{
#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)
	rte_thread_t id;
	const int rc = rte_thread_create_control(&id, name, run, arg);

	if (rc == 0)
		*thread = (pthread_t)id.opaque_id; // pthread_t has the same width on Linux
	return rc;
#else
	return rte_ctrl_thread_create(thread, name, NULL, run, arg);
#endif
}
