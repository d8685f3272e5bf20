// SPDX-License-Identifier: BSD-3-Clause
// Tells device strings that DPDK cannot know, and what the operator may have meant.
#include "checks/device_check.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool take_hex(const char **text, unsigned int least, unsigned int most, unsigned long top)
{
	unsigned long v = 0;
	unsigned int n = 0;

	for (; isxdigit((unsigned char)**text); (*text)++, n++)
		v = v << 4 |
			(unsigned long)(isdigit((unsigned char)**text)
					? **text - '0'
					: tolower((unsigned char)**text) - 'a' + 10);
	return n >= least && n <= most && v <= top;
}

// True when text is "[DDDD:]BB:DD.F" up to a comma or the end.
static bool is_pci(const char *text)
{
	const char *dot = strchr(text, '.'), *colon = strchr(text, ':');
	const bool domain = dot != NULL && colon != NULL && strchr(colon + 1, ':') != NULL &&
		strchr(colon + 1, ':') < dot;

	if (domain && (!take_hex(&text, 1, 8, UINT32_MAX) || *text++ != ':'))
		return false;
	if (!take_hex(&text, 1, 2, 0xff) || *text++ != ':')
		return false;
	if (!take_hex(&text, 1, 2, 0x1f) || *text++ != '.')
		return false;
	return take_hex(&text, 1, 1, 7) && (*text == '\0' || *text == ',');
}

// True when text names DPDK's bonding driver, which cannot tell what its members can before it is
// configured.
static bool is_bond(const char *text)
{
	return strncmp(text, "net_bonding", 11) == 0 || strncmp(text, "eth_bond", 8) == 0 ||
		strncmp(text, "bond:", 5) == 0;
}

bool conf_device_check(const char *device, char *reason, size_t len)
{
	const size_t end = strcspn(device, ",");

	if (is_bond(device)) {
		snprintf(reason, len,
			"a bond is written in place of 'device': bond: {mode: lacp, members: "
			"[...]}");
		return false;
	}
	// Digits and ':' alone are no name of a driver
	if (strspn(device, "0123456789abcdefABCDEF:.") == end && memchr(device, ':', end) != NULL) {
		if (is_pci(device))
			return true;
		snprintf(reason, len,
			"'%.*s' is no PCI address: write DDDD:BB:DD.F, like 0000:3b:00.0 "
			"(`dpdk-devbind.py --status-dev net` lists them)",
			(int)end, device);
		return false;
	}
	// Drivers have a '_' in their names, other buses a ':', and VMBus has UUIDs
	if (strcspn(device, "_:-") < end)
		return true;
	snprintf(reason, len,
		"'%.*s' is no device of DPDK, nor vtap:NAME. Of an interface of the kernel write "
		"its PCI address (`dpdk-devbind.py --status-dev net` has both) and bind it to "
		"vfio-pci; or \"net_af_packet0,iface=%.*s\", which shares it with the kernel",
		(int)end, device, (int)end, device);
	return false;
}
