// SPDX-License-Identifier: BSD-3-Clause
// slipring-loadgen: plays the clients of a TURN server and their peers, and measures the traffic
// between them.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "eal.h"
#include "lanes/engine.h"
#include "options/opts.h"
#include "run.h"

static void on_signal(int number)
{
	run_stop++;
	if (run_stop > 2)
		_Exit(1);
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
	const int first = eal_separator(argc, argv);
	char error[512] = "";
	struct engine *e = NULL;
	struct config c;
	int rc;

	// before EAL starts, so that a mistake shows at once
	rc = opts_parse(argc - first, argv + first, &c);
	if (rc != OPTS_RUN)
		return rc == OPTS_SHOWN ? 0 : 1;
	if (eal_begin(argc, argv, error, sizeof(error)) < 0) {
		fprintf(stderr, "slipring-loadgen: %s\n", error);
		return 1;
	}
	signals_set(); // after EAL, which sets handlers of its own
	rc = 1;
	e = engine_create(&c, error, sizeof(error));
	if (e != NULL && engine_launch(e) == 0)
		rc = run(e);
	else
		fprintf(stderr, "slipring-loadgen: %s\n",
			e != NULL ? "an lcore could not be launched" : error);
	if (e != NULL)
		engine_destroy(e);
	eal_end();
	return rc;
}
