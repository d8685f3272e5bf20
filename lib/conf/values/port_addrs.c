// SPDX-License-Identifier: BSD-3-Clause
// Reads the entries of ports[].addresses: single addresses and ranges, alone or in a mapping with
// the external addresses that the network translates them to.
#include "values/port_addrs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "values/addrs.h"
#include "reading/fail.h"
#include "reading/node.h"
#include "reading/read.h"
#include "reading/value.h"
#include "schema/schema.h"

#define RUN_MAX 65536 // more addresses than a port can have

// Fails unless a host on this subnet can have the address.
static int check_host(
	struct conf_ctx *x, const struct conf_node *n, const struct addr *a, uint8_t len)
{
	const struct prefix p = addr_prefix_at(a, len);
	const struct addr_range subnet = addr_prefix_range(&p);
	const char *class = conf_addrs_class(a);
	char text[ADDR_TEXT_LEN];

	addr_format(a, text, sizeof(text));
	if (class != NULL)
		return conf_fail(x, n,
			"%s is %s, which cannot be a port's: write the address of "
			"the port",
			text, class);
	// Point-to-point prefixes use all their addresses (RFC 3021, RFC 6164)
	if (len >= 127)
		return 0;
	if (addr_eq(a, &p.addr))
		return conf_fail(
			x, n, "%s is the subnet itself: write the port's address in it", text);
	if (addr_is_v4(a) && addr_eq(a, &subnet.hi))
		return conf_fail(x, n,
			"%s is the broadcast address of its subnet: write the "
			"port's address",
			text);
	return 0;
}

// Reads "a/len" or "a-b/len".
static bool parse_run(const char *text, struct addr_range *r, uint8_t *len)
{
	const char *slash = strchr(text, '/');
	char run[2 * ADDR_TEXT_LEN];
	struct addr hi;

	if (slash == NULL || (size_t)(slash - text) >= sizeof(run))
		return false;
	memcpy(run, text, (size_t)(slash - text));
	run[slash - text] = '\0';
	if (addr_range_parse(run, r) != 0)
		return false;
	// The length belongs to the last address: "10.0.0.1/24" or the "10.0.0.9/24" of a range
	text = strchr(text, '-') != NULL ? strchr(text, '-') + 1 : text;
	return conf_addrs_split(text, &hi, len) && (*len > 96 || !addr_is_v4(&hi)) && *len > 0;
}

// Fails unless hosts of the subnet can have all addresses of a range.
static int check_run(struct conf_ctx *x, const struct conf_node *n, const struct conf_port_run *run)
{
	const struct prefix p = addr_prefix_at(&run->local.lo, run->prefix_len);
	int rc;

	if (!addr_prefix_contains(&p, &run->local.hi))
		return conf_fail(x, n, "the range leaves its subnet: write one entry per subnet");
	rc = check_host(x, n, &run->local.lo, run->prefix_len);
	return rc != 0 ? rc : check_host(x, n, &run->local.hi, run->prefix_len);
}

// Reads `dhcp` or `slaac`. False for any other text.
static bool read_word(const char *text, struct conf_port_run *run)
{
	const bool is_v4 = strcmp(text, "dhcp") == 0;
	struct addr any = {.b = {0}};

	if (!is_v4 && strcmp(text, "slaac") != 0)
		return false;
	if (is_v4)
		any = addr_from_v4(any.b);
	run->local = (struct addr_range){any, any};
	run->prefix_len = 128;
	run->learn = is_v4 ? CONF_LEARN_DHCP : CONF_LEARN_SLAAC;
	return true;
}

int conf_port_addrs_own(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	struct conf_port_run *run = base;

	if (read_word(n->text, run))
		return 0;
	if (!parse_run(n->text, &run->local, &run->prefix_len))
		return conf_addrs_fail(x, n,
			"an address or a range with the prefix length of its subnet "
			"(10.0.0.1/24, 10.0.0.10-10.0.0.73/24), 'dhcp' or 'slaac'");
	return check_run(x, n, run);
}

int conf_port_addrs_external(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	struct conf_port_run *run = base;
	const struct addr *ends[] = {&run->external.lo, &run->external.hi};

	if (strchr(n->text, '/') != NULL || addr_range_parse(n->text, &run->external) != 0)
		return conf_addrs_fail(x, n,
			"an address or a range a-b (of one family, without prefix length and "
			"brackets)");
	for (int i = 0; i < 2; i++) {
		const char *class = conf_addrs_class(ends[i]);
		char text[ADDR_TEXT_LEN];

		if (class != NULL)
			return conf_fail(x, n,
				"%s is %s, which cannot be external: write the "
				"public address",
				addr_format(ends[i], text, sizeof(text)), class);
	}
	return 0;
}

// Fails unless both ranges have the same family and number of addresses.
static int check_external(
	struct conf_ctx *x, const struct conf_node *n, const struct conf_port_run *run)
{
	struct addr local = run->local.lo, external = run->external.lo;
	uint32_t most = RUN_MAX;

	if (addr_is_v4(&local) != addr_is_v4(&external))
		return conf_fail(x, n, "is IPv%c, and 'address' is IPv%c: give both one family",
			addr_is_v4(&external) ? '4' : '6', addr_is_v4(&local) ? '4' : '6');
	// Longer ranges are refused, whatever they are translated to
	while (most-- > 0 && !addr_eq(&local, &run->local.hi) &&
		!addr_eq(&external, &run->external.hi)) {
		local = addr_next(&local);
		external = addr_next(&external);
	}
	if (addr_eq(&local, &run->local.hi) == addr_eq(&external, &run->external.hi))
		return 0;
	return conf_fail(x, n, "has %s addresses than 'address': give both the same number",
		addr_eq(&local, &run->local.hi) ? "more" : "fewer");
}

static const struct conf_node *entry_of(const struct conf_node *map, const char *key)
{
	const struct conf_node *n = map->child;

	while (n != NULL && strcmp(n->key, key) != 0)
		n = n->next;
	return n;
}

// Reads an entry into *run: "10.0.0.1/24", or {address: 10.0.0.1/24, external: 203.0.113.1}.
static int read_run(struct conf_ctx *x, const struct conf_key *k, struct conf_node *n,
	struct conf_port_run *run)
{
	const struct conf_node *external;
	int rc;

	*run = (struct conf_port_run){.prefix_len = 0};
	if (n->kind == CONF_SCALAR)
		return conf_port_addrs_own(x, k, n, run);
	rc = conf_read_map(x, k, n, run);
	for (struct conf_node *m = n->child; m != NULL; m = m->next)
		m->field = NULL; // *run no longer exists when later checks look for places
	if (rc != 0)
		return rc;
	external = entry_of(n, "external");
	return external != NULL ? check_external(x, external, run) : 0;
}

int conf_port_addrs_read(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	static const struct addr none;
	struct conf_address *out;
	struct conf_port_run run;
	uint32_t nb;

	if (read_run(x, k, n, &run) != 0)
		return -EINVAL;
	nb = conf_addrs_room(x, k, n, base, &run.local);
	out = nb > 0 ? conf_value_grow(x, k, n, base, nb) : NULL;
	for (uint32_t i = 0; out != NULL && i < nb; i++) {
		out[i] = (struct conf_address){.addr = run.local.lo,
			.prefix_len = run.prefix_len,
			.learn = run.learn,
			.pending = run.learn != CONF_LEARN_NONE,
			.external = run.external.lo};
		run.local.lo = addr_next(&run.local.lo);
		if (!addr_eq(&run.external.lo, &none))
			run.external.lo = addr_next(&run.external.lo);
	}
	return out != NULL ? 0 : -EINVAL;
}
