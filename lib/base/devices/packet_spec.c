// SPDX-License-Identifier: BSD-3-Clause
// Reads packet:NAME[,queues=N] and says why where it cannot.
#include "devices/packet_spec.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "packet:"
#define QUEUES "queues="

bool packet_spec_is(const char *device)
{
	return strncmp(device, PREFIX, strlen(PREFIX)) == 0;
}

static bool read_name(const char *at, size_t n, struct packet_spec *out, char *error, size_t len)
{
	const int shown = (int)(n < 40 ? n : 40);

	if (n == 0)
		snprintf(error, len,
			"interface name is empty: write packet:NAME, NAME as in `ip link`");
	else if (n >= PACKET_NAME_LEN)
		snprintf(error, len, "interface name '%.*s' is too long: at most %d characters",
			shown, at, PACKET_NAME_LEN - 1);
	else if (memchr(at, '/', n) != NULL || memchr(at, ' ', n) != NULL ||
		(at[0] == '.' && (n == 1 || (n == 2 && at[1] == '.'))))
		snprintf(error, len, "interface name '%.*s' is none of the kernel's", shown, at);
	else {
		memcpy(out->name, at, n);
		out->name[n] = '\0';
		return true;
	}
	return false;
}

static bool read_queues(const char *at, size_t n, struct packet_spec *out, char *error, size_t len)
{
	unsigned int queues = 0;
	size_t i = 0;

	while (i < n && isdigit((unsigned char)at[i]) && queues <= PACKET_QUEUES_MAX)
		queues = queues * 10 + (unsigned int)(at[i++] - '0');
	if (i == n && queues > 0 && queues <= PACKET_QUEUES_MAX) {
		out->queues = (uint16_t)queues;
		return true;
	}
	snprintf(error, len, "queues=%.*s: must be a number from 1 to %d", (int)(n < 40 ? n : 40),
		at, PACKET_QUEUES_MAX);
	return false;
}

bool packet_spec_parse(const char *device, struct packet_spec *out, char *error, size_t len)
{
	const char *at = device + strlen(PREFIX);
	size_t n = strcspn(at, ",");

	*out = (struct packet_spec){.queues = 0};
	if (!read_name(at, n, out, error, len))
		return false;
	while (at[n] == ',') {
		at += n + 1;
		n = strcspn(at, ",");
		if (n < strlen(QUEUES) || strncmp(at, QUEUES, strlen(QUEUES)) != 0) {
			snprintf(error, len, "a packet port has no option '%.*s', it has: queues",
				(int)(n < 40 ? n : 40), at);
			return false;
		}
		if (out->queues != 0) {
			snprintf(error, len, "queues is given twice: remove one");
			return false;
		}
		if (!read_queues(at + strlen(QUEUES), n - strlen(QUEUES), out, error, len))
			return false;
	}
	return true;
}
