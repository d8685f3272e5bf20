// SPDX-License-Identifier: BSD-3-Clause
// The wire format of STUN (RFC 8489) and TURN (RFC 8656), and nothing else: a parser, an
// append-only writer, integrity, fingerprint, ChannelData. PURE (+libcrypto): no state machine, no
// clock. Numbers are in host order unless a comment says otherwise. The functions are grouped by
// the file that defines them.
#pragma once

#include "addr.h"
#include "bytes.h"
#include "stun_features.h"

#define STUN_HEADER_LEN 20
#define STUN_COOKIE 0x2112A442u
#define STUN_TID_LEN 12
#define STUN_TEXT_MAX 763 // bytes of the longest USERNAME, REALM or NONCE (RFC 8489 14)
#define STUN_DATA_FRONT_MAX 48 // maximum number of bytes that precede the data of an indication
#define CHANNEL_HEADER_LEN 4
#define CHANNEL_MIN 0x4000
#define CHANNEL_MAX 0x4FFF
#define CHANNEL_MAX_RFC5766 0x7FFF

enum stun_class { STUN_REQUEST, STUN_INDICATION, STUN_SUCCESS, STUN_ERROR };

enum stun_method {
	STUN_BINDING = 0x001,
	STUN_ALLOCATE = 0x003,
	STUN_REFRESH = 0x004,
	STUN_SEND = 0x006,
	STUN_DATA = 0x007,
	STUN_CREATE_PERMISSION = 0x008,
	STUN_CHANNEL_BIND = 0x009,
	STUN_CONNECT = 0x00a, // RFC 6062 6.1
	STUN_CONNECTION_BIND = 0x00b,
	STUN_CONNECTION_ATTEMPT = 0x00c,
};

// Known attributes: X(index enum, wire type). Those below 0x8000 are comprehension-required.
#define STUN_ATTRIBUTES(X)                        \
	X(STUN_MAPPED_ADDRESS, 0x0001)            \
	X(STUN_USERNAME, 0x0006)                  \
	X(STUN_MESSAGE_INTEGRITY, 0x0008)         \
	X(STUN_ERROR_CODE, 0x0009)                \
	X(STUN_UNKNOWN_ATTRIBUTES, 0x000A)        \
	X(STUN_CHANNEL_NUMBER, 0x000C)            \
	X(STUN_LIFETIME, 0x000D)                  \
	X(STUN_XOR_PEER_ADDRESS, 0x0012)          \
	X(STUN_DATA_ATTR, 0x0013)                 \
	X(STUN_REALM, 0x0014)                     \
	X(STUN_NONCE, 0x0015)                     \
	X(STUN_XOR_RELAYED_ADDRESS, 0x0016)       \
	X(STUN_REQUESTED_ADDRESS_FAMILY, 0x0017)  \
	X(STUN_EVEN_PORT, 0x0018)                 \
	X(STUN_REQUESTED_TRANSPORT, 0x0019)       \
	X(STUN_DONT_FRAGMENT, 0x001A)             \
	X(STUN_MESSAGE_INTEGRITY_SHA256, 0x001C)  \
	X(STUN_PASSWORD_ALGORITHM, 0x001D)        \
	X(STUN_USERHASH, 0x001E)                  \
	X(STUN_XOR_MAPPED_ADDRESS, 0x0020)        \
	X(STUN_ADDITIONAL_ADDRESS_FAMILY, 0x8000) \
	X(STUN_ADDRESS_ERROR_CODE, 0x8001)        \
	X(STUN_PASSWORD_ALGORITHMS, 0x8002)       \
	X(STUN_ALTERNATE_DOMAIN, 0x8003)          \
	X(STUN_ICMP, 0x8004)                      \
	X(STUN_SOFTWARE, 0x8022)                  \
	X(STUN_ALTERNATE_SERVER, 0x8023)          \
	X(STUN_FINGERPRINT, 0x8028)               \
	X(STUN_RESPONSE_ORIGIN, 0x802B)           \
	X(STUN_OTHER_ADDRESS, 0x802C)             \
	X(STUN_MOBILITY_TICKET, 0x8030)           \
	STUN_MORE_ATTRIBUTES(X)

enum stun_attr {
#define X(id, type) id,
	STUN_ATTRIBUTES(X)
#undef X
		STUN_NB_ATTRS
};

enum stun_algorithm { STUN_ALG_MD5 = 1, STUN_ALG_SHA256 = 2 }; // RFC 8489 18.5.1

// --- parse.c: reading a message ------------------------------------------------------------------

