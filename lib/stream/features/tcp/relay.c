// SPDX-License-Identifier: BSD-3-Clause
// The part of relaying over TCP (RFC 6062) that threads and streams run.
#include "features/tcp/relay.h"

#include <stdio.h>

#include "features/tcp/hub.h"
#include "features/tcp/orders.h"
#include "features/tcp/rules.h"
#include "features/tcp/splice.h"
#include "listen.h"
#include "thread.h"

#define DRY_MS 5 // between two retries of splices that wait for rates
#define CONNECTION_BIND 0x0b // second byte of a ConnectionBind request; the first is 0

bool relay_make(struct streams *s, char *error, size_t len)
{
	const struct stream_relay *c = &s->conf.relay;

	if (c->ports == 0)
		return true;
	s->hub = hub_create(c);
	if (s->hub == NULL)
		snprintf(error, len, "relay.tcp: out of memory");
	return s->hub != NULL;
}

void relay_end(struct streams *s)
{
	hub_free(s->hub);
}

uint32_t relay_files(const struct stream_config *c)
{
	return c->relay.connections + c->relay.ports;
}

void relay_changed(struct streams *s)
{
	if (s->hub != NULL)
		__atomic_fetch_add(&s->hub->rules, 1, __ATOMIC_RELEASE);
}

// Privileges are gone when the sockets are made.
void relay_enter(struct thread *t)
{
	char error[256];

	if (t->s->hub != NULL && listen_enter(t->s->conf.netns, error, sizeof(error)) != 0)
		t->relay.off = true; // never use another namespace
}

void relay_ask(struct thread *t)
{
	if (t->relay.untold > 0)
		orders_ask(t);
}

uint32_t relay_wait_ms(const struct thread *t)
{
	if (t->relay.untold > 0 || rules_are_due(t) || orders_are_due(t))
		return 0;
	return t->relay.dry != NULL ? DRY_MS : UINT32_MAX;
}

void relay_retry(struct thread *t)
{
	if (t->relay.dry == NULL || t->now_ms < t->relay.dry_ms + DRY_MS)
		return;
	t->relay.dry_ms = t->now_ms;
	splice_dry(t);
}

void relay_tick(struct thread *t)
{
	if (t->s->hub != NULL)
		orders_tick(t);
}

bool relay_review(struct thread *t)
{
	if (rules_are_due(t))
		rules_review(t);
	if (orders_are_due(t))
		orders_review(t);
	return rules_are_due(t) || orders_are_due(t);
}

bool relay_is_bind(const struct thread *t, const uint8_t *message)
{
	return t->s->hub != NULL && message[0] == 0 && message[1] == CONNECTION_BIND;
}
