// SPDX-License-Identifier: BSD-3-Clause
#include "client/framing.h"

#include "bytes.h"
#include "stun.h"

#define LENGTH_END 4 // both kinds tell their length in bytes 2 and 3
#define CHANNEL_FIRST 0x40 // first byte of channel numbers (RFC 8656 12)
#define CHANNEL_LAST 0x4f

enum framing_state framing_scan(const uint8_t *p, size_t n, struct framing *f)
{
	uint32_t len;

	*f = (struct framing){0};
	if (n == 0)
		return FRAMING_SHORT;
	if (p[0] > 3 && (p[0] < CHANNEL_FIRST || p[0] > CHANNEL_LAST))
		return FRAMING_BAD;
	if (n < LENGTH_END)
		return FRAMING_SHORT;
	len = load_be16(p + 2);
	if (p[0] <= 3) {
		if ((len & 3) != 0 || (n >= 8 && load_be32(p + 4) != STUN_COOKIE))
			return FRAMING_BAD;
		f->len = f->size = STUN_HEADER_LEN + len;
	} else {
		f->len = CHANNEL_HEADER_LEN + len;
		f->size = f->len + framing_pad(len);
	}
	return n < f->size ? FRAMING_SHORT : FRAMING_WHOLE;
}
