// SPDX-License-Identifier: BSD-3-Clause
// A strict reader of JSON (RFC 8259) for tests: fails the test on anything that is none.
#pragma once

// The text of the value at a path ("ways/up/sent", "points/0/rate"), to be freed; NULL when there
// is none. Fails the test unless json is one value and a line feed.
char *json_reader_find(const char *json, const char *path);
