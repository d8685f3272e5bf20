// SPDX-License-Identifier: BSD-3-Clause
// The realms of the data path (turn_tallies.h). dp_realms.h is their public interface.
#pragma once

struct conf;
struct dp;

// Numbers the realms of c, before a policy is made from it. before is the configuration in use;
// NULL at the start. Returns 0, ENOMEM, or EAGAIN if no number is free now. Call it while no worker
// reads c.
int realms_number(struct dp *d, const struct conf *c, const struct conf *before);
