// SPDX-License-Identifier: BSD-3-Clause
// The strings of struct stream_tls, for those who keep them longer than the configuration that they
// come from: a reload frees that. Private to lib/stream.
#pragma once

#include <stdbool.h>

struct stream_tls;

// Puts copies in the place of all strings. False without memory, and there are none then.
bool tls_copy_own(struct stream_tls *tls);
// Frees copies that tls_copy_own has made.
void tls_copy_free(struct stream_tls *tls);
