// SPDX-License-Identifier: BSD-3-Clause
// The realms of the data path (turn_tallies.h). dp.h has what others may know.
#pragma once

struct conf;
struct dp;

// Gives the realms of c their numbers, before a policy is made of it. before is the configuration
// in use; NULL at the start. 0, ENOMEM, or EAGAIN: none is free for now. Not while workers read c.
int realms_number(struct dp *d, const struct conf *c, const struct conf *before);
