// SPDX-License-Identifier: BSD-3-Clause
// The sorted list of blocks.
#include "block/block_set.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "log/escape.h"
#include "turn_blocks.h"

#define V4_BITS 96 // an IPv4 prefix has that many bits more in the 128-bit form
#define CUSTOMER_LEN 64
#define FIELDS 5

struct block_entry {
	struct prefix prefix;
	char *user, *realm, *reason; // user and realm: NULL for an address
	struct turn_filter *filter;
	uint64_t until_s;
};

// --- texts ---------------------------------------------------------------------------------------

bool block_prefix_read(const char *text, struct prefix *out)
{
	if (addr_prefix_parse(text, out) != 0)
		return false;
	if (strchr(text, '/') == NULL && !addr_is_v4(&out->addr)) {
		out->len = CUSTOMER_LEN;
		out->addr.d[1] = 0;
	}
	return true;
}

char *block_prefix_text(const struct prefix *p, char buf[BLOCK_TEXT_LEN])
{
	const bool v4 = addr_is_v4(&p->addr) && p->len >= V4_BITS;
	size_t n;

	addr_format(&p->addr, buf, ADDR_TEXT_LEN);
	n = strlen(buf);
	if (p->len < 128)
		snprintf(buf + n, BLOCK_TEXT_LEN - n, "/%u",
			v4 ? p->len - (unsigned int)V4_BITS : p->len);
	else if (!v4)
		snprintf(buf + n, BLOCK_TEXT_LEN - n, "/128");
	return buf;
}

static void write_text(FILE *f, const char *text)
{
	char buf[3 * 768 + 1];

	mgmt_escape(text, strlen(text), buf, sizeof(buf));
	fprintf(f, "\t%s", buf);
}

void block_set_write(const struct block_set *s, FILE *f)
{
	char text[BLOCK_TEXT_LEN];

	fputs("# Blocks of slipring: slipringctl block, unblock and blocked.\n", f);
	for (uint32_t i = 0; i < s->nb; i++) {
		const struct block_entry *e = &s->list[i];

		if (e->user != NULL) {
			fputs("user", f);
			write_text(f, e->user);
			write_text(f, e->realm);
		} else {
			fprintf(f, "address\t%s\t", block_prefix_text(&e->prefix, text));
		}
		fprintf(f, "\t%" PRIu64, e->until_s);
		write_text(f, e->reason);
		fputc('\n', f);
	}
}

