// SPDX-License-Identifier: BSD-3-Clause
// Reads the kernel's range of ephemeral ports and its list of reserved ports, which other software
// may change at any time.
#include "link/kernel_ports.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "devices/packet_spec.h"
#include "log/log.h"

#define RESERVED_LEN 65536 // limit of the kernel's list as text

// Reads the next range of a kernel list such as "1000,2000-2999", and moves the list past it. False
// at the end.
static bool next_range(const char **list, unsigned int *first, unsigned int *last)
{
	int n;

	if (sscanf(*list, "%u%n", first, &n) != 1)
		return false;
	*list += n;
	*last = *first;
	if (**list == '-' && sscanf(*list, "-%u%n", last, &n) == 1)
		*list += n;
	*list += **list == ',';
	return true;
}

// True if a list contains all of [lo, hi].
static bool covers_range(const char *list, unsigned int lo, unsigned int hi)
{
	unsigned int first, last;

	// the kernel sorts the list and joins adjacent ranges
	while (lo <= hi && next_range(&list, &first, &last)) {
		if (first > lo)
			return false;
		if (last >= lo)
			lo = last + 1;
	}
	return lo > hi;
}

static bool read_line(const char *dir, const char *name, char *buf, int len)
{
	char path[PATH_MAX];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "re");
	buf[0] = '\0';
	if (f != NULL) {
		found = fgets(buf, len, f) != NULL;
		fclose(f);
	}
	return found;
}

bool kernel_ports_read(const char *sysctl, struct kernel_ports *k)
{
	char range[64];

	k->reserved = NULL;
	if (!read_line(sysctl, "ip_local_port_range", range, sizeof(range)) ||
		sscanf(range, "%u %u", &k->lo, &k->hi) != 2)
		return false;
	k->reserved = malloc(RESERVED_LEN);
	if (k->reserved == NULL)
		return false;
	read_line(sysctl, "ip_local_reserved_ports", k->reserved, RESERVED_LEN);
	k->reserved[strcspn(k->reserved, "\n")] = '\0';
	return true;
}

void kernel_ports_free(struct kernel_ports *k)
{
	free(k->reserved);
	k->reserved = NULL;
}

bool kernel_ports_may(const struct kernel_ports *k, unsigned int lo, unsigned int hi)
{
	const unsigned int first = k->lo > lo ? k->lo : lo, last = k->hi < hi ? k->hi : hi;

	return first <= last && !covers_range(k->reserved, first, last);
}

unsigned int kernel_ports_left(const char *reserved, const char *more, const unsigned int range[2])
{
	static bool out[UINT16_MAX + 1]; // too long for a stack; management lcore only
	const char *const lists[] = {reserved, more};
	unsigned int first, last, nb = 0;

	memset(out, 0, sizeof(out));
	for (size_t i = 0; i < 2; i++)
		for (const char *list = lists[i]; next_range(&list, &first, &last);)
			for (; first <= last && first <= UINT16_MAX; first++)
				out[first] = true;
	for (unsigned int port = range[0]; port <= range[1] && port <= UINT16_MAX; port++)
		nb += !out[port];
	return nb;
}

bool kernel_ports_shared(const struct conf_port *p)
{
	return !p->shares && p->bond.nb_members == 0 && packet_spec_is(p->device);
}

// --- at run time ---------------------------------------------------------------------------------

static bool has_packet_port(const struct conf *c)
{
	for (uint32_t i = 0; i < c->nb_ports; i++)
		if (kernel_ports_shared(&c->ports[i]))
			return true;
	return false;
}

bool kernel_ports_wrong(const struct conf *c, const char *sysctl, char *text, size_t len)
{
	const struct turn_config *t = &c->turn;
	struct kernel_ports k;
	bool wrong;

	if (t->nb_relay == 0 || !has_packet_port(c) || !kernel_ports_read(sysctl, &k))
		return false;
	wrong = kernel_ports_may(&k, t->port_lo, t->port_hi);
	if (wrong)
		snprintf(text, len,
			"the kernel gives ports %u to %u to its own sockets, DNS clients for "
			"instance, and relay ports are among them: replies to these sockets are "
			"lost; find out which program changed net.ipv4.ip_local_port_range or "
			"ip_local_reserved_ports (%u-%u must be outside the former, or in the "
			"latter), and run --check",
			k.lo, k.hi, t->port_lo, t->port_hi);
	kernel_ports_free(&k);
	return wrong;
}

void kernel_ports_tick(
	struct kernel_ports_told *t, const struct conf *c, const char *sysctl, uint64_t now_ms)
{
	char text[512];
	bool wrong;

	if (now_ms < t->next_ms)
		return;
	t->next_ms = now_ms + KERNEL_PORTS_MS;
	wrong = kernel_ports_wrong(c, sysctl, text, sizeof(text));
	if (wrong && !t->wrong)
		LOG(PORTS, WARNING, "%s", text);
	else if (!wrong && t->wrong)
		LOG(PORTS, INFO, "the kernel keeps its own sockets off the relay ports again");
	t->wrong = wrong;
}
