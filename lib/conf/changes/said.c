// SPDX-License-Identifier: BSD-3-Clause
// Walks the tree of a file along the schema, as reading does, and records the value of every key.
#include "changes/said.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "addr.h"
#include "changes/hot_keys.h"
#include "conf_features.h"
#include "digest.h"
#include "reading/node.h"
#include "reading/value.h"
#include "schema/schema.h"

#define PATH_MAX_LEN 768 // user names have up to 508 bytes

// Lists whose entries are told apart by the value of a key, not by their index.
// clang-format off
static const struct {
	const char *list, *keys[3];
} ids[] = {
	{"ports", {"name"}},
	{"ports[].vlans", {"id"}},
	{"ports[].routes", {"to"}},
	{"ports[].vlans[].routes", {"to"}},
	{"listeners", {"transport", "address", "port"}},
	{"relay.pools", {"name"}},
	{"auth.users", {"name"}},
#define X(list, key) {list, {key}},
	CONF_IDS(X)
#undef X
};
// clang-format on

static const struct conf_node *child_of(const struct conf_node *map, const char *name)
{
	const struct conf_node *n = map != NULL && map->kind == CONF_MAP ? map->child : NULL;

	while (n != NULL && strcmp(n->key, name) != 0)
		n = n->next;
	return n;
}

// --- spelling ------------------------------------------------------------------------------------

// Writes the canonical spelling of an address and of the text after it. Other texts are copied
// unchanged. False if buf has no room.
static bool spell_addr(const char *text, char *buf, size_t len)
{
	const size_t n = strcspn(text, "/-");
	char first[ADDR_TEXT_LEN], shown[ADDR_TEXT_LEN];
	struct addr a;

	snprintf(first, sizeof(first), "%.*s", (int)n, text);
	if (n < sizeof(first) && addr_parse(first, &a) == 0)
		return (size_t)snprintf(buf, len, "%s%s", addr_format(&a, shown, sizeof(shown)),
			       text + n) < len;
	return (size_t)snprintf(buf, len, "%s", text) < len;
}

static bool spell_size(const char *text, char *buf, size_t len)
{
	static const char units[] = "KMG";
	char *end;
	const unsigned long long n = strtoull(text, &end, 10);
	const char *unit = *end != '\0' ? strchr(units, *end) : NULL;
	const unsigned int shift = unit != NULL ? 10 * (unsigned int)(unit - units + 1) : 0;

	return (size_t)snprintf(buf, len, "%llu", n << shift) < len;
}

static bool spell_time(const char *text, char *buf, size_t len)
{
	char *end;
	const unsigned long long n = strtoull(text, &end, 10);

	return (size_t)snprintf(buf, len, "%llu", n * (*end != '\0' ? conf_value_unit(*end) : 1)) <
		len;
}

static bool spell_bits(const char *text, char *buf, size_t len)
{
	uint64_t bits;

	return conf_value_bits(text, &bits) && (size_t)snprintf(buf, len, "%" PRIu64, bits) < len;
}

// Returns a copy of text in the form that is compared. The caller frees it.
static char *spell_value(const struct conf_key *k, const char *text)
{
	char buf[128];
	bool spelled = false;

	if (k->type == CONF_SIZE)
		spelled = spell_size(text, buf, sizeof(buf));
	else if (k->type == CONF_BITS)
		spelled = spell_bits(text, buf, sizeof(buf));
	else if (k->type == CONF_TIME)
		spelled = spell_time(text, buf, sizeof(buf));
	else if (k->type != CONF_TEXT && k->type != CONF_TEXTS && k->type != CONF_COMMAND &&
		k->type != CONF_PREFIX_FILES && k->type != CONF_CHOICE)
		spelled = spell_addr(text, buf, sizeof(buf));
	return strdup(spelled ? buf : text);
}

// --- records -------------------------------------------------------------------------------------

