// SPDX-License-Identifier: BSD-3-Clause
// Names of transports and steps, and small questions about results.
#include "result.h"

#define DAY_S 86400

const char *transport_name(enum transport t)
{
	static const char *const name[NB_TRANSPORTS] = {"udp", "tcp", "tls", "dtls"};

	return name[t];
}

const char *step_name(enum step s)
{
	static const char *const name[NB_STEPS] = {"resolve", "connect", "handshake", "binding",
		"allocate", "permission", "echo", "release"};

	return name[s];
}

bool transport_is_secure(enum transport t)
{
	return t == TRANSPORT_TLS || t == TRANSPORT_DTLS;
}

bool transport_is_datagram(enum transport t)
{
	return t == TRANSPORT_UDP || t == TRANSPORT_DTLS;
}

void result_init(struct result *r, enum transport t)
{
	*r = (struct result){.transport = t};
	for (unsigned int i = 0; i < NB_STEPS; i++)
		r->us[i] = STEP_NOT_DONE;
}

void result_text(char *out, size_t size, const char *text)
{
	size_t n = 0;

	for (; text[n] != '\0' && n + 1 < size; n++)
		out[n] = text[n] >= 0x20 && text[n] < 0x7f ? text[n] : '?';
	out[n] = '\0';
}

int64_t result_days(const struct result *r, int64_t now_s)
{
	const int64_t left_s = r->not_after_s - now_s;

	return left_s >= 0 ? left_s / DAY_S : -((-left_s + DAY_S - 1) / DAY_S);
}
