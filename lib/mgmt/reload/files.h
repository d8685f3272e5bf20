// SPDX-License-Identifier: BSD-3-Clause
// TLS files that this process may no longer read. Private to lib/mgmt.
#pragma once

struct stream_identities;

// Returns the first existing file of certificates, keys and chains that is unreadable, for instance
// because only root may read it and the process has given up root. NULL if all are readable. Any
// thread.
const char *files_unreadable(const struct stream_identities *all);
