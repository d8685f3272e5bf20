// SPDX-License-Identifier: BSD-3-Clause
// Reports where a configuration does not fit this machine: files, CPUs, devices, addresses.
#pragma once

#include "conf.h"

// Reports all problems of a configuration that was read without errors: those of conf_warnings and
// those of this machine. lcores: eal.lcores is in effect, because no EAL argument names lcores.
void check_all(const struct conf *c, bool lcores, struct conf_report *r);

// True if the directory of the key drivers, if set, is readable. Otherwise reports why not.
bool check_drivers(const struct conf *c, struct conf_report *r);

// --- the parts, for tests, which use other directories -------------------------------------------

void check_lcores(const struct conf *c, const char *cpus, struct conf_report *r);
void check_devices(const struct conf *c, const char *pci, struct conf_report *r);
void check_namespaces(const struct conf *c, const char *netns, struct conf_report *r);
void check_listeners(const struct conf *c, struct conf_report *r);
void check_records(const struct conf *c, struct conf_report *r);
void check_state(const struct conf *c, struct conf_report *r);
void check_tls(const struct conf *c, struct conf_report *r);
