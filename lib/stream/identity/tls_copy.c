// SPDX-License-Identifier: BSD-3-Clause
// Copies of the strings of struct stream_tls.
#include "identity/tls_copy.h"

#include <stdlib.h>
#include <string.h>

#include "stream.h"

// Copies the list of names. NULL without memory.
static const char **copy_names(const struct stream_tls *tls)
{
	const char **list = calloc(tls->nb_alpn + 1, sizeof(*list));
	bool good = list != NULL;

	for (unsigned int i = 0; good && i < tls->nb_alpn; i++) {
		list[i] = strdup(tls->alpn[i]);
		good = list[i] != NULL;
	}
	if (good)
		return list;
	for (unsigned int i = 0; list != NULL && list[i] != NULL; i++)
		free((char *)list[i]);
	free(list);
	return NULL;
}

bool tls_copy_own(struct stream_tls *tls)
{
	const char *const src[] = {tls->certificate, tls->key, tls->chain, tls->ciphers};
	const char **const dst[] = {&tls->certificate, &tls->key, &tls->chain, &tls->ciphers};
	const char **names = copy_names(tls);
	bool good = names != NULL;

	if (!good)
		tls->nb_alpn = 0;
	tls->alpn = names;
	for (size_t i = 0; i < sizeof(dst) / sizeof(dst[0]); i++) {
		*dst[i] = src[i] != NULL ? strdup(src[i]) : NULL;
		good = good && (*dst[i] != NULL) == (src[i] != NULL);
	}
	if (!good)
		tls_copy_free(tls);
	return good;
}

void tls_copy_free(struct stream_tls *tls)
{
	free((char *)tls->certificate);
	free((char *)tls->key);
	free((char *)tls->chain);
	free((char *)tls->ciphers);
	for (unsigned int i = 0; i < tls->nb_alpn; i++)
		free((char *)tls->alpn[i]);
	free((void *)tls->alpn);
	*tls = (struct stream_tls){0};
}
