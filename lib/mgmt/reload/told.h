// SPDX-License-Identifier: BSD-3-Clause
// The lines of the log on what a reload has changed: written by its thread, told by the management
// lcore once they are true. Private to lib/mgmt.
#pragma once

#define TOLD_MAX 100 // changes that are told one by one

struct conf_change;

struct told {
	char *line[TOLD_MAX];
	unsigned int nb, all; // lines; changes
};

// Writes the line of a change; for conf_changes, with a struct told. Any thread.
void told_write(void *t, const struct conf_change *c);
// Logs all lines, and how many changes have none.
void told_log(const struct told *t);
// Frees the lines. Any thread.
void told_free(struct told *t);
