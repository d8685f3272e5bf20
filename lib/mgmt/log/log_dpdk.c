// SPDX-License-Identifier: BSD-3-Clause
// Takes DPDK's log, and sets its level.
#include "log/log_dpdk.h"

#include <stdio.h>
#include <string.h>

#include <rte_log.h>

#include "log/log.h"
#include "port.h"

static FILE *stream; // DPDK writes here; NULL = not open

// DPDK's levels are numbered one above syslog's, and a newline ends each line.
static ssize_t write_lines(void *cookie, const char *data, size_t len)
{
	const int told = rte_log_cur_msg_loglevel() - 1;
	const int level = told < LOG_EMERG || told > LOG_DEBUG ? LOG_INFO : told;
	const enum conf_area area =
		rte_log_cur_msg_logtype() == port_log_type() ? CONF_AREA_PORTS : CONF_AREA_DPDK;
	size_t pos = 0;

	while (pos < len) {
		const char *end = memchr(data + pos, '\n', len - pos);
		const size_t n = end != NULL ? (size_t)(end - data) - pos : len - pos;

		if (n > 0)
			mgmt_log(area, level, "%.*s", (int)n, data + pos);
		pos += n + 1;
	}
	return (ssize_t)len;
}

void log_dpdk_open(void)
{
	const cookie_io_functions_t io = {.write = write_lines};

	stream = fopencookie(NULL, "w", io);
	if (stream != NULL)
		rte_openlog_stream(stream);
}

void log_dpdk_close(void)
{
	// The stream stays open: DPDK's threads may be writing a last line.
	rte_openlog_stream(NULL);
	if (stream != NULL)
		fflush(stream);
	stream = NULL;
}

void log_dpdk_debug(enum conf_area area, bool debug)
{
	// the level that eal_args_build starts with
	const uint32_t level = debug ? RTE_LOG_INFO : RTE_LOG_WARNING;
	const int port = rte_log_get_level((uint32_t)port_log_type());

	if (area == CONF_AREA_PORTS)
		rte_log_set_level((uint32_t)port_log_type(), level);
	if (area != CONF_AREA_DPDK)
		return;
	rte_log_set_level_pattern("*", level);
	rte_log_set_level_pattern("lib.telemetry", debug ? RTE_LOG_INFO : RTE_LOG_ERR);
	rte_log_set_level((uint32_t)port_log_type(), (uint32_t)port);
}