// A parsed message. It points into the datagram, which must outlive it; nothing is copied.
struct stun_msg {
	const uint8_t *data;
	uint16_t len;
	uint16_t method;
	uint8_t cls; // enum stun_class
	bool fingerprint_bad; // there is a FINGERPRINT, and it is wrong
	uint16_t nb_unknown; // unknown comprehension-required attributes that precede the integrity
	uint16_t off[STUN_NB_ATTRS]; // offset of the first occurrence's value; 0 if absent
	uint16_t alen[STUN_NB_ATTRS]; // its length without padding
};

// Parses a datagram that is one STUN message, and checks all lengths: every off/alen lies in the
// datagram. After MESSAGE-INTEGRITY only MESSAGE-INTEGRITY-SHA256 and FINGERPRINT count, other
// attributes are ignored (RFC 8489 14.5). The first of duplicate attributes wins. Returns 0, or
// -EBADMSG if it is not a STUN message or its structure is broken (top bits, cookie, length,
// attribute overrun).
int stun_parse(const uint8_t *data, size_t len, struct stun_msg *m);
// Like stun_parse(), for a Binding request of RFC 3489. It has no magic cookie: its transaction ID
// is the 16 bytes that begin there (RFC 5389 12.2). -EBADMSG for every other message.
int stun_parse_rfc3489(const uint8_t *data, size_t len, struct stun_msg *m);
// True if the message is an RFC 3489 request.
static inline bool stun_is_rfc3489(const struct stun_msg *m)
{
	return load_be32(m->data + 4) != STUN_COOKIE;
}

// True if the message has the attribute.
static inline bool stun_has(const struct stun_msg *m, enum stun_attr a)
{
	return m->off[a] != 0;
}
// The STUN_TID_LEN bytes of the transaction ID.
static inline const uint8_t *stun_tid(const struct stun_msg *m)
{
	return m->data + 8;
}
// Writes the value of a 4-byte attribute to *v, in host order. False if the attribute is absent or
// has another length.
bool stun_get_u32(const struct stun_msg *m, enum stun_attr a, uint32_t *v);
// Decodes an XOR-*-ADDRESS value of alen bytes at offset off. *family is set to 4 or 6, as the
// attribute says. The address is not canonicalised. False if the value is malformed.
bool stun_decode_xor_addr(
	const struct stun_msg *m, uint16_t off, uint16_t alen, struct endpoint *out, int *family);
// Iterates over the occurrences of one attribute that precede the integrity: start with *pos = 0.
// Each call finds the next value, alen bytes at offset off. False at the end. All calls together
// walk the message once.
bool stun_next(
	const struct stun_msg *m, enum stun_attr a, uint16_t *pos, uint16_t *off, uint16_t *alen);
// Like stun_next(), for unknown comprehension-required attributes: finds their wire types.
bool stun_next_unknown(const struct stun_msg *m, uint16_t *pos, uint16_t *type);
// Finds the first occurrence of a wire type before the integrity, for attributes that are not in
// STUN_ATTRIBUTES. False if there is no such attribute.
bool stun_find(const struct stun_msg *m, uint16_t type, uint16_t *off, uint16_t *alen);

// --- auth.c: keys and integrity ------------------------------------------------------------------

// The digests that libcrypto allows, and the keys used last; one per thread. stun_crypto_create
// returns NULL if there is no memory, or libcrypto lacks SHA-1 or SHA-256. (FIPS set-ups without
// MD5 still have both; stun_key_make then fails for MD5.)
struct stun_crypto;
struct stun_crypto *stun_crypto_create(void);
void stun_crypto_free(struct stun_crypto *c);

#define STUN_KEY_MAX 32
#define STUN_KEY_MD5_LEN 16

struct stun_key {
	uint8_t bytes[STUN_KEY_MAX];
	uint8_t len; // STUN_KEY_MD5_LEN or 32 (SHA-256)
};

// A long-term credential (RFC 8489 9.2). User and password are bytes without a terminating NUL.
struct stun_credential {
	const void *user;
	size_t user_len;
	const char *realm;
	const void *password;
	size_t password_len;
};

// Makes the key of a credential by RFC 8489 9.2.2 (MD5) or 18.5.1.2 (SHA-256): H(user ":" realm ":"
// password). False if libcrypto does not have the digest.
bool stun_key_make(struct stun_crypto *c, enum stun_algorithm alg,
	const struct stun_credential *cred, struct stun_key *out);
// Makes a USERHASH (RFC 8489 14.4): SHA-256(user ":" realm), 32 bytes.
bool stun_userhash(struct stun_crypto *c, const void *user, size_t user_len, const char *realm,
	uint8_t out[32]);
#define STUN_REST_MAC_LEN 20
#define STUN_REST_PASSWORD_SIZE 45 // for a MAC of up to 32 bytes

