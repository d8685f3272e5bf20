// SPDX-License-Identifier: BSD-3-Clause
// The version that a file is written for, and keys that have had another name.
#pragma once

struct conf_ctx;

// Refuses a file of a later version than this library knows. Before anything else of the tree is
// looked at, because unknown keys would only hide the reason. 0 or -EINVAL.
int conf_versions_check(struct conf_ctx *x);
// Gives keys that the file has under an old name their present one and its place (schema.h, struct
// conf_rename), so that nobody behind this knows the old ones. 0 or -EINVAL.
int conf_versions_rename(struct conf_ctx *x);
