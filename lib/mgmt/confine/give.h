// SPDX-License-Identifier: BSD-3-Clause
// Gives files that root has created to the user that slipring becomes.
#pragma once

#include <sys/types.h>

struct conf;

// Gives the files of records and the reports of crashes to a user, who will open them again. It
// skips files that do not belong to root, have a second name, or are not regular files. Management
// lcore, as root.
void give_files(const struct conf *c, uid_t uid, gid_t gid);
