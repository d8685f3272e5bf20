// SPDX-License-Identifier: BSD-3-Clause
// Reads and checks dates; the caller supplies the time.
#define _DEFAULT_SOURCE // timegm
#include "stream_expiry.h"

#include <stdio.h>

#include <openssl/x509.h>

#define DAY 86400
#define HOUR 3600

time_t stream_expiry_renew(const struct stream_validity *first, time_t until)
{
	const time_t third = (first->until - first->not_before) / 3;

	return until - (third < STREAM_EXPIRES_S ? third : STREAM_EXPIRES_S);
}

static void tell_soon(time_t left, const char *date, char *text, size_t len)
{
	const bool days = left >= 2 * DAY;

	snprintf(text, len, "expires on %s, in less than %ld %s: renew it", date,
		(long)(left / (days ? DAY : HOUR) + 1), days ? "days" : "hours");
}

bool stream_expiry_text(const struct stream_validity *v, time_t now, char *text, size_t len)
{
	const time_t edge = now < v->not_before ? v->not_before : v->until;
	char date[32] = "?";
	struct tm tm;

	if (gmtime_r(&edge, &tm) != NULL)
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", &tm);
	if (now < v->not_before)
		snprintf(text, len,
			"is not valid before %s: clients refuse it until then (or is the clock "
			"wrong?)",
			date);
	else if (now > v->until)
		snprintf(text, len, "expired on %s: clients refuse it, renew it", date);
	else if (now > v->renew)
		tell_soon(v->until - now, date, text, len);
	else
		return false;
	return true;
}

bool stream_expiry_read(
	const X509 *x, const struct stream_validity *first, struct stream_validity *out)
{
	struct tm not_before, until;

	if (ASN1_TIME_to_tm(X509_get0_notBefore(x), &not_before) != 1 ||
		ASN1_TIME_to_tm(X509_get0_notAfter(x), &until) != 1)
		return false;
	out->not_before = timegm(&not_before);
	out->until = timegm(&until);
	out->renew = stream_expiry_renew(first != NULL ? first : out, out->until);
	return true;
}
