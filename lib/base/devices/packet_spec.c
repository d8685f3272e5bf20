// SPDX-License-Identifier: BSD-3-Clause
// Parses packet:NAME[,queues=N] and reports malformed strings.
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

static bool read_name(const char *name, size_t n, struct packet_spec *out, char *error, size_t len)
{
	const int shown = (int)(n < 40 ? n : 40);

	if (n == 0)
		snprintf(error, len,
			"interface name is empty: write packet:NAME, NAME as in `ip link`");
	else if (n >= PACKET_NAME_LEN)
		snprintf(error, len, "interface name '%.*s' is too long: at most %d characters",
			shown, name, PACKET_NAME_LEN - 1);
	else if (memchr(name, '/', n) != NULL || memchr(name, ' ', n) != NULL ||
		(name[0] == '.' && (n == 1 || (n == 2 && name[1] == '.'))))
		snprintf(error, len, "interface name '%.*s' is not valid", shown, name);
	else {
		memcpy(out->name, name, n);
		out->name[n] = '\0';
		return true;
	}
	return false;
}

static bool read_queues(
	const char *text, size_t n, struct packet_spec *out, char *error, size_t len)
{
	unsigned int queues = 0;
	size_t i = 0;

	while (i < n && isdigit((unsigned char)text[i]) && queues <= PACKET_QUEUES_MAX)
		queues = queues * 10 + (unsigned int)(text[i++] - '0');
	if (i == n && queues > 0 && queues <= PACKET_QUEUES_MAX) {
		out->queues = (uint16_t)queues;
		return true;
	}
	snprintf(error, len, "queues=%.*s: must be a number from 1 to %d", (int)(n < 40 ? n : 40),
		text, PACKET_QUEUES_MAX);
	return false;
}

bool packet_spec_parse(const char *device, struct packet_spec *out, char *error, size_t len)
{
	const char *text = device + strlen(PREFIX);
	size_t n = strcspn(text, ",");

	*out = (struct packet_spec){.queues = 0};
	if (!read_name(text, n, out, error, len))
		return false;
	while (text[n] == ',') {
		text += n + 1;
		n = strcspn(text, ",");
		if (n < strlen(QUEUES) || strncmp(text, QUEUES, strlen(QUEUES)) != 0) {
			snprintf(error, len, "a packet port has no option '%.*s', it has: queues",
				(int)(n < 40 ? n : 40), text);
			return false;
		}
		if (out->queues != 0) {
			snprintf(error, len, "queues is given twice: remove one");
			return false;
		}
		if (!read_queues(text + strlen(QUEUES), n - strlen(QUEUES), out, error, len))
			return false;
	}
	return true;
}
