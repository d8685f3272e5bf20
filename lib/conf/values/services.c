// SPDX-License-Identifier: BSD-3-Clause
// Parses the kernel's traffic that an exception port carries.
#include "values/services.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "conf.h"
#include "reading/fail.h"
#include "reading/node.h"
#include "reading/value.h"
#include "schema/schema.h"

static const struct {
	const char *word;
	uint8_t proto;
	bool away;
} words[] = {
	{"tcp", IPPROTO_TCP, false},
	{"tcp-to", IPPROTO_TCP, true},
	{"udp", IPPROTO_UDP, false},
	{"udp-to", IPPROTO_UDP, true},
	{"icmp", IPPROTO_ICMP, false},
	{"icmp-to", IPPROTO_ICMP, true},
};
#define NB_WORDS (sizeof(words) / sizeof(words[0]))

int conf_services_read(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	const size_t len = strcspn(n->text, "/");
	const char *port = n->text[len] == '/' ? n->text + len + 1 : NULL;
	struct conf_service *out;
	char shown[CONF_SHOWN_LEN];
	uint32_t value = 0;
	size_t i = 0;

	while (i < NB_WORDS &&
		(strlen(words[i].word) != len || strncmp(words[i].word, n->text, len) != 0))
		i++;
	if (i == NB_WORDS)
		return conf_fail(x, n,
			"'%s' is not a service: write tcp/PORT, tcp-to/PORT, udp/PORT, "
			"udp-to/PORT, icmp or icmp-to",
			conf_value_shown(n, shown));
	if (words[i].proto == IPPROTO_ICMP && port != NULL)
		return conf_fail(x, n, "ICMP has no ports: write %s", words[i].word);
	if (words[i].proto != IPPROTO_ICMP && port == NULL)
		return conf_fail(x, n, "the port is missing: write %s/PORT", words[i].word);
	if (port != NULL &&
		(!conf_value_decimal(port, strlen(port), &value) || value == 0 ||
			value > UINT16_MAX))
		return conf_fail(x, n, "'%s' has no port from 1 to 65535 behind the '/'",
			conf_value_shown(n, shown));
	out = conf_value_grow(x, k, n, base, 1);
	if (out == NULL)
		return -EINVAL;
	*out = (struct conf_service){words[i].proto, words[i].away, (uint16_t)value};
	return 0;
}
