// SPDX-License-Identifier: BSD-3-Clause
// The names of the faults that clients may have.
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
