// SPDX-License-Identifier: BSD-3-Clause
// A copy of a message where reads beyond its end are seen.
#include "stun_vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct odd_copy stun_vectors_odd_copy(const uint8_t *data, size_t len)
{
	struct odd_copy c = {.block = malloc(len + 1)};

	assert_non_null(c.block);
	c.data = c.block + 1;
	if (data != NULL)
		memcpy(c.data, data, len);
	return c;
}
