// SPDX-License-Identifier: BSD-3-Clause
// Reads one value of the file into one field.
#include "reading/value.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/hex.h"
#include "values/addrs.h"
#include "reading/fail.h"
#include "reading/opaque.h"
#include "values/port_addrs.h"
#include "values/prefix_file.h"
#include "values/secret_file.h"
#include "values/services.h"
#include "stun.h"
#include "turn_config.h"

const char *conf_value_shown(const struct conf_node *n, char buf[CONF_SHOWN_LEN])
{
	size_t i;

	for (i = 0; n->text[i] != '\0' && i < CONF_SHOWN_LEN - 4; i++)
		buf[i] = isprint((unsigned char)n->text[i]) ? n->text[i] : '?';
	strcpy(buf + i, n->text[i] != '\0' ? "..." : "");
	return buf;
}

bool conf_value_none(const struct conf_node *n)
{
	return n->kind == CONF_SCALAR && n->plain &&
		(n->text[0] == '\0' || strcmp(n->text, "~") == 0 || strcmp(n->text, "null") == 0);
}

// Returns the capacity of a list of nb elements: it doubles, so that a list that grows one by one
// is rarely copied.
static size_t room_of(uint32_t nb)
{
	size_t room = nb > 0 ? 1 : 0;

	while (room < nb)
		room *= 2;
	return room;
}

void *conf_value_grow(struct conf_ctx *x, const struct conf_key *k, struct conf_node *node,
	void *base, uint32_t n)
{
	char **array = (char **)((char *)base + k->offset);
	uint32_t *count = (uint32_t *)((char *)base + k->count);
	const size_t room = room_of(*count + n);
	char *grown = *array, *fresh;

	// One extra byte: an empty list is then not NULL, which would look like a failure
	if (grown == NULL || room != room_of(*count))
		grown = realloc(*array, room * k->size + 1);
	if (grown == NULL) {
		conf_fail_memory(x);
		return NULL;
	}
	fresh = grown + (size_t)*count * k->size;
	memset(fresh, 0, (size_t)n * k->size);
	node->field = array;
	node->first = *count;
	node->count = n;
	*array = grown;
	*count += n;
	return fresh;
}

uint32_t conf_value_unit(char unit)
{
	switch (unit) {
	case 's':
		return 1;
	case 'm':
		return 60;
	case 'h':
		return 3600;
	case 'd':
		return 86400;
	default:
		return 0;
	}
}

static void store_number(const struct conf_key *k, void *base, uint32_t value)
{
	char *field = (char *)base + k->offset;

	if (k->size == 1)
		*(uint8_t *)field = (uint8_t)value;
	else if (k->size == 2)
		*(uint16_t *)field = (uint16_t)value;
	else
		*(uint32_t *)field = value;
}

bool conf_value_decimal(const char *text, size_t len, uint32_t *value)
{
	uint64_t v = 0;

	if (len == 0 || len > 10 || (text[0] == '0' && len > 1))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		v = v * 10 + (uint64_t)(text[i] - '0');
	}
	*value = v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
	return true;
}

static int read_number(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	char shown[CONF_SHOWN_LEN];
	uint32_t value;

	if (!n->plain)
		return conf_fail(x, n, "must be a number: write it without quotes");
	if (!conf_value_decimal(n->text, strlen(n->text), &value))
		return conf_fail(x, n, "must be a decimal number from %u to %u, not '%s'", k->min,
			k->max, conf_value_shown(n, shown));
	if (value < k->min || value > k->max)
		return conf_fail(x, n, "%s is out of range, it must be from %u to %u",
			conf_value_shown(n, shown), k->min, k->max);
	store_number(k, base, value);
	return 0;
}

