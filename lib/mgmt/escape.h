// SPDX-License-Identifier: BSD-3-Clause
// Strangers' bytes, such as user names, as text that is safe wherever people and programs read it.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Writes n bytes to buf: those that are not printable ASCII, '%', '"' and '\' become %XX, so that
// nothing is lost. What finds no room is left out, never half of an escape. len is at least 1, and
// 3 * n + 1 leaves room for all. Returns the length without the NUL.
size_t mgmt_escape(const char *bytes, size_t n, char *buf, size_t len);
// The same of a name. Where it has no room, it ends in `~` and eight digits that depend on all of
// it: names that begin alike stay apart. A len of 9 or less has no room for these.
void mgmt_label(const char *name, char *buf, size_t len);
// What these digits are of a name: the same after a restart.
uint32_t mgmt_label_digits(const char *name);
