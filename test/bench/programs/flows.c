// SPDX-License-Identifier: BSD-3-Clause
// The addresses of each flow, from the number of its client.
#include "flows.h"

#include <errno.h>
#include <stdlib.h>

#include "bytes.h"
#include "stun.h"

#define PICK_SLACK 1024 // clients tried per home, beyond twice the wanted number

static struct addr addr_of(const char *text)
{
	struct addr a = {.d = {0, 0}};

	addr_parse(text, &a);
	return a;
}

// Benchmark addresses (RFC 2544) at the ends, documentation addresses in the middle.
int flows_init(struct flows *f, bool is_v4, uint32_t nb)
{
	*f = (struct flows){.is_v4 = is_v4,
		.nb = nb,
		.server = addr_of(is_v4 ? "198.51.100.1" : "2001:db8::1"),
		.gateway = addr_of(is_v4 ? "198.51.99.254" : "2001:db8::ffff"),
		.relay = addr_of(is_v4 ? "198.51.0.0" : "2001:db8::"),
		.client = addr_of(is_v4 ? "198.18.0.0" : "2001:db8:1::"),
		.peer = addr_of(is_v4 ? "198.19.0.0" : "2001:db8:2::"),
		.relays = calloc(nb, sizeof(*f->relays))};
	return f->relays != NULL ? 0 : -ENOMEM;
}

void flows_fini(struct flows *f)
{
	free(f->relays);
	free(f->number);
	free(f->by_number);
}

static struct addr with_low(const struct addr *base, uint16_t low)
{
	struct addr a = *base;

	store_be16(a.b + 14, low);
	return a;
}

static struct endpoint end_of(const struct addr *base, uint32_t i)
{
	return (struct endpoint){with_low(base, (uint16_t)(i % FLOWS_HOSTS)),
		(uint16_t)(FLOWS_PORT_FIRST + i / FLOWS_HOSTS)};
}

struct endpoint flows_server(const struct flows *f)
{
	return (struct endpoint){f->server, FLOWS_SERVER_PORT};
}

static uint32_t number_of(const struct flows *f, uint32_t i)
{
	return f->number != NULL ? f->number[i] : i;
}

struct endpoint flows_client(const struct flows *f, uint32_t i)
{
	return end_of(&f->client, number_of(f, i));
}

struct endpoint flows_peer(const struct flows *f, uint32_t i)
{
	return end_of(&f->peer, number_of(f, i));
}

int flows_pick(struct flows *f, unsigned int homes,
	unsigned int (*home)(void *ctx, const struct endpoint *client), void *ctx)
{
	uint32_t *next = calloc(homes, sizeof(*next)), left = f->nb;

	f->nb_numbers = 2 * f->nb + PICK_SLACK * homes;
	f->number = calloc(f->nb, sizeof(*f->number));
	f->by_number = malloc(f->nb_numbers * sizeof(*f->by_number));
	if (next == NULL || f->number == NULL || f->by_number == NULL) {
		free(next);
		return -ENOMEM;
	}
	for (uint32_t n = 0; n < f->nb_numbers; n++) {
		const struct endpoint client = end_of(&f->client, n);
		const unsigned int h = left > 0 ? home(ctx, &client) : 0;
		const uint32_t i = h + homes * next[h];

		f->by_number[n] = UINT32_MAX;
		if (left == 0 || i >= f->nb)
			continue;
		f->number[i] = n;
		f->by_number[n] = i;
		next[h]++;
		left--;
	}
	free(next);
	return left == 0 ? 0 : -ERANGE;
}

struct endpoint flows_relay(const struct flows *f, uint32_t i)
{
	return (struct endpoint){with_low(&f->relay, f->relays[i].low), f->relays[i].port};
}

uint16_t flows_channel(const struct flows *f, uint32_t i)
{
	return (uint16_t)(CHANNEL_MIN | (number_of(f, i) & 0xff));
}

static uint32_t of_end(const struct flows *f, const struct addr *base, const struct endpoint *e)
{
	const struct addr a = with_low(&e->addr, 0);
	uint32_t i;

	if (!addr_eq(&a, base) || e->port < FLOWS_PORT_FIRST)
		return UINT32_MAX;
	i = (e->port - (uint32_t)FLOWS_PORT_FIRST) * FLOWS_HOSTS + load_be16(e->addr.b + 14);
	if (f->number != NULL)
		return i < f->nb_numbers ? f->by_number[i] : UINT32_MAX;
	return i < f->nb ? i : UINT32_MAX;
}

uint32_t flows_of_client(const struct flows *f, const struct endpoint *e)
{
	return of_end(f, &f->client, e);
}

uint32_t flows_of_peer(const struct flows *f, const struct endpoint *e)
{
	return of_end(f, &f->peer, e);
}

bool flows_set_relay(struct flows *f, uint32_t i, const struct endpoint *e)
{
	const struct addr a = with_low(&e->addr, 0);

	if (!addr_eq(&a, &f->relay))
		return false;
	f->relays[i] = (struct flows_relay){load_be16(e->addr.b + 14), e->port};
	return true;
}
