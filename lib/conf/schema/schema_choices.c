// SPDX-License-Identifier: BSD-3-Clause
// The words that keys with a choice accept; NULL ends each list.
#include "conf.h"
#include "schema/schema.h"

const struct conf_choice conf_idle_choices[] = {{"adaptive", CONF_IDLE_ADAPTIVE},
	{"busy", CONF_IDLE_BUSY}, {"saving", CONF_IDLE_SAVING}, {NULL, 0}};
const struct conf_choice conf_uso_choices[] = {
	{"auto", CONF_USO_AUTO}, {"on", CONF_USO_ON}, {"off", CONF_USO_OFF}, {NULL, 0}};
const struct conf_choice conf_steering_choices[] = {{"auto", CONF_STEERING_AUTO},
	{"address", CONF_STEERING_ADDRESS}, {"port-bits", CONF_STEERING_PORT_BITS},
	{"off", CONF_STEERING_OFF}, {NULL, 0}};
const struct conf_choice conf_transport_choices[] = {{"udp", TURN_OVER_UDP}, {"tcp", TURN_OVER_TCP},
	{"tls", TURN_OVER_TLS}, {"auto", TURN_OVER_AUTO}, {"dtls", TURN_OVER_DTLS}, {NULL, 0}};
const struct conf_choice conf_binding_choices[] = {{"all", TURN_BINDING_ALL},
	{"rfc8489", TURN_BINDING_RFC8489}, {"none", TURN_BINDING_NONE}, {NULL, 0}};
const struct conf_choice conf_bond_choices[] = {{"lacp", CONF_BOND_LACP},
	{"active-backup", CONF_BOND_ACTIVE_BACKUP}, {"balance", CONF_BOND_BALANCE}, {NULL, 0}};
const struct conf_choice conf_tls_choices[] = {
	{"1.2", CONF_TLS_1_2}, {"1.3", CONF_TLS_1_3}, {NULL, 0}};
const struct conf_choice conf_include_choices[] = {
	{"accounts", CONF_INCLUDE_ACCOUNTS}, {"all", CONF_INCLUDE_ALL}, {NULL, 0}};
const struct conf_choice conf_lower_choices[] = {{"keep", false}, {"end", true}, {NULL, 0}};
const struct conf_choice conf_family_choices[] = {{"ipv4", TURN_FAMILY_IPV4},
	{"ipv6", TURN_FAMILY_IPV6}, {"client", TURN_FAMILY_CLIENT}, {NULL, 0}};
const struct conf_choice conf_addresses_choices[] = {{"full", CONF_DETAIL_FULL},
	{"network", CONF_DETAIL_NETWORK}, {"none", CONF_DETAIL_NONE}, {NULL, 0}};
const struct conf_choice conf_peers_choices[] = {{"none", CONF_DETAIL_NONE},
	{"network", CONF_DETAIL_NETWORK}, {"address", CONF_DETAIL_FULL}, {NULL, 0}};
const struct conf_choice conf_icmp_tell_choices[] = {{"rfc8489", TURN_ICMP_TELL_RFC8489},
	{"all", TURN_ICMP_TELL_ALL}, {"none", TURN_ICMP_TELL_NONE}, {NULL, 0}};
const struct conf_choice conf_rest_expiry_choices[] = {{"ignored", TURN_REST_IGNORED},
	{"refresh-refused", TURN_REST_REFRESH_REFUSED}, {"ends-session", TURN_REST_ENDS},
	{NULL, 0}};
const struct conf_choice conf_log_to_choices[] = {{"stderr", CONF_LOG_STDERR},
	{"syslog", CONF_LOG_SYSLOG}, {"journal", CONF_LOG_JOURNAL}, {NULL, 0}};
const struct conf_choice conf_log_format_choices[] = {
	{"text", CONF_LOG_TEXT}, {"json", CONF_LOG_JSON}, {NULL, 0}};
const struct conf_choice conf_on_stop_choices[] = {
	{"keep", CONF_ON_STOP_KEEP}, {"forget", CONF_ON_STOP_FORGET}, {NULL, 0}};
const struct conf_choice conf_seccomp_choices[] = {{"log", CONF_SECCOMP_LOG},
	{"kill", CONF_SECCOMP_KILL}, {"off", CONF_SECCOMP_OFF}, {NULL, 0}};
