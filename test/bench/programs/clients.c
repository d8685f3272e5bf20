// SPDX-License-Identifier: BSD-3-Clause
// The clients of all flows: their allocations and channels, made and kept alive.
#include "clients.h"

#include <netinet/in.h>
#include <stdio.h>

#include "bytes.h"
#include "stun.h"

#define USER "bench" // name, password and realm of the configuration
#define LIFETIME_S 3600
#define ROUND_CLIENTS 32 // clients made between two rounds of the worker
#define PROGRESS 100000
#define REFRESH_MS (200 * 1000) // a permission lasts 300 s, a run at most 60

struct clients {
	struct box *b;
	const struct options *o;
	struct stun_crypto *crypto;
	struct stun_key key;
	uint32_t requests; // number sent: each has its own transaction id
	uint32_t flow; // the flow whose client sends now
	uint8_t nonce[STUN_TEXT_MAX];
	uint16_t nonce_len;
	struct stun_writer w;
	struct stun_msg answer;
	uint8_t message[1024];
	struct turn_burst burst;
};

static void begin(struct clients *c, enum stun_method method)
{
	uint8_t tid[STUN_TID_LEN] = "bench";

	store_be32(tid + 8, ++c->requests);
	stun_begin(&c->w, c->message, sizeof(c->message), STUN_REQUEST, (uint16_t)method, tid);
}

// Sends the message in the writer and parses the answer. Returns 0 or its error code.
static unsigned int exchange(struct clients *c)
{
	const struct endpoint client = flows_client(c->b->flows, c->flow);
	struct turn_shard *shard = box_home(c->b, c->flow)->shard;
	const struct turn_plan *plan = &c->burst.plan;
	const uint8_t *code;

	c->burst.view[0] = (struct turn_view){.src = client.addr,
		.src_port = client.port,
		.data = c->message,
		.len = stun_end(&c->w),
		.leg = TURN_FROM_CLIENT,
		.via = TURN_NO_WORKER};
	c->burst.n = 1;
	turn_route_begin(shard, &c->burst);
	turn_route_finish(shard, &c->burst, 0);
	if (plan->verdict != TURN_REPLY)
		box_die("client %u: no answer: %s", c->flow,
			plan->verdict == TURN_DROP ? turn_drop_name(plan->reason) : "not a reply");
	if (stun_parse(c->burst.side.front, plan->front_len, &c->answer) != 0)
		box_die("client %u: the answer is not STUN", c->flow);
	if (c->answer.cls == STUN_SUCCESS)
		return 0;
	if (c->answer.alen[STUN_ERROR_CODE] < 4)
		box_die("client %u: the answer is neither success nor error", c->flow);
	code = c->answer.data + c->answer.off[STUN_ERROR_CODE];
	return code[2] * 100u + code[3];
}

// Asks without credentials, as every client does first, and takes the nonce from the answer.
static void challenge(struct clients *c, enum stun_method method)
{
	unsigned int code;

	begin(c, method);
	stun_put_u32(&c->w, STUN_REQUESTED_TRANSPORT, (uint32_t)IPPROTO_UDP << 24);
	code = exchange(c);
	c->nonce_len = c->answer.alen[STUN_NONCE];
	if (code != 401 || c->nonce_len == 0 || c->nonce_len > sizeof(c->nonce))
		box_die("client %u: no nonce, but %u", c->flow, code);
	memcpy(c->nonce, c->answer.data + c->answer.off[STUN_NONCE], c->nonce_len);
}

static void sign_and_send(struct clients *c, const char *step)
{
	unsigned int code;

	stun_put(&c->w, STUN_USERNAME, USER, strlen(USER));
	stun_put(&c->w, STUN_REALM, USER, strlen(USER));
	stun_put(&c->w, STUN_NONCE, c->nonce, c->nonce_len);
	stun_put_integrity(&c->w, c->crypto, STUN_ALG_MD5, &c->key);
	code = exchange(c);
	if (code != 0)
		box_die("client %u: %s refused: %u", c->flow, step, code);
}

static void allocate(struct clients *c)
{
	struct endpoint relay;
	int family;

	begin(c, STUN_ALLOCATE);
	stun_put_u32(&c->w, STUN_REQUESTED_TRANSPORT, (uint32_t)IPPROTO_UDP << 24);
	stun_put_u32(&c->w, STUN_LIFETIME, LIFETIME_S);
	if (!c->o->is_v4)
		stun_put_u32(&c->w, STUN_REQUESTED_ADDRESS_FAMILY, 2u << 24); // RFC 8656 18.6
	sign_and_send(c, "Allocate");
	if (!stun_decode_xor_addr(&c->answer, c->answer.off[STUN_XOR_RELAYED_ADDRESS],
		    c->answer.alen[STUN_XOR_RELAYED_ADDRESS], &relay, &family) ||
		!flows_set_relay(c->b->flows, c->flow, &relay))
		box_die("client %u: relayed transport address not understood", c->flow);
}

static void refresh(struct clients *c)
{
	begin(c, STUN_REFRESH);
	stun_put_u32(&c->w, STUN_LIFETIME, LIFETIME_S);
	sign_and_send(c, "Refresh");
}

// Permits traffic to the peer: ChannelBind installs the permission too (RFC 8656 12).
static void open_way(struct clients *c)
{
	const struct endpoint peer = flows_peer(c->b->flows, c->flow);

	begin(c, c->o->indication ? STUN_CREATE_PERMISSION : STUN_CHANNEL_BIND);
	if (!c->o->indication)
		stun_put_u32(&c->w, STUN_CHANNEL_NUMBER,
			(uint32_t)flows_channel(c->b->flows, c->flow) << 16);
	stun_put_xor_addr(&c->w, STUN_XOR_PEER_ADDRESS, &peer);
	sign_and_send(c, c->o->indication ? "CreatePermission" : "ChannelBind");
}

static void progress(const struct clients *c, const char *done)
{
	const uint32_t n = c->flow + 1, all = c->b->flows->nb;

	if (all >= PROGRESS && (n % PROGRESS == 0 || n == all))
		fprintf(stderr, "relay_core: %u of %u allocations %s\n", n, all, done);
}

static void each(struct box *b, const struct options *o, bool first)
{
	struct clients c = {.b = b, .o = o, .crypto = stun_crypto_create()};

	if (c.crypto == NULL ||
		!stun_key_make(c.crypto, STUN_ALG_MD5,
			&(struct stun_credential){USER, strlen(USER), USER, USER, strlen(USER)},
			&c.key))
		box_die("no MD5 or HMAC-SHA1 from libcrypto");
	for (c.flow = 0; c.flow < b->flows->nb; c.flow++) {
		challenge(&c, first ? STUN_ALLOCATE : STUN_REFRESH);
		if (first)
			allocate(&c);
		else
			refresh(&c);
		open_way(&c);
		progress(&c, first ? "made" : "refreshed");
		if (c.flow % ROUND_CLIENTS != 0)
			continue;
		box_answer(b);
		box_round(b);
	}
	stun_crypto_free(c.crypto);
}

void clients_make(struct box *b, const struct options *o)
{
	b->refreshed_ms = b->worker->now_ms;
	each(b, o, true);
}

void clients_wake(struct box *b, const struct options *o)
{
	box_clock_go(b);
	if (b->worker->now_ms > b->refreshed_ms + REFRESH_MS) {
		b->refreshed_ms = b->worker->now_ms;
		each(b, o, false);
	}
	box_settle(b);
}
