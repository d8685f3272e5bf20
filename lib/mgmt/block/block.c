// SPDX-License-Identifier: BSD-3-Clause
// The blocks of the process: the set under a lock, its file, and the hand-over to the workers.
#include "block/block.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dp_blocks.h"
#include "dp_realms.h"
#include "log/log.h"
#include "stun.h"
#include "turn_blocks.h"

struct mgmt_blocks {
	struct dp *dp;
	char *path; // of the file; NULL: no state.file
	pthread_mutex_t lock; // guards the fields below
	struct block_set set;
	bool more, changed; // since the workers got the last set: blocks added; any change
	bool unsaved; // the file is older than the set
	bool complains; // the last write of the file failed; control thread alone
};

// --- the file ------------------------------------------------------------------------------------

// Reads a line. False if it is no block, or its user is of a realm that is not configured.
static bool take_line(struct mgmt_blocks *m, struct stun_crypto *crypto, char *line, uint64_t now_s)
{
	struct block b;

	if (line[0] == '#' || line[0] == '\n')
		return true;
	if (!block_set_read(line, &b))
		return false;
	if (b.until_s != 0 && b.until_s <= now_s)
		return true;
	if (b.user != NULL &&
		(!dp_realm_find(m->dp, b.realm, &b.filter.realm) ||
			!dp_filter_user(m->dp, crypto, b.user, &b.filter)))
		return false;
	return block_set_put(&m->set, &b) <= BLOCK_RENEWED;
}

static void read_lines(struct mgmt_blocks *m, FILE *f, struct stun_crypto *crypto)
{
	const uint64_t now_s = (uint64_t)time(NULL);
	unsigned int number = 0, wrong = 0;
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, f) > 0 && number++ < 2 * BLOCK_SET_MAX)
		if (!take_line(m, crypto, line, now_s) && wrong++ < 8)
			LOG(CONTROL, WARNING,
				"%s:%u: no block, or of a realm that is not configured: skipped",
				m->path, number);
	free(line);
	if (wrong > 8)
		LOG(CONTROL, WARNING, "%s: %u lines skipped", m->path, wrong);
}

