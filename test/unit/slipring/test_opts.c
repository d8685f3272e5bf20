// SPDX-License-Identifier: BSD-3-Clause
// The command line of the appliance.

#include <string.h>

#include "opts.h"
#include "test.h"

#define PARSE(o, ...) parse(o, (char *[]){"slipring", ##__VA_ARGS__, NULL})

static char error[128];

static int parse(struct opts *o, char **argv)
{
	int argc = 0;

	while (argv[argc] != NULL)
		argc++;
	error[0] = '\0';
	return opts_parse(o, argc, argv, error, sizeof(error));
}

static void test_run(void **state)
{
	struct opts o;

	assert_int_equal(PARSE(&o, "-c", "a.yaml"), 0);
	assert_int_equal(o.action, OPTS_RUN);
	assert_string_equal(o.config, "a.yaml");
	assert_int_equal(o.nb_eal, 0);
	assert_int_equal(PARSE(&o, "--config=b.yaml"), 0);
	assert_string_equal(o.config, "b.yaml");
}

static void test_eal_args(void **state)
{
	struct opts o;

	assert_int_equal(PARSE(&o, "-c", "a.yaml", "--", "-m", "64", "--", "--check"), 0);
	assert_int_equal(o.action, OPTS_RUN);
	assert_int_equal(o.nb_eal, 4);
	assert_string_equal(o.eal[0], "-m");
	assert_string_equal(o.eal[2], "--");
	assert_string_equal(o.eal[3], "--check");
	assert_int_equal(PARSE(&o, "-c", "a.yaml", "--"), 0);
	assert_int_equal(o.nb_eal, 0);
}

static void test_actions(void **state)
{
	struct opts o;

	assert_int_equal(PARSE(&o, "--check", "-c", "a.yaml"), 0);
	assert_int_equal(o.action, OPTS_CHECK);
	assert_int_equal(PARSE(&o, "-c", "a.yaml", "--check"), 0);
	assert_int_equal(o.action, OPTS_CHECK);
	assert_int_equal(PARSE(&o, "--version"), 0);
	assert_int_equal(o.action, OPTS_VERSION);
	assert_int_equal(PARSE(&o, "-h"), 0);
	assert_int_equal(o.action, OPTS_HELP);
	assert_int_equal(PARSE(&o, "--manual"), 0);
	assert_int_equal(o.action, OPTS_MANUAL);
	assert_int_equal(PARSE(&o, "--state-layout"), 0);
	assert_int_equal(o.action, OPTS_LAYOUT);
	assert_int_equal(PARSE(&o, "--show-needs", "-c", "a.yaml"), 0);
	assert_int_equal(o.action, OPTS_NEEDS);
	assert_int_equal(PARSE(&o, "--show-driver", "ice"), 0);
	assert_int_equal(o.action, OPTS_DRIVER);
	assert_string_equal(o.driver, "ice");
	assert_null(o.drivers);
	assert_int_equal(PARSE(&o, "--drivers", "d", "--show-driver=ice", "-c", "a.yaml"), 0);
	assert_int_equal(o.action, OPTS_DRIVER);
	assert_string_equal(o.drivers, "d");
	assert_string_equal(o.config, "a.yaml");
	assert_int_equal(PARSE(&o, "-c", "a.yaml", "--drivers", "d"), 0);
	assert_int_equal(o.action, OPTS_RUN);
	assert_string_equal(o.drivers, "d");
}

static void test_refusals(void **state)
{
	struct opts o;

	assert_int_equal(PARSE(&o), -1);
	assert_non_null(strstr(error, "-c FILE"));
	assert_int_equal(PARSE(&o, "--check"), -1);
	assert_non_null(strstr(error, "-c FILE"));
	assert_int_equal(PARSE(&o, "-c"), -1);
	assert_string_equal(error, "missing argument of -c");
	assert_int_equal(PARSE(&o, "--frobnicate"), -1);
	assert_string_equal(error, "unknown option --frobnicate");
	assert_int_equal(PARSE(&o, "-c", "a.yaml", "b.yaml"), -1);
	assert_string_equal(error, "unexpected argument b.yaml");
	assert_int_equal(PARSE(&o, "-c", "a.yaml", "-c", "b.yaml"), -1);
	assert_non_null(strstr(error, "twice"));
	assert_int_equal(PARSE(&o, "--check", "-c", "a.yaml", "--", "-m"), -1);
	assert_non_null(strstr(error, "-m"));
	assert_int_equal(PARSE(&o, "--show-needs"), -1);
	assert_non_null(strstr(error, "-c FILE"));
	assert_int_equal(PARSE(&o, "--show-driver"), -1);
	assert_string_equal(error, "missing argument of --show-driver");
	assert_int_equal(PARSE(&o, "--drivers", "d"), -1);
	assert_non_null(strstr(error, "-c FILE"));
	// A failed parse leaves no state in getopt.
	assert_int_equal(PARSE(&o, "-c", "a.yaml"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_eal_args),
		cmocka_unit_test(test_actions),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
