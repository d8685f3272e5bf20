// SPDX-License-Identifier: BSD-3-Clause
// The TCP listeners for lib/stream.
#include "clients/stream_listeners.h"

#include "conf.h"
#include "turn_config.h"

static struct stream_listener listener_of(const struct conf *c, uint32_t i)
{
	static const uint8_t modes[] = {[TURN_OVER_TCP] = STREAM_PLAIN,
		[TURN_OVER_TLS] = STREAM_TLS,
		[TURN_OVER_AUTO] = STREAM_DETECT};
	const struct turn_listener *l = &c->turn.listeners[i];

	return (struct stream_listener){.endpoint = l->endpoint,
		.index = (uint8_t)i,
		.mode = modes[l->transport],
		.marked = l->dscp != TURN_DSCP_COPY,
		.tos = turn_listener_tos(l),
		.proxy = l->proxy.sources,
		.nb_proxy = (uint8_t)l->proxy.nb_from,
		.proxy_room = (uint16_t)l->proxy.size};
}

unsigned int stream_listeners(const struct conf *c, struct stream_listener *out)
{
	unsigned int n = 0;

	for (uint32_t i = 0; i < c->turn.nb_listeners; i++) {
		if (!turn_listener_is_stream(&c->turn.listeners[i]))
			continue;
		if (out != NULL)
			out[n] = listener_of(c, i);
		n++;
	}
	return n;
}
