// SPDX-License-Identifier: BSD-3-Clause
// Makes untrusted bytes, such as user names, safe for people and programs to read.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Writes n bytes to buf: those that are not printable ASCII, '%', '"' and '\' become %XX, so that
// nothing is lost. Truncates to len bytes (at least 1), never inside an escape; 3 * n + 1 bytes are
// always enough. Returns the length without the NUL.
size_t mgmt_escape(const char *bytes, size_t n, char *buf, size_t len);
// Writes the text that mgmt_escape has escaped to out (len bytes with the NUL), which may be text.
// False if it is empty or too long, or if %XX is no byte other than NUL.
bool mgmt_unescape(const char *text, char *out, size_t len);
// Writes a name to buf, escaped like mgmt_escape(). A name that is too long for buf is cut and ends
// in `~` and eight digits, a hash of the whole name, so that names with a common prefix remain
// distinct. A buf of 9 bytes or less has no room for the digits.
void mgmt_label(const char *name, char *buf, size_t len);
// The eight digits of a name, as a number. They do not change with a restart.
uint32_t mgmt_label_digits(const char *name);