static bool read_number(const char *text, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

bool block_set_read(char *line, struct block *b)
{
	char *field[FIELDS], *rest = line;
	unsigned int n = 0;

	line[strcspn(line, "\n")] = '\0';
	while (n < FIELDS && rest != NULL)
		field[n++] = strsep(&rest, "\t");
	if (n < FIELDS || rest != NULL)
		return false;
	*b = (struct block){.reason = field[4]};
	// the text without escapes is no longer than with them
	if (!read_number(field[3], &b->until_s) ||
		(field[4][0] != '\0' && !mgmt_unescape(field[4], field[4], BLOCK_REASON_LEN)))
		return false;
	if (strcmp(field[0], "address") == 0)
		return field[2][0] == '\0' && block_prefix_read(field[1], &b->prefix);
	b->user = field[1];
	b->realm = field[2];
	return strcmp(field[0], "user") == 0 &&
		mgmt_unescape(field[1], field[1], strlen(field[1]) + 1) &&
		mgmt_unescape(field[2], field[2], strlen(field[2]) + 1);
}

// --- the list ------------------------------------------------------------------------------------

void block_set_init(struct block_set *s)
{
	*s = (struct block_set){.next_s = UINT64_MAX};
}

static void entry_free(struct block_entry *e)
{
	free(e->user);
	free(e->realm);
	free(e->reason);
	free(e->filter);
}

void block_set_free(struct block_set *s)
{
	for (uint32_t i = 0; i < s->nb; i++)
		entry_free(&s->list[i]);
	free(s->list);
	block_set_init(s);
}

// The order of the list: addresses before users.
static int compare_entry(const struct block_entry *e, const struct block *b)
{
	int order = (e->user != NULL) - (b->user != NULL);

	if (order == 0 && b->user != NULL) {
		order = strcmp(e->realm, b->realm);
		return order != 0 ? order : strcmp(e->user, b->user);
	}
	if (order == 0)
		order = addr_cmp(&e->prefix.addr, &b->prefix.addr);
	return order != 0 ? order : e->prefix.len - b->prefix.len;
}

// Finds a block, or its place. True if it is there.
static bool find_entry(const struct block_set *s, const struct block *b, uint32_t *place)
{
	uint32_t lo = 0, hi = s->nb;

	while (lo < hi) {
		const uint32_t middle = lo + (hi - lo) / 2;

		if (compare_entry(&s->list[middle], b) < 0)
			lo = middle + 1;
		else
			hi = middle;
	}
	*place = lo;
	return lo < s->nb && compare_entry(&s->list[lo], b) == 0;
}

static bool has_room(struct block_set *s)
{
	const uint32_t room = s->room > 0 ? 2 * s->room : 16;
	struct block_entry *list;

	if (s->nb < s->room)
		return true;
	list = realloc(s->list, room * sizeof(*list));
	if (list == NULL)
		return false;
	s->list = list;
	s->room = room;
	return true;
}

static bool entry_make(struct block_entry *e, const struct block *b)
{
	*e = (struct block_entry){
		.prefix = b->prefix, .reason = strdup(b->reason), .until_s = b->until_s};
	if (b->user != NULL) {
		e->user = strdup(b->user);
		e->realm = strdup(b->realm);
		e->filter = malloc(sizeof(*e->filter));
		if (e->filter != NULL)
			*e->filter = b->filter;
	}
	if (e->reason != NULL &&
		(b->user == NULL || (e->user != NULL && e->realm != NULL && e->filter != NULL)))
		return true;
	entry_free(e);
	return false;
}

enum block_put block_set_put(struct block_set *s, const struct block *b)
{
	struct block_entry e;
	uint32_t i;
	const bool old = find_entry(s, b, &i);

	if (!old &&
		(s->nb >= BLOCK_SET_MAX ||
			(b->user != NULL && s->nb_users >= TURN_BLOCKED_USERS_MAX)))
		return BLOCK_FULL;
	if ((!old && !has_room(s)) || !entry_make(&e, b))
		return BLOCK_NO_MEMORY;
	if (old) {
		entry_free(&s->list[i]);
	} else {
		memmove(&s->list[i + 1], &s->list[i], (s->nb - i) * sizeof(*s->list));
		s->nb++;
		s->nb_users += b->user != NULL;
	}
	s->list[i] = e;
	if (b->until_s != 0 && b->until_s < s->next_s)
		s->next_s = b->until_s;
	return old ? BLOCK_RENEWED : BLOCK_NEW;
}

bool block_set_remove(struct block_set *s, const struct block *b)
{
	uint32_t i;

	if (!find_entry(s, b, &i))
		return false;
	s->nb_users -= s->list[i].user != NULL;
	entry_free(&s->list[i]);
	s->nb--;
	memmove(&s->list[i], &s->list[i + 1], (s->nb - i) * sizeof(*s->list));
	return true;
}

uint32_t block_set_expire(struct block_set *s, uint64_t now_s)
{
	const uint32_t before = s->nb;
	uint32_t kept = 0;

	if (now_s < s->next_s)
		return 0;
	s->next_s = UINT64_MAX;
	for (uint32_t i = 0; i < before; i++) {
		struct block_entry *e = &s->list[i];

		if (e->until_s == 0 || e->until_s > now_s) {
			if (e->until_s != 0 && e->until_s < s->next_s)
				s->next_s = e->until_s;
			s->list[kept++] = *e;
			continue;
		}
		s->nb_users -= e->user != NULL;
		entry_free(e);
	}
	s->nb = kept;
	return before - kept;
}

struct block block_set_at(const struct block_set *s, uint32_t i)
{
	const struct block_entry *e = &s->list[i];

	return (struct block){.prefix = e->prefix,
		.user = e->user,
		.realm = e->realm,
		.reason = e->reason,
		.until_s = e->until_s};
}

struct turn_blocks *block_set_make(const struct block_set *s)
{
	struct prefix *addrs = calloc((size_t)s->nb + 1, sizeof(*addrs));
	struct turn_filter *users = calloc((size_t)s->nb_users + 1, sizeof(*users));
	struct turn_blocks *out = NULL;
	uint32_t nb_addrs = 0, nb_users = 0;

	for (uint32_t i = 0; addrs != NULL && users != NULL && i < s->nb; i++) {
		if (s->list[i].user != NULL)
			users[nb_users++] = *s->list[i].filter;
		else
			addrs[nb_addrs++] = s->list[i].prefix;
	}
	if (addrs != NULL && users != NULL)
		out = turn_blocks_make(addrs, nb_addrs, users, nb_users);
	free(addrs);
	free(users);
	return out;
}
