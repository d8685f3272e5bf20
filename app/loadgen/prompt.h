// SPDX-License-Identifier: BSD-3-Clause
// The prompt of --interactive. Main lcore.
#pragma once

#include "session.h"

// Carries out commands from standard input until "quit" or the end of the input.
void prompt_run(struct session *s);
