// SPDX-License-Identifier: BSD-3-Clause
// The place of the state area if the file does not give it. Private to lib/conf.
#pragma once

struct conf_ctx;

// Without `state.file`: the file `state` in the first directory of $RUNTIME_DIRECTORY, which
// systemd sets for a unit with such a directory, if it is on tmpfs. An empty `state.file` becomes
// NULL, which means no state area. 0, or -1 without memory.
int conf_state_place(struct conf_ctx *x);
