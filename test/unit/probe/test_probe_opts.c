// SPDX-License-Identifier: BSD-3-Clause
// The command line of slipring-probe.
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "options/opts.h"
#include "test.h"

#define ARGS_MAX 16

static struct opts o;
static char error[OPTS_ERROR_SIZE];

// Reads a command line, which ends with NULL.
static enum opts_result read_line(const char *const *args)
{
	char *argv[ARGS_MAX + 2] = {"slipring-probe"};
	int argc = 1;

	for (; args[argc - 1] != NULL; argc++)
		argv[argc] = (char *)args[argc - 1];
	error[0] = '\0';
	return opts_read(argc, argv, &o, error);
}

#define READ(...) read_line((const char *const[ARGS_MAX]){__VA_ARGS__})

static void defaults(void **state)
{
	assert_int_equal(READ("turn.example.org"), OPTS_RUN);
	assert_string_equal(o.text, "turn.example.org");
	assert_int_equal(o.transports, TRANSPORTS_ALL);
	assert_false(o.asked);
	assert_null(o.user);
	assert_null(o.password);
	assert_null(o.secret);
	assert_null(o.ca);
	assert_null(o.name);
	assert_int_equal(o.family, AF_UNSPEC);
	assert_int_equal(o.timeout_ms, 5000);
	assert_int_equal(o.format, FORMAT_TEXT);
}

static void values(void **state)
{
	assert_int_equal(READ("--user", "u", "--password", "p", "--ca", "f", "--name", "n", "-6",
				 "--timeout", "0.5", "h"),
		OPTS_RUN);
	assert_string_equal(o.user, "u");
	assert_string_equal(o.password, "p");
	assert_string_equal(o.ca, "f");
	assert_string_equal(o.name, "n");
	assert_int_equal(o.family, AF_INET6);
	assert_int_equal(o.timeout_ms, 500);
	assert_int_equal(READ("--secret", "s", "-4", "--json", "h"), OPTS_RUN);
	assert_int_equal(o.family, AF_INET);
	assert_int_equal(o.format, FORMAT_JSON);
	assert_int_equal(READ("--prometheus", "h", "--secret", "s", "--user", "u"), OPTS_RUN);
	assert_int_equal(o.format, FORMAT_PROMETHEUS);
}

static void transports(void **state)
{
	assert_int_equal(READ("--transport", "udp,tls", "h"), OPTS_RUN);
	assert_true(o.asked);
	assert_int_equal(o.transports, TRANSPORT_BIT(TRANSPORT_UDP) | TRANSPORT_BIT(TRANSPORT_TLS));
	assert_int_equal(READ("turns:h?transport=udp"), OPTS_RUN);
	assert_true(o.asked);
	assert_int_equal(o.transports, TRANSPORT_BIT(TRANSPORT_DTLS));
	assert_int_equal(READ("--transport", "dtls", "turns:h?transport=udp"), OPTS_RUN);
	assert_int_equal(READ("--transport", "tls", "turns:h?transport=udp"), OPTS_ERROR);
	assert_int_equal(READ("turn:h"), OPTS_RUN);
	assert_false(o.asked);
}

static void mistakes(void **state)
{
	static const char *const bad[][5] = {{NULL}, {"h", "i"}, {"--what", "h"}, {"--user"},
		{"--user", "u", "h"}, {"--password", "p", "h"}, {"--user", "", "--secret", "s"},
		{"--secret", "", "h"}, {"--transport", "", "h"}, {"--transport", "sctp", "h"},
		{"--transport", "udp,", "h"}, {"--transport", ",udp", "h"},
		{"--transport", "ud", "h"}, {"--timeout", "0", "h"}, {"--timeout", "61", "h"},
		{"--timeout", "5s", "h"}, {"--timeout", "nan", "h"}, {"--name", "", "h"},
		{"turn://h"}};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (read_line(bad[i]) != OPTS_ERROR)
			fail_msg("command line %zu is accepted", i);
		assert_true(error[0] != '\0');
	}
	assert_int_equal(READ("--secret", "s", "--user", "u", "--password", "p", "h"), OPTS_ERROR);
	assert_non_null(strstr(error, "--secret makes the password"));
	assert_int_equal(READ("h", "--user", "u", "--what", "-4"), OPTS_ERROR);
	assert_string_equal(error, "unknown option, or its value is missing: --what");
	assert_int_equal(READ("h", "--user"), OPTS_ERROR);
	assert_string_equal(error, "unknown option, or its value is missing: --user");
}

// Writes a file, and has it read.
static enum opts_result read_with(const char *option, const char *text, size_t len)
{
	char path[] = "/tmp/probe-XXXXXX";
	const int fd = mkstemp(path);
	enum opts_result result;

	assert_return_code(fd, 0);
	assert_int_equal(write(fd, text, len), len);
	result = READ(option, path, "--user", "u", "h");
	close(fd);
	unlink(path);
	return result;
}

static void secrets_come_from_files(void **state)
{
	char longest[1025];

	assert_int_equal(read_with("--password-file", "pass word\n", 10), OPTS_RUN);
	assert_string_equal(o.password, "pass word");
	assert_null(o.secret);
	assert_int_equal(read_with("--secret-file", "s", 1), OPTS_RUN);
	assert_string_equal(o.secret, "s");
	assert_null(o.password);
	memset(longest, 'x', sizeof(longest));
	longest[1023] = '\n';
	assert_int_equal(read_with("--secret-file", longest, 1024), OPTS_RUN);
	assert_int_equal(strlen(o.secret), 1023);
	longest[1023] = 'x';
	assert_int_equal(read_with("--secret-file", longest, 1024), OPTS_ERROR);
	assert_int_equal(read_with("--secret-file", longest, 1025), OPTS_ERROR);
	assert_int_equal(read_with("--secret-file", "", 0), OPTS_ERROR);
	assert_int_equal(read_with("--secret-file", "\n", 1), OPTS_ERROR);
	assert_int_equal(read_with("--secret-file", "a\nb", 3), OPTS_ERROR);
	assert_int_equal(read_with("--secret-file", "a\0b", 3), OPTS_ERROR);
	assert_int_equal(read_with("--secret-file", "a\0", 2), OPTS_ERROR);
	assert_int_equal(read_with("--secret-file", "a\r\n", 3), OPTS_ERROR);
	assert_non_null(strstr(error, "without control characters: /tmp/probe-"));
	assert_int_equal(READ("h", "--secret-file", "/nowhere/x"), OPTS_ERROR);
	assert_string_equal(error, "the file of the password or secret cannot be read: /nowhere/x");
	assert_int_equal(READ("h", "--secret-file", "/"), OPTS_ERROR);
	assert_int_equal(READ("--password-file", "/dev/null", "--secret-file", "/dev/null", "h"),
		OPTS_ERROR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(values),
		cmocka_unit_test(transports),
		cmocka_unit_test(mistakes),
		cmocka_unit_test(secrets_come_from_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
