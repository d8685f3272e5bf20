// SPDX-License-Identifier: BSD-3-Clause
// Prints doc/configuration.md from the schema.
#include <stdio.h>
#include <string.h>

#include "changes/hot_keys.h"
#include "conf.h"
#include "reading/node.h"
#include "reading/value.h"
#include "schema/schema.h"

static void write_names(FILE *out, const struct conf_key *section)
{
	const struct conf_key *k = NULL;

	fputs("a mapping of", out);
	while ((k = conf_schema_next(&conf_file_keys, section, k)) != NULL)
		fprintf(out, " `%s`", conf_schema_name(k));
}

static void write_range(FILE *out, const struct conf_key *k)
{
	if ((k->flags & CONF_ALIKE) != 0) {
		write_names(out, k);
		return;
	}
	switch (k->type) {
	case CONF_NUMBER:
		fprintf(out, "number, %u-%u", k->min, k->max);
		break;
	case CONF_SIZE:
		fprintf(out, "size, %u-%u bytes", k->min, k->max);
		break;
	case CONF_BITS:
		fprintf(out, "rate, %u-%u`k`", k->min, k->max);
		break;
	case CONF_TIME:
		fprintf(out, "time, %u-%u s", k->min, k->max);
		break;
	case CONF_TEXT:
		fprintf(out, "text, %u-%u bytes", k->min, k->max);
		break;
	case CONF_HEX:
		fprintf(out, "%u hexadecimal digits", 2 * k->max);
		break;
	case CONF_PORT_RANGE:
		fprintf(out, "range within %u-%u", k->min, k->max);
		break;
	case CONF_CHOICE:
		for (const struct conf_choice *c = k->choices; c->name != NULL; c++)
			fprintf(out, "%s`%s`", c == k->choices ? "" : ", ", c->name);
		break;
	case CONF_SECRET_FILE:
		fprintf(out, "%s, %u-%u bytes in it", conf_value_form(k->type), k->min, k->max);
		break;
	case CONF_PREFIX_FILES:
		fprintf(out, "%s, up to %u entries in them", conf_value_form(k->type), k->max);
		break;
	default:
		fputs(conf_value_form(k->type), out);
		if (k->max > 0)
			fprintf(out, ", %u-%u", k->min, k->max);
	}
}

static void write_default(FILE *out, const struct conf_key *k)
{
	if ((k->flags & CONF_REQUIRED) != 0)
		fputs("**required**", out);
	else if (k->absent != NULL)
		fputs(k->absent, out);
	else if (k->def != NULL && conf_value_kind(k->type) == CONF_LIST)
		fprintf(out, "`[%s]`", k->def);
	else if (k->def != NULL)
		fprintf(out, "`%s`", k->def);
	else if (conf_value_kind(k->type) == CONF_LIST)
		fputs("`[]`", out);
	else
		fputs("none", out);
}

static void write_rows(FILE *out, const struct conf_key *parent);

// Writes the row of one value.
static void write_row(FILE *out, const struct conf_key *k)
{
	const bool holds = k->type == CONF_SECTION || k->type == CONF_ITEMS;

	fprintf(out, "| `%s` | ", k->path);
	write_range(out, k);
	fputs(" | ", out);
	if (k->type != CONF_SECTION)
		write_default(out, k);
	fprintf(out, " | %s%s |\n", k->help, !holds && hot_is_hot(k->path) ? " *Reload.*" : "");
	if (k->like == NULL && (k->flags & CONF_ALIKE) == 0)
		write_rows(out, k);
}

// Writes the rows of all values below parent, including those of sections inside it.
static void write_rows(FILE *out, const struct conf_key *parent)
{
	const struct conf_key *k = NULL;

	while ((k = conf_schema_next(&conf_file_keys, parent, k)) != NULL)
		write_row(out, k);
}

static const char intro[] =
	"<!-- Generated from lib/conf/schema*.c by scripts/manual; do not edit. -->\n"
	"# Configuration\n"
	"\n"
	"One YAML file. `slipring --check -c FILE` checks it without touching a port.\n"
	"`conf/`, or `/usr/share/slipring/examples` of the package, has a commented file of all\n"
	"keys, and shorter ones to start from.\n"
	"\n"
	"Every error is reported as `FILE:LINE:COL: key: reason` and prevents the start.\n"
	"Unknown keys, duplicate keys and values of the wrong type are errors. Lines that\n"
	"begin with `warning:` tell of values that work but are doubtful, such as a secret that\n"
	"everyone can read: `--check` prints them, the start logs them.\n"
	"\n"
	"Numbers are decimal and without quotes, truth is `true` or `false`. An IPv6 address\n"
	"inside `[...]` or `{...}` needs quotes. Anchors, aliases, tags, several documents,\n"
	"unquoted values over several lines and files above 1 MiB are refused. User names,\n"
	"passwords and realms are prepared as OpaqueString (RFC 8265); secrets are taken byte\n"
	"by byte.\n"
	"\n"
	"* A *time* is in seconds, or has a unit: `s`, `m`, `h`, `d`.\n"
	"* A *size* is in bytes, or has a unit: `K`, `M`, `G`, powers of 1024.\n"
	"* A *rate* is in bits per second, or has a unit: `k`, `M`, `G`, powers of 1000.\n"
	"* A list of addresses takes single addresses (`192.0.2.1`), ranges\n"
	"  (`192.0.2.10-192.0.2.73`) and prefixes (`192.0.2.0/24`). IPv6 addresses have no\n"
	"  brackets. Listeners and relay addresses must be addresses of a port.\n"
	"\n"
	"SIGHUP and `slipringctl config reload` make a running server read the file again,\n"
	"whole or not at all ([operations.md](operations.md)). It applies the keys marked\n"
	"*Reload*. A change of another key is refused by name: it needs a restart.\n";

static const char table_head[] = "| key | value | default | |\n|---|---|---|---|\n";

void conf_manual(FILE *out)
{
	const struct conf_key *k = NULL;

	fputs(intro, out);
	while ((k = conf_schema_next(&conf_file_keys, NULL, k)) != NULL) {
		if ((k->flags & CONF_HIDDEN) != 0)
			break;
		fprintf(out, "\n## %s\n\n", k->path);
		if (conf_value_kind(k->type) == CONF_SCALAR) {
			fputs(table_head, out);
			write_row(out, k);
			continue;
		}
		fputs(k->help, out);
		if ((k->flags & CONF_REQUIRED) != 0)
			fputs(" Required.", out);
		if (k->type == CONF_ITEMS)
			fprintf(out, " A list of %u-%u entries.", k->min, k->max);
		fprintf(out, "\n\n%s", table_head);
		write_rows(out, k);
	}
}
