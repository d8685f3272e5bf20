// SPDX-License-Identifier: BSD-3-Clause
// Fixture: stream threads with the test's workers' rings and a certificate; it exchanges messages
// with them.
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/pem.h>

#include "stream_world.h"
#include "held_port.h"

#define POOL 6 // buffers of a worker, for all threads

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // protects the next four
static struct stream_world_message *up, **up_end = &up;
static struct stream_world_message *down[STREAM_WORLD_THREADS][STREAM_WORLD_WORKERS];
static unsigned int taken[STREAM_WORLD_WORKERS];
static unsigned int roused[STREAM_WORLD_WORKERS];
static bool held;
static bool denies; // all clients
static int left = -1; // the worker whose messages are left on the ring, or -1

static char dir[] = "/tmp/test-stream-XXXXXX", cert[64], key[64];

SSL_CTX *stream_world_tls;

// --- the path to the workers ---------------------------------------------------------------------

static unsigned int home(void *ctx, const struct endpoint *client, uint8_t listener)
{
	return client->port % STREAM_WORLD_WORKERS;
}

static bool take(void *ctx, unsigned int t, unsigned int w, struct stream_message *m)
{
	struct stream_world_message *p = NULL;

	pthread_mutex_lock(&lock);
	if (taken[w] < POOL) {
		taken[w]++;
		p = malloc(sizeof(*p) + STREAM_WORLD_ROOM);
	}
	pthread_mutex_unlock(&lock);
	m->buf = p;
	m->data = p != NULL ? p->data : NULL;
	return p != NULL;
}

// For requests the worker is full earlier than for other messages.
static bool may_ask(void *ctx, unsigned int t, unsigned int w)
{
	bool yes;

	pthread_mutex_lock(&lock);
	yes = taken[w] < POOL / 2;
	pthread_mutex_unlock(&lock);
	return yes;
}

static void append(struct stream_world_message *p, unsigned int t, unsigned int w,
	const struct stream_from *origin)
{
	p->next = NULL;
	p->thread = t;
	p->worker = w;
	p->port = origin->client.port;
	p->conn = origin->conn;
	pthread_mutex_lock(&lock);
	*up_end = p;
	up_end = &p->next;
	pthread_mutex_unlock(&lock);
}

static void send_up(void *ctx, unsigned int t, unsigned int w, const struct stream_message *m,
	const struct stream_from *origin)
{
	struct stream_world_message *p = m->buf;

	p->ended = p->media = false;
	p->len = m->len;
	append(p, t, w, origin);
}

static void kick(void *ctx, unsigned int w)
{
}

static void rouse(void *ctx, unsigned int w)
{
	__atomic_fetch_add(&roused[w], 1, __ATOMIC_RELAXED);
}

static bool ended(void *ctx, unsigned int t, unsigned int w, const struct stream_from *origin)
{
	struct stream_message m;
	struct stream_world_message *p;

	if (!take(ctx, t, w, &m))
		return false;
	p = m.buf;
	p->ended = true;
	append(p, t, w, origin);
	return true;
}

static unsigned int receive(
	void *ctx, unsigned int t, unsigned int w, struct stream_message *m, unsigned int n)
{
	unsigned int i = 0;

	pthread_mutex_lock(&lock);
	for (; i < n && down[t][w] != NULL && !held; i++) {
		struct stream_world_message *p = down[t][w];

		down[t][w] = p->next;
		m[i] = (struct stream_message){.buf = p,
			.data = p->data,
			.len = p->len,
			.conn = p->conn,
			.lease_s = 600,
			.media = p->media};
	}
	pthread_mutex_unlock(&lock);
	return i;
}

static void release(void *ctx, unsigned int t, unsigned int w, void *buf)
{
	free(buf);
}

static enum stream_refusal refuses(void *ctx, const struct addr *client)
{
	return __atomic_load_n(&denies, __ATOMIC_RELAXED) ? STREAM_REFUSED_DENIED
							  : STREAM_REFUSAL_END;
}

static const struct stream_ops ops = {.home = home,
	.refuses = refuses,
	.take = take,
	.may_ask = may_ask,
	.send = send_up,
	.kick = kick,
	.rouse = rouse,
	.ended = ended,
	.receive = receive,
	.release = release};

// --- the workers ---------------------------------------------------------------------------------

struct stream_world_message *stream_world_take(void)
{
	struct stream_world_message **prev_next = &up, *p;

	pthread_mutex_lock(&lock);
	while (*prev_next != NULL && (int)(*prev_next)->worker == left)
		prev_next = &(*prev_next)->next;
	p = *prev_next;
	if (p != NULL) {
		*prev_next = p->next;
		if (p->next == NULL)
			up_end = prev_next;
		taken[p->worker]--;
	}
	pthread_mutex_unlock(&lock);
	return p;
}

