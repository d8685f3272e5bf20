// SPDX-License-Identifier: BSD-3-Clause
// Traffic: from its order to its result. Main lcore.
#pragma once

#include "session.h"

// traffic_begin starts traffic at a rate (datagrams per second, all senders together). traffic_end
// stops it and writes the measurements to s->result. traffic_row prints one row of the table; t is
// the time since the traffic began, in seconds.
void traffic_begin(struct session *s, double rate);
void traffic_end(struct session *s);
void traffic_row(struct session *s, double t);
// Changes the rate of the traffic under way.
void traffic_rate(struct session *s, double rate);
// Sends at a rate for `duration` seconds and leaves the result in s->result. tell: print the rows
// of the table meanwhile.
void traffic_run(struct session *s, double rate, double duration, bool tell);
// Sends at the rate for the warm-up time and measures nothing: caches fill, neighbours are
// resolved, and the server warms up.
void traffic_warm_up(struct session *s, double rate);
