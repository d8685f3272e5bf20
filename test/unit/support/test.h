// SPDX-License-Identifier: BSD-3-Clause
// cmocka, and the headers that it needs in front of it.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
