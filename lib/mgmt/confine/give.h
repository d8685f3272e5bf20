// SPDX-License-Identifier: BSD-3-Clause
// Files that root has made, for the user that it becomes.
#pragma once

#include <sys/types.h>

struct conf;

// Gives the files of records and the reports of crashes to a user, who is to open them again. One
// that is not root's, has another name too or is no regular file stays as it is. Management lcore,
// which is root.
void give_files(const struct conf *c, uid_t uid, gid_t gid);