void stream_world_leave(int worker)
{
	pthread_mutex_lock(&lock);
	left = worker;
	pthread_mutex_unlock(&lock);
}

void stream_world_answer(struct streams *s, struct stream_world_message *p)
{
	struct stream_world_message **end = &down[p->thread][p->worker];
	const unsigned int thread = p->thread; // the call frees it

	while (p->len % 4 != 0)
		p->data[p->len++] = 0;
	p->next = NULL;
	pthread_mutex_lock(&lock);
	while (*end != NULL)
		end = &(*end)->next;
	*end = p;
	pthread_mutex_unlock(&lock);
	stream_wake(s, thread);
}

void stream_world_hold(bool yes)
{
	pthread_mutex_lock(&lock);
	held = yes;
	pthread_mutex_unlock(&lock);
}

void stream_world_deny(bool yes)
{
	__atomic_store_n(&denies, yes, __ATOMIC_RELAXED);
}

unsigned int stream_world_roused(unsigned int worker)
{
	return __atomic_load_n(&roused[worker], __ATOMIC_RELAXED);
}

void stream_world_drain(void)
{
	for (struct stream_world_message *p = up, *next; p != NULL; p = next) {
		next = p->next;
		free(p);
	}
	up = NULL;
	up_end = &up;
	left = -1;
	memset(taken, 0, sizeof(taken));
	for (unsigned int i = 0; i < STREAM_WORLD_THREADS * STREAM_WORLD_WORKERS; i++) {
		struct stream_world_message **p =
			&down[i / STREAM_WORLD_WORKERS][i % STREAM_WORLD_WORKERS];

		for (struct stream_world_message *next; *p != NULL; *p = next) {
			next = (*p)->next;
			free(*p);
		}
	}
}

// --- start -------------------------------------------------------------------------------------

unsigned int stream_world_open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned int n = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

struct streams *stream_world_start(struct stream_config c, struct sockaddr_in *addr)
{
	const int holder = held_port(addr); // until the threads have bound their sockets
	struct stream_listener listener =
		c.listeners != NULL ? *c.listeners : (struct stream_listener){0};
	char *const paths[] = {strdup(cert), strdup(key)}; // they need not outlive the start
	static struct stream_identities all;
	char error[256] = "";
	struct streams *s;

	listener.endpoint = (struct endpoint){addr_from_v4("\x7f\0\0\1"), ntohs(addr->sin_port)};
	listener.mode = STREAM_DETECT;
	c.listeners = &listener;
	c.nb_listeners = 1;
	c.threads = STREAM_WORLD_THREADS;
	c.workers = STREAM_WORLD_WORKERS;
	c.room = STREAM_WORLD_ROOM;
	all.list[0] =
		(struct stream_tls){.certificate = paths[0], .key = paths[1], .for_tls = true};
	all.nb = 1;
	c.identities = &all;
	c.ops = &ops;
	s = stream_start(&c, error, sizeof(error));
	if (s == NULL)
		fail_msg("%s", error);
	memset(paths[0], '?', strlen(paths[0]));
	free(paths[0]);
	free(paths[1]);
	close(holder);
	return s;
}

// --- the certificate -----------------------------------------------------------------------------

static bool write_files(X509 *x, EVP_PKEY *k)
{
	FILE *fc = fopen(cert, "w"), *fk = fopen(key, "w");
	bool good = fc != NULL && fk != NULL && PEM_write_X509(fc, x) == 1 &&
		PEM_write_PrivateKey(fk, k, NULL, NULL, 0, NULL, NULL) == 1;

	good &= fc != NULL && fclose(fc) == 0;
	return (fk != NULL && fclose(fk) == 0) && good;
}

int stream_world_open(void **state)
{
	EVP_PKEY *k = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	bool good = k != NULL && x != NULL && mkdtemp(dir) != NULL;

	alarm(STREAM_WORLD_DEADLINE_S);
	stream_world_tls = SSL_CTX_new(TLS_client_method());
	good = good && stream_world_tls != NULL;
	snprintf(cert, sizeof(cert), "%s/cert.pem", dir);
	snprintf(key, sizeof(key), "%s/key.pem", dir);
	good = good && X509_gmtime_adj(X509_getm_notBefore(x), 0) != NULL &&
		X509_gmtime_adj(X509_getm_notAfter(x), 3600) != NULL &&
		X509_set_pubkey(x, k) == 1 && X509_sign(x, k, EVP_sha256()) > 0 &&
		write_files(x, k);
	X509_free(x);
	EVP_PKEY_free(k);
	return good ? 0 : -1;
}

int stream_world_close(void **state)
{
	SSL_CTX_free(stream_world_tls);
	unlink(cert);
	unlink(key);
	return rmdir(dir);
}
