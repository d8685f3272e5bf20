// SPDX-License-Identifier: BSD-3-Clause
// The process that runs drain.on-change, and its messages: each is one message of a SOCK_SEQPACKET
// socket. Private to lib/mgmt.
#pragma once

#include <stdint.h>

// First message to the process: the command, with a NUL after each of its words.
struct helper_command {
	uint32_t nb, timeout_s;
	char words[];
};

// Every later message to the process: one byte.
enum helper_state { HELPER_READY, HELPER_DRAINING };

enum helper_end {
	HELPER_EXITED, // code: its exit code
	HELPER_KILLED, // code: the signal
	HELPER_TIMEOUT,
	HELPER_FAILED, // code: errno
	HELPER_SKIPPED, // a newer state replaced it while it waited
};

// The result of a state: one for each state, in their order.
struct helper_report {
	uint8_t state, how; // enum helper_state, enum helper_end
	int32_t code;
	uint32_t took_ms;
};

// The word for a state.
const char *helper_state_name(uint8_t state);
// The main function of the process. It ends when the other end of fd is closed and all states have
// been run.
__attribute__((noreturn)) void helper_run(int fd);
