// SPDX-License-Identifier: BSD-3-Clause
// slipring-probe: finds out if a TURN server works, and says what is wrong.
#include <signal.h>

#include "clock.h"
#include "net/conn.h"
#include "options/opts.h"
#include "report/report.h"
#include "run.h"

#define EXIT_WRONG_USE 2

static void on_signal(int number)
{
	conn_stopped = 1;
}

static void signals_set(void)
{
	const struct sigaction sa = {.sa_handler = on_signal};

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv)
{
	void (*const write[])(FILE *, const struct report *) = {
		report_text, report_json, report_prometheus};
	char error[OPTS_ERROR_SIZE];
	static struct report report;
	enum opts_result result;
	struct opts o;

	result = opts_read(argc, argv, &o, error);
	if (result == OPTS_ERROR)
		fprintf(stderr, "slipring-probe: %s\n", error);
	if (result != OPTS_RUN)
		return result == OPTS_SHOWN ? 0 : EXIT_WRONG_USE;
	signals_set();
	report.server = o.text;
	report.host = o.uri.host;
	for (unsigned int t = 0; t < NB_TRANSPORTS; t++)
		if ((o.transports & TRANSPORT_BIT(t)) != 0)
			run_transport(&o, t, &report.result[report.n++]);
	report.now_s = (int64_t)clock_wall_s();
	report_judge(&report);
	write[o.format](stdout, &report);
	return report.ok ? 0 : 1;
}
