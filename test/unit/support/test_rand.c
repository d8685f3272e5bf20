// SPDX-License-Identifier: BSD-3-Clause
// Random numbers for unit tests (splitmix64), and their seed.
#include "test_rand.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

uint64_t test_rand(struct test_rand *r)
{
	uint64_t z = r->s += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

uint32_t test_rand_below(struct test_rand *r, uint32_t bound)
{
	return (uint32_t)((test_rand(r) >> 32) * bound >> 32);
}

void test_rand_fill(struct test_rand *r, void *buf, size_t len)
{
	uint8_t *p = buf;

	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)test_rand(r);
}

void test_rand_source(void *ctx, void *buf, size_t len)
{
	test_rand_fill(ctx, buf, len);
}

struct test_rand test_rand_start(const char *test)
{
	const char *env = getenv("TEST_SEED");
	struct timespec now;
	struct test_rand r;

	clock_gettime(CLOCK_REALTIME, &now);
	r.s = env != NULL ? strtoull(env, NULL, 0)
			  : (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	printf("%s: TEST_SEED=%llu\n", test, (unsigned long long)r.s);
	return r;
}
