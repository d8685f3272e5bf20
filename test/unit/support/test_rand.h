// SPDX-License-Identifier: BSD-3-Clause
// Random numbers for unit tests. The seed is printed; TEST_SEED=n repeats a run.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct test_rand {
	uint64_t s;
};

// Returns the next 64 bits.
uint64_t test_rand(struct test_rand *r);
// Returns a number below bound. bound must not be 0.
uint32_t test_rand_below(struct test_rand *r, uint32_t bound);
// Fills buf with len random bytes.
void test_rand_fill(struct test_rand *r, void *buf, size_t len);
// test_rand_fill() as the source of a csprng, whose ctx is the struct test_rand.
void test_rand_source(void *ctx, void *buf, size_t len);
// Returns a generator seeded from TEST_SEED, else from the clock, and prints the seed with the name
// of the test.
struct test_rand test_rand_start(const char *test);
