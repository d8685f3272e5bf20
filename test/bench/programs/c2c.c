// SPDX-License-Identifier: BSD-3-Clause
// Core-to-core probe: the time that a cache line takes from one CPU to another and back. It shows
// where a hypervisor has put two virtual CPUs (hyperthreads of one core, one cache, two caches). A
// time of microseconds shows that another program or guest is using one of them.
//
//	c2c CPU CPU [WINDOWS [MILLISECONDS]]
//
// Prints the median of the windows in ns.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WINDOWS_MAX 1000
#define BATCH 64 // round trips between two looks at the clock

// Each is on its own pair of cache lines, as pairs are fetched together.
static _Alignas(256) atomic_uint ping; // written by the main thread
static _Alignas(256) atomic_uint pong; // written by the other thread
static _Alignas(256) atomic_bool stop;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int pin(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

static void *answer(void *arg)
{
	unsigned int last = 0;

	if (pin(*(const unsigned int *)arg) != 0) {
		perror("c2c: the second CPU");
		exit(1);
	}
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		const unsigned int value = atomic_load_explicit(&ping, memory_order_acquire);

		if (value == last)
			continue;
		atomic_store_explicit(&pong, value, memory_order_release);
		last = value;
	}
	return NULL;
}

// Returns the mean round trip over one window, in ns.
static double window(uint64_t length_ns)
{
	const uint64_t start = now_ns();
	unsigned int value = atomic_load(&ping);
	uint64_t trips = 0, took;

	do {
		for (int i = 0; i < BATCH; i++) {
			atomic_store_explicit(&ping, ++value, memory_order_release);
			while (atomic_load_explicit(&pong, memory_order_acquire) != value)
				;
		}
		trips += BATCH;
		took = now_ns() - start;
	} while (took < length_ns);
	return (double)took / (double)trips;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int number(const char *text, unsigned long lo, unsigned long hi, unsigned int *out)
{
	char *end;
	const unsigned long value = strtoul(text, &end, 10);

	if (end == text || *end != '\0' || value < lo || value > hi) {
		fprintf(stderr, "c2c: %s: must be a number from %lu to %lu\n", text, lo, hi);
		return -1;
	}
	*out = (unsigned int)value;
	return 0;
}

int main(int argc, char **argv)
{
	static double trip[WINDOWS_MAX];
	unsigned int cpu[2], windows = 3, length_ms = 20;
	pthread_t thread;

	if (argc < 3 || argc > 5) {
		fprintf(stderr, "usage: c2c CPU CPU [WINDOWS [MILLISECONDS]]\n");
		return 1;
	}
	if (number(argv[1], 0, CPU_SETSIZE - 1, &cpu[0]) != 0 ||
		number(argv[2], 0, CPU_SETSIZE - 1, &cpu[1]) != 0 ||
		(argc > 3 && number(argv[3], 1, WINDOWS_MAX, &windows) != 0) ||
		(argc > 4 && number(argv[4], 1, 10000, &length_ms) != 0))
		return 1;
	if (cpu[0] == cpu[1]) {
		fprintf(stderr, "c2c: it needs two different CPUs\n");
		return 1;
	}
	if (pin(cpu[0]) != 0) {
		perror("c2c: the first CPU");
		return 1;
	}
	if (pthread_create(&thread, NULL, answer, &cpu[1]) != 0) {
		fprintf(stderr, "c2c: no thread\n");
		return 1;
	}
	window(1000000); // by then the other thread runs on its CPU
	for (unsigned int i = 0; i < windows; i++)
		trip[i] = window(length_ms * UINT64_C(1000000));
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	qsort(trip, windows, sizeof(trip[0]), compare);
	printf("%.1f\n", trip[windows / 2]);
	return 0;
}
