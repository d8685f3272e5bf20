// SPDX-License-Identifier: BSD-3-Clause
// What differs between the releases of DPDK that this builds with, 22.11 to 24.11. Elsewhere the
// names are those of 22.11.
#pragma once

#include <pthread.h>

#include <rte_lcore.h>
#include <rte_telemetry.h>
#include <rte_thread.h>
#include <rte_version.h>

#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)

// 23.11 calls these so and deprecates the old names.
#define rte_tel_data_add_array_u64 rte_tel_data_add_array_uint
#define rte_tel_data_add_dict_u64 rte_tel_data_add_dict_uint

typedef uint32_t dpdk_thread_result;

#else

typedef void *dpdk_thread_result;

#endif

// Starts a thread that keeps off the CPUs of the lcores. Its id is for pthread_join, which gets no
// result of use. Returns 0 or an error number, negative or not.
static inline int dpdk_thread_start(
	pthread_t *thread, const char *name, dpdk_thread_result (*run)(void *arg), void *arg)
{
#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)
	rte_thread_t id;
	const int rc = rte_thread_create_control(&id, name, run, arg);

	if (rc == 0)
		*thread = (pthread_t)id.opaque_id; // of the same width on Linux
	return rc;
#else
	return rte_ctrl_thread_create(thread, name, NULL, run, arg);
#endif
}
