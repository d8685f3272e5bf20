// SPDX-License-Identifier: BSD-3-Clause
// Reading command lines of the load generator in tests.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "options/opts_int.h"

#define READ(...) read_words((char *[]){"slipring-loadgen", ##__VA_ARGS__, NULL})
// What every run with a server and peers of its own has to say
#define BASE                                                                            \
	"--server", "10.0.0.1", "--client-addr", "10.0.0.2-10.0.0.9/24", "--peer-addr", \
		"10.0.1.2/24"
#define CLIENT "--role", "client", BASE
#define PEER "--role", "peer", "--peer-addr", "10.0.1.2/24"
#define REFUSED(reason, ...) refused(reason, READ(__VA_ARGS__))

static struct config c;
static char error[OPTS_ERROR_LEN];

static inline int read_words(char **argv)
{
	int argc = 0;

	while (argv[argc] != NULL)
		argc++;
	memset(&c, 0xa5, sizeof(c));
	return opts_read(argc, argv, &c, error);
}

static inline void accepted(int rc)
{
	if (rc != OPTS_RUN)
		fail_msg("%s", error);
	assert_string_equal(error, "");
}

static inline void refused(const char *reason, int rc)
{
	assert_int_equal(rc, OPTS_ERROR);
	if (strstr(error, reason) == NULL || strchr(error, '\n') != NULL)
		fail_msg("'%s' is not in '%s'", reason, error);
}

static inline void assert_number(double got, double want)
{
	if (!(fabs(got - want) <= 1e-9 * fabs(want)))
		fail_msg("%.12g, not %.12g", got, want);
}

static inline void assert_addr(const struct addr *a, const char *want)
{
	char text[ADDR_TEXT_LEN];

	assert_string_equal(addr_format(a, text, sizeof(text)), want);
}
