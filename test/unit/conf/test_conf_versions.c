// SPDX-License-Identifier: BSD-3-Clause
// The version of a file, and keys that have another name since some version: by a table of this
// test, because no key of ours has been renamed yet.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>

#include "conf_changes.h"
#include "conf_file.h"
#include "hash.h"
#include "reading/ctx.h"
#include "schema.h"

static const struct hash_key hash = {{1, 2, 3, 4}};
static char lines[8192];

// The program is of version 3: what was renamed in 2 is taken for the last time.
static const struct conf_rename renames[] = {
	{"relay.rest", "relay.quarantine", 3}, // a key
	{"relay.older", "relay.mode", 1}, // long ago
	{"ports[].jumbo", "ports[].mtu", 2}, // in a list
	{"ports[].vlans[].jumbo", "ports[].vlans[].mtu", 2}, // in one of another
	{"pieces", "fragments", 2}, // a section
	{"fragments.longest", "fragments.datagram", 2}, // in that section
	{"limits.echo", "icmp.rate", 2}, // to another section
	{"guards", "peers", 3},
	{NULL, NULL, 0},
};

static struct conf_table keys = {.version = 3, .renames = renames};

static void hear(void *ctx, enum conf_weight weight, const char *line)
{
	const size_t at = strlen(lines);

	assert_int_equal(strncmp(line, conf_path, strlen(conf_path)), 0);
	snprintf(lines + at, sizeof(lines) - at, "%s%s\n",
		weight == CONF_WARNING ? "warning" : "error", line + strlen(conf_path));
}

// Loads a text by the table of this test.
static struct conf *load_text(const char *text)
{
	char error[CONF_ERROR_LEN] = "";
	struct conf_report r = {.say = hear};
	struct conf_ctx x = {
		.path = conf_path, .error = error, .keys = &keys, .report = &r, .hash = &hash};
	struct conf *c;

	lines[0] = '\0';
	conf_file_write(text, strlen(text));
	c = conf_load_by(&x);
	if (c != NULL)
		conf_warnings(c, &r);
	return c;
}

// The same with conf_good, of which a piece is replaced.
static struct conf *load(const char *piece, const char *by)
{
	char *text = conf_file_edit(piece, by);
	struct conf *c = load_text(text);

	free(text);
	return c;
}

static void assert_told(const char *want)
{
	if (strstr(lines, want) == NULL)
		fail_msg("wanted: %s\n   got: %s", want, lines);
}

static void refused(const char *piece, const char *by, const char *want)
{
	assert_null(load(piece, by));
	assert_told(want);
}

// --- the version ---------------------------------------------------------------------------------

static void the_version_may_be_left_out(void **state)
{
	struct conf *c = conf_file_changed("eal:\n", "version: 1\neal:\n");

	assert_int_equal(c->version, 1);
	conf_free(c);
	c = conf_file_changed("eal:\n", "eal:\n");
	assert_int_equal(c->version, 1);
	conf_free(c);
}

