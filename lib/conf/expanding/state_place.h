// SPDX-License-Identifier: BSD-3-Clause
// Where the state area lies if the file does not say. Private to lib/conf.
#pragma once

struct conf_ctx;

// Without `state.file`: the file `state` in the first directory of $RUNTIME_DIRECTORY, which
// systemd sets for a unit that has one, if that is on tmpfs. An empty `state.file` becomes NULL,
// no area. 0, or -1 without memory.
int conf_state_place(struct conf_ctx *x);
