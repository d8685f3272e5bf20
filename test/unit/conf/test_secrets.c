// SPDX-License-Identifier: BSD-3-Clause
// Locations of secrets in the memory of the process, from the reading of the file to the end: all
// writable memory is searched for pieces of them. The search patterns are kept in another form.
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "conf_file.h"
#include "emulated.h"
#include "secret.h"
#include "test.h"
#include "test_rand.h"
#include "turn_policy.h"

#define LEN 64 // of a secret: libyaml has moved it three times by its end
#define PIECE 16 // one is enough, from each of several positions
#define MASK 0x80
#define CHUNK 65536
#define REGION_MAX (UINT64_C(1) << 26) // larger regions are shadow memory of sanitizers

// A sanitizer resolves some of its calls late, which leaves copies of registers on the stack.
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

enum { PASSWORD, KEY, REST, NONCE, NB };

static uint8_t masked[NB][LEN];
static struct test_rand rnd;

// --- the search ----------------------------------------------------------------------------------

static bool is_piece(const uint8_t *bytes, const uint8_t *piece)
{
	for (unsigned int i = 0; i < PIECE; i++)
		if ((bytes[i] ^ MASK) != piece[i])
			return false;
	return true;
}

static void count_in(const uint8_t *mem, size_t len, unsigned int found[NB][LEN / PIECE])
{
	bool begins[256] = {false}; // a piece begins with this byte

	if (mem[0] == 0 && memcmp(mem, mem + 1, len - 1) == 0)
		return; // the memory was never touched
	for (unsigned int i = 0; i < NB; i++)
		for (unsigned int k = 0; k < LEN / PIECE; k++)
			begins[masked[i][k * PIECE] ^ MASK] = true;
	for (size_t offset = 0; offset + PIECE <= len; offset++)
		for (unsigned int i = 0; begins[mem[offset]] && i < NB; i++)
			for (unsigned int k = 0; k < LEN / PIECE; k++)
				found[i][k] += is_piece(mem + offset, masked[i] + k * PIECE);
}

static void count_region(int mem, uint64_t begin, uint64_t end, unsigned int found[NB][LEN / PIECE])
{
	static uint8_t chunk[CHUNK];
	const uint64_t chunk_addr = (uintptr_t)chunk;

	while (begin + PIECE <= end) {
		size_t want = end - begin < CHUNK ? end - begin : CHUNK;
		ssize_t n;

		if (begin >= chunk_addr && begin < chunk_addr + CHUNK) {
			begin = chunk_addr + CHUNK;
			continue;
		}
		if (begin < chunk_addr && begin + want > chunk_addr)
			want = chunk_addr - begin;
		n = pread(mem, chunk, want, (off_t)begin);
		if (n < PIECE)
			return;
		count_in(chunk, (size_t)n, found);
		begin += (size_t)n > PIECE ? (uint64_t)n - PIECE + 1 : (uint64_t)n;
		explicit_bzero(chunk, sizeof(chunk));
	}
}

// Asserts the number of copies of each secret, whole or in pieces.
static void assert_copies(
	unsigned int password, unsigned int key, unsigned int rest, unsigned int nonce)
{
	const unsigned int want[NB] = {password, key, rest, nonce};
	unsigned int found[NB][LEN / PIECE] = {{0}};
	const int mem = open("/proc/self/mem", O_RDONLY);
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long begin, end;
	char line[512], mode[8];

	assert_true(mem >= 0 && maps != NULL);
	while (fgets(line, sizeof(line), maps) != NULL)
		if (sscanf(line, "%lx-%lx %7s", &begin, &end, mode) == 3 && mode[1] == 'w' &&
			end - begin < REGION_MAX && !(SANITIZED && strstr(line, "[stack]") != NULL))
			count_region(mem, begin, end, found);
	fclose(maps);
	close(mem);
	for (unsigned int i = 0; i < NB; i++)
		for (unsigned int k = 0; k < LEN / PIECE; k++)
			if (found[i][k] != want[i])
				fail_msg("secret %u, piece %u: %u copies, not %u", i, k,
					found[i][k], want[i]);
}

