// SPDX-License-Identifier: BSD-3-Clause
// Additions to struct turn_config for more than one realm (lib/features/meson.build).
#pragma once

#include <stdint.h>

struct turn_realm;
struct turn_tallies;

#define TURN_REALMS_MAX 128

// The web origins whose clients are challenged for credentials of a realm, the names of the realms
// that a listener serves (0 = all, else the first one is the default), and the further realms.
#define REALMS_REALM_FIELDS(X) X(char **, origins) X(uint32_t, nb_origins)
#define REALMS_LISTENER_FIELDS(X) X(char **, realms) X(uint32_t, nb_realms)
#define REALMS_FIELDS(X) X(struct turn_realm *, realms) X(uint32_t, nb_realms)
#define REALMS_MORE_REALMS(X) X(realms, nb_realms, 255)
// NULL: there is one realm, and no reload adds another.
#define REALMS_SHARD_PARAMS(X) X(struct turn_tallies *, tallies)
