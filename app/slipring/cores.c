// SPDX-License-Identifier: BSD-3-Clause
// Enables or disables core dumps, and keeps packet buffers out of them.
#include <sys/mman.h>
#include <sys/prctl.h>

#include <rte_memory.h>

#include "cores.h"
#include "log/log.h"

void cores_allow(bool yes)
{
	if (prctl(PR_SET_DUMPABLE, yes, 0, 0, 0) != 0)
		LOG(START, WARNING, "core dumps cannot be switched %s", yes ? "on" : "off");
}

static int spare_memseg(const struct rte_memseg_list *msl, void *arg)
{
	return madvise(msl->base_va, msl->len, MADV_DONTDUMP) == 0 ? 0 : -1;
}

void cores_spare(void)
{
	if (rte_memseg_list_walk(spare_memseg, NULL) != 0)
		LOG(START, WARNING,
			"packets and keys of allocations are part of core dumps: the kernel "
			"cannot exclude them");
}
