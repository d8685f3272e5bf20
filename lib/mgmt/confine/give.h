// SPDX-License-Identifier: BSD-3-Clause
// Files that root has made, for the user that it becomes.
#pragma once

#include <sys/types.h>

struct conf;

// Gives the file of records and the reports of crashes to a user, who is to open them again. A file
// that is not root's, has another name too or is no regular one stays as it is. Management lcore,
// which is root.
void give_files(const struct conf *c, uid_t uid, gid_t gid);
