// SPDX-License-Identifier: BSD-3-Clause
// TLS files that a server which now runs as another user can no longer read.
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conf_dir.h"
#include "reload/files.h"
#include "stream.h"
#include "test.h"

#define NOBODY 65534

static char certificate[64], key[64];

// Result for a process that has become nobody: 0 no file, 1 the certificate, 2 the key.
static int told_to_nobody(const struct stream_identities *all)
{
	const pid_t child = fork();
	int status;

	if (child == 0) {
		const char *denied = setuid(NOBODY) == 0 ? files_unreadable(all) : "";

		_exit(denied == NULL ? 0 : denied == certificate ? 1 : denied == key ? 2 : 3);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WEXITSTATUS(status);
}

static void files_that_only_root_reads_are_found(void **state)
{
	struct stream_identities all = {
		.list = {{.certificate = certificate, .key = key}}, .nb = 1};

	if (geteuid() != 0)
		skip();
	conf_dir_put("a.pem", "a");
	conf_dir_put("a.key", "a");
	snprintf(certificate, sizeof(certificate), "%s", conf_dir_path("a.pem"));
	snprintf(key, sizeof(key), "%s", conf_dir_path("a.key"));
	chmod(conf_dir, 0755);
	chmod(certificate, 0644);
	assert_null(files_unreadable(&all));
	assert_int_equal(told_to_nobody(&all), 2);
	chmod(key, 0644);
	assert_int_equal(told_to_nobody(&all), 0);
	// a missing file is another error, which the reload reports
	unlink(key);
	assert_int_equal(told_to_nobody(&all), 0);
	chmod(conf_dir, 0700);
	assert_int_equal(told_to_nobody(&all), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_that_only_root_reads_are_found),
	};

	return cmocka_run_group_tests(tests, conf_dir_open, conf_dir_close);
}