// Reads bytes: a number, which K, M or G may follow (powers of 1024).
static int read_size(struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	static const char units[] = "KMG";
	const size_t len = strlen(n->text);
	const char *unit = len > 1 ? strchr(units, n->text[len - 1]) : NULL;
	const unsigned int shift = unit != NULL ? 10 * (unsigned int)(unit - units + 1) : 0;
	char shown[CONF_SHOWN_LEN];
	uint32_t value;

	if (!n->plain || !conf_value_decimal(n->text, len - (unit != NULL), &value))
		return conf_fail(x, n,
			"must be a number of bytes like 65536, 64K, 100M or 2G, not '%s'",
			conf_value_shown(n, shown));
	if ((uint64_t)value << shift < k->min || (uint64_t)value << shift > k->max)
		return conf_fail(x, n, "%s is out of range, it must be from %u to %u bytes",
			conf_value_shown(n, shown), k->min, k->max);
	store_number(k, base, value << shift);
	return 0;
}

bool conf_value_bits(const char *text, uint64_t *bits)
{
	static const char units[] = "kMG";
	const size_t len = strlen(text);
	const char *unit = len > 1 ? strchr(units, text[len - 1]) : NULL;
	uint32_t value;

	if (!conf_value_decimal(text, len - (unit != NULL), &value))
		return false;
	*bits = value;
	for (ptrdiff_t i = unit != NULL ? unit - units : -1; i >= 0; i--)
		*bits *= 1000;
	return true;
}

// Reads bits per second and stores kilobits.
static int read_bits(struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	const size_t len = strlen(n->text);
	char shown[CONF_SHOWN_LEN];
	uint64_t bits;

	// with a unit it is a text in YAML, and quotes change nothing
	if ((!n->plain && isdigit((unsigned char)n->text[len > 0 ? len - 1 : 0])) ||
		!conf_value_bits(n->text, &bits))
		return conf_fail(x, n,
			"must be a number of bits a second like 64000, 64k, 2M or 10G, not '%s'",
			conf_value_shown(n, shown));
	if (bits % 1000 != 0)
		return conf_fail(x, n, "%s is no whole number of kilobits: write %" PRIu64 "k",
			conf_value_shown(n, shown), bits / 1000 + 1);
	if (bits / 1000 < k->min || bits / 1000 > k->max)
		return conf_fail(x, n, "%s is out of range, it must be from %u to %u kilobits",
			conf_value_shown(n, shown), k->min, k->max);
	store_number(k, base, (uint32_t)(bits / 1000));
	return 0;
}

// Reads seconds: a number, which s, m, h or d may follow.
static int read_time(struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	const size_t len = strlen(n->text);
	const uint32_t unit = len > 1 ? conf_value_unit(n->text[len - 1]) : 0;
	char shown[CONF_SHOWN_LEN];
	uint64_t seconds;
	uint32_t value;

	// with a unit it is a text in YAML, and quotes change nothing
	if ((!n->plain && unit == 0) || !conf_value_decimal(n->text, len - (unit != 0), &value))
		return conf_fail(x, n,
			"must be a number of seconds like 600, or like 600s, 10m, 2h or 1d, not "
			"'%s'",
			conf_value_shown(n, shown));
	seconds = (uint64_t)value * (unit != 0 ? unit : 1);
	if (seconds < k->min || seconds > k->max)
		return conf_fail(x, n, "%s is out of range, it must be from %u to %u seconds",
			conf_value_shown(n, shown), k->min, k->max);
	store_number(k, base, (uint32_t)seconds);
	return 0;
}

static int read_dscp(struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	char shown[CONF_SHOWN_LEN];
	uint32_t value;

	if (strcmp(n->text, "copy") == 0) {
		store_number(k, base, TURN_DSCP_COPY);
		return 0;
	}
	if (!n->plain || !conf_value_decimal(n->text, strlen(n->text), &value) || value > k->max)
		return conf_fail(x, n,
			"must be copy, or a DSCP as a decimal number from %u to %u (EF is 46, AF41 "
			"is 34), not '%s'",
			k->min, k->max, conf_value_shown(n, shown));
	store_number(k, base, value + 1);
	return 0;
}

