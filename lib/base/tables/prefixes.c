// SPDX-License-Identifier: BSD-3-Clause
// Converts prefixes to ranges: in sorted order, nested prefixes are open at the same time, and the
// innermost one determines the value of a range.
#include "tables/prefixes.h"
#include "invariant.h"

#include <arpa/inet.h>
#include <stdlib.h>

#define V4_BITS 96 // an IPv4 prefix is this much longer in the 128-bit form
#define DEPTH_MAX 129 // depth of nested prefixes

// The ranges of one family cover it from its first address to its last. Their starts are stored
// apart from their values, so that a search touches little memory.
struct family {
	uint32_t nb;
	struct prefixes_hit *in;
	uint32_t *v4; // starts: IPv4 only, host byte order
	struct addr *v6; // starts: IPv6 only
};

struct prefixes {
	struct family family[2]; // [is_v4]
};

// No prefix has this value.
static const struct prefixes_hit nothing = {0, UINT8_MAX};

static bool same_hit(const struct prefixes_hit *a, const struct prefixes_hit *b)
{
	return a->len == b->len && a->value == b->value;
}

// --- making --------------------------------------------------------------------------------------

// Sorts a prefix before those that it contains, and the winning entry before others with the same
// prefix.
static int by_prefix(const void *a, const void *b)
{
	const struct prefixes_entry *x = a, *y = b;
	int order = addr_cmp(&x->prefix.addr, &y->prefix.addr);

	if (order == 0)
		order = x->prefix.len - y->prefix.len;
	return order != 0 ? order : x->value - y->value;
}

static void clear_host_bits(struct prefix *p)
{
	for (unsigned int i = p->len / 8; i < 16; i++)
		p->addr.b[i] &= i == p->len / 8 ? (uint8_t)(0xff00 >> p->len % 8) : 0;
}

static bool is_v4(const struct prefix *p)
{
	return p->len >= V4_BITS && addr_is_v4(&p->addr);
}

static uint32_t host_order(const struct addr *v4)
{
	return ntohl(v4->w[3]);
}

static bool begins_at(const struct family *f, const struct addr *addr)
{
	if (f->nb == 0)
		return false;
	return f->v4 != NULL ? f->v4[f->nb - 1] == host_order(addr)
			     : addr_eq(&f->v6[f->nb - 1], addr);
}

// Begins a range at an address, and replaces a range that begins there already.
static void begin_range(struct family *f, const struct addr *addr, struct prefixes_hit in)
{
	// ranges are made in the order of their addresses
	ASSERT(f->nb == 0 ||
		(f->v4 != NULL ? f->v4[f->nb - 1] <= host_order(addr)
			       : addr_cmp(&f->v6[f->nb - 1], addr) <= 0));
	if (begins_at(f, addr))
		f->nb--;
	if (f->nb > 0 && same_hit(&f->in[f->nb - 1], &in))
		return;
	if (f->v4 != NULL)
		f->v4[f->nb] = host_order(addr);
	else
		f->v6[f->nb] = *addr;
	f->in[f->nb++] = in;
}

// The open prefixes at an address, each nested in the one before it.
struct open {
	struct addr last[DEPTH_MAX];
	struct prefixes_hit in[DEPTH_MAX];
	unsigned int depth;
};

// Closes the innermost prefix: after it the enclosing prefix continues.
static void close_one(struct family *f, struct open *o)
{
	static const struct addr end = {.d = {UINT64_MAX, UINT64_MAX}};
	const struct addr last = o->last[--o->depth];
	const bool at_end = f->v4 != NULL ? last.w[3] == UINT32_MAX : addr_eq(&last, &end);
	const struct addr next = at_end ? last : addr_next(&last);

	if (!at_end)
		begin_range(f, &next, o->depth > 0 ? o->in[o->depth - 1] : nothing);
}

static void sweep_prefixes(struct family *f, const struct prefixes_entry *list, uint32_t nb)
{
	static const struct addr zero;
	struct open o = {.depth = 0};

	begin_range(f, &zero, nothing);
	for (uint32_t i = 0; i < nb; i++) {
		const struct prefix *p = &list[i].prefix;
		const struct addr_range r = addr_prefix_range(p);

		if (is_v4(p) != (f->v4 != NULL))
			continue;
		while (o.depth > 0 && addr_cmp(&o.last[o.depth - 1], &r.lo) < 0)
			close_one(f, &o);
		if (o.depth > 0 && o.in[o.depth - 1].len == p->len)
			continue; // listed more than once
		ASSERT(o.depth < DEPTH_MAX);
		ASSERT(o.depth == 0 || addr_cmp(&r.hi, &o.last[o.depth - 1]) <= 0);
		o.last[o.depth] = r.hi;
		o.in[o.depth] = (struct prefixes_hit){p->len, list[i].value};
		begin_range(f, &r.lo, o.in[o.depth++]);
	}
	while (o.depth > 0)
		close_one(f, &o);
}