static void read_file(struct mgmt_blocks *m)
{
	const int fd = open(m->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
	struct stun_crypto *crypto = f != NULL ? stun_crypto_create() : NULL;

	if (f == NULL) {
		if (errno != ENOENT)
			LOG(CONTROL, WARNING, "%s: %s: nobody is blocked yet", m->path,
				strerror(errno));
		if (fd >= 0)
			close(fd);
		return;
	}
	if (crypto != NULL)
		read_lines(m, f, crypto);
	stun_crypto_free(crypto);
	fclose(f);
	if (m->set.nb > 0)
		LOG(CONTROL, NOTICE, "%s: %u address%s and %u user%s blocked", m->path,
			m->set.nb - m->set.nb_users, m->set.nb - m->set.nb_users == 1 ? "" : "es",
			m->set.nb_users, m->set.nb_users == 1 ? "" : "s");
	m->more = m->changed = m->set.nb > 0;
}

// Writes the text to a new file, which then replaces the old one. 0 or an errno value.
static int replace_file(const char *path, const char *text, size_t len)
{
	char fresh[PATH_MAX];
	int fd, rc;

	if (snprintf(fresh, sizeof(fresh), "%s.new", path) >= (int)sizeof(fresh))
		return ENAMETOOLONG;
	unlink(fresh);
	fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	rc = write(fd, text, len) == (ssize_t)len && fdatasync(fd) == 0 ? 0 : errno;
	if (close(fd) != 0 && rc == 0)
		rc = errno;
	if (rc == 0 && rename(fresh, path) != 0)
		rc = errno;
	return rc;
}

// The text of the file, if it has to be written; NULL if not.
static char *unsaved_text(struct mgmt_blocks *m, size_t *len)
{
	char *text = NULL;
	FILE *f;

	pthread_mutex_lock(&m->lock);
	if (m->unsaved) {
		f = open_memstream(&text, len);
		if (f != NULL) {
			block_set_write(&m->set, f);
			fclose(f);
		}
		m->unsaved = text == NULL;
	}
	pthread_mutex_unlock(&m->lock);
	return text;
}

void mgmt_blocks_save(struct mgmt_blocks *m)
{
	size_t len = 0;
	char *text = m->path != NULL ? unsaved_text(m, &len) : NULL;
	int rc;

	if (text == NULL)
		return;
	rc = replace_file(m->path, text, len);
	free(text);
	if (rc != 0 && !m->complains)
		LOG(CONTROL, ERR, "%s: %s: blocks do not survive a restart", m->path, strerror(rc));
	m->complains = rc != 0;
}

struct mgmt_blocks *mgmt_blocks_open(struct dp *d, const struct conf *c)
{
	struct mgmt_blocks *m = calloc(1, sizeof(*m));

	if (m == NULL || pthread_mutex_init(&m->lock, NULL) != 0) {
		free(m);
		return NULL;
	}
	m->dp = d;
	block_set_init(&m->set);
	if (c->state.file != NULL && asprintf(&m->path, "%s.blocks", c->state.file) < 0)
		m->path = NULL;
	if (m->path != NULL)
		read_file(m);
	return m;
}

void mgmt_blocks_close(struct mgmt_blocks *m)
{
	if (m == NULL)
		return;
	mgmt_blocks_save(m);
	block_set_free(&m->set);
	pthread_mutex_destroy(&m->lock);
	free(m->path);
	free(m);
}

// --- orders --------------------------------------------------------------------------------------

enum block_put mgmt_blocks_put(struct mgmt_blocks *m, const struct block *b)
{
	enum block_put rc;

	pthread_mutex_lock(&m->lock);
	rc = block_set_put(&m->set, b);
	m->unsaved |= rc <= BLOCK_RENEWED;
	m->more |= rc == BLOCK_NEW;
	m->changed |= rc == BLOCK_NEW;
	pthread_mutex_unlock(&m->lock);
	return rc;
}

bool mgmt_blocks_remove(struct mgmt_blocks *m, const struct block *b)
{
	bool removed;

	pthread_mutex_lock(&m->lock);
	removed = block_set_remove(&m->set, b);
	m->unsaved |= removed;
	m->changed |= removed;
	pthread_mutex_unlock(&m->lock);
	return removed;
}

void mgmt_blocks_count(struct mgmt_blocks *m, uint32_t *addresses, uint32_t *users)
{
	pthread_mutex_lock(&m->lock);
	*users = m->set.nb_users;
	*addresses = m->set.nb - m->set.nb_users;
	pthread_mutex_unlock(&m->lock);
}

uint32_t mgmt_blocks_list(struct mgmt_blocks *m, uint32_t first, uint32_t max,
	void (*see)(void *ctx, const struct block *b), void *ctx)
{
	uint32_t nb;

	pthread_mutex_lock(&m->lock);
	nb = m->set.nb;
	for (uint32_t i = first; i < nb && i - first < max; i++) {
		const struct block b = block_set_at(&m->set, i);

		see(ctx, &b);
	}
	pthread_mutex_unlock(&m->lock);
	return nb;
}

// --- the management lcore ------------------------------------------------------------------------

// Gives the workers the set if it has changed. Without memory the next call tries again.
static void give_set(struct mgmt_blocks *m)
{
	struct turn_blocks *next = NULL;

	pthread_mutex_lock(&m->lock);
	if (m->changed)
		next = block_set_make(&m->set);
	if (next != NULL && dp_blocks_set(m->dp, next, m->more))
		m->changed = m->more = false;
	else
		turn_blocks_free(next);
	pthread_mutex_unlock(&m->lock);
}

static bool tell_workers(struct mgmt_blocks *m)
{
	unsigned int ended = 0;

	if (!dp_blocks_step(m->dp, &ended))
		return false;
	if (ended > 0)
		LOG(SESSIONS, NOTICE, "blocked: %u allocation%s ended", ended,
			ended == 1 ? "" : "s");
	return true;
}

bool mgmt_blocks_tick(struct mgmt_blocks *m, uint64_t now_s)
{
	pthread_mutex_lock(&m->lock);
	m->changed |= block_set_expire(&m->set, now_s) > 0;
	pthread_mutex_unlock(&m->lock);
	if (!tell_workers(m))
		return true;
	give_set(m);
	return !tell_workers(m);
}