// Nothing but the version: what else is unknown there is for a reason.
static void a_later_version_is_refused_alone(void **state)
{
	static const char *const bad[][2] = {
		{"version: 2\nnonsense: 1\n",
			"1:10: version: the file is of version 2, and this "
			"slipring knows versions up to 1: install a later"},
		{"# of the year 2040\nversion:  4294967295\n", "2:11: version: the file is of ver"},
		{"version: 0\n", "1:10: version: 0 is out of range"},
		{"version: '1'\n", "1:10: version: must be a number"},
		{"version: 1.0\n", "1:10: version: must be a decimal number"},
		{"version: [1]\n", "1:10: version: must be a number: remove the brackets"},
		{"version: -1\n", "1:10: version: must be a decimal number"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct conf_report r = {.say = hear};

		lines[0] = '\0';
		conf_file_write(bad[i][0], strlen(bad[i][0]));
		assert_null(conf_load_all(conf_path, &r));
		assert_int_equal(strncmp(lines, "error:", 6), 0);
		if (strncmp(lines + 6, bad[i][1], strlen(bad[i][1])) != 0)
			fail_msg("wanted: %s\n   got: %s", bad[i][1], lines);
		assert_int_equal(r.nb[CONF_ERROR] == 1, i < 2);
	}
}

// --- keys with another name ----------------------------------------------------------------------

static void an_old_name_is_taken_with_a_warning(void **state)
{
	struct conf *c = load("  quarantine: 120\n", "  rest: 77\n");

	assert_non_null(c);
	assert_int_equal(c->turn.quarantine_s, 77);
	assert_told("warning:21:9: relay.quarantine: written under its old name relay.rest, which "
		    "is refused from version 5 on: write relay.quarantine\n");
	conf_free(c);
}

static void in_each_entry_of_a_list(void **state)
{
	struct conf *c = load("    mtu: 1500\n",
		"    jumbo: 1400\n"
		"    vlans: [{id: 7, addresses: [10.7.0.1/24], jumbo: 1300}]\n");

	assert_non_null(c);
	assert_int_equal(c->ports[0].mtu, 1400);
	assert_int_equal(c->ports[2].mtu, 1300);
	assert_told("warning:11:12: ports[0].mtu: written under its old name ports[].jumbo");
	assert_told("warning:12:54: ports[0].vlans[0].mtu: written under its old name");
	conf_free(c);
}

static void a_section_and_a_key_of_it(void **state)
{
	struct conf *c = load("buffers:", "pieces: {flows: 30, longest: 5000}\nbuffers:");

	assert_non_null(c);
	assert_int_equal(c->fragments.flows, 30);
	assert_int_equal(c->fragments.longest, 5000);
	assert_told("warning:38:9: fragments: written under its old name pieces");
	assert_told("warning:38:30: fragments.datagram: written under its old name fragments.lon");
	conf_free(c);
}

static void from_section_to_section(void **state)
{
	static const char *const has[] = {"", "icmp:\n", "icmp: {errors-out: 5}\n"};

	for (unsigned int i = 0; i < 3; i++) {
		char by[96];
		struct conf *c;

		snprintf(by, sizeof(by), "%slimits:\n  echo: 9\n", has[i]);
		c = load("limits:\n", by);
		if (c == NULL)
			fail_msg("%s", lines);
		assert_int_equal(c->icmp_rate, 9);
		assert_int_equal(c->icmp_errors_out, i < 2 ? 100 : 5);
		conf_free(c);
	}
	refused("limits:\n", "icmp: [5]\nlimits:\n  echo: 9\n",
		"error:29:7: icmp: must be a mapping");
}

static void both_names_at_once_are_refused(void **state)
{
	refused("  quarantine: 120\n", "  quarantine: 120\n  rest: 77\n",
		"error:22:9: relay.rest: is the old name of relay.quarantine, which is given too, "
		"at line 21: remove this one\n");
	refused("  quarantine: 120\n", "  rest: 120\n  rest: 77\n",
		"error:22:9: relay.rest: is the old name of relay.quarantine");
	refused("buffers:", "guards: {hairpin: true}\nbuffers:",
		"error:38:9: guards: is the old name of peers, which is given too");
}

static void after_two_versions_it_is_refused(void **state)
{
	refused("  quarantine: 120\n", "  older: unique\n",
		"error:21:10: relay.older: is called relay.mode since version 1: write that\n");
}

// A value that is wrong is told under the new name, at its place.
static void what_is_wrong_is_told_at_its_place(void **state)
{
	refused("  quarantine: 120\n", "  rest: long\n",
		"error:21:9: relay.quarantine: must be a number of seconds");
}

static void a_slip_of_the_pen_is_told_the_new_name(void **state)
{
	refused("  quarantine: 120\n", "  rets: 77\n", "relay.rets: unknown key, ");
	refused("  quarantine: 120\n", "  ret: 77\n",
		"relay.ret: unknown key, it is called relay.quarantine since version 3: write "
		"that\n");
	refused("  quarantine: 120\n", "  oldr: 77\n",
		"relay.oldr: unknown key, it is called relay.mode since version 1: write that\n");
}

static void ignore(void *ctx, const struct conf_change *c)
{
}

static void another_name_is_no_change(void **state)
{
	struct conf *before = load("  quarantine: 120\n", "  rest: 77\n");
	struct conf *after = load("  quarantine: 120\n", "  quarantine: 77\n");

	assert_int_equal(conf_changes(before, after, ignore, NULL), 0);
	conf_free(after);
	after = load("  quarantine: 120\n", "  quarantine: 78\n");
	assert_int_equal(conf_changes(before, after, ignore, NULL), 1);
	conf_free(before);
	conf_free(after);
}

static void the_manual_tells_old_names(void **state)
{
	char *page = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&page, &len);
	const char *row;

	conf_manual_of(out, &keys);
	fclose(out);
	row = strstr(page, "| `relay.quarantine` |");
	assert_non_null(row);
	*strchr(row, '\n') = '\0';
	assert_non_null(strstr(row,
		"Was `relay.rest` before version 3, and is taken as that up to "
		"version 4."));
	free(page);
	out = open_memstream(&page, &len);
	conf_manual_of(out, &keys);
	fclose(out);
	assert_null(strstr(page, "relay.older"));
	assert_non_null(strstr(page, "Was `pieces` before version 2"));
	free(page);
}

static int make(void **state)
{
	keys.more = &conf_file_keys;
	return conf_file_open(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_version_may_be_left_out),
		cmocka_unit_test(a_later_version_is_refused_alone),
		cmocka_unit_test(an_old_name_is_taken_with_a_warning),
		cmocka_unit_test(in_each_entry_of_a_list),
		cmocka_unit_test(a_section_and_a_key_of_it),
		cmocka_unit_test(from_section_to_section),
		cmocka_unit_test(both_names_at_once_are_refused),
		cmocka_unit_test(after_two_versions_it_is_refused),
		cmocka_unit_test(what_is_wrong_is_told_at_its_place),
		cmocka_unit_test(a_slip_of_the_pen_is_told_the_new_name),
		cmocka_unit_test(another_name_is_no_change),
		cmocka_unit_test(the_manual_tells_old_names),
	};

	return cmocka_run_group_tests(tests, make, conf_file_close);
}