// Returns a copy of the name of an included file. NULL for the main file, and without memory.
static const char *copy_file(struct conf_said *s, const char *name)
{
	struct said_file *grown;

	if (name == NULL)
		return NULL;
	// most nodes come from the file of the node before
	for (uint32_t i = 0; i < s->nb_files; i++) {
		const uint32_t k = (s->last_file + i) % s->nb_files;

		if (s->files[k].name == name) {
			s->last_file = k;
			return s->files[k].copy;
		}
	}
	grown = realloc(s->files, (s->nb_files + 1) * sizeof(*grown));
	if (grown != NULL) {
		s->files = grown;
		s->last_file = s->nb_files;
		grown[s->nb_files++] = (struct said_file){.name = name, .copy = strdup(name)};
	}
	s->failed |= grown == NULL || grown[s->last_file].copy == NULL;
	return grown != NULL ? grown[s->last_file].copy : NULL;
}

// Adds a record of a node, which is NULL for a key that the file leaves out. Takes ownership of
// text.
static void add_said(struct conf_said *s, const struct conf_key *k, const struct conf_node *n,
	const char *path, char *text)
{
	if (s->nb == s->room) {
		const uint32_t room = s->room > 0 ? 2 * s->room : 256;
		struct said *list = realloc(s->list, room * sizeof(*list));

		if (list == NULL) {
			s->failed = true;
			free(text);
			return;
		}
		s->list = list;
		s->room = room;
	}
	s->list[s->nb] = (struct said){.key = k,
		.path = strdup(path),
		.text = text,
		.secret = hot_is_secret(k->path),
		.elements = conf_value_kind(k->type) == CONF_LIST &&
			(n == NULL || n->kind != CONF_SCALAR),
		.depth = s->depth,
		.line = n == NULL         ? 0
			: n->key_line > 0 ? n->key_line
					  : n->line,
		.file = n != NULL ? copy_file(s, n->file) : NULL};
	s->failed |= s->list[s->nb++].path == NULL;
}

// Adds the record of a section, or of a list of entries.
static void add_head(
	struct conf_said *s, const struct conf_key *k, const struct conf_node *n, const char *path)
{
	const uint32_t before = s->nb;

	add_said(s, k, n, path, NULL);
	if (s->nb > before)
		s->list[before].head = true;
}

static char *hash_text(const struct conf_said *s, const char *text)
{
	const size_t room = 16 + 1 + SAID_DIGITS + 1;
	char *hex = malloc(room);
	uint8_t sum[DIGEST_SHA256_LEN];

	digest_sha256(text, strlen(text), sum);
	if (hex != NULL)
		snprintf(hex, room, "%016llx %02x%02x%02x%02x",
			(unsigned long long)hash_bytes(&s->hash, text, strlen(text)), sum[0],
			sum[1], sum[2], sum[3]);
	explicit_bzero(sum, sizeof(sum));
	return hex;
}

// A list that grows: its elements are separated by '\n'.
struct text {
	char *data; // NULL if there is no element yet
	size_t len, room;
};

// Appends an element and takes ownership of it. False without memory.
static bool append_element(struct text *list, char *element)
{
	const size_t len = element != NULL ? strlen(element) : 0;
	bool good = element != NULL;

	if (good && list->room - list->len < len + 2) {
		const size_t room = 2 * list->room + len + 2;
		char *grown = realloc(list->data, room);

		good = grown != NULL;
		list->data = good ? grown : list->data;
		list->room = good ? room : list->room;
	}
	if (good) {
		if (list->len > 0)
			list->data[list->len++] = '\n';
		memcpy(list->data + list->len, element, len + 1);
		list->len += len;
	}
	free(element);
	return good;
}

// Returns the default of a list key. The caller frees it.
static char *spell_default(const struct conf_key *k)
{
	struct text list = {0};
	char *rest = strdup(k->def), *save;
	const char *item = rest != NULL ? strtok_r(rest, CONF_VALUE_COMMAS, &save) : NULL;
	bool good = item != NULL;

	for (; item != NULL && good; item = strtok_r(NULL, CONF_VALUE_COMMAS, &save))
		good = append_element(&list, spell_value(k, item));
	free(rest);
	if (good)
		return list.data;
	free(list.data);
	return NULL;
}

// Returns the list that the file has for a key. The caller frees it. NULL without memory.
static char *spell_list(
	const struct conf_said *s, const struct conf_key *k, const struct conf_node *list)
{
	struct text all = {0};
	bool good = true;

	for (const struct conf_node *n = list->child; n != NULL && good; n = n->next)
		good = append_element(&all,
			hot_is_secret(k->path) ? hash_text(s, n->text) : spell_value(k, n->text));
	if (good)
		return all.data != NULL ? all.data : strdup("");
	free(all.data);
	return NULL;
}

