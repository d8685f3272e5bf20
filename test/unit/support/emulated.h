// SPDX-License-Identifier: BSD-3-Clause
// Detects qemu-user, which is slow and does not pass every call on to the kernel.
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// True if meson runs the tests by qemu-user (exe_wrapper of test/arm64.ini). False on a real
// machine, also on arm64.
static inline bool emulated(void)
{
	const char *wrapper = getenv("MESON_EXE_WRAPPER");

	return wrapper != NULL && strstr(wrapper, "qemu-") != NULL;
}

// True if code takes many times as long: emulated, or with AddressSanitizer. Tests of very many
// cases take only some of them then.
static inline bool slowed(void)
{
#ifdef __SANITIZE_ADDRESS__
	return true;
#else
	return emulated();
#endif
}
