// SPDX-License-Identifier: BSD-3-Clause
// The address types of the schema: single addresses, ranges, prefixes.
#include "values/addrs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"
#include "reading/value.h"
#include "schema/schema.h"

#define V4_BITS 96 // leading bits of the 128-bit form that precede the IPv4 address

int conf_addrs_fail(struct conf_ctx *x, const struct conf_node *n, const char *form)
{
	char shown[CONF_SHOWN_LEN];

	return conf_fail(x, n, "'%s' is not %s", conf_value_shown(n, shown), form);
}

bool conf_addrs_nobodys(const struct addr *a)
{
	static const uint8_t zero[12];

	if (addr_is_v4(a))
		return a->b[12] == 0 && memcmp(a->b + 13, zero, 3) != 0;
	return memcmp(a->b, zero, 12) == 0 && a->b[12] == 1;
}

static int check_host(struct conf_ctx *x, const struct conf_node *n, const struct addr *a)
{
	char text[ADDR_TEXT_LEN];

	if (!conf_addrs_nobodys(a))
		return 0;
	return conf_fail(x, n, "no host can have %s: write the right address",
		addr_format(a, text, sizeof(text)));
}

int conf_addrs_read_one(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	struct addr *out = (struct addr *)((char *)base + k->offset);

	if (addr_parse(n->text, out) != 0)
		return conf_addrs_fail(
			x, n, "an IPv4 or IPv6 address (without port, prefix length and brackets)");
	return check_host(x, n, out);
}

// Returns the meaning of a word, or TURN_LISTEN_ONE for any other text.
static uint8_t parse_word(const char *text)
{
	static const char *const words[] = {[TURN_LISTEN_ALL] = "all",
		[TURN_LISTEN_ALL_IPV4] = "all-ipv4",
		[TURN_LISTEN_ALL_IPV6] = "all-ipv6"};

	for (uint8_t i = TURN_LISTEN_ALL; i <= TURN_LISTEN_ALL_IPV6; i++)
		if (strcmp(text, words[i]) == 0)
			return i;
	return TURN_LISTEN_ONE;
}

int conf_addrs_read_listen(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	struct addr *out = (struct addr *)((char *)base + k->offset);
	const uint8_t on = parse_word(n->text);

	((uint8_t *)base)[k->count] = on;
	if (on != TURN_LISTEN_ONE)
		return 0;
	if (addr_parse(n->text, out) != 0)
		return conf_addrs_fail(x, n,
			"an IPv4 or IPv6 address (without port, prefix length and brackets), "
			"'all', 'all-ipv4' or 'all-ipv6'");
	return check_host(x, n, out);
}

int conf_addrs_read_relay(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	const uint8_t on = parse_word(n->text);

	if (n->key == NULL && on != TURN_LISTEN_ONE)
		return conf_fail(x, n, "write '%s' without brackets, and nothing else", n->text);
	if (n->key == NULL) // an item of a list
		return conf_addrs_read_list(x, k, n, base);
	if (on == TURN_LISTEN_ONE)
		return conf_addrs_fail(
			x, n, "'all', 'all-ipv4' or 'all-ipv6' (put addresses in brackets, [...])");
	x->conf->relay_on = on;
	return 0;
}

bool conf_addrs_split(const char *text, struct addr *a, uint8_t *len)
{
	const char *slash = strchr(text, '/');
	char host[ADDR_TEXT_LEN];
	unsigned long v;
	char *end;

	if (slash == NULL || (size_t)(slash - text) >= sizeof(host))
		return false;
	memcpy(host, text, (size_t)(slash - text));
	host[slash - text] = '\0';
	if (addr_parse(host, a) != 0 || slash[1] < '0' || slash[1] > '9')
		return false;
	v = strtoul(slash + 1, &end, 10);
	if (strchr(host, ':') == NULL)
		v = v <= 128 - V4_BITS ? v + V4_BITS : 129;
	*len = (uint8_t)v;
	return *end == '\0' && v <= 128;
}

// A prefix with bits set after its length, an easy mistake, gets its own error.
int conf_addrs_range(struct conf_ctx *x, const struct conf_node *n, struct addr_range *r)
{
	char shown[CONF_SHOWN_LEN], text[ADDR_TEXT_LEN];
	struct prefix p;
	struct addr a;
	uint8_t len;

	if (addr_range_parse(n->text, r) == 0)
		return 0;
	if (!conf_addrs_split(n->text, &a, &len))
		return conf_addrs_fail(
			x, n, "an address, a range a-b (of one family, a <= b) or a prefix");
	p = addr_prefix_at(&a, len);
	addr_format(&p.addr, text, sizeof(text));
	return conf_fail(x, n, "'%s' has bits set behind the prefix: write %s%s or %s",
		conf_value_shown(n, shown), text, strchr(n->text, '/'), "the address alone");
}

