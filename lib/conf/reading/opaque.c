// SPDX-License-Identifier: BSD-3-Clause
// OpaqueString. Properties of Unicode characters come from libunistring; the rules for characters
// are in this file, by RFC 8264 section 9 and RFC 5892 appendix A.
#include "reading/opaque.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unictype.h>
#include <uninorm.h>
#include <unistr.h>

#include "conf.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"
#include "schema/schema.h"
#include "secret.h"

#define ZWNJ 0x200c
#define ZWJ 0x200d

// A text as an array of characters.
struct chars {
	const uint32_t *c;
	size_t n;
};

struct range {
	uint32_t lo, hi;
};

static bool is_in(const struct range *list, size_t nb, uint32_t c)
{
	for (size_t i = 0; i < nb; i++)
		if (c >= list[i].lo && c <= list[i].hi)
			return true;
	return false;
}

#define IS_IN(list, c) is_in(list, sizeof(list) / sizeof((list)[0]), c)

// --- characters that are always valid ------------------------------------------------------------

// RFC 8264 9.6 (exceptions) and 9.9 (conjoining jamo that composition left over).
static bool is_excluded(uint32_t c)
{
	static const struct range no[] = {{0x0640, 0x0640}, {0x07fa, 0x07fa}, {0x302e, 0x302f},
		{0x3031, 0x3035}, {0x303b, 0x303b}, {0x1100, 0x11ff}, {0xa960, 0xa97c},
		{0xd7b0, 0xd7fb}};

	return IS_IN(no, c);
}

// FreeformClass (RFC 8264 4.3.1), without characters that depend on the context: letters, marks,
// numbers, symbols, punctuation and spaces, including those with compatibility equivalents.
// Unassigned, control and default-ignorable characters are not in it.
static bool is_free(uint32_t c)
{
	static const uint32_t kinds = UC_CATEGORY_MASK_L | UC_CATEGORY_MASK_M | UC_CATEGORY_MASK_N |
		UC_CATEGORY_MASK_S | UC_CATEGORY_MASK_P | UC_CATEGORY_MASK_Zs;

	return uc_is_general_category_withtable(c, kinds) && !is_excluded(c) &&
		!uc_is_property_default_ignorable_code_point(c) &&
		!uc_is_property_not_a_character(c);
}

// --- characters that depend on their neighbours (RFC 5892 appendix A) ----------------------------

static bool is_script(uint32_t c, const char *name)
{
	const uc_script_t *s = uc_script(c);

	return s != NULL && strcmp(s->name, name) == 0;
}

static bool is_virama_before(const struct chars *t, size_t i)
{
	return i > 0 && uc_combining_class(t->c[i - 1]) == UC_CCC_VR;
}

// True if the character separates two letters that would join, with transparent marks around it
// (A.1).
static bool is_between_joining(const struct chars *t, size_t i)
{
	size_t before = i, behind = i + 1;
	int left, right;

	while (before > 0 && uc_joining_type(t->c[before - 1]) == UC_JOINING_TYPE_T)
		before--;
	while (behind < t->n && uc_joining_type(t->c[behind]) == UC_JOINING_TYPE_T)
		behind++;
	if (before == 0 || behind == t->n)
		return false;
	left = uc_joining_type(t->c[before - 1]);
	right = uc_joining_type(t->c[behind]);
	return (left == UC_JOINING_TYPE_L || left == UC_JOINING_TYPE_D) &&
		(right == UC_JOINING_TYPE_R || right == UC_JOINING_TYPE_D);
}

static bool has_range(const struct chars *t, uint32_t lo, uint32_t hi)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->c[i] >= lo && t->c[i] <= hi)
			return true;
	return false;
}

static bool has_japanese(const struct chars *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (is_script(t->c[i], "Hiragana") || is_script(t->c[i], "Katakana") ||
			is_script(t->c[i], "Han"))
			return true;
	return false;
}

enum verdict { ALLOWED, OUT_OF_PLACE, NO_RULE };

// A.1 to A.9, in their order.
static enum verdict judge_context(const struct chars *t, size_t i)
{
	const uint32_t c = t->c[i];
	bool good;

	if (c == ZWNJ)
		good = is_virama_before(t, i) || is_between_joining(t, i);
	else if (c == ZWJ)
		good = is_virama_before(t, i);
	else if (c == 0x00b7) // only between two l, as in Catalan
		good = i > 0 && i + 1 < t->n && t->c[i - 1] == 'l' && t->c[i + 1] == 'l';
	else if (c == 0x0375)
		good = i + 1 < t->n && is_script(t->c[i + 1], "Greek");
	else if (c == 0x05f3 || c == 0x05f4)
		good = i > 0 && is_script(t->c[i - 1], "Hebrew");
	else if (c == 0x30fb)
		good = has_japanese(t);
	else if (c >= 0x0660 && c <= 0x0669) // two kinds of digits that look alike
		good = !has_range(t, 0x06f0, 0x06f9);
	else if (c >= 0x06f0 && c <= 0x06f9)
		good = !has_range(t, 0x0660, 0x0669);
	else
		return NO_RULE;
	return good ? ALLOWED : OUT_OF_PLACE;
}

// --- the whole text ------------------------------------------------------------------------------

static bool is_plain(const char *text)
{
	while (*text >= 0x20 && *text < 0x7f)
		text++;
	return *text == '\0';
}

