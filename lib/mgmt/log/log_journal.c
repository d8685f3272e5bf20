// SPDX-License-Identifier: BSD-3-Clause
// Writes datagrams of journald's native protocol. doc/decisions/0024-log.md says why libsystemd is
// not used.
#include "log/log_journal.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_LEN 64 // bytes of a field's name: journald takes no longer ones

// "client" becomes "SLIPRING_CLIENT".
static size_t put_name(char *buf, const char *name)
{
	size_t used = (size_t)snprintf(buf, NAME_LEN + 1, "SLIPRING_%s", name);

	for (size_t i = 0; i < used; i++)
		buf[i] = (char)toupper((unsigned char)buf[i]);
	return used;
}

static bool has_control(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20)
			return true;
	return false;
}

// Appends a whole field or nothing: NAME=value and a newline, or, if the value has control
// characters, NAME, a newline, the length as 64 bits in little endian, the value and a newline.
static size_t put_field(char *buf, size_t len, const struct mgmt_log_field *f)
{
	const size_t name_len = sizeof("SLIPRING_") - 1 + strlen(f->name);
	char digits[24];
	const char *value = f->text;
	size_t used, value_len = f->len;

	if (value == NULL) {
		value_len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, f->number);
		value = digits;
	}
	if (name_len > NAME_LEN || value_len > len || name_len + 10 + value_len > len)
		return 0;
	used = put_name(buf, f->name);
	if (has_control(value, value_len)) {
		buf[used++] = '\n';
		for (unsigned int i = 0; i < 8; i++)
			buf[used++] = (char)((uint64_t)value_len >> 8 * i & 0xff);
	} else {
		buf[used++] = '=';
	}
	memcpy(buf + used, value, value_len);
	used += value_len;
	buf[used++] = '\n';
	return used;
}

size_t log_journal_form(char buf[LOG_FORM_LEN], const struct log_record *r)
{
	size_t used = (size_t)snprintf(buf, LOG_FORM_LEN,
		"PRIORITY=%d\nSYSLOG_IDENTIFIER=slipring\nSLIPRING_AREA=%s\nMESSAGE=%s\n",
		r->level & 7, conf_area_name(r->area), r->text);

	for (unsigned int i = 0; i < r->nb; i++)
		used += put_field(buf + used, LOG_FORM_LEN - used, &r->fields[i]);
	return used;
}
