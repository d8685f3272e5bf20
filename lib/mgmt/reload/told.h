// SPDX-License-Identifier: BSD-3-Clause
// The log lines about the changes of a reload: its thread writes them, and the management lcore
// logs them once the changes are in use. Private to lib/mgmt.
#pragma once

#define TOLD_MAX 100 // changes that are logged one by one

struct conf_change;

struct told {
	char *line[TOLD_MAX];
	unsigned int nb, all; // number of lines, and of changes
};

// Writes the line of a change; a callback for conf_changes, whose ctx is a struct told. Any thread.
void told_write(void *ctx, const struct conf_change *c);
// Logs all lines, and the number of changes without a line.
void told_log(const struct told *t);
// Frees the lines. Any thread.
void told_free(struct told *t);