static void set_fault(struct opaque_fault *f, enum opaque_fault_kind kind, uint32_t c)
{
	*f = (struct opaque_fault){.kind = kind, .character = c};
}

// True if every character is valid at its place.
static bool check_chars(const struct chars *t, struct opaque_fault *f)
{
	for (size_t i = 0; i < t->n; i++) {
		const enum verdict v = judge_context(t, i);

		if (v == ALLOWED || (v == NO_RULE && is_free(t->c[i])))
			continue;
		set_fault(f, v == NO_RULE ? OPAQUE_CHARACTER : OPAQUE_CONTEXT, t->c[i]);
		return false;
	}
	return true;
}

static void map_spaces(uint32_t *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (uc_is_general_category_withtable(c[i], UC_CATEGORY_MASK_Zs))
			c[i] = ' ';
}

// Buffers for a text of len bytes, each large enough: otherwise libunistring allocates larger ones
// and leaves copies in the old ones.
struct room {
	uint32_t *c; // its characters
	uint32_t *nfc; // the characters after composition (NFC)
	uint8_t *out; // the result as UTF-8
};

#define NFC_GROWS 4 // factor, in characters (Unicode Standard Annex 15)
#define UTF8_LONGEST 4

static bool room_make(struct room *r, size_t len)
{
	r->c = calloc(len, sizeof(*r->c));
	r->nfc = calloc(len * NFC_GROWS, sizeof(*r->nfc));
	r->out = calloc(1, len * NFC_GROWS * UTF8_LONGEST + 1);
	return r->c != NULL && r->nfc != NULL && r->out != NULL;
}

static void room_wipe(struct room *r)
{
	secret_wipe(r->c);
	secret_wipe(r->nfc);
	secret_wipe(r->out);
}

// Leaves the result in r->out. If a character is invalid, f gets its position.
static void apply_profile(struct room *r, const uint8_t *text, size_t len, struct opaque_fault *f)
{
	size_t n = len, out_len = len * NFC_GROWS * UTF8_LONGEST;
	struct chars t = {.n = len * NFC_GROWS};

	u8_to_u32(text, len, r->c, &n);
	map_spaces(r->c, n);
	t.c = u32_normalize(UNINORM_NFC, r->c, n, r->nfc, &t.n);
	if (t.c != r->nfc) {
		set_fault(f, OPAQUE_MEMORY, 0);
		return;
	}
	if (check_chars(&t, f))
		u32_to_u8(t.c, t.n, r->out, &out_len);
	for (size_t i = 0; i < n && f->kind != OPAQUE_FINE && f->pos == 0; i++)
		f->pos = r->c[i] == f->character ? i + 1 : 0;
}

static char *prepare_text(const char *text, size_t len, struct opaque_fault *f)
{
	struct room r;
	char *out = NULL;

	if (!room_make(&r, len))
		set_fault(f, OPAQUE_MEMORY, 0);
	else
		apply_profile(&r, (const uint8_t *)text, len, f);
	if (f->kind == OPAQUE_FINE) {
		out = strdup((const char *)r.out);
		if (out == NULL)
			set_fault(f, OPAQUE_MEMORY, 0);
	}
	room_wipe(&r);
	return out;
}

char *opaque_string(const char *text, struct opaque_fault *f)
{
	const size_t len = strlen(text);
	char *out;

	set_fault(f, OPAQUE_FINE, 0);
	if (len == 0)
		set_fault(f, OPAQUE_EMPTY, 0);
	else if (u8_check((const uint8_t *)text, len) != NULL)
		set_fault(f, OPAQUE_UTF8, 0);
	if (f->kind != OPAQUE_FINE)
		return NULL;
	if (!is_plain(text))
		return prepare_text(text, len, f);
	out = strdup(text);
	if (out == NULL)
		set_fault(f, OPAQUE_MEMORY, 0);
	return out;
}

// A fault cannot occur in a working password, so the error may quote it.
static int report_fault(struct conf_ctx *x, const struct conf_node *n, const struct opaque_fault *f)
{
	char place[40] = "";

	if (f->pos > 0)
		snprintf(place, sizeof(place), ", character %zu,", f->pos);
	switch (f->kind) {
	case OPAQUE_EMPTY:
		return conf_fail(x, n, "must not be empty");
	case OPAQUE_UTF8:
		return conf_fail(x, n, "is not UTF-8: save the file as UTF-8");
	case OPAQUE_CHARACTER:
		return conf_fail(x, n,
			"U+%04X%s is forbidden in names, passwords and realms (RFC 8265: it is "
			"invisible, unassigned, or obsolete): remove it",
			f->character, place);
	case OPAQUE_CONTEXT:
		return conf_fail(x, n,
			"U+%04X%s cannot stand there (RFC 8265, RFC 5892 appendix A): remove it, "
			"or look at the characters beside it",
			f->character, place);
	default:
		return conf_fail_memory(x);
	}
}

int conf_opaque_read(struct conf_ctx *x, const struct conf_key *k, struct conf_node *n)
{
	struct opaque_fault f;
	char *text = opaque_string(n->text, &f);

	if (text == NULL)
		return report_fault(x, n, &f);
	if (k->type != CONF_TEXTS && strlen(text) > k->max) {
		const size_t len = strlen(text);

		secret_wipe(text);
		return conf_fail(x, n,
			"has %zu bytes once composed, at most %u are allowed: shorten it", len,
			k->max);
	}
	secret_wipe(n->text);
	n->text = text;
	return 0;
}
