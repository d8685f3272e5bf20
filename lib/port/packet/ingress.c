// SPDX-License-Identifier: BSD-3-Clause
// Lists the programs at the ingress of an interface.
#include "packet/ingress.h"

#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "bpf/bpf_sys.h"
#include "packet/packet_bpf.h"

#define PROGRAMS_MAX 64 // the kernel's limit of programs in a chain

unsigned int port_ingress_others(const char *interface, char *names, size_t len)
{
	uint32_t id[PROGRAMS_MAX];
	const int nb = bpf_sys_attached(
		(int)if_nametoindex(interface), PACKET_BPF_TCX_INGRESS, id, PROGRAMS_MAX);
	unsigned int others = 0;
	size_t pos = 0;

	names[0] = '\0';
	for (int i = 0; i < nb; i++) {
		char name[BPF_OBJ_NAME_LEN];

		if (bpf_sys_name(id[i], name) != 0)
			snprintf(name, sizeof(name), "?");
		if (strcmp(name, PACKET_BPF_NAME) == 0)
			continue;
		if (pos < len)
			pos += (size_t)snprintf(
				names + pos, len - pos, "%s%s", others > 0 ? ", " : "", name);
		others++;
	}
	return others;
}
