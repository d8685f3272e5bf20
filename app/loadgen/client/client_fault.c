// SPDX-License-Identifier: BSD-3-Clause
// The names of client faults, and the reason phrases of STUN error codes.
#include "client/client_fault.h"

static const struct {
	const char *name, *text;
} faults[] = {
#define X(id, n, t) [id] = {n, t},
	CLIENT_FAULTS(X)
#undef X
};

const char *client_fault_name(enum client_fault f)
{
	return faults[f].name;
}

const char *client_fault_text(enum client_fault f)
{
	return faults[f].text;
}

const char *client_fault_error_text(unsigned int code)
{
	static const struct {
		unsigned int code;
		const char *text;
	} known[] = {
		{300, "Try Alternate"},
		{400, "Bad Request"},
		{401, "Unauthenticated (wrong user, password or secret?)"},
		{403, "Forbidden (does the server allow these peers?)"},
		{420, "Unknown Attribute"},
		{437, "Allocation Mismatch"},
		{438, "Stale Nonce"},
		{440, "Address Family not Supported"},
		{441, "Wrong Credentials"},
		{442, "Unsupported Transport Protocol"},
		{443, "Peer Address Family Mismatch"},
		{446, "Connection Already Exists"},
		{447, "Connection Timeout or Failure"},
		{486, "Allocation Quota Reached"},
		{487, "Role Conflict"},
		{500, "Server Error"},
		{508, "Insufficient Capacity (relay ports of the server?)"},
	};

	for (unsigned int i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].code == code)
			return known[i].text;
	return "";
}
