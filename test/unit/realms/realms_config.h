// SPDX-License-Identifier: BSD-3-Clause
// A configuration with three realms: that of the fixture, and two more that have a user ivan, too.
#pragma once

#include "turn_fixture.h"

#define REALM_A "a.example"
#define REALM_B "b.example"
#define ORIGIN_A "https://app.a.example"
#define ORIGIN_B "https://app.b.example:8443"

// Realm a: ivan/pw-a, its own secret "a-secret". Realm b: ivan/pw-b and olga/pw-o, no secret. Both
// have an origin. The caller may change the arrays until the next call.
struct turn_config realms_config(void);
// The config's entry of a realm.
struct turn_realm *realms_config_of(struct turn_config *c, const char *name);
// ivan with the password of a realm, and without ORIGIN.
struct fixture_client realms_ivan(const char *realm, const char *addr);
