// SPDX-License-Identifier: BSD-3-Clause
// Finds the messages in a byte stream: by their first byte (RFC 8656 table 3, RFC 7983), then by
// the length field that both STUN and ChannelData have in their first four bytes.
#include "framing.h"

#include "stun.h"

#define LENGTH_END 4

// Checks the cookie as soon as it has arrived, so that no caller waits for the rest of something
// that is not a message.
static enum stun_framing_state scan_stun(const uint8_t *p, size_t n, struct stun_framing *f)
{
	const uint32_t len = load_be16(p + 2);

	if ((len & 3) != 0 || (n >= STUN_FRAMING_JUDGED && load_be32(p + 4) != STUN_COOKIE))
		return STUN_FRAMING_BAD;
	f->len = f->size = STUN_HEADER_LEN + len;
	return n < f->size ? STUN_FRAMING_SHORT : STUN_FRAMING_WHOLE;
}

enum stun_framing_state stun_framing_scan(
	const uint8_t *p, size_t n, uint16_t channel_max, struct stun_framing *f)
{
	*f = (struct stun_framing){0};
	if (n == 0)
		return STUN_FRAMING_SHORT;
	if (p[0] > STUN_FIRST_MAX && (p[0] < CHANNEL_MIN >> 8 || p[0] > channel_max >> 8))
		return STUN_FRAMING_BAD;
	if (n < LENGTH_END)
		return STUN_FRAMING_SHORT;
	if (p[0] <= STUN_FIRST_MAX)
		return scan_stun(p, n, f);
	f->len = CHANNEL_HEADER_LEN + (uint32_t)load_be16(p + 2);
	f->size = f->len + stun_framing_pad(f->len);
	return n < f->size ? STUN_FRAMING_SHORT : STUN_FRAMING_WHOLE;
}
