// SPDX-License-Identifier: BSD-3-Clause
// Corrects the checksums of frames that a test has changed, in the slow and plain way.
#include "frames.h"
#include "slow_sum.h"

void frames_put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

void frames_fix_ip4(uint8_t *ip)
{
	frames_put16(ip + 10, 0);
	frames_put16(ip + 10, (uint16_t)~slow_sum(0, ip, (ip[0] & 15) * 4u));
}

void frames_fix_l4(const uint8_t *addrs, size_t addrs_len, uint8_t proto, uint8_t *l4, size_t len)
{
	const uint8_t pseudo[4] = {(uint8_t)(len >> 8), (uint8_t)len, 0, proto};
	uint8_t *field = l4 + (proto == 17 ? 6 : 2);
	uint16_t sum;

	frames_put16(field, 0);
	sum = proto != 1 ? slow_sum(slow_sum(0, addrs, addrs_len), pseudo, 4) : 0;
	sum = (uint16_t)~slow_sum(sum, l4, len);
	frames_put16(field, sum == 0 && proto == 17 ? 0xffff : sum);
}
