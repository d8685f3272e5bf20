// SPDX-License-Identifier: BSD-3-Clause
// record_core: the cost of DTLS records in workers of one process, and nothing else. A thread on
// each CPU has its own sessions. It seals a burst of messages with them, opens the records with the
// sessions of the other end, and compares.
//
//	record_core CPU... [-r CIPHER/BYTES SECONDS]
//
// CIPHER is aes128, aes256 or chacha; BYTES is the length of a message. Without -r it reads lines
// "run CIPHER/BYTES SECONDS". All threads work through each at the same time; the answer is a line
// of JSON.
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bytes.h"
#include "dtls.h"
#include "dtls_session.h"

#define BURST 32
#define CHUNK 64 // bursts between two looks at the clock
#define MESSAGE_MIN 8 // bytes: the number of the message
#define MESSAGE_MAX 1500
#define SESSIONS 10 // of a thread
#define THREADS_MAX 64
#define SECONDS_MAX 60

// One direction of a session, and the end that reads it.
struct direction {
	struct dtls_session *writer, *reader;
};

struct runner {
	_Alignas(128) pthread_t thread;
	int cpu;
	enum aead aead;
	unsigned int size; // of a message
	double seconds; // of a run: requested; taken
	uint64_t records; // sealed and opened
	pthread_barrier_t *begin;
	struct direction direction[SESSIONS];
	uint8_t record[BURST][2048];
};

static const char *const names[AEAD_NB] = {"aes128", "aes256", "chacha"};
static struct runner runner[THREADS_MAX];
static unsigned int nb_runners;

static void die(const char *message)
{
	fprintf(stderr, "record_core: %s\n", message);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

// --- a thread ------------------------------------------------------------------------------------

static void sessions_open(struct runner *r)
{
	struct dtls_keys k = {.aead = r->aead};

	for (unsigned int i = 0; i < SESSIONS; i++) {
		memset(k.key, (int)(i + 1), sizeof(k.key));
		r->direction[i].writer = dtls_session_create(&k);
		r->direction[i].reader = dtls_session_create(&k);
		if (r->direction[i].writer == NULL || r->direction[i].reader == NULL)
			die("no memory");
	}
}

static void sessions_close(struct runner *r)
{
	for (unsigned int i = 0; i < SESSIONS; i++) {
		dtls_session_free(r->direction[i].writer);
		dtls_session_free(r->direction[i].reader);
	}
}

static void burst(struct runner *r)
{
	uint8_t message[MESSAGE_MAX] = {0}, *got;
	int len[BURST];

	for (unsigned int i = 0; i < BURST; i++) {
		store_be64(message, r->records + i);
		len[i] = dtls_session_write(
			r->direction[i % SESSIONS].writer, message, r->size, r->record[i]);
	}
	for (unsigned int i = 0; i < BURST; i++) {
		struct dtls_wire w = {.in = r->record[i], .in_len = (uint16_t)len[i]};

		if (dtls_session_read(r->direction[i % SESSIONS].reader, &w, &got) !=
				(int)r->size ||
			load_be64(got) != r->records + i)
			die("an opened record differs from the sealed one");
	}
	r->records += BURST;
}

static void *run(void *arg)
{
	struct runner *r = arg;
	cpu_set_t cpus;
	double start, end;

	CPU_ZERO(&cpus);
	CPU_SET(r->cpu, &cpus);
	if (pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus) != 0)
		die("no such CPU");
	sessions_open(r);
	pthread_barrier_wait(r->begin);
	start = now();
	do {
		for (unsigned int i = 0; i < CHUNK; i++)
			burst(r);
		end = now();
	} while (end - start < r->seconds);
	r->seconds = end - start;
	sessions_close(r);
	return NULL;
}

// --- all of them ---------------------------------------------------------------------------------

static void run_all(enum aead a, unsigned int size, double seconds)
{
	pthread_barrier_t begin;
	double rate = 0;

	pthread_barrier_init(&begin, NULL, nb_runners);
	for (unsigned int i = 0; i < nb_runners; i++) {
		struct runner *r = &runner[i];

		r->aead = a;
		r->size = size;
		r->seconds = seconds;
		r->records = 0;
		r->begin = &begin;
		if (pthread_create(&r->thread, NULL, run, r) != 0)
			die("no thread");
	}
	for (unsigned int i = 0; i < nb_runners; i++) {
		pthread_join(runner[i].thread, NULL);
		rate += 2 * (double)runner[i].records / runner[i].seconds;
	}
	pthread_barrier_destroy(&begin);
	printf("{\"mrps\":%.4f,\"ns_per_record\":%.2f}\n", rate / 1e6, nb_runners * 1e9 / rate);
	fflush(stdout);
}

// Runs a command such as "aes128/124", for `amount` seconds.
static bool command(const char *spec, const char *amount)
{
	char *end, cipher[16], more[2];
	const double seconds = strtod(amount, &end);
	unsigned int size;

	if (sscanf(spec, "%15[^/]/%u%1s", cipher, &size, more) != 2 || size < MESSAGE_MIN ||
		size > MESSAGE_MAX || *end != '\0' || !(seconds > 0 && seconds <= SECONDS_MAX))
		return false;
	for (enum aead a = 0; a < AEAD_NB; a++) {
		if (strcmp(cipher, names[a]) == 0) {
			run_all(a, size, seconds);
			return true;
		}
	}
	return false;
}

static void commands(void)
{
	char line[128], spec[32], amount[16], more[2];

	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (sscanf(line, "run %31s %15s %1s", spec, amount, more) != 2 ||
			!command(spec, amount))
			die("commands: run CIPHER/BYTES SECONDS");
	}
}

static int usage(void)
{
	fprintf(stderr, "usage: record_core CPU... [-r CIPHER/BYTES SECONDS]\n");
	return 2;
}

int main(int argc, char **argv)
{
	int i = 1;

	for (; i < argc && argv[i][0] != '-' && nb_runners < THREADS_MAX; i++)
		runner[nb_runners++].cpu = (int)strtoul(argv[i], NULL, 10);
	if (nb_runners == 0)
		return usage();
	if (i == argc)
		commands();
	else if (argc != i + 3 || strcmp(argv[i], "-r") != 0 || !command(argv[i + 1], argv[i + 2]))
		return usage();
	return 0;
}
