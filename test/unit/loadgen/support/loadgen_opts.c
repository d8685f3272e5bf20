// SPDX-License-Identifier: BSD-3-Clause
// Reading command lines of the load generator in tests.
#include <math.h>
#include <string.h>

#include "loadgen_opts.h"
#include "test.h"

struct config read_config;
char read_error[OPTS_ERROR_LEN];

int loadgen_opts_read(char **argv)
{
	int argc = 0;

	while (argv[argc] != NULL)
		argc++;
	memset(&read_config, 0xa5, sizeof(read_config));
	return opts_read(argc, argv, &read_config, read_error);
}

void assert_accepted(int rc)
{
	if (rc != OPTS_RUN)
		fail_msg("%s", read_error);
	assert_string_equal(read_error, "");
}

void assert_refused(const char *reason, int rc)
{
	assert_int_equal(rc, OPTS_ERROR);
	if (strstr(read_error, reason) == NULL || strchr(read_error, '\n') != NULL)
		fail_msg("'%s' is not in '%s'", reason, read_error);
}

void assert_number(double got, double want)
{
	if (!(fabs(got - want) <= 1e-9 * fabs(want)))
		fail_msg("%.12g, not %.12g", got, want);
}
