// SPDX-License-Identifier: BSD-3-Clause
// Driver profiles. Pure, like conf.h.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "conf.h"

// Driver profile: the content of one file, for the drivers that it names. A driver without a
// profile is only probed.
struct conf_driver {
	char *path; // path of the profile
	char **names; // names of DPDK drivers, as the drivers spell them
	uint32_t nb_names;
	char *tested; // hardware that the profile has been tested on
	enum conf_steering steering;
	uint16_t rx_ring, tx_ring; // descriptors; 0 = the profile does not say
	char *devargs; // NULL, or "key=value,..." for devices that are hot-plugged by name
	bool interrupts; // its receive interrupts wake workers
	struct conf_node *root; // private to lib/conf: the place of each value in the file
};

struct conf_drivers {
	char *dir;
	struct conf_driver *list; // in the order of their file names
	uint32_t nb;
};

// Reads every *.yaml of a directory. Returns NULL with the reason in error on failure. The reason
// has the form "FILE:LINE:COL: key: reason" when it lies in a file. errno is then ENOENT when the
// directory does not exist, EINVAL otherwise.
struct conf_drivers *conf_drivers_load(const char *dir, char error[CONF_ERROR_LEN]);
void conf_drivers_free(struct conf_drivers *d); // NULL is fine
// The profile for a driver of that name. NULL if there is no profile, or if d is NULL.
const struct conf_driver *conf_driver_find(const struct conf_drivers *d, const char *driver);
// The profile for a vdev string, before the driver is known: EAL uses the driver whose name begins
// the device's name. NULL for a PCI address, because that does not name the driver.
const struct conf_driver *conf_driver_of_device(const struct conf_drivers *d, const char *device);
// Writes, as YAML, the values that apply to a driver and the source of each. name is a driver, a
// vdev, or a file name without .yaml. c may be NULL.
void conf_driver_show(
	FILE *out, const struct conf_drivers *all, const struct conf *c, const char *name);
