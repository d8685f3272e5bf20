// SPDX-License-Identifier: BSD-3-Clause
// The process that runs drain.on-change, and what is said to it and by it, a message of a
// SOCK_SEQPACKET socket each. Private to lib/mgmt.
#pragma once

#include <stdint.h>

// First message: the command, with a NUL behind each of its words.
struct helper_command {
	uint32_t nb, timeout_s;
	char words[];
};

// Every other one: a byte.
enum helper_state { HELPER_READY, HELPER_DRAINING };

enum helper_end {
	HELPER_EXITED, // code: its exit code
	HELPER_KILLED, // code: the signal
	HELPER_TIMEOUT,
	HELPER_FAILED, // code: errno
	HELPER_SKIPPED, // the next state came before its turn
};

// What has become of a state that was told, each one once and in their order.
struct helper_report {
	uint8_t state, how; // enum helper_state, enum helper_end
	int32_t code;
	uint32_t took_ms;
};

// The word for a state.
const char *helper_state_name(uint8_t state);
// All that the process does. It ends when the other end of fd is closed and all has been run.
__attribute__((noreturn)) void helper_run(int fd);