// --- the file ------------------------------------------------------------------------------------

static off_t file_pos;

static void put(const char *text)
{
	const size_t len = strlen(text);

	assert_int_equal(pwrite(conf_fd, text, len, file_pos), len);
	file_pos += (off_t)len;
}

// A secret is written byte by byte, so that no copy remains in this process.
static void put_secret(unsigned int which)
{
	for (unsigned int i = 0; i < LEN; i++) {
		const uint8_t c = masked[which][i] ^ MASK;

		assert_int_equal(pwrite(conf_fd, &c, 1, file_pos++), 1);
	}
}

static void write_file(const char *rest)
{
	file_pos = 0;
	assert_int_equal(ftruncate(conf_fd, 0), 0);
	put("ports:\n  - {name: wan, device: net_a, addresses: [10.0.0.1/24]}\n"
	    "listeners:\n  - {address: 10.0.0.1}\nrelay: {addresses: [10.0.0.1]}\n"
	    "auth:\n  realm: turn.test\n  users:\n    - {name: ivan, password: ");
	put_secret(PASSWORD);
	put("}\n    - {name: olga, key-sha256: '");
	put_secret(KEY);
	put("'}\n  secrets: [");
	put_secret(REST);
	put("]\n  nonce: {secret: \"");
	put_secret(NONCE);
	put("\"}\n");
	put(rest);
}

static int make_secrets(void **state)
{
	static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz";

	rnd = test_rand_start("secrets");
	for (unsigned int i = 0; i < NB; i++)
		for (unsigned int k = 0; k < LEN; k++)
			masked[i][k] =
				MASK ^ (uint8_t)letters[test_rand_below(&rnd, i == KEY ? 16 : 36)];
	return conf_file_open(state);
}

static struct turn_policy *make_policy(const struct conf *c)
{
	const uint8_t boot_key[32] = {1};
	struct stun_crypto *crypto = stun_crypto_create();
	struct turn_policy *p = turn_policy_create(&c->turn, crypto, boot_key);

	stun_crypto_free(crypto);
	return p;
}

// The file's text and libyaml's copies are erased after the reading, then the configuration's
// copies, once the policy has copied what it needs. At the end nothing is left.
static void test_life(void **state)
{
	char error[CONF_ERROR_LEN];
	struct turn_policy *p;
	struct conf *c;

	write_file("");
	assert_copies(0, 0, 0, 0);
	c = conf_load(conf_path, error);
	if (c == NULL)
		fail_msg("%s", error);
	assert_copies(1, 0, 1, 1);
	p = make_policy(c);
	assert_non_null(p);
	assert_copies(1, 0, 2, 1);
	conf_forget(c);
	assert_copies(0, 0, 1, 0);
	assert_int_equal(c->turn.first.nb_users, 2);
	assert_int_equal(c->turn.first.nb_secrets, 1);
	turn_policy_free(p);
	assert_copies(0, 0, 0, 0);
	conf_free(c);
}

