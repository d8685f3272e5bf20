// SPDX-License-Identifier: BSD-3-Clause
// DTLS options of a configuration, and the state that libssl's handshake hands over to a session.
#include "bytes.h"
#include "dtls/dtls_context.h"
#include "dtls_world.h"
#include "thread.h"

// Only configured ciphers that are AEADs are used; at least one is required.
static void test_ciphers(void **state)
{
	const struct stream_dtls c = {.message = 1200};
	struct stream_tls tls = dtls_files();
	char error[256];
	SSL_CTX *ctx;

	tls.ciphers = "ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-CCM";
	ctx = dtls_load(&tls, &c, error, sizeof(error));
	assert_non_null(ctx);
	for (int i = 0; i < sk_SSL_CIPHER_num(SSL_CTX_get_ciphers(ctx)); i++) {
		const SSL_CIPHER *one = sk_SSL_CIPHER_value(SSL_CTX_get_ciphers(ctx), i);

		if (strcmp(SSL_CIPHER_get_version(one), "TLSv1.3") != 0)
			assert_string_equal(
				SSL_CIPHER_get_name(one), "ECDHE-ECDSA-AES256-GCM-SHA384");
	}
	SSL_CTX_free(ctx);
	tls.ciphers = "ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES128-CCM";
	tls.for_dtls = true;
	assert_int_equal(stream_tls_check(&tls, error, sizeof(error)), -1);
	assert_string_equal(error,
		"tls.ciphers: ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES128-CCM: "
		"DTLS needs one of AES-GCM or CHACHA20-POLY1305 among them");
	tls.for_dtls = false;
	assert_int_equal(stream_tls_check(&tls, error, sizeof(error)), 0);
}

// --- from a handshake to its session -------------------------------------------------------------

static const struct stream_dtls config = {.mtu = 1232, .message = 1400};
static struct dtls_client client;
static struct datagram finished; // completed the handshake
static uint64_t next[2], nonce; // of records that our end sent

static void send_out(void *ctx, const uint8_t *data, size_t len)
{
	for (size_t offset = 0; offset < len;
		offset += 13 + (size_t)load_be16(data + offset + 11)) {
		const uint64_t number = load_be64(data + offset + 3), seq = number << 16 >> 16;

		assert_true(number >> 48 <= 1 && seq >= next[number >> 48]);
		if (number >> 48 == 1) { // RFC 5288 3: never repeated, so ours count up
			assert_true(seq == 0 || load_be64(data + offset + 13) == nonce + 1);
			nonce = load_be64(data + offset + 13);
		}
		next[number >> 48] = seq + 1;
	}
	wire_put(&client.in, data, len);
}

// Begins a handshake with a cookie, and its first answer.
static struct dtls_handshake *begin(SSL_CTX *ctx)
{
	static const uint8_t key[DTLS_COOKIE_KEY_LEN] = {1};
	static const struct endpoint client_addr = {.port = 1};
	struct dtls_cookies cookies;
	struct dtls_wire w = {.out = send_out};
	uint8_t answer[DTLS_VERIFY_LEN];
	struct dtls_handshake *h;
	struct datagram d;
	struct dtls_hello hello;

	dtls_cookies_init(&cookies, key);
	dtls_client_handshake(&client);
	assert_true(wire_take(&client.out, &d) && dtls_hello_read(d.data, d.len, &hello));
	dtls_cookie_ask(&cookies, &hello, &client_addr, &client_addr, answer);
	wire_put(&client.in, answer, sizeof(answer));
	dtls_client_handshake(&client);
	do // its timer may have made it repeat the first hello
		assert_true(wire_take(&client.out, &d) && dtls_hello_read(d.data, d.len, &hello));
	while (hello.cookie_len == 0);
	w.in = d.data;
	w.in_len = d.len;
	h = dtls_open(ctx, config.mtu, &w);
	assert_non_null(h);
	assert_int_equal(dtls_handshake(h, &w), IO_LATER);
	return h;
}

static struct dtls_session *shake(SSL_CTX *ctx)
{
	struct dtls_wire w = {.out = send_out};
	struct dtls_session *s = NULL;
	struct dtls_handshake *h;

	next[0] = next[1] = 0;
	h = begin(ctx);
	for (unsigned int i = 0; i < 100 && s == NULL; i++) {
		dtls_client_handshake(&client);
		while (s == NULL && wire_take(&client.out, &finished)) {
			struct datagram copy = finished;

			w.in = copy.data;
			w.in_len = copy.len;
			if (dtls_handshake(h, &w) > 0)
				s = dtls_settle(h);
		}
	}
	dtls_handshake_free(h);
	assert_non_null(s);
	assert_true(dtls_client_handshake(&client));
	return s;
}

// Numbers and nonces continue where libssl stopped. There is a flight to repeat only if ours was
// the last one. A repeated Finished, byte for byte, is answered once at most (window).
static void hand_over(SSL_CTX *ctx, bool resumed)
{
	struct dtls_session *s = shake(ctx);
	uint8_t record[64], *message;
	struct dtls_wire w = {.out = send_out};

	assert_int_equal(SSL_session_reused(client.ssl), resumed);
	for (unsigned int i = 0; i < 3; i++)
		send_out(NULL, record,
			(size_t)dtls_session_write(s, (const uint8_t *)"ours", 4, record));
	for (unsigned int i = 0; i < 2; i++) {
		struct datagram copy = finished;

		w.in = copy.data;
		w.in_len = copy.len;
		assert_int_equal(dtls_session_read(s, &w, &message), IO_LATER);
		assert_int_equal(w.outs, !resumed);
	}
	dtls_session_free(s);
}

static void test_hand_over(void **state)
{
	struct stream_tls tls = dtls_files();
	char error[256];
	SSL_CTX *ctx = dtls_load(&tls, &config, error, sizeof(error));
	SSL_SESSION *earlier;

	assert_non_null(ctx);
	dtls_client_open(&client, "ECDHE-ECDSA-AES128-GCM-SHA256");
	hand_over(ctx, false);
	earlier = SSL_get1_session(client.ssl);
	SSL_set_shutdown(client.ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN); // stays valid
	dtls_client_close(&client);
	dtls_client_open(&client, "ECDHE-ECDSA-AES128-GCM-SHA256");
	assert_int_equal(SSL_set_session(client.ssl, earlier), 1);
	SSL_SESSION_free(earlier);
	hand_over(ctx, true);
	dtls_client_close(&client);
	SSL_CTX_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ciphers),
		cmocka_unit_test(test_hand_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