// Frees unused memory of a family. If shrinking fails, the arrays keep their sizes.
static void shrink_family(struct family *f)
{
	void *in = realloc(f->in, f->nb * sizeof(*f->in));
	void *addrs = f->v4 != NULL ? realloc(f->v4, f->nb * sizeof(*f->v4))
				    : realloc(f->v6, f->nb * sizeof(*f->v6));

	f->in = in != NULL ? in : f->in;
	if (f->v4 != NULL)
		f->v4 = addrs != NULL ? addrs : f->v4;
	else
		f->v6 = addrs != NULL ? addrs : f->v6;
}

static bool make_room(struct prefixes *p, const struct prefixes_entry *list, uint32_t nb)
{
	size_t room[2] = {1, 1}; // ranges: one more for each end of a prefix

	for (uint32_t i = 0; i < nb; i++)
		room[is_v4(&list[i].prefix)] += 2;
	for (unsigned int v4 = 0; v4 < 2; v4++)
		p->family[v4].in = calloc(room[v4], sizeof(*p->family[v4].in));
	p->family[1].v4 = calloc(room[1], sizeof(*p->family[1].v4));
	p->family[0].v6 = calloc(room[0], sizeof(*p->family[0].v6));
	return p->family[0].in != NULL && p->family[1].in != NULL && p->family[1].v4 != NULL &&
		p->family[0].v6 != NULL;
}

struct prefixes *prefixes_make(struct prefixes_entry *list, uint32_t nb)
{
	struct prefixes *p = calloc(1, sizeof(*p));

	if (p == NULL || !make_room(p, list, nb)) {
		prefixes_free(p);
		return NULL;
	}
	for (uint32_t i = 0; i < nb; i++)
		clear_host_bits(&list[i].prefix);
	qsort(list, nb, sizeof(*list), by_prefix);
	for (unsigned int v4 = 0; v4 < 2; v4++) {
		sweep_prefixes(&p->family[v4], list, nb);
		shrink_family(&p->family[v4]);
	}
	return p;
}

void prefixes_free(struct prefixes *p)
{
	if (p == NULL)
		return;
	for (unsigned int v4 = 0; v4 < 2; v4++) {
		free(p->family[v4].in);
		free(p->family[v4].v4);
		free(p->family[v4].v6);
	}
	free(p);
}

// --- finding -------------------------------------------------------------------------------------

// Returns the range that contains an address: the last one that begins at or before it. The search
// halves the ranges without a branch that the CPU would have to predict.
static uint32_t find_v4(const struct family *f, uint32_t a)
{
	uint32_t base = 0;

	for (uint32_t nb = f->nb; nb > 1;) {
		const uint32_t half = nb / 2;

		base = f->v4[base + half] <= a ? base + half : base;
		nb -= half;
	}
	ASSERT(f->v4[base] <= a && (base + 1 == f->nb || f->v4[base + 1] > a));
	return base;
}

static uint32_t find_v6(const struct family *f, const struct addr *a)
{
	uint32_t base = 0;

	for (uint32_t nb = f->nb; nb > 1;) {
		const uint32_t half = nb / 2;

		base = addr_cmp(&f->v6[base + half], a) <= 0 ? base + half : base;
		nb -= half;
	}
	ASSERT(addr_cmp(&f->v6[base], a) <= 0 &&
		(base + 1 == f->nb || addr_cmp(&f->v6[base + 1], a) > 0));
	return base;
}

bool prefixes_find(const struct prefixes *p, const struct addr *a, struct prefixes_hit *hit)
{
	const bool v4 = addr_is_v4(a);
	const struct family *f = &p->family[v4];

	*hit = f->in[v4 ? find_v4(f, host_order(a)) : find_v6(f, a)];
	ASSERT(f->nb > 0 && hit->len <= 128);
	return hit->value != nothing.value;
}

static bool same_family(const struct family *a, const struct family *b)
{
	bool same = a->nb == b->nb;

	for (uint32_t i = 0; i < a->nb && same; i++)
		same = same_hit(&a->in[i], &b->in[i]) &&
			(a->v4 != NULL ? a->v4[i] == b->v4[i] : addr_eq(&a->v6[i], &b->v6[i]));
	return same;
}

bool prefixes_same(const struct prefixes *a, const struct prefixes *b)
{
	return same_family(&a->family[0], &b->family[0]) &&
		same_family(&a->family[1], &b->family[1]);
}
