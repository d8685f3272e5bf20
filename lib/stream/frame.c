// SPDX-License-Identifier: BSD-3-Clause
#include "bytes.h"
#include "frame.h"

#define LENGTH_END 4 // both kinds have a type or number, then their length
#define STUN_HEADER 20
#define STUN_COOKIE 0x2112A442u
#define COOKIE_END 8
#define CHANNEL_HEADER 4

// The cookie is looked at as soon as it is there, so that what is no STUN does not make us wait for
// the rest of what it is not.
static enum frame_state scan_stun(const uint8_t *p, size_t n, struct frame *f)
{
	const uint32_t len = load_be16(p + 2);

	if ((len & 3) != 0 || (n >= COOKIE_END && load_be32(p + 4) != STUN_COOKIE))
		return FRAME_BAD;
	f->len = f->size = STUN_HEADER + len;
	return n < f->size ? FRAME_SHORT : FRAME_WHOLE;
}

enum frame_state frame_scan(const uint8_t *p, size_t n, struct frame *f)
{
	*f = (struct frame){0};
	if (n == 0)
		return FRAME_SHORT;
	// RFC 8656 table 3; ChannelData up to 0x7FFF, of which RFC 5766 has a length too
	if (p[0] > 3 && (p[0] & 0xc0) != 0x40)
		return FRAME_BAD;
	if (n < LENGTH_END)
		return FRAME_SHORT;
	if (p[0] <= 3)
		return scan_stun(p, n, f);
	f->len = CHANNEL_HEADER + (uint32_t)load_be16(p + 2);
	f->size = (f->len + 3) & ~3u;
	return n < f->size ? FRAME_SHORT : FRAME_WHOLE;
}
