// SPDX-License-Identifier: BSD-3-Clause
// Default limits of allocations, in total and per user, and the warning when one of several users
// may have all.
#include <stdlib.h>
#include <string.h>

#include "conf_file.h"
#include "test.h"

#define ALLOCATIONS "  allocations: 1000\n"
#define SECRETS "  secrets: [hunter3]\n"
#define OLGA "    - {name: olga, key: 0123456789abcdef0123456789abcdef}\n"
#define PORTS "  ports: 49152-65535\n"

// Edits a text again, and frees it.
static char *edit_text(char *text, const char *piece, const char *replacement)
{
	char *out = conf_text_edit(text, piece, replacement);

	free(text);
	return out;
}

static struct conf *load(char *text)
{
	char error[CONF_ERROR_LEN] = "";
	struct conf *c = conf_file_load(text, strlen(text), error);

	free(text);
	if (c == NULL)
		fail_msg("%s", error);
	return c;
}

static void assert_limits(char *text, uint32_t allocations, uint32_t per_user)
{
	struct conf *c = load(text);

	assert_int_equal(c->turn.limits.allocations, allocations);
	assert_int_equal(c->turn.limits.per_user, per_user);
	conf_free(c);
}

// Four IPv4 addresses, and one IPv6 address, one of whose ports a listener uses.
static void limits_follow_the_number_of_relay_ports(void **state)
{
	assert_limits(conf_file_edit(ALLOCATIONS, ""), 4 * 16384 + 16383, 16383 / 4);
	assert_limits(strdup(conf_good), 1000, 16383 / 4);
	assert_limits(conf_file_edit(ALLOCATIONS, "  allocations: 0\n  per-user: 0\n"), 0, 0);
	assert_limits(conf_file_edit(ALLOCATIONS, "  per-user: 7\n"), 4 * 16384 + 16383, 7);
}

// With a single user nobody needs protection.
static void the_only_user_has_no_limit(void **state)
{
	char *one = edit_text(conf_file_edit(SECRETS, ""), OLGA, "");

	assert_limits(one, 1000, 0);
	assert_limits(conf_file_edit(OLGA, ""), 1000, 16383 / 4); // and a secret
	assert_limits(conf_file_edit(SECRETS, ""), 1000, 16383 / 4); // two users
}

static void few_ports(void **state)
{
	assert_limits(conf_file_edit(PORTS, "  ports: 49152-49192\n"), 1000, 10);
	assert_limits(conf_file_edit(PORTS, "  ports: 49152-49153\n"), 1000, 2);
}

// --- warnings ------------------------------------------------------------------------------------

static void hear(void *ctx, enum conf_weight weight, const char *line)
{
	if (strstr(line, "limits.per-user") != NULL)
		snprintf(ctx, 512, "%s", line);
}

// piece: the piece of the text at which the warning is, or NULL for no warning.
static void assert_told(char *text, const char *piece, const char *want)
{
	char told[512] = "";
	struct conf_report r = {.say = hear, .ctx = told};
	struct conf *c = load(text);

	conf_warnings(c, &r);
	if (piece != NULL)
		assert_non_null(strstr(told, conf_file_at(piece, want)));
	else
		assert_string_equal(told, "");
	conf_free(c);
}

static void a_user_who_can_take_all_ports_is_a_warning(void **state)
{
	assert_told(strdup(conf_good), NULL, NULL);
	assert_told(conf_file_edit(ALLOCATIONS, "  per-user: 16382\n"), NULL, NULL);
	assert_told(conf_file_edit(ALLOCATIONS, "  per-user: 16383\n"), "16383",
		"limits.per-user: one user can take all 16383 relay ports");
	assert_told(conf_file_edit(ALLOCATIONS, "  per-user: 0\n"), "0\n  lifetime",
		"limits.per-user: one user can take all 16383 ");
	assert_told(edit_text(edit_text(conf_file_edit(SECRETS, ""), OLGA, ""), ALLOCATIONS,
			    "  per-user: 0\n"),
		NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_follow_the_number_of_relay_ports),
		cmocka_unit_test(the_only_user_has_no_limit),
		cmocka_unit_test(few_ports),
		cmocka_unit_test(a_user_who_can_take_all_ports_is_a_warning),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
