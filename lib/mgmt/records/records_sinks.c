// SPDX-License-Identifier: BSD-3-Clause
// Opens and closes what records are written to.
#include "records/records_sinks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_MS 100 // that a record waits for journald or syslog

static int open_sockets(
	struct records_sinks *s, const struct conf_records *k, const struct records_hooks *h)
{
	const unsigned int patience = h->patience_ms > 0 ? h->patience_ms : PATIENCE_MS;
	int rc = 0;

	if (k->journal) {
		s->journal.path = h->journal != NULL ? h->journal : RECORDS_SOCKET_JOURNAL;
		rc = records_socket_open(&s->journal, patience);
	}
	if (k->syslog && rc == 0) {
		s->syslog.path = h->syslog != NULL ? h->syslog : RECORDS_SOCKET_SYSLOG;
		rc = records_socket_open(&s->syslog, patience);
	}
	return rc;
}

static int open_file(struct records_sinks *s, const struct conf_records *k,
	const struct records_hooks *h, char *error, size_t len)
{
	s->path = strdup(k->file);
	if (s->path == NULL) {
		snprintf(error, len, "records: out of memory");
		return -1;
	}
	s->file.path = s->path;
	s->file.rotate = k->rotate;
	s->file.keep = k->keep;
	s->file.write = h->write;
	s->file.later = h->later;
	return records_file_open(&s->file, error, len);
}

struct records_sinks *records_sinks_open(
	const struct conf_records *k, const struct records_hooks *hooks, char *error, size_t len)
{
	struct records_sinks *s = calloc(1, sizeof(*s));
	int rc;

	if (s == NULL) {
		snprintf(error, len, "records: out of memory");
		return NULL;
	}
	s->journal.fd = s->syslog.fd = s->file.fd = -1;
	if (k->file == NULL || open_file(s, k, hooks, error, len) == 0) {
		rc = open_sockets(s, k, hooks);
		if (rc == 0)
			return s;
		snprintf(error, len, "records: %s", strerror(-rc));
	}
	records_sinks_close(s);
	return NULL;
}

void records_sinks_close(struct records_sinks *s)
{
	if (s == NULL)
		return;
	records_file_close(&s->file);
	records_socket_close(&s->journal);
	records_socket_close(&s->syslog);
	free(s->path);
	free(s);
}

void records_sinks_follow(struct records_sinks *s, struct records_sinks *before)
{
	records_file_flush(&before->file);
	s->file.written = before->file.written;
	s->file.lost = before->file.lost;
	if (s->path != NULL)
		records_file_reopen(&s->file);
}
