// SPDX-License-Identifier: BSD-3-Clause
// Parses vtap:NAME[,key=value]... and reports malformed strings.
#include "devices/vtap_spec.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "vtap:"
#define KEYS "queues, netns, role, offload, mac"

static const char *const roles[] = {[VTAP_LAB] = "lab", [VTAP_EXCEPTION] = "exception"};
static const char *const offloads[] = {[VTAP_OFFLOAD_NONE] = "none",
	[VTAP_OFFLOAD_CSUM] = "csum",
	[VTAP_OFFLOAD_TSO] = "tso",
	[VTAP_OFFLOAD_USO] = "uso"};

// The buffer for the reason of a refusal.
struct reason {
	char *text;
	size_t len;
};

// A piece of the device string.
struct piece {
	const char *text;
	size_t len;
};

__attribute__((format(printf, 2, 3))) static bool refuse_spec(
	const struct reason *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->text, r->len, fmt, ap);
	va_end(ap);
	return false;
}

static bool is_word(const struct piece *p, const char *word)
{
	return strlen(word) == p->len && strncmp(p->text, word, p->len) == 0;
}

// Reads the name of an interface or a namespace. It allows only names that the kernel accepts and
// that need no quoting in a shell or a path.
static bool read_name(
	const struct piece *p, char *name, size_t room, const char *label, const struct reason *r)
{
	const int shown = (int)(p->len < 40 ? p->len : 40);

	if (p->len == 0)
		return refuse_spec(r, "%s is empty: write vtap:NAME[,netns=NAME]", label);
	if (p->len >= room)
		return refuse_spec(r, "%s '%.*s' is too long: at most %zu characters", label, shown,
			p->text, room - 1);
	for (size_t i = 0; i < p->len; i++)
		if (!isalnum((unsigned char)p->text[i]) && strchr("._-", p->text[i]) == NULL)
			return refuse_spec(r,
				"%s '%.*s' may hold only letters, digits, '.', '_' and '-'", label,
				shown, p->text);
	if (is_word(p, ".") || is_word(p, ".."))
		return refuse_spec(
			r, "%s '%.*s' is not valid: choose another", label, shown, p->text);
	memcpy(name, p->text, p->len);
	name[p->len] = '\0';
	return true;
}

static bool read_queues(const struct piece *p, struct vtap_spec *s, const struct reason *r)
{
	unsigned int n = 0;

	for (size_t i = 0; i < p->len && n <= VTAP_QUEUES_MAX; i++) {
		if (!isdigit((unsigned char)p->text[i])) {
			n = 0;
			break;
		}
		n = n * 10 + (unsigned int)(p->text[i] - '0');
	}
	if (n == 0 || n > VTAP_QUEUES_MAX)
		return refuse_spec(r, "queues=%.*s: must be a number from 1 to %d", (int)p->len,
			p->text, VTAP_QUEUES_MAX);
	s->queues = (uint16_t)n;
	return true;
}

static bool read_mac(const struct piece *p, struct vtap_spec *s, const struct reason *r)
{
	const char *pos = p->text;
	bool zero = true;

	for (unsigned int i = 0; p->len == 17 && i < 6; i++, pos += 3) {
		unsigned int v;

		if (!isxdigit((unsigned char)pos[0]) || !isxdigit((unsigned char)pos[1]) ||
			(i < 5 && pos[2] != ':') || sscanf(pos, "%2x", &v) != 1)
			break;
		s->mac[i] = (uint8_t)v;
		zero = zero && v == 0;
		s->has_mac = i == 5;
	}
	if (!s->has_mac)
		return refuse_spec(
			r, "mac=%.*s: must be like 02:00:00:00:00:01", (int)p->len, p->text);
	if (zero || (s->mac[0] & 1) != 0)
		return refuse_spec(r, "mac=%.*s: is not the MAC of a host", (int)p->len, p->text);
	return true;
}

// Returns the index of a word in a list of n, or n.
static unsigned int find_word(const struct piece *p, const char *const *words, unsigned int n)
{
	unsigned int i = 0;

	while (i < n && !is_word(p, words[i]))
		i++;
	return i;
}

static bool read_role(const struct piece *p, struct vtap_spec *s, const struct reason *r)
{
	s->role = (enum vtap_role)find_word(p, roles, 2);
	return s->role < 2 ||
		refuse_spec(r, "role=%.*s: must be lab or exception", (int)p->len, p->text);
}

static bool read_offload(const struct piece *p, struct vtap_spec *s, const struct reason *r)
{
	s->offload = (enum vtap_offload)find_word(p, offloads, 4);
	return s->offload < 4 ||
		refuse_spec(
			r, "offload=%.*s: must be uso, tso, csum or none", (int)p->len, p->text);
}

static bool read_netns(const struct piece *p, struct vtap_spec *s, const struct reason *r)
{
	return read_name(p, s->netns, sizeof(s->netns), "network namespace", r);
}

static const struct {
	const char *key;
	bool (*read)(const struct piece *p, struct vtap_spec *s, const struct reason *r);
} keys[] = {
	{"queues", read_queues},
	{"netns", read_netns},
	{"role", read_role},
	{"offload", read_offload},
	{"mac", read_mac},
};
#define NB_KEYS (sizeof(keys) / sizeof(keys[0]))

// Reads one key=value. seen has a bit for each key that came before.
static bool read_option(
	const struct piece *p, struct vtap_spec *s, unsigned int *seen, const struct reason *r)
{
	const char *equal = memchr(p->text, '=', p->len);
	const struct piece key = {p->text, equal != NULL ? (size_t)(equal - p->text) : p->len};
	const int shown = (int)(key.len < 40 ? key.len : 40);
	struct piece value;

	for (unsigned int i = 0; i < NB_KEYS; i++) {
		if (!is_word(&key, keys[i].key))
			continue;
		if (equal == NULL)
			return refuse_spec(
				r, "%s has no value: write %s=...", keys[i].key, keys[i].key);
		if ((*seen & 1u << i) != 0)
			return refuse_spec(r, "%s is given twice: remove one", keys[i].key);
		*seen |= 1u << i;
		value = (struct piece){equal + 1, p->len - key.len - 1};
		return keys[i].read(&value, s, r);
	}
	return refuse_spec(r, "a vtap has no option '%.*s', it has: " KEYS, shown, key.text);
}

bool vtap_spec_is(const char *device)
{
	return strncmp(device, PREFIX, strlen(PREFIX)) == 0;
}

bool vtap_spec_parse(const char *device, struct vtap_spec *out, char *error, size_t len)
{
	const struct reason r = {error, len};
	struct piece p = {device + strlen(PREFIX), strcspn(device + strlen(PREFIX), ",")};
	unsigned int seen = 0;

	*out = (struct vtap_spec){.offload = VTAP_OFFLOAD_USO};
	if (!read_name(&p, out->name, sizeof(out->name), "interface name", &r))
		return false;
	while (p.text[p.len] == ',') {
		p.text += p.len + 1;
		p.len = strcspn(p.text, ",");
		if (!read_option(&p, out, &seen, &r))
			return false;
	}
	return true;
}

const char *vtap_spec_offload_name(enum vtap_offload offload)
{
	return offloads[offload];
}
