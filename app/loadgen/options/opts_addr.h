// SPDX-License-Identifier: BSD-3-Clause
// Addresses and ports of both sides. Only the files of options/ include it.
#pragma once

#include "options/option.h"

// Each reads the value of an option, as struct opt_row says. Returns 0, or -1 with the reason
// written.
int opts_addr_server(struct opts *o, const struct opt_row *row, const char *text);
int opts_addr_range(struct opts *o, const struct opt_row *row, const char *text);
int opts_addr_ports(struct opts *o, const struct opt_row *row, const char *text);
int opts_addr_gateway(struct opts *o, const struct opt_row *row, const char *text);
// Checks the addresses of both sides and their families; opts_check calls it.
int opts_addr_check(struct opts *o);
