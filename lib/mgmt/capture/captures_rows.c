// SPDX-License-Identifier: BSD-3-Clause
// Writes one row for each frame: time, place, length, and its bytes in base64 (RFC 4648 4).
#include "capture/captures_rows.h"

#include <stdlib.h>

#include "conf.h"
#include "port.h"
#include "socket/fields.h"
#include "answers/shown.h"

static const char *const kinds[] = {[DP_CAPTURE_RX] = "rx",
	[DP_CAPTURE_TX] = "tx",
	[DP_CAPTURE_DROP] = "drop",
	[DP_CAPTURE_DTLS_IN] = "dtls-in",
	[DP_CAPTURE_DTLS_OUT] = "dtls-out",
	[DP_CAPTURE_STREAM_IN] = "stream-in",
	[DP_CAPTURE_STREAM_OUT] = "stream-out"};

static json_t *encode_base64(const uint8_t *data, uint32_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *text = malloc((len + 2) / 3 * 4 + 1), *pos = text;
	json_t *out;

	if (text == NULL)
		return NULL;
	for (uint32_t i = 0; i < len; i += 3) {
		const uint32_t b = i + 1 < len ? data[i + 1] : 0, c = i + 2 < len ? data[i + 2] : 0;
		const uint32_t word = (uint32_t)data[i] << 16 | b << 8 | c;

		*pos++ = digits[word >> 18];
		*pos++ = digits[word >> 12 & 63];
		*pos++ = i + 1 < len ? digits[word >> 6 & 63] : '=';
		*pos++ = i + 2 < len ? digits[word & 63] : '=';
	}
	out = json_stringn_nocheck(text, (size_t)(pos - text));
	free(text);
	return out;
}

// Adds the addresses of a message whose headers were not captured.
static void ends_add(json_t *o, const struct turn_config *t, const struct dp_capture_frame *f)
{
	if (f->client.port == 0 || f->listener >= t->nb_listeners)
		return;
	json_object_set_new(o, "client", shown_endpoint(&f->client));
	json_object_set_new(o, "listener", shown_endpoint(&t->listeners[f->listener].endpoint));
	json_object_set_new(o, "transport",
		json_string(fields_transports[t->listeners[f->listener].transport]));
}

json_t *captures_row(const struct dp *d, const struct conf *c, const struct dp_capture_frame *f)
{
	json_t *o = json_object();

	json_object_set_new(o, "t", shown_number(f->ns));
	json_object_set_new(o, "kind", json_string(kinds[f->kind]));
	json_object_set_new(o, "len", shown_number(f->len));
	json_object_set_new(o, "data", encode_base64(f->data, f->cut));
	if (f->id != 0)
		json_object_set_new(o, "id", shown_id(f->id));
	if (f->kind == DP_CAPTURE_RX || f->kind == DP_CAPTURE_TX)
		json_object_set_new(o, "port", shown_text(dp_port(d, f->port)->name));
	if (f->kind == DP_CAPTURE_DROP)
		json_object_set_new(o, "drop", json_string(dp_drop_name(f->reason)));
	if (f->frames > 1)
		json_object_set_new(o, "frames", shown_number(f->frames));
	if (f->tag != 0)
		json_object_set_new(o, "tag", shown_number(f->tag & 0xffff));
	if (f->message) {
		json_object_set_new(o, "message", json_true());
		ends_add(o, &c->turn, f);
	}
	return o;
}