// A file in memory with one of the secrets and a line feed. Its path is valid while the descriptor
// is open.
static int secret_file(unsigned int which, char path[32])
{
	const int fd = memfd_create("secret", MFD_CLOEXEC);

	for (unsigned int i = 0; i < LEN; i++) {
		const uint8_t c = masked[which][i] ^ MASK;

		assert_int_equal(write(fd, &c, 1), 1);
	}
	assert_int_equal(write(fd, "\n", 1), 1);
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

// Secrets from separate files: the result is equal, and nothing is left of a file with an error
// either.
static void test_from_files(void **state)
{
	char error[CONF_ERROR_LEN], path[3][32], text[512];
	const int fd[] = {secret_file(PASSWORD, path[0]), secret_file(REST, path[1]),
		secret_file(NONCE, path[2])};

	for (unsigned int bad = 0; bad < 2; bad++) {
		struct conf *c;

		snprintf(text, sizeof(text),
			"ports:\n  - {name: wan, device: net_a, addresses: [10.0.0.1/24]}\n"
			"listeners:\n  - {address: 10.0.0.1}\nrelay: {addresses: [10.0.0.1]}\n"
			"auth: {realm: turn.test, users: [{name: ivan, password-file: %s}], "
			"secret-files: [%s], nonce: {secret-file: %s}}\n%s",
			path[0], path[1], path[2], bad == 0 ? "" : "log: {level: debag}\n");
		conf_file_write(text, strlen(text));
		c = conf_load(conf_path, error);
		assert_int_equal(c == NULL, bad);
		if (c != NULL)
			assert_copies(1, 0, 1, 1);
		conf_free(c);
		assert_copies(0, 0, 0, 0);
	}
	for (unsigned int i = 0; i < 3; i++)
		close(fd[i]);
}

static void test_never_forgotten(void **state)
{
	char error[CONF_ERROR_LEN];
	struct conf *c;

	write_file("");
	c = conf_load(conf_path, error);
	assert_non_null(c);
	conf_free(c);
	assert_copies(0, 0, 0, 0);
}

// Files with errors: of the schema, of YAML, and one with secrets in wrong places.
static void test_errors(void **state)
{
	const char *const rest[] = {
		"nonsense: true\n", "peers: [\n", "log: {level: debag}\n", "\x01\n"};
	char error[CONF_ERROR_LEN];

	for (unsigned int i = 0; i < sizeof(rest) / sizeof(rest[0]); i++) {
		write_file(rest[i]);
		assert_null(conf_load(conf_path, error));
		assert_copies(0, 0, 0, 0);
	}
	write_file("limits:\n  ");
	put_secret(PASSWORD);
	put(": 1\n  ");
	put_secret(REST);
	put(":");
	put_secret(NONCE);
	put("\n");
	assert_null(conf_load(conf_path, error));
	explicit_bzero(error, sizeof(error)); // it may name a key
	assert_copies(0, 0, 0, 0);
	write_file("limits:\n  "); // a key whose value is refused
	put_secret(PASSWORD);
	put(": &anchor 1\n");
	assert_null(conf_load(conf_path, error));
	explicit_bzero(error, sizeof(error)); // it may name a key
	assert_copies(0, 0, 0, 0);
}

// --- memory of secrets ---------------------------------------------------------------------------

// VmFlags of the mapping that holds p.
static bool is_dumped(const void *p)
{
	FILE *maps = fopen("/proc/self/smaps", "re");
	unsigned long begin, end;
	char line[512];
	bool inside = false, dumped = true;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps) != NULL) {
		if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
			inside = (uintptr_t)p >= begin && (uintptr_t)p < end;
		if (inside && strncmp(line, "VmFlags:", 8) == 0)
			dumped = strstr(line, " dd") == NULL;
	}
	fclose(maps);
	return dumped;
}

static void test_memory(void **state)
{
	static const size_t lens[] = {0, 1, 4095, 4096, 100000};

	for (unsigned int i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		uint8_t *p = secret_alloc(lens[i]);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 64, 0);
		for (size_t k = 0; k < lens[i]; k++)
			assert_int_equal(p[k], 0);
		memset(p, 1, lens[i]);
		secret_free(p);
	}
	assert_null(secret_alloc(SIZE_MAX));
	secret_free(NULL);
	secret_wipe(NULL);
}

// Including the first and the last byte.
static void test_dumps(void **state)
{
	static const size_t lens[] = {1, 4095, 4096, 100000};

	if (emulated()) {
		print_message("qemu-user takes MADV_DONTDUMP and does not tell the kernel\n");
		skip();
	}
	for (unsigned int i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		uint8_t *p = secret_alloc(lens[i]);

		assert_non_null(p);
		assert_false(is_dumped(p));
		assert_false(is_dumped(p + lens[i] - 1));
		secret_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_from_files),
		cmocka_unit_test(test_never_forgotten),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_dumps),
	};

	return cmocka_run_group_tests(tests, make_secrets, conf_file_close);
}