// Makes a REST password (draft-uberti-behave-turn-rest-00): base64(HMAC-SHA1(secret, user)), with a
// terminating NUL. False if the secret is empty.
bool stun_rest_password(
	struct stun_crypto *c, const char *secret, const void *user, size_t user_len, char out[29]);
// stun_rest_password() in two steps: the MAC, then its text, which is the password. A MAC takes
// less memory than the text. Text of a MAC of at most 32 bytes fits STUN_REST_PASSWORD_SIZE.
bool stun_rest_mac(struct stun_crypto *c, const char *secret, const void *user, size_t user_len,
	uint8_t out[STUN_REST_MAC_LEN]);
void stun_rest_text(const uint8_t *mac, size_t len, char *out);
// HMAC-SHA256 for nonces, tokens and REST passwords. False if the key is empty.
bool stun_hmac_sha256(struct stun_crypto *c, const void *key, size_t key_len, const void *data,
	size_t len, uint8_t out[32]);
// Verifies MESSAGE-INTEGRITY-SHA256 if the message has it (full 32 bytes, the only length that TURN
// allows), else MESSAGE-INTEGRITY; in constant time. False if it has neither, or the verified one
// does not match.
bool stun_integrity_ok(struct stun_crypto *c, const struct stun_msg *m, const struct stun_key *key);
// True if the len bytes are equal. Constant-time, for nonces and tokens.
bool stun_equal(const void *a, const void *b, size_t len);

// --- fingerprint.c -------------------------------------------------------------------------------

// The value of FINGERPRINT over len bytes: their CRC-32, XORed with the constant of RFC 8489 14.7.
uint32_t stun_fingerprint(const uint8_t *data, size_t len);

// --- build.c: writing a message ------------------------------------------------------------------

// Writes a message by appending. Overflow is sticky. Every byte up to len has been written (padding
// is zero).
struct stun_writer {
	uint8_t *buf;
	uint16_t cap, len;
	bool overflow;
};

// Begins a message of at most cap bytes in buf: writes the header with the transaction ID tid.
void stun_begin(struct stun_writer *w, void *buf, size_t cap, enum stun_class cls, uint16_t method,
	const uint8_t tid[STUN_TID_LEN]);
// Turns a message that has just begun into the answer to an RFC 3489 request: it echoes all 16
// bytes of the transaction ID.
void stun_echo_rfc3489(struct stun_writer *w, const struct stun_msg *m);
// Appends an attribute with len bytes of value.
void stun_put(struct stun_writer *w, enum stun_attr a, const void *value, size_t len);
// Appends PADDING (RFC 5780 7.6) with a value of len bytes. The parser does not know it.
void stun_put_padding(struct stun_writer *w, size_t len);
// Appends an attribute with a 4-byte value, given in host order.
void stun_put_u32(struct stun_writer *w, enum stun_attr a, uint32_t value);
// Appends an XOR-*-ADDRESS (RFC 8489 14.2). The address determines the family.
void stun_put_xor_addr(struct stun_writer *w, enum stun_attr a, const struct endpoint *e);
// Appends an address in the plain form of MAPPED-ADDRESS (RFC 8489 14.1).
void stun_put_addr(struct stun_writer *w, enum stun_attr a, const struct endpoint *e);
// Appends an ERROR-CODE. code is 300..699, any other number counts as overflow; reason may be "".
void stun_put_error(struct stun_writer *w, unsigned int code, const char *reason);
// Appends an ADDRESS-ERROR-CODE (RFC 8656 18.12): the reason why there is no address of a family, 1
// for IPv4 or 2 for IPv6. code and reason as for stun_put_error.
void stun_put_address_error(
	struct stun_writer *w, uint8_t family, unsigned int code, const char *reason);
// Appends MESSAGE-INTEGRITY (alg MD5) or MESSAGE-INTEGRITY-SHA256 (alg SHA256) over all preceding
// bytes. A failure to sign counts as overflow.
void stun_put_integrity(struct stun_writer *w, struct stun_crypto *c, enum stun_algorithm alg,
	const struct stun_key *key);
// Appends FINGERPRINT over all preceding bytes; it must be the last attribute.
void stun_put_fingerprint(struct stun_writer *w);
// Returns the length of the finished message, or 0 after an overflow.
uint16_t stun_end(struct stun_writer *w);

// Writes the 36 (IPv4) or 48 (IPv6) bytes that precede payload_len bytes of data in a Data
// indication: header, XOR-PEER-ADDRESS, header of the DATA attribute. Returns 36 or 48. The message
// length counts the payload padded to 4; the caller appends the zero padding to the payload.
uint16_t stun_data_indication(uint8_t *buf, const uint8_t tid[STUN_TID_LEN],
	const struct endpoint *peer, uint16_t payload_len);
