// SPDX-License-Identifier: BSD-3-Clause
// A strict parser of JSON (RFC 8259) for tests: fails the test on anything that is not JSON.
#pragma once

// Returns the text of the value at a path ("ways/up/sent", "points/0/rate"), or NULL if there is no
// value; the caller frees it. Fails the test unless json is one value and a line feed.
char *json_reader_find(const char *json, const char *path);