// Reads a field of `size` bytes.
static uint64_t number_in(const void *field, uint16_t size)
{
	switch (size) {
	case 1:
		return *(const uint8_t *)field;
	case 2:
		return *(const uint16_t *)field;
	case 4:
		return *(const uint32_t *)field;
	default:
		return *(const uint64_t *)field;
	}
}

// Returns the value of a key that the file leaves out, if it follows from other keys. NULL if it is
// the default. The caller frees it. base: the struct of the field; NULL in entries of lists, whose
// order another one may have replaced.
static char *derived_value(const struct conf_key *k, const void *base)
{
	const char *field = (const char *)base + k->offset;
	char *def = NULL, *text = NULL;
	uint64_t number;

	if (base == NULL || hot_is_secret(k->path))
		return NULL;
	if (k->type == CONF_TEXT) {
		const char *value = *(char *const *)field;

		return k->def == NULL && value != NULL ? strdup(value) : NULL;
	}
	if (k->type != CONF_NUMBER && k->type != CONF_SIZE && k->type != CONF_TIME)
		return NULL;
	number = number_in(field, k->size);
	def = k->def != NULL ? spell_value(k, k->def) : NULL;
	if (number != (def != NULL ? strtoull(def, NULL, 10) : 0) &&
		asprintf(&text, "%" PRIu64, number) < 0)
		text = NULL;
	free(def);
	return text;
}

static void note_value(struct conf_said *s, const struct conf_key *k, const struct conf_node *n,
	const char *path, const void *base)
{
	const bool secret = hot_is_secret(k->path);
	char *text = NULL, *derived = n == NULL ? derived_value(k, base) : NULL;

	if (n == NULL && k->def == NULL && derived == NULL)
		return;
	if (n == NULL && k->def == NULL) {
		text = strdup("");
		s->failed |= text == NULL;
	} else if (n == NULL && conf_value_kind(k->type) == CONF_LIST) {
		text = spell_default(k);
		s->failed |= text == NULL;
	} else if (n == NULL || n->kind == CONF_SCALAR) {
		const char *said = n != NULL ? n->text : strcmp(k->def, "\"\"") == 0 ? "" : k->def;

		text = secret ? hash_text(s, said) : spell_value(k, said);
		s->failed |= text == NULL;
	} else {
		text = spell_list(s, k, n);
		s->failed |= text == NULL;
	}
	add_said(s, k, n, path, text);
	if (s->failed)
		free(derived);
	else
		s->list[s->nb - 1].derived = derived;
}

static void walk_map(struct conf_said *s, const struct conf_key *parent,
	const struct conf_node *map, const char *path, const void *base);

// Returns the value of a key of an entry, or the default, or NULL if there is neither.
static const char *text_of(const struct conf_table *t, const struct conf_key *list,
	const struct conf_node *n, const char *name)
{
	const struct conf_node *c = child_of(n, name);

	return c != NULL ? c->text : conf_schema_child(t, list, name)->def;
}

// Writes the path of a list entry: with the value that identifies it, or with its index.
static void entry_path(const struct conf_table *t, const struct conf_key *list,
	const struct conf_node *n, const char *path, char buf[PATH_MAX_LEN])
{
	int len = snprintf(buf, PATH_MAX_LEN, "%s[", path);
	const int empty = len;

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		for (unsigned int k = 0; strcmp(ids[i].list, list->path) == 0 && k < 3; k++) {
			const char *key = ids[i].keys[k];
			const char *text = key != NULL ? text_of(t, list, n, key) : NULL;

			if (text != NULL && len < PATH_MAX_LEN)
				len += snprintf(buf + len, PATH_MAX_LEN - (size_t)len, "%s%s",
					len > empty ? " " : "", text);
		}
	if (len == empty)
		len += snprintf(buf + len, PATH_MAX_LEN - (size_t)len, "%u", n->index);
	snprintf(buf + (len < PATH_MAX_LEN - 2 ? len : PATH_MAX_LEN - 2), 2, "]");
}

