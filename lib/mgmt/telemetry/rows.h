// SPDX-License-Identifier: BSD-3-Clause
// Converts structures of the data path to telemetry data. Private to lib/mgmt.
#pragma once

#include "conf.h"
#include "dp.h"

struct rte_tel_data;

// Writes a counter's name to buf for telemetry, whose names must not have dashes. Returns buf.
char *mgmt_rows_name(const char *name, char *buf, size_t len);
// Writes untrusted text so that it is safe inside JSON and nothing is lost. Bytes that are not
// printable ASCII, '%', '"' and '\' become %XX. If buf has no room for three times the text's
// length and a NUL, the text may be cut like in mgmt_label(). Returns buf.
char *mgmt_rows_text(const char *text, char *buf, size_t len);

// Adds an array of numbers to the dictionary t.
void mgmt_rows_add_array(
	struct rte_tel_data *t, const char *name, const uint64_t *v, unsigned int n);

// Each adds the fields of one structure to the dictionary t.
void mgmt_rows_add_stats(struct rte_tel_data *t, const struct dp_stats *s);
void mgmt_rows_add_worker(struct rte_tel_data *t, const struct dp_stats *s);
void mgmt_rows_add_bursts(struct rte_tel_data *t, const struct dp_stats *s);
void mgmt_rows_add_drops(struct rte_tel_data *t, const struct dp_stats *s);
void mgmt_rows_add_refusals(struct rte_tel_data *t, const struct dp_stats *s);
void mgmt_rows_add_port(struct rte_tel_data *t, struct port *p);
void mgmt_rows_add_steering(
	struct rte_tel_data *t, const struct dp *d, unsigned int port, bool is_v4);
void mgmt_rows_add_exception(
	struct rte_tel_data *t, const char *port, const struct dp_exception *s);
void mgmt_rows_add_certificate(struct rte_tel_data *t, const struct stream_certificate *c);
void mgmt_rows_add_learned(struct rte_tel_data *t, const struct dp_learned *l);
void mgmt_rows_add_allocation(struct rte_tel_data *t, const struct turn_info *i, const char *realm);
void mgmt_rows_add_config(struct rte_tel_data *t, const struct conf *c);
