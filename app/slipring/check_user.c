// SPDX-License-Identifier: BSD-3-Clause
// Checks which files the server can still use once it has given up its privileges.
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check_user.h"
#include "conf.h"

#define USUAL_CRASHES "/var/log/slipring" // default of crash.directory, if it exists

#define WHY_SIZE (PATH_MAX + 128)
#define AT(c, f, key) ((struct conf_at){c, &(c)->f, 0, key})

// A user, and a process that runs as this user and answers which files it may access, because
// nothing else knows all rules.
struct account {
	const char *name;
	pid_t child;
	int fd; // -1: there is no such process, and nothing is found
	bool became;
};

// A question. Its answer is one byte: 1 for yes.
struct question {
	int mode;
	char path[PATH_MAX];
};
#define QUESTION_LEN(path) (offsetof(struct question, path) + strlen(path) + 1)

// If p is NULL, root remains root, but without its privileges over other users' files.
static bool drop_privileges(const struct passwd *p)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};

	if (p == NULL)
		return syscall(SYS_capset, &header, none) == 0;
	return initgroups(p->pw_name, p->pw_gid) == 0 &&
		setresgid(p->pw_gid, p->pw_gid, p->pw_gid) == 0 &&
		setresuid(p->pw_uid, p->pw_uid, p->pw_uid) == 0;
}

static void send_answer(int fd, bool is_so)
{
	const char answer = (char)is_so;

	if (send(fd, &answer, 1, MSG_NOSIGNAL) != 1)
		_exit(1);
}

static _Noreturn void answer_all(int fd, const struct passwd *p)
{
	static struct question q;
	const bool became = drop_privileges(p);

	send_answer(fd, became);
	while (recv(fd, &q, sizeof(q), 0) > 0)
		send_answer(fd, !became || access(q.path, q.mode) == 0);
	_exit(0);
}

static bool receive_answer(struct account *w)
{
	char answer = 1;

	if (recv(w->fd, &answer, 1, 0) == 1)
		return answer != 0;
	close(w->fd);
	w->fd = -1;
	return true;
}

static void account_open(struct account *w, const struct passwd *p)
{
	int fd[2];

	w->fd = -1;
	w->became = true;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) != 0)
		return;
	w->child = fork();
	if (w->child == 0) {
		close(fd[0]);
		answer_all(fd[1], p);
	}
	close(fd[1]);
	w->fd = fd[0];
	w->became = receive_answer(w);
}

static void account_close(struct account *w)
{
	if (w->fd >= 0)
		close(w->fd);
	if (w->child > 0)
		waitpid(w->child, NULL, 0);
}

static bool can_access(struct account *w, const char *path, int mode)
{
	struct question q = {.mode = mode};

	if (w->fd < 0 || strlen(path) >= sizeof(q.path))
		return true;
	strcpy(q.path, path);
	return send(w->fd, &q, QUESTION_LEN(path), MSG_NOSIGNAL) < 0 || receive_answer(w);
}

// Finds the first directory of an absolute path that the user may not enter, and writes it to dir.
static bool is_kept_out(struct account *w, const char *path, char dir[PATH_MAX])
{
	const char *end = path;

	while ((end = strchr(end + 1, '/')) != NULL) {
		snprintf(dir, PATH_MAX, "%.*s", (int)(end - path), path);
		if (!can_access(w, dir, X_OK))
			return true;
	}
	return false;
}

// Writes ", because it may not enter DIRECTORY ..." to text if that keeps the user from a file,
// otherwise "". Follows links: the directories on their way count, too.
static void explain_denial(struct account *w, const char *path, char text[WHY_SIZE])
{
	char real[PATH_MAX], dir[PATH_MAX];

	text[0] = '\0';
	if (realpath(path, real) != NULL &&
		((path[0] == '/' && is_kept_out(w, path, dir)) || is_kept_out(w, real, dir)))
		snprintf(text, WHY_SIZE,
			", because it may not enter %s (chmod o+x, or move the file away)", dir);
}

static void check_file(
	struct account *w, const char *path, struct conf_at place, struct conf_report *r)
{
	char reason[WHY_SIZE];

	if (path == NULL || access(path, R_OK) != 0 || can_access(w, path, R_OK))
		return;
	explain_denial(w, path, reason);
	if (reason[0] != '\0')
		conf_tell(
			r, CONF_WARNING, place, "%s cannot read %s again%s", w->name, path, reason);
	else
		conf_tell(r, CONF_WARNING, place,
			"%s cannot read %s, which will not be read again: give it to that user, or "
			"to one of its groups with mode 0640",
			w->name, path);
}

