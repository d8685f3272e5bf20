// SPDX-License-Identifier: BSD-3-Clause
// Files of TLS that this process may no longer read. Private to lib/mgmt.
#pragma once

struct stream_identities;

// The first file of certificates, keys and chains that is there and may not be read: root alone
// reads it, who this process was at its start. NULL when there is none. Any thread.
const char *files_unreadable(const struct stream_identities *all);
