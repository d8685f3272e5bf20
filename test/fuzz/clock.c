// SPDX-License-Identifier: BSD-3-Clause
// Makes a run depend on its seed alone. lib/dp and the timers of libssl get the world's time of
// day, and libcrypto gets its random numbers from here.
#define OPENSSL_SUPPRESS_DEPRECATED // RAND_set_rand_method

#include "fuzz.h"

#include <sys/time.h>
#include <time.h>

#include <openssl/rand.h>

#define WALL_S 1700000000 // time of day when a world begins

static struct test_rand secrets;
static struct timespec began;
static bool ours; // EAL is up

int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);

static uint64_t wall_ms(void)
{
	return UINT64_C(1000) * WALL_S + fuzz.world.ms;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	if (!ours)
		return __real_clock_gettime(id, t);
	*t = (struct timespec){.tv_sec = (time_t)(wall_ms() / 1000),
		.tv_nsec = (long)(wall_ms() % 1000) * 1000000};
	return 0;
}

// libcrypto and libssl find these two before libc's.
int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	struct timespec now;

	__wrap_clock_gettime(CLOCK_REALTIME, &now);
	*t = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
	return 0;
}

time_t time(time_t *t)
{
	struct timespec now;

	__wrap_clock_gettime(CLOCK_REALTIME, &now);
	if (t != NULL)
		*t = now.tv_sec;
	return now.tv_sec;
}

static int random_bytes(unsigned char *buf, int len)
{
	test_rand_fill(&secrets, buf, (size_t)len);
	return 1;
}

static int random_status(void)
{
	return 1;
}

void fuzz_clock_seed(uint64_t seed)
{
	secrets.s = seed;
}

void fuzz_clock_start(void)
{
	static RAND_METHOD method = {
		.bytes = random_bytes, .pseudorand = random_bytes, .status = random_status};

	assert_int_equal(RAND_set_rand_method(&method), 1);
	__real_clock_gettime(CLOCK_MONOTONIC, &began);
	ours = true;
}

double fuzz_clock_real(void)
{
	struct timespec now;

	__real_clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - began.tv_sec) + 1e-9 * (double)(now.tv_nsec - began.tv_nsec);
}
