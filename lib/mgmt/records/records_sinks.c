// SPDX-License-Identifier: BSD-3-Clause
// Opens and closes the sinks of records.
#include "records/records_sinks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "turn_event.h"

#define PATIENCE_MS 100 // how long a record waits for journald or syslog

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

static int open_files(struct records_sinks *s, const struct conf_records *k,
	const struct records_hooks *h, char *error, size_t len)
{
	const bool peers = k->peers != CONF_DETAIL_NONE;
	char refusals_path[CONF_RECORDS_PATH], peers_path[CONF_RECORDS_PATH];
	const char *path[RECORDS_FILES] = {
		k->file, k->refusals ? refusals_path : NULL, peers ? peers_path : NULL};

	if (k->file == NULL)
		return 0;
	conf_records_beside(k->file, CONF_RECORDS_REFUSALS, refusals_path);
	conf_records_beside(k->file, CONF_RECORDS_PEERS, peers_path);
	for (unsigned int i = 0; i < RECORDS_FILES; i++) {
		struct records_file *f = &s->file[i];

		if (path[i] == NULL)
			continue;
		s->path[i] = strdup(path[i]);
		if (s->path[i] == NULL) {
			snprintf(error, len, "records: out of memory");
			return -1;
		}
		f->path = s->path[i];
		f->rotate = k->rotate;
		f->keep = k->keep;
		f->max_age_s = k->max_age_s;
		f->write = h->write;
		f->later = h->later;
		if (records_file_open(f, error, len) != 0)
			return -1;
	}
	return 0;
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
	s->journal.fd = s->syslog.fd = -1;
	for (unsigned int i = 0; i < RECORDS_FILES; i++)
		s->file[i].fd = -1;
	if (open_files(s, k, hooks, error, len) == 0) {
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
	for (unsigned int i = 0; i < RECORDS_FILES; i++) {
		records_file_close(&s->file[i]);
		free(s->path[i]);
	}
	records_socket_close(&s->journal);
	records_socket_close(&s->syslog);
	free(s);
}

void records_sinks_follow(struct records_sinks *s, struct records_sinks *before)
{
	records_sinks_flush(before);
	for (unsigned int i = 0; i < RECORDS_FILES; i++) {
		s->file[i].written = before->file[i].written;
		s->file[i].lost = before->file[i].lost;
	}
	records_sinks_reopen(s);
}

enum records_sinks_file records_sinks_file_of(unsigned int kind)
{
	if (kind == TURN_EVENT_PEER)
		return RECORDS_PEERS;
	return turn_event_refuses(kind) ? RECORDS_REFUSALS : RECORDS_SESSIONS;
}

void records_sinks_put(struct records_sinks *s, unsigned int kind, const char *line, size_t n)
{
	const enum records_sinks_file i = records_sinks_file_of(kind);

	if (s->path[i] != NULL)
		records_file_put(&s->file[i], line, n);
}

void records_sinks_flush(struct records_sinks *s)
{
	for (unsigned int i = 0; i < RECORDS_FILES; i++)
		records_file_flush(&s->file[i]);
}

void records_sinks_reopen(struct records_sinks *s)
{
	for (unsigned int i = 0; i < RECORDS_FILES; i++)
		if (s->path[i] != NULL)
			records_file_reopen(&s->file[i]);
}

void records_sinks_tick(struct records_sinks *s, uint64_t now_ms)
{
	for (unsigned int i = 0; i < RECORDS_FILES; i++)
		if (s->path[i] != NULL)
			records_file_tick(&s->file[i], now_ms);
}

void records_sinks_count(const struct records_sinks *s, uint64_t *written, uint64_t *lost)
{
	*written = *lost = 0;
	for (unsigned int i = 0; i < RECORDS_FILES; i++) {
		*written += __atomic_load_n(&s->file[i].written, __ATOMIC_RELAXED);
		*lost += __atomic_load_n(&s->file[i].lost, __ATOMIC_RELAXED);
	}
}
