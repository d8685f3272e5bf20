// SPDX-License-Identifier: BSD-3-Clause
// Log messages of lib/port. Private to lib/port.
#pragma once

#include <rte_log.h>

extern int port_logtype; // port.c registers it

#define PORT_LOG(level, fmt, ...) \
	rte_log(RTE_LOG_##level, (uint32_t)port_logtype, fmt "\n", ##__VA_ARGS__)
