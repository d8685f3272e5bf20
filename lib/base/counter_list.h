// SPDX-License-Identifier: BSD-3-Clause
// Lists of counters. One line of a list declares a counter, its keys and its meaning, for the
// structure that has it, telemetry, /slipring/meanings and slipring-exporter. Lines:
//   F(field, kind, metric, meaning): a field of the structure, also its key in telemetry
//   V(key, value, kind, metric, meaning): a value that is no field; value is a C expression
// kind is c (counter), g (gauge), or - if the exporter shows it otherwise. metric is the name for
// Prometheus, without slipring_ and maybe with a label; "" = the key.
#pragma once

#define COUNTER_FIELD(field, kind, metric, meaning) uint64_t field;
#define COUNTER_NO_FIELD(key, value, kind, metric, meaning)
