// SPDX-License-Identifier: BSD-3-Clause
// The control socket as a file: who may open it, and whose it is. Private to lib/mgmt.
#pragma once

#include <stddef.h>
#include <sys/stat.h>
#include <sys/un.h>

struct conf;

struct place {
	int fd; // listens; -1 = not open
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	struct stat made; // the file
};

// Makes the socket that the configuration names: of process.user if given, mode 0600, or 0660
// for the group that it names. One that a dead process has left is replaced; one that somebody
// listens on is not. 0; 1: the configuration wants none; -errno with a reason in error, which says
// what to do.
int place_open(struct place *p, const struct conf *c, char *error, size_t len);
// Closes it, and removes the file if it is still ours.
void place_close(struct place *p);
