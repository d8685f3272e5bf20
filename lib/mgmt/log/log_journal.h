// SPDX-License-Identifier: BSD-3-Clause
// journald's native protocol: a line of the log with its fields as one datagram
// (https://systemd.io/JOURNAL_NATIVE_PROTOCOL). Private to lib/mgmt.
#pragma once

#include "log/log_form.h"

// Writes the datagram of a line: PRIORITY, SYSLOG_IDENTIFIER, SLIPRING_AREA, MESSAGE, and each
// field as SLIPRING_NAME with its bytes unchanged. A field that does not fit is left out. Returns
// the length.
size_t log_journal_form(char buf[LOG_FORM_LEN], const struct log_record *r);
