// SPDX-License-Identifier: BSD-3-Clause
// Takes the stack of a thread in a signal handler, and finds the names of its functions. Private to
// lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Reads the list of loaded programs and libraries, and prepares crash_stack_take. Call it when all
// libraries are loaded, before signals are handled. One thread.
void crash_stack_open(void);

// Takes the stack of the calling thread, as it was when its signal came (context is the handler's
// third argument). Returns the number of addresses. Takes no lock and allocates no memory.
int crash_stack_take(void **frames, int max, const void *context);
// The program counter and stack pointer at the signal; 0 if unknown.
uintptr_t crash_stack_pc(const void *context);
uintptr_t crash_stack_sp(const void *context);

struct crash_place {
	const char *name; // function; NULL: unknown
	uintptr_t offset; // in it
	const char *module; // program or library; NULL: unknown
	uintptr_t module_offset; // in the form that addr2line takes
};

// Finds the function at an address. Takes no lock and allocates no memory.
void crash_stack_find(uintptr_t addr, struct crash_place *out);
// Writes a stack as "worker_round+0x1c < worker_run+0x80 < ..." Returns buf.
char *crash_stack_line(void *const *frames, int nb, char *buf, size_t len);
