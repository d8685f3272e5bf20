// SPDX-License-Identifier: BSD-3-Clause
// Checks that each TLS or DTLS listener has a certificate and its key, and ALPN names that a client
// can send.
#include "checks/checks.h"

#include <stdbool.h>
#include <string.h>

#include "conf.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"

#define ALPN_MAX 255 // bytes of a name (RFC 7301 3.1)

static int check_alpn(struct conf_ctx *x, char *const *const *list, uint32_t nb)
{
	char *const *names = *list;

	for (uint32_t i = 0; i < nb; i++) {
		const struct conf_node *n = conf_node_by_field(x->root, list, i);

		if (strlen(names[i]) > ALPN_MAX)
			return conf_fail(x, n, "has %zu bytes, at most %u are allowed: shorten it",
				strlen(names[i]), ALPN_MAX);
		for (uint32_t k = 0; k < i; k++)
			if (strcmp(names[i], names[k]) == 0)
				return conf_fail(x, n, "is given twice: remove one");
	}
	return 0;
}

static bool has_tls(const struct turn_listener *l)
{
	return l->transport != TURN_OVER_UDP && l->transport != TURN_OVER_TCP;
}

// Checks the certificate, key and ALPN of the listener's own entry.
static int check_own(
	struct conf_ctx *x, const struct turn_listener *l, const struct conf_node *entry)
{
	const struct turn_listener_tls *tls = &l->tls;
	const bool any = tls->certificate != NULL || tls->key != NULL || tls->alpn != NULL;

	if (any && !has_tls(l))
		return conf_fail(x, conf_node_child(entry, "tls"),
			"needs transport: tls, auto or dtls: remove it");
	if (tls->certificate != NULL && tls->key == NULL)
		return conf_fail(x, conf_node_by_field(x->root, &tls->certificate, 0),
			"the certificate has no key here: add key, too");
	if (tls->certificate == NULL && tls->key != NULL)
		return conf_fail(x, conf_node_by_field(x->root, &tls->key, 0),
			"the key has no certificate here: add certificate, too");
	return check_alpn(x, (char *const *const *)&tls->alpn, tls->nb_alpn);
}

// Checks the values that the listener takes from `tls`.
static int check_shared(struct conf_ctx *x, const struct turn_listener *l)
{
	const struct conf_tls *tls = &x->conf->tls;
	const struct conf_node *n = conf_node_by_field(x->root, &l->transport, 0);

	if (!has_tls(l))
		return 0;
	if (l->tls.certificate == NULL && (tls->certificate == NULL || tls->key == NULL))
		return conf_fail(x, n, "tls.%s is missing: name the PEM file",
			tls->certificate == NULL ? "certificate" : "key");
	if (l->transport == TURN_OVER_DTLS && tls->min_version == CONF_TLS_1_3)
		return conf_fail(x, n,
			"tls.min-version is 1.3, and slipring has no DTLS 1.3: lower it, or "
			"remove the listener");
	return 0;
}

int conf_identities_check(struct conf_ctx *x)
{
	return check_alpn(x, (char *const *const *)&x->conf->tls.alpn, x->conf->tls.nb_alpn);
}

int conf_identities_check_listener(struct conf_ctx *x, uint32_t i)
{
	struct turn_config *t = &x->conf->turn;
	const struct conf_node *entry = conf_node_by_field(x->root, &t->listeners, i);
	int rc;

	t->listeners[i].entry = (uint8_t)entry->index;
	if (entry->first != i)
		return 0;
	rc = check_own(x, &t->listeners[i], entry);
	return rc == 0 ? check_shared(x, &t->listeners[i]) : rc;
}