static int read_bool(struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	const bool value = strcmp(n->text, "true") == 0;
	char shown[CONF_SHOWN_LEN];

	if (!n->plain || (!value && strcmp(n->text, "false") != 0))
		return conf_fail(x, n,
			"must be true or false (not yes, no, on, off, quotes), not '%s'",
			conf_value_shown(n, shown));
	*(bool *)((char *)base + k->offset) = value;
	return 0;
}

static int read_choice(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	char shown[CONF_SHOWN_LEN], names[96] = "";
	size_t used = 0;

	for (const struct conf_choice *c = k->choices; c->name != NULL; c++) {
		if (strcmp(n->text, c->name) == 0) {
			store_number(k, base, (uint32_t)c->value);
			return 0;
		}
		used += (size_t)snprintf(
			names + used, sizeof(names) - used, "%s%s", used > 0 ? ", " : "", c->name);
	}
	return conf_fail(x, n, "'%s' is not one of: %s", conf_value_shown(n, shown), names);
}

// Checks a text. It may be a secret, so errors do not quote it.
static int check_text(struct conf_ctx *x, const struct conf_key *k, const struct conf_node *n)
{
	const size_t len = strlen(n->text);

	if (n->kind != CONF_SCALAR)
		return conf_fail(x, n, "must be text");
	if (len < k->min && k->type == CONF_TEXT)
		return conf_fail(x, n, "must not be empty");
	if (len > k->max && k->type == CONF_TEXT)
		return conf_fail(
			x, n, "has %zu bytes, at most %u are allowed: shorten it", len, k->max);
	if ((k->flags & CONF_WORD) != 0) {
		for (size_t i = 0; i < len; i++) {
			if (!isalnum((unsigned char)n->text[i]) &&
				strchr("._-", n->text[i]) == NULL)
				return conf_fail(
					x, n, "may hold only letters, digits, '.', '_' and '-'");
		}
	}
	return 0;
}

int conf_value_set_text(struct conf_ctx *x, const struct conf_node *n, char **field)
{
	if (*field != NULL)
		return conf_fail(x, n, "is given here and in a file: keep one of the two");
	*field = strdup(n->text);
	return *field != NULL ? 0 : conf_fail_memory(x);
}

static int read_text(struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	int rc = check_text(x, k, n);

	if (rc == 0 && (k->flags & CONF_OPAQUE) != 0)
		rc = conf_opaque_read(x, k, n);
	return rc == 0 ? conf_value_set_text(x, n, (char **)((char *)base + k->offset)) : rc;
}

// Reads one item of a list of texts.
static int read_texts(struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	char **item;
	int rc = check_text(x, k, n);

	if (rc != 0)
		return rc;
	if (n->text[0] == '\0')
		return conf_fail(x, n, "must not be empty");
	if ((k->flags & CONF_OPAQUE) != 0 && conf_opaque_read(x, k, n) != 0)
		return -EINVAL;
	item = conf_value_grow(x, k, n, base, 1);
	return item != NULL ? conf_value_set_text(x, n, item) : -EINVAL;
}

// Reads a command given as one text: spaces separate its words, and there is no quoting.
static int read_words(struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	char *text = strdup(n->text), *save = NULL;
	uint32_t nb = 0;
	char **words;
	int rc = 0;

	if (text == NULL)
		return conf_fail_memory(x);
	for (const char *word = n->text + strspn(n->text, " "); *word != '\0';
		word += strspn(word, " ")) {
		word += strcspn(word, " ");
		nb++;
	}
	if (nb == 0)
		rc = conf_fail(x, n, "must not be empty");
	else if (nb > k->max)
		rc = conf_fail(
			x, n, "has more than %u words: put the command into a script", k->max);
	words = rc == 0 ? conf_value_grow(x, k, n, base, nb) : NULL;
	for (uint32_t i = 0; words != NULL && i < nb; i++) {
		words[i] = strdup(strtok_r(i == 0 ? text : NULL, " ", &save));
		if (words[i] == NULL)
			rc = conf_fail_memory(x);
	}
	free(text);
	return words != NULL ? rc : -EINVAL;
}

