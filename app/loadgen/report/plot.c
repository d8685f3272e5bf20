// SPDX-License-Identifier: BSD-3-Clause
// Runs scripts/plot as a child process that reads the JSON object.
#include "report/plot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/json.h"

#define SCRIPT "slipring-plot" // found in PATH
#define SCRIPT_ENV "SLIPRING_PLOT"

// The script of the source tree: BUILD/app/loadgen/slipring-loadgen -> BUILD/../scripts/plot.
static bool script_beside(char *path, size_t len)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n <= 0)
		return false;
	exe[n] = '\0';
	for (unsigned int up = 0; up < 4; up++) {
		char *slash = strrchr(exe, '/');

		if (slash == NULL)
			return false;
		*slash = '\0';
	}
	n = snprintf(path, len, "%s/scripts/plot", exe);
	return n > 0 && (size_t)n < len && access(path, X_OK) == 0;
}

static void script_path(char *path, size_t len)
{
	const char *env = getenv(SCRIPT_ENV);

	if (env != NULL && env[0] != '\0')
		snprintf(path, len, "%s", env);
	else if (!script_beside(path, len))
		snprintf(path, len, "%s", SCRIPT);
}

// Writes the JSON object to a file in memory and rewinds it; NULL with errno. A pipe could fill up,
// or break when the script ends early.
static FILE *json_file(const struct config *c, const struct result *r, const struct search *s)
{
	const int fd = memfd_create("json", MFD_CLOEXEC);
	FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (f == NULL) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	if (json_write(f, c, r, NULL, s) == 0 && fflush(f) == 0 && lseek(fd, 0, SEEK_SET) == 0)
		return f;
	fclose(f);
	return NULL;
}

// Starts the script with the JSON object as its input, and without the signals that we block.
static int start_script(const char *path, char *const argv[], int input, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	int rc;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	rc = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	if (rc == 0)
		rc = posix_spawnattr_setsigmask(&attr, &none);
	if (rc == 0)
		rc = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	if (rc == 0)
		rc = posix_spawnp(pid, path, &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

// Runs the script to its end. True when it succeeded. Otherwise reason holds the reason, or is
// empty when the script has printed the reason itself.
static bool run_script(char *const argv[], int input, char *reason, size_t len)
{
	char path[PATH_MAX];
	int rc, status = 0;
	pid_t pid;

	reason[0] = '\0';
	script_path(path, sizeof(path));
	rc = start_script(path, argv, input, &pid);
	if (rc != 0) {
		snprintf(reason, len,
			"cannot run %.256s: %s (install scripts/plot in PATH as " SCRIPT
			", or name it in " SCRIPT_ENV ")",
			path, strerror(rc));
		return false;
	}
	do
		rc = waitpid(pid, &status, 0);
	while (rc < 0 && errno == EINTR);
	return rc == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int plot_check(const char *file, char *error, size_t len)
{
	char name[] = SCRIPT, check[] = "--check", reason[512];
	char *argv[] = {name, check, (char *)(uintptr_t)file, NULL};
	const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const bool good = input >= 0 && run_script(argv, input, reason, sizeof(reason));

	if (input >= 0)
		close(input);
	if (good)
		return 0;
	snprintf(error, len, "--plot %s: %s", file,
		input >= 0 && reason[0] != '\0' ? reason : "could not be drawn, see above");
	return -1;
}

int plot_write(const struct config *c, const struct result *r, const struct search *s, char *error,
	size_t len)
{
	char name[] = SCRIPT, reason[512];
	char *argv[] = {name, (char *)(uintptr_t)c->plot, NULL};
	FILE *input = json_file(c, r, s);
	bool good;

	if (input == NULL) {
		snprintf(error, len, "--plot %s: %s", c->plot, strerror(errno));
		return -1;
	}
	good = run_script(argv, fileno(input), reason, sizeof(reason));
	fclose(input);
	if (good)
		return 0;
	snprintf(error, len, "--plot %s: %s", c->plot,
		reason[0] != '\0' ? reason : "not drawn, see above");
	return -1;
}
