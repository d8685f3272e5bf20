// SPDX-License-Identifier: BSD-3-Clause
// Checks the certificates in use, not the files: a renewed file may not have been read yet.
#include "reload/expiry_told.h"

#include "dp.h"
#include "log/log.h"

void expiry_told_start(struct expiry_told *t, uint64_t now_ms)
{
	t->next_ms = now_ms + EXPIRY_TOLD_MS;
}

void expiry_told_tick(struct expiry_told *t, const struct dp *d, uint64_t now_ms, time_t now)
{
	struct stream_certificate c;
	char text[160];

	if (now_ms < t->next_ms)
		return;
	t->next_ms = now_ms + EXPIRY_TOLD_MS;
	for (unsigned int i = 0; dp_certificate(d, i, &c); i++) {
		const struct mgmt_log_field field = mgmt_log_text("certificate", c.path);

		if (stream_expiry_text(&c.validity, now, text, sizeof(text)))
			mgmt_log_fields(CONF_AREA_STREAMS, LOG_WARNING, &field, 1,
				"certificate in use: %s: %s", c.path, text);
	}
}
