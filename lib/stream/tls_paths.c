// SPDX-License-Identifier: BSD-3-Clause
// Copies of the strings of struct stream_tls.
#include "tls_paths.h"

#include <stdlib.h>
#include <string.h>

#include "stream.h"

bool tls_paths_own(struct stream_tls *tls)
{
	struct stream_tls t = {.only_13 = tls->only_13, .for_dtls = tls->for_dtls};
	const char **const to[] = {&t.certificate, &t.key, &t.chain, &t.ciphers};
	const char *const from[] = {tls->certificate, tls->key, tls->chain, tls->ciphers};
	bool good = true;

	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
		*to[i] = from[i] != NULL ? strdup(from[i]) : NULL;
		good = good && (*to[i] != NULL) == (from[i] != NULL);
	}
	*tls = t;
	if (!good)
		tls_paths_free(tls);
	return good;
}

void tls_paths_free(struct stream_tls *tls)
{
	free((char *)tls->certificate);
	free((char *)tls->key);
	free((char *)tls->chain);
	free((char *)tls->ciphers);
	*tls = (struct stream_tls){0};
}
