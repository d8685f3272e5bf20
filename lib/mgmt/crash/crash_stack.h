// SPDX-License-Identifier: BSD-3-Clause
// The stack of a thread in a signal handler, and the names of what is on it. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Reads which programs and libraries are loaded, and makes ready what crash_stack_take needs. When
// all is loaded, and before signals are handled. One thread.
void crash_stack_open(void);

// The stack of the calling thread, as it was when its signal came (context is the handler's third
// argument). Returns how many addresses. Takes no lock and no memory.
int crash_stack_take(void **frames, int max, const void *context);
// The program counter and the stack pointer that a signal has interrupted; 0 where it is not known.
uintptr_t crash_stack_pc(const void *context);
uintptr_t crash_stack_sp(const void *context);

struct crash_place {
	const char *name; // function; NULL: unknown
	uintptr_t offset; // in it
	const char *module; // program or library; NULL: unknown
	uintptr_t module_offset; // as addr2line takes it
};

// What lies at an address of code. Takes no lock and no memory.
void crash_stack_find(uintptr_t addr, struct crash_place *out);
// "worker_round+0x1c < worker_run+0x80 < ..." Returns buf.
char *crash_stack_line(void *const *frames, int nb, char *buf, size_t len);