// Certificates and keys, of all listeners and of single ones.
static void check_certificates(struct account *w, const struct conf *c, struct conf_report *r)
{
	check_file(w, c->tls.certificate, AT(c, tls.certificate, "tls.certificate"), r);
	check_file(w, c->tls.key, AT(c, tls.key, "tls.key"), r);
	check_file(w, c->tls.chain, AT(c, tls.chain, "tls.chain"), r);
	for (uint32_t i = 0; i < c->turn.nb_listeners; i++) {
		const struct turn_listener *l = &c->turn.listeners[i];

		if (i > 0 && l->entry == l[-1].entry)
			continue; // another address of the same entry
		check_file(w, l->tls.certificate,
			(struct conf_at){c, &l->tls.certificate, 0, "listeners"}, r);
		check_file(w, l->tls.key, (struct conf_at){c, &l->tls.key, 0, "listeners"}, r);
	}
}

// True if the user may create and remove files in the directory of a file, or that directory does
// not exist.
static bool may_change(struct account *w, const char *file, char dir[PATH_MAX])
{
	char *slash;

	snprintf(dir, PATH_MAX, "%s", file);
	slash = strrchr(dir, '/');
	if (slash == NULL)
		snprintf(dir, PATH_MAX, ".");
	else
		slash[1] = '\0';
	return access(dir, F_OK) != 0 || can_access(w, dir, W_OK | X_OK);
}

static void check_records(struct account *w, const struct conf *c, struct conf_report *r)
{
	const char *file = c->records.file;
	char dir[PATH_MAX], reason[WHY_SIZE];

	if (file == NULL || may_change(w, file, dir))
		return;
	explain_denial(w, dir, reason);
	conf_tell(r, CONF_WARNING, AT(c, records.file, "records.file"),
		"%s cannot create files in %s%s, so records are not rotated%s", w->name, dir,
		reason, reason[0] == '\0' ? ": chown it" : "");
}

// The reports themselves are given to that user.
static void check_crash(struct account *w, const struct conf *c, struct conf_report *r)
{
	const char *dir = c->crash.directory != NULL ? c->crash.directory : USUAL_CRASHES;

	char reason[WHY_SIZE];

	if (dir[0] == '\0' || access(dir, F_OK) != 0 || can_access(w, dir, R_OK | W_OK | X_OK))
		return;
	explain_denial(w, dir, reason);
	conf_tell(r, CONF_WARNING, AT(c, crash.directory, "crash.directory"),
		"%s cannot list %s and remove files there%s, so slipringctl crash may show "
		"nothing, and a stop leaves an empty report%s",
		w->name, dir, reason, reason[0] == '\0' ? ": chown it" : "");
}

static void check_all(struct account *w, const struct conf *c, struct conf_report *r)
{
	check_file(w, c->path, (struct conf_at){.conf = c, .key = "file"}, r);
	for (uint32_t i = 0; i < c->nb_included; i++)
		check_file(w, c->included[i], AT(c, include, "include"), r);
	for (uint32_t i = 0; i < c->nb_secret_files; i++)
		check_file(w, c->secret_files[i], (struct conf_at){.conf = c, .key = "auth"}, r);
	for (uint32_t i = 0; i < c->nb_prefix_files; i++)
		check_file(
			w, c->prefix_files[i], (struct conf_at){.conf = c, .key = "deny-files"}, r);
	check_certificates(w, c, r);
	check_records(w, c, r);
	check_crash(w, c, r);
}

void check_user(const struct conf *c, struct conf_report *r)
{
	const char *name = c->process.user;
	const struct passwd *p = name != NULL ? getpwnam(name) : NULL;
	char text[64] = "root without capabilities";
	struct account account = {.name = text};

	if (name != NULL && p == NULL)
		conf_tell(r, CONF_ERROR, AT(c, process.user, "process.user"),
			"there is no user %s: make it with `useradd --system %s`", name, name);
	if ((name != NULL && p == NULL) || geteuid() != 0)
		return;
	if (p != NULL && p->pw_uid == 0)
		p = NULL; // root remains root
	if (p != NULL)
		snprintf(text, sizeof(text), "user %s", name);
	account_open(&account, p);
	// root in a unit has only the capabilities of its CapabilityBoundingSet=
	if (p != NULL && !account.became)
		conf_tell(r, CONF_ERROR, AT(c, process.user, "process.user"),
			"this root may not become user %s, which needs CAP_SETUID and CAP_SETGID: "
			"see the drop-in process-user.conf of the unit; or have the unit start "
			"it as that user, by own-user.conf",
			name);
	else
		check_all(&account, c, r);
	account_close(&account);
}
