// SPDX-License-Identifier: BSD-3-Clause
// Tells tests that they run under qemu-user, which is slow and does not pass on everything to the
// kernel.
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Returns true where meson runs the tests by qemu-user (exe_wrapper of test/arm64.ini). False on a
// machine, arm64 too.
static inline bool emulated(void)
{
	const char *wrapper = getenv("MESON_EXE_WRAPPER");

	return wrapper != NULL && strstr(wrapper, "qemu-") != NULL;
}

// Returns true where code takes many times as long: emulated, or with AddressSanitizer. Tests of
// very many cases take some of them there.
static inline bool slowed(void)
{
#ifdef __SANITIZE_ADDRESS__
	return true;
#else
	return emulated();
#endif
}
