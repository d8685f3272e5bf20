// SPDX-License-Identifier: BSD-3-Clause
// Options of clients over TCP, TLS and DTLS. Only the files of options/ include it.
#pragma once

#include "options/option.h"

// Each reads the value of an option, as struct opt_row says. Returns 0, or -1 with the reason
// written.
int opts_transport_take(struct opts *o, const struct opt_row *row, const char *text);
int opts_transport_tls_max(struct opts *o, const struct opt_row *row, const char *text);
// Sets the defaults for connections, and refuses options that connections do not have.
int opts_transport_check(struct opts *o);
