// SPDX-License-Identifier: BSD-3-Clause
// The control socket as a file: its path, owner and mode. Private to lib/mgmt.
#pragma once

#include <stddef.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "socket/roles.h"

struct conf;

struct socket_file {
	int fd; // listens; -1 = not open
	struct roles roles; // the configured groups
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	struct stat made; // the file
};

// Creates the configured socket: owned by process.user if that is set, mode 0600, or 0660 for a
// configured group. A file has one group, so with two groups the mode is 0666, and the caller has
// to refuse others (roles.h). It replaces the socket of a dead process, but not one that a process
// listens on. 0; 1: no socket is configured; -errno with a reason in error, which says what to do.
int socket_file_open(struct socket_file *p, const struct conf *c, char *error, size_t len);
// Closes it, and removes the file if it is still the one that was created.
void socket_file_close(struct socket_file *p);
