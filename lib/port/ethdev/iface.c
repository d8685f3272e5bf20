// SPDX-License-Identifier: BSD-3-Clause
// Asks the kernel for data about the interface behind an af_packet port that the driver of DPDK
// 22.11 does not provide: its state, and the number of frames received.

#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "ethdev/ethdev.h"
#include "ethdev/iface.h"

bool port_iface_running(const struct ethdev *e)
{
	struct ifreq r = {0};

	return if_indextoname(e->info.if_index, r.ifr_name) != NULL &&
		ioctl(e->control, SIOCGIFFLAGS, &r) == 0 && (r.ifr_flags & IFF_RUNNING) != 0;
}

// Reads /proc/net/dev. A line is "name: bytes packets errs drop ...".
bool port_iface_received(const struct ethdev *e, uint64_t *frames)
{
	char name[IF_NAMESIZE], line[512], ifname[IF_NAMESIZE];
	FILE *f = if_indextoname(e->info.if_index, name) != NULL
		? fopen("/proc/thread-self/net/dev", "re")
		: NULL;
	bool found = false;

	if (f == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), f) != NULL)
		found = sscanf(line, " %15[^:]: %*u %" SCNu64, ifname, frames) == 2 &&
			strcmp(ifname, name) == 0;
	fclose(f);
	return found;
}
