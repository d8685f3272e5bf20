// SPDX-License-Identifier: BSD-3-Clause
// test_aead.c for lib/dtls/aead_evp.c, which the build may not have chosen for this machine.
#include "test_aead.c"
