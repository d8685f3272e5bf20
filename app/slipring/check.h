// SPDX-License-Identifier: BSD-3-Clause
// What of a configuration does not fit this machine: files, CPUs, devices, addresses.
#pragma once

#include "conf.h"

// Where to look; tests have others.
struct check_paths {
	const char *cpus; // /sys/devices/system/cpu
	const char *pci; // /sys/bus/pci/devices
	const char *netns; // /run/netns
};

extern const struct check_paths check_system;

// Tells the problems of a configuration that has been read without errors: conf_warnings, and all
// of this machine. lcores: eal.lcores is what counts, EAL arguments say nothing of them.
void check_all(const struct conf *c, bool lcores, struct conf_report *r);

// Whether the directory that the key drivers names, if any, can be read; else that is told.
bool check_drivers(const struct conf *c, struct conf_report *r);

// --- the parts, for tests ------------------------------------------------------------------------

void check_lcores(const struct conf *c, const char *cpus, struct conf_report *r);
void check_devices(const struct conf *c, const char *pci, struct conf_report *r);
void check_namespaces(const struct conf *c, const char *netns, struct conf_report *r);
void check_listeners(const struct conf *c, struct conf_report *r);
void check_tls(const struct conf *c, struct conf_report *r);
