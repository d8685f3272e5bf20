// SPDX-License-Identifier: BSD-3-Clause
// Strangers' bytes, such as user names, as text that is safe wherever people and programs read it.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Writes n bytes to buf: those that are not printable ASCII, '%', '"' and '\' become %XX, so that
// nothing is lost. What finds no room is left out, never half of an escape. len is at least 1, and
// 3 * n + 1 leaves room for all. Returns the length without the NUL.
size_t mgmt_escape(const char *bytes, size_t n, char *buf, size_t len);
// Writes a name to buf, escaped like that. A name that is too long for buf is cut and ends in `~`
// and eight digits, a hash of the whole name, so that names that begin alike stay apart. In 9 bytes
// or less it has no digits.
void mgmt_label(const char *name, char *buf, size_t len);
// The eight digits of a name, as a number. They are the same after a restart.
uint32_t mgmt_label_digits(const char *name);