static void walk_items(struct conf_said *s, const struct conf_key *k, const struct conf_node *list,
	const char *path)
{
	char entry[PATH_MAX_LEN];

	if (list == NULL)
		return;
	add_head(s, k, list, path);
	s->depth++;
	for (const struct conf_node *n = list->child; n != NULL; n = n->next) {
		entry_path(s->table, k, n, path, entry);
		add_said(s, k, n, entry, NULL);
		s->depth++;
		walk_map(s, k, n, entry, NULL);
		s->depth--;
	}
	s->depth--;
}

// Each entry is an address, or a mapping that begins with one.
static void walk_addresses(struct conf_said *s, const struct conf_key *k,
	const struct conf_node *list, const char *path)
{
	const struct conf_key *external = conf_schema_child(s->table, k, "external");
	char entry[PATH_MAX_LEN], deeper[PATH_MAX_LEN + 16], shown[128];

	if (list == NULL)
		return;
	add_head(s, k, list, path);
	s->depth++;
	for (const struct conf_node *n = list->child; n != NULL; n = n->next) {
		const struct conf_node *a = n->kind == CONF_SCALAR ? n : child_of(n, "address");
		const struct conf_node *e = child_of(n, "external");

		if (a == NULL || !spell_addr(a->text, shown, sizeof(shown)))
			continue;
		if ((size_t)snprintf(entry, sizeof(entry), "%s[%s]", path, shown) >= sizeof(entry))
			continue;
		add_said(s, k, n, entry, NULL);
		snprintf(deeper, sizeof(deeper), "%s.external", entry);
		s->depth++;
		if (e != NULL)
			note_value(s, external, e, deeper, NULL);
		s->depth--;
	}
	s->depth--;
}

static void walk_section(struct conf_said *s, const struct conf_key *k, const struct conf_node *n,
	const char *path, const void *base)
{
	const uint32_t head = s->nb;

	add_head(s, k, n, path);
	if (s->nb > head)
		s->list[head].inner = base == NULL;
	s->depth++;
	walk_map(s, k, n, path, base != NULL ? (const char *)base + k->offset - k->count : NULL);
	s->depth--;
}

static void walk_map(struct conf_said *s, const struct conf_key *parent,
	const struct conf_node *map, const char *path, const void *base)
{
	char below[PATH_MAX_LEN];
	const struct conf_key *k = NULL;

	while ((k = conf_schema_next(s->table, parent, k)) != NULL) {
		const char *leaf = conf_schema_name(k);
		const struct conf_node *n = child_of(map, leaf);

		snprintf(below, sizeof(below), "%s%s%s", path, path[0] != '\0' ? "." : "", leaf);
		if (k->type == CONF_SECTION)
			walk_section(s, k, n, below, base);
		else if (k->type == CONF_ITEMS)
			walk_items(s, k, n, below);
		else if (k->type == CONF_PORT_ADDRS)
			walk_addresses(s, k, n, below);
		else
			note_value(s, k, n, below, base);
	}
}

static int by_path(const void *a, const void *b)
{
	return strcmp(
		(*(const struct said *const *)a)->path, (*(const struct said *const *)b)->path);
}

static bool sort_list(struct conf_said *s)
{
	s->sorted = calloc(s->nb + 1, sizeof(const struct said *));
	if (s->sorted == NULL)
		return false;
	for (uint32_t i = 0; i < s->nb; i++) {
		const struct said *one = &s->list[i];

		if (!one->head && (one->derived == NULL || one->key->def != NULL))
			s->sorted[s->nb_sorted++] = one;
	}
	qsort(s->sorted, s->nb_sorted, sizeof(const struct said *), by_path);
	return true;
}

struct conf_said *said_take(const struct conf_table *t, const struct conf_node *root,
	const struct hash_key *hash, const struct conf *c)
{
	struct conf_said *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->hash = *hash;
	s->table = t;
	walk_map(s, NULL, root, "", c);
	if (!s->failed && sort_list(s))
		return s;
	said_free(s);
	return NULL;
}

void said_free(struct conf_said *s)
{
	if (s == NULL)
		return;
	for (uint32_t i = 0; i < s->nb; i++) {
		free(s->list[i].path);
		free(s->list[i].text);
		free(s->list[i].derived);
	}
	for (uint32_t i = 0; i < s->nb_files; i++)
		free(s->files[i].copy);
	free(s->files);
	free(s->sorted);
	free(s->list);
	free(s);
}
