// SPDX-License-Identifier: BSD-3-Clause
// Finds device strings that DPDK cannot know, and suggests what the operator may have meant.
#include "checks/checks.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "devices/packet_spec.h"
#include "text/hex.h"
#include "devices/vtap_spec.h"

// A part of a PCI address: its maximum number of hexadecimal digits, and its maximum value.
struct part {
	unsigned int most;
	unsigned long top;
};

static bool take_hex(const char **text, struct part part, unsigned long *out)
{
	unsigned long v = 0;
	unsigned int n = 0;

	for (; hex_digit(**text) >= 0; (*text)++, n++)
		v = v << 4 | (unsigned long)hex_digit(**text);
	*out = v;
	return n >= 1 && n <= part.most && v <= part.top;
}

// Reads "[DDDD:]BB:DD.F" up to a comma or the end: domain, bus, device and function.
static bool parse_pci(const char *text, unsigned long out[4])
{
	const char *dot = strchr(text, '.'), *colon = strchr(text, ':');
	const bool domain = dot != NULL && colon != NULL && strchr(colon + 1, ':') != NULL &&
		strchr(colon + 1, ':') < dot;

	out[0] = 0;
	if (domain && (!take_hex(&text, (struct part){8, UINT32_MAX}, &out[0]) || *text++ != ':'))
		return false;
	if (!take_hex(&text, (struct part){2, 0xff}, &out[1]) || *text++ != ':')
		return false;
	if (!take_hex(&text, (struct part){2, 0x1f}, &out[2]) || *text++ != '.')
		return false;
	return take_hex(&text, (struct part){1, 7}, &out[3]) && (*text == '\0' || *text == ',');
}

// True if text names DPDK's bonding driver, which does not know the features of its members before
// it is configured.
static bool is_bond(const char *text)
{
	return strncmp(text, "net_bonding", 11) == 0 || strncmp(text, "eth_bond", 8) == 0 ||
		strncmp(text, "bond:", 5) == 0;
}

bool conf_device_check(const char *device, char *reason, size_t len)
{
	const size_t end = strcspn(device, ",");
	unsigned long pci[4];

	if (is_bond(device)) {
		snprintf(reason, len,
			"a bond is written in place of 'device': bond: {mode: lacp, members: "
			"[...]}");
		return false;
	}
	// Digits and ':' alone are not a driver's name
	if (strspn(device, "0123456789abcdefABCDEF:.") == end && memchr(device, ':', end) != NULL) {
		if (parse_pci(device, pci))
			return true;
		snprintf(reason, len,
			"'%.*s' is not a PCI address: write DDDD:BB:DD.F, like 0000:3b:00.0 "
			"(`dpdk-devbind.py --status-dev net` lists them)",
			(int)end, device);
		return false;
	}
	// Drivers have a '_' in their names, other buses a ':', and VMBus has UUIDs
	if (strcspn(device, "_:-") < end)
		return true;
	snprintf(reason, len,
		"'%.*s' is not a device. For an interface of the kernel write \"packet:%.*s\", "
		"which shares it with the kernel, or bind it to vfio-pci and write its PCI "
		"address (`dpdk-devbind.py --status-dev net` lists it)",
		(int)end, device, (int)end, device);
	return false;
}

// Returns the value of a device argument, which ends at a comma or at the end. NULL if there is no
// such argument.
static const char *arg_of(const char *device, const char *key)
{
	const size_t len = strlen(key);

	for (const char *comma = strchr(device, ','); comma != NULL; comma = strchr(comma + 1, ','))
		if (strncmp(comma + 1, key, len) == 0 && comma[1 + len] == '=')
			return comma + 2 + len;
	return NULL;
}

// True if both have the argument with the same value, or neither has it.
static bool same_arg(const char *a, const char *b, const char *key)
{
	const char *l = arg_of(a, key), *r = arg_of(b, key);
	size_t len;

	if (l == NULL || r == NULL)
		return l == r;
	len = strcspn(l, ",");
	return len == strcspn(r, ",") && strncasecmp(l, r, len) == 0;
}

static bool is_ours(const char *device)
{
	return vtap_spec_is(device) || packet_spec_is(device) || strncmp(device, "replay:", 7) == 0;
}

// Returns the kernel interface that a device shares, or NULL if it shares no interface.
static const char *interface_of(const char *device)
{
	if (packet_spec_is(device))
		return strchr(device, ':') + 1;
	return strncmp(device, "net_af_packet", 13) == 0 ? arg_of(device, "iface") : NULL;
}

bool conf_device_same(const char *a, const char *b)
{
	const char *shared = interface_of(a), *shared_b = interface_of(b);
	const size_t len = strcspn(a, ",");
	unsigned long l[4], r[4];

	if (shared != NULL && shared_b != NULL && strcspn(shared, ",") == strcspn(shared_b, ",") &&
		strncasecmp(shared, shared_b, strcspn(shared_b, ",")) == 0 &&
		packet_spec_is(a) + packet_spec_is(b) < 2)
		return true;
	if (is_ours(a) || is_ours(b))
		return strcmp(a, b) == 0;
	if (parse_pci(a, l) && parse_pci(b, r))
		return memcmp(l, r, sizeof(l)) == 0 && same_arg(a, b, "port") &&
			same_arg(a, b, "mac") && same_arg(a, b, "representor");
	return len == strcspn(b, ",") && strncasecmp(a, b, len) == 0;
}
