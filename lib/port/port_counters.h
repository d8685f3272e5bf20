// SPDX-License-Identifier: BSD-3-Clause
// Counters of a port itself (struct port_counters), as a list of counter_list.h: frames that the
// workers never saw.
#pragma once

#include "counter_list.h"

#define PORT_COUNTERS(F)                                                              \
	F(rx_missed, c, "", "frames lost because the worker did not poll in time")    \
	F(rx_errors, c, "", "frames received damaged")                                \
	F(rx_nombuf, c, "rx_no_mbuf", "times a receive queue found no packet buffer") \
	F(tx_errors, c, "", "frames that the port could not send")                    \
	F(tx_cut, c, "tx_cut_frames", "super-frames that had to be cut in software")
