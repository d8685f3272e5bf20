// SPDX-License-Identifier: BSD-3-Clause
// ASSERT checks an invariant: a relation between parts of the state that no input may break.
// Debug builds with tests have it (meson.build). In all others it evaluates nothing and makes no
// code. PURE; any thread.
#pragma once

#ifdef SLIPRING_ASSERTS
#define INVARIANT_TEXT(line) INVARIANT_TEXT_(line)
#define INVARIANT_TEXT_(line) #line
#define ASSERT(cond)                                                                             \
	(__builtin_expect(!!(cond), 1) ? (void)0                                                 \
				       : invariant_failed(__FILE__ ":" INVARIANT_TEXT(__LINE__), \
						 __func__, #cond))

// The place, the function and the condition of the ASSERT that has failed; "" before.
extern char invariant_text[512];

// Prints its three texts to standard error, and aborts.
_Noreturn void invariant_failed(const char *place, const char *function, const char *condition)
	__attribute__((cold));
#else
// Names the condition, so that what only an ASSERT reads counts as used.
#define ASSERT(cond) ((void)sizeof(!(cond)))
#endif