uint32_t conf_addrs_room(struct conf_ctx *x, const struct conf_key *k, const struct conf_node *n,
	const void *base, const struct addr_range *r)
{
	const uint32_t *count = (const uint32_t *)((const char *)base + k->count);
	struct addr a = r->lo;
	uint32_t nb = 1;

	for (; !addr_eq(&a, &r->hi) && nb <= k->max; a = addr_next(&a))
		nb++;
	if (nb <= k->max - *count)
		return nb;
	conf_fail(x, n, "too many addresses: at most %u are allowed in all", k->max);
	return 0;
}

int conf_addrs_read_list(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	struct addr_range r;
	struct addr *out;
	uint32_t nb;
	int rc = conf_addrs_range(x, n, &r);

	if (rc != 0)
		return rc;
	// No host has the first or last address of an IPv4 subnet, except with /31 (RFC 3021) and
	// /32.
	if (strchr(n->text, '/') != NULL && addr_is_v4(&r.lo)) {
		const struct addr second = addr_next(&r.lo);

		if (!addr_eq(&r.lo, &r.hi) && !addr_eq(&second, &r.hi)) {
			r.lo = second;
			r.hi.b[15] &= 0xfe;
		}
	}
	if (check_host(x, n, &r.lo) != 0 || check_host(x, n, &r.hi) != 0)
		return -EINVAL;
	nb = conf_addrs_room(x, k, n, base, &r);
	out = nb > 0 ? conf_value_grow(x, k, n, base, nb) : NULL;
	for (uint32_t i = 0; out != NULL && i < nb; i++) {
		out[i] = r.lo;
		r.lo = addr_next(&r.lo);
	}
	return out != NULL ? 0 : -EINVAL;
}

const char *conf_addrs_class(const struct addr *a)
{
	static const char *const text[] = {
		[ADDR_UNICAST] = NULL,
		[ADDR_UNSPECIFIED] = "unspecified",
		[ADDR_LOOPBACK] = "a loopback address",
		[ADDR_LINK_LOCAL] = "a link-local address",
		[ADDR_MULTICAST] = "a multicast address",
		[ADDR_RESERVED] = "a reserved address",
		[ADDR_TRANSITION] = "of a transition mechanism",
	};
	const struct addr canonical = addr_canonical(*a);

	return addr_eq(a, &canonical) ? text[addr_class(a)] : "an embedded IPv4 address";
}

int conf_addrs_read_nat64(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	char shown[CONF_SHOWN_LEN];
	struct prefix p, *out;
	enum addr_class class;

	if (addr_prefix_parse(n->text, &p) != 0 || strchr(n->text, '/') == NULL ||
		addr_is_v4(&p.addr))
		return conf_addrs_fail(x, n, "an IPv6 prefix (2001:db8:64::/96)");
	class = addr_class(&p.addr);
	if (!addr_nat64_prefix(&p))
		return conf_fail(x, n,
			"'%s' cannot be a NAT64 prefix: its length must be 32, 40, 48, 56, 64 or "
			"96, and its bits 64 to 71 zero (RFC 6052)",
			conf_value_shown(n, shown));
	if (class != ADDR_UNICAST && class != ADDR_TRANSITION)
		return conf_fail(x, n,
			"'%s' is %s, which cannot be a NAT64 prefix: write the "
			"translator's prefix",
			conf_value_shown(n, shown), conf_addrs_class(&p.addr));
	out = conf_value_grow(x, k, n, base, 1);
	if (out == NULL)
		return -EINVAL;
	*out = p;
	return 0;
}

int conf_addrs_read_prefix(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	struct prefix *out = (struct prefix *)((char *)base + k->offset);
	struct addr_range r;
	int rc = strchr(n->text, '-') == NULL ? conf_addrs_range(x, n, &r)
					      : conf_addrs_fail(x, n, "a prefix or an address");

	return rc != 0 || addr_range_prefixes(&r, out, 1) == 1 ? rc : -EINVAL;
}

int conf_addrs_read_prefixes(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	struct prefix prefixes[254]; // the maximum for one range
	struct addr_range r;
	struct prefix *out;
	unsigned int nb;
	int rc = conf_addrs_range(x, n, &r);

	if (rc != 0)
		return rc;
	n->as_ipv6 = strchr(n->text, ':') != NULL;
	nb = addr_range_prefixes(&r, prefixes, 254);
	out = conf_value_grow(x, k, n, base, nb);
	if (out == NULL)
		return -EINVAL;
	memcpy(out, prefixes, nb * sizeof(*out));
	return 0;
}