// Reads a command, or one word of a list.
static int read_command(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	return n->key != NULL ? read_words(x, k, n, base) : read_texts(x, k, n, base);
}

// Reads a key in hexadecimal. It is a secret, so the error does not quote it.
static int read_hex(struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	struct stun_key *key = (struct stun_key *)((char *)base + k->offset);

	if (n->text[0] == '0' && tolower((unsigned char)n->text[1]) == 'x')
		return conf_fail(x, n, "must be %u hexadecimal digits, without 0x", 2 * k->max);
	if (strlen(n->text) != 2 * (size_t)k->max)
		return conf_fail(x, n, "has %zu characters: write %u hexadecimal digits",
			strlen(n->text), 2 * k->max);
	for (uint32_t i = 0; i < k->max; i++) {
		const int hi = hex_digit(n->text[2 * i]), lo = hex_digit(n->text[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return conf_fail(x, n, "character %u is not a hexadecimal digit",
				2 * i + (hi < 0 ? 1 : 2));
		key->bytes[i] = (uint8_t)(hi << 4 | lo);
	}
	key->len = (uint8_t)k->max;
	return 0;
}

static int read_port_range(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	const char *dash = strchr(n->text, '-');
	const size_t first = dash != NULL ? (size_t)(dash - n->text) : strlen(n->text);
	const char *second = dash != NULL ? dash + 1 : n->text;
	char shown[CONF_SHOWN_LEN];
	uint32_t lo, hi;

	if (!conf_value_decimal(n->text, first, &lo) ||
		!conf_value_decimal(second, strlen(second), &hi))
		return conf_fail(x, n, "must be a range of port numbers like 49152-65535, not '%s'",
			conf_value_shown(n, shown));
	if (lo > hi)
		return conf_fail(x, n, "the range ends before it begins: write %u-%u", hi, lo);
	if (lo < k->min || hi > k->max)
		return conf_fail(x, n, "%s is out of range, it must be within %u-%u",
			conf_value_shown(n, shown), k->min, k->max);
	*(uint16_t *)((char *)base + k->offset) = (uint16_t)lo;
	*(uint16_t *)((char *)base + k->count) = (uint16_t)hi;
	return 0;
}

static const struct value_type {
	enum conf_kind kind;
	const char *form;
	// Reads the value of a scalar type, or one item of a list type.
	int (*read)(struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
	bool maps; // read accepts items that are mappings, too
	bool word; // a list type: read accepts a scalar instead of the list, too
} types[] = {
	[CONF_SECTION] = {CONF_MAP, "a mapping of keys", NULL},
	[CONF_ITEMS] = {CONF_LIST, "a list of mappings", NULL},
	[CONF_TEXT] = {CONF_SCALAR, "text", read_text},
	[CONF_TEXTS] = {CONF_LIST, "a list of texts", read_texts},
	[CONF_NUMBER] = {CONF_SCALAR, "a number", read_number},
	[CONF_SIZE] = {CONF_SCALAR, "a number of bytes", read_size},
	[CONF_BITS] = {CONF_SCALAR, "a number of bits a second", read_bits},
	[CONF_TIME] = {CONF_SCALAR, "a time in seconds", read_time},
	[CONF_BOOL] = {CONF_SCALAR, "true or false", read_bool},
	[CONF_CHOICE] = {CONF_SCALAR, "one of the known words", read_choice},
	[CONF_ADDR] = {CONF_SCALAR, "an address", conf_addrs_read_one},
	[CONF_DSCP] = {CONF_SCALAR, "copy or a number", read_dscp},
	[CONF_LISTEN_ADDR] = {CONF_SCALAR, "an address, or all", conf_addrs_read_listen},
	[CONF_RELAY_ADDRS] = {CONF_LIST, "a list of addresses, or all", conf_addrs_read_relay,
		.word = true},
	[CONF_ADDRS] = {CONF_LIST, "a list of addresses", conf_addrs_read_list},
	[CONF_PORT_ADDRS] = {CONF_LIST, "a list of addresses with prefix length",
		conf_port_addrs_read, .maps = true},
	[CONF_PORT_RUN] = {CONF_SCALAR, "an address or a range, with prefix length, or a word",
		conf_port_addrs_own},
	[CONF_EXTERNAL] = {CONF_SCALAR, "an address or a range", conf_port_addrs_external},
	[CONF_PREFIX] = {CONF_SCALAR, "a prefix", conf_addrs_read_prefix},
	[CONF_PREFIXES] = {CONF_LIST, "a list of addresses and prefixes", conf_addrs_read_prefixes},
	[CONF_NAT64] = {CONF_LIST, "a list of prefixes", conf_addrs_read_nat64},
	[CONF_PORT_RANGE] = {CONF_SCALAR, "a range of port numbers", read_port_range},
	[CONF_HEX] = {CONF_SCALAR, "hexadecimal digits", read_hex},
	[CONF_SECRET_FILE] = {CONF_SCALAR, "the name of a file", conf_secret_file_read},
	[CONF_PREFIX_FILES] = {CONF_LIST, "a list of names of files", conf_prefix_file_read},
	[CONF_SECRET_FILES] = {CONF_LIST, "a list of names of files", conf_secret_file_read_list},
	[CONF_COMMAND] = {CONF_LIST, "a command, or a list of its words", read_command,
		.word = true},
	[CONF_SERVICES] = {CONF_LIST, "a list of services", conf_services_read},
};

const char *conf_value_form(enum conf_type type)
{
	return types[type].form;
}

enum conf_kind conf_value_kind(enum conf_type type)
{
	return types[type].kind;
}

bool conf_value_fits(enum conf_type type, enum conf_kind kind)
{
	return kind == types[type].kind || (types[type].word && kind == CONF_SCALAR);
}

static int read_list(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *list, void *base)
{
	const uint32_t *count = (const uint32_t *)((char *)base + k->count);
	int rc = 0;

	for (struct conf_node *n = list->child; n != NULL && !conf_fail_enough(x); n = n->next) {
		if (n->kind != CONF_SCALAR && !(types[k->type].maps && n->kind == CONF_MAP))
			rc = conf_fail(x, n,
				"must be a single value, not a list or a mapping "
				"(text with ':' at its end needs quotes)");
		else if (conf_value_none(n))
			rc = conf_fail(x, n, "has no value: remove it, or put it in quotes");
		else if (types[k->type].read(x, k, n, base) != 0)
			rc = -EINVAL;
		if (*count > k->max)
			return conf_fail(x, n, "one too many: at most %u are allowed", k->max);
	}
	if (rc == 0 && *count < k->min)
		return conf_fail(x, list, "must not be empty");
	// NULL means that the file does not have the list
	if (rc == 0 && *count == 0 && k->type == CONF_TEXTS)
		return conf_value_grow(x, k, list, base, 0) != NULL ? 0 : -EINVAL;
	return rc;
}

int conf_value_read_default(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	char *list, *save;
	int rc = 0;

	if (conf_value_kind(k->type) != CONF_LIST) {
		n->plain = k->def[0] != '"';
		n->text = (char *)(n->plain ? k->def : "");
		return conf_value_read(x, k, n, base);
	}
	list = strdup(k->def);
	if (list == NULL)
		return conf_fail_memory(x);
	for (n->text = strtok_r(list, CONF_VALUE_COMMAS, &save); n->text != NULL && rc == 0;
		n->text = strtok_r(NULL, CONF_VALUE_COMMAS, &save))
		rc = types[k->type].read(x, k, n, base);
	free(list);
	return rc;
}

int conf_value_read(struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	if (n->kind == CONF_LIST)
		return read_list(x, k, n, base);
	n->field = (char *)base + k->offset;
	n->count = 1;
	return types[k->type].read(x, k, n, base);
}
