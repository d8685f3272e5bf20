// SPDX-License-Identifier: BSD-3-Clause
// Prints doc/configuration.md from the schema.
#include <stdio.h>
#include <string.h>

#include "changes/hot.h"
#include "conf.h"
#include "reading/node.h"
#include "reading/value.h"
#include "schema.h"

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
		fprintf(out, "number, %u to %u", k->min, k->max);
		break;
	case CONF_SIZE:
		fprintf(out, "bytes, %u to %u, or with `K`, `M`, `G`", k->min, k->max);
		break;
	case CONF_BITS:
		fprintf(out, "bits a second, %u to %u`k`, or with `k`, `M`, `G`", k->min, k->max);
		break;
	case CONF_TIME:
		fprintf(out, "seconds, %u to %u, or with `s`, `m`, `h`, `d`", k->min, k->max);
		break;
	case CONF_TEXT:
		fprintf(out, "text, %u to %u bytes", k->min, k->max);
		break;
	case CONF_HEX:
		fprintf(out, "%u hexadecimal digits", 2 * k->max);
		break;
	case CONF_PORT_RANGE:
		fprintf(out, "range `lo-hi` within %u-%u", k->min, k->max);
		break;
	case CONF_CHOICE:
		for (const struct conf_choice *c = k->choices; c->name != NULL; c++)
			fprintf(out, "%s`%s`", c == k->choices ? "" : ", ", c->name);
		break;
	case CONF_SECRET_FILE:
		fprintf(out, "%s, %u to %u bytes in it", conf_value_form(k->type), k->min, k->max);
		break;
	case CONF_PREFIX_FILES:
		fprintf(out, "%s, up to %u entries in them", conf_value_form(k->type), k->max);
		break;
	default:
		fputs(conf_value_form(k->type), out);
		if (k->max > 0)
			fprintf(out, ", %u to %u", k->min, k->max);
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
	"One YAML file. `slipring --check -c FILE` reads and checks it without\n"
	"touching a port; `conf/` has a commented file of all keys and shorter ones to start\n"
	"from.\n"
	"\n"
	"All errors are told, each as `FILE:LINE:COL: key: reason`, and any stops the start.\n"
	"Unknown keys, keys given twice and values of the wrong type are errors: nothing in\n"
	"the file is ignored. What works but should be known (a secret that everyone can\n"
	"read, more workers than CPUs, a realm so long that answers amplify) is a warning,\n"
	"in the same form behind `warning: `, told by `--check` and logged at start.\n"
	"\n"
	"A file has mappings, lists and single values of YAML. Numbers are decimal and without\n"
	"quotes, truth is `true` or `false`; an IPv6 address inside `[...]` or `{...}` needs\n"
	"quotes. Anchors, aliases, tags, more than one document and unquoted values over several\n"
	"lines are refused, and so is a file above 1 MiB. User names, passwords and realms are\n"
	"prepared as OpaqueString (RFC 8265); secrets are taken byte by byte.\n"
	"\n"
	"A file can `include` all of a directory: errors and warnings then name the file that\n"
	"each stands in. Passwords and secrets can stand in files of their own,\n"
	"among them systemd's credentials.\n"
	"\n"
	"A running server reads the file again at SIGHUP and by `slipringctl config reload`,\n"
	"whole or not at all. It takes up the keys marked *Reload*. A file that changes another\n"
	"one is refused, and says which: that takes a restart\n"
	"([operations.md](operations.md)).\n"
	"\n"
	"Addresses: an IPv6 address is written without brackets. A list of addresses takes\n"
	"single ones (`192.0.2.1`), ranges (`192.0.2.10-192.0.2.73`) and prefixes\n"
	"(`192.0.2.0/24`). Listeners and relay addresses must be among the addresses of a\n"
	"port.\n";

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
			fprintf(out, " A list of %u to %u entries.", k->min, k->max);
		fprintf(out, "\n\n%s", table_head);
		write_rows(out, k);
	}
}
