// SPDX-License-Identifier: BSD-3-Clause
// Copies of the strings of struct stream_tls, which outlive the configuration: a reload frees that.
// Private to lib/stream.
#pragma once

#include <stdbool.h>

struct stream_tls;

// Replaces all strings by copies. False without memory; then there are no copies.
bool tls_copy_own(struct stream_tls *tls);
// Frees the copies of tls_copy_own.
void tls_copy_free(struct stream_tls *tls);
