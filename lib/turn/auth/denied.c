// SPDX-License-Identifier: BSD-3-Clause
// Peers that are denied unless the operator allows the same or a longer prefix.
#include "auth/denied.h"

const char *const denied_by_default[] = {
	// Not on the Internet: packets to them would arrive inside the operator's network (IANA
	// special-purpose registries).
	"10.0.0.0/8", // RFC 1918
	"172.16.0.0/12", "192.168.0.0/16",
	"100.64.0.0/10", // carrier-grade NAT, RFC 6598
	"192.0.0.0/24", // IETF protocol assignments; 192.0.0.192 was Oracle's metadata
	"192.0.2.0/24", // documentation, RFC 5737
	"198.51.100.0/24", "203.0.113.0/24",
	"192.88.99.0/24", // 6to4 relays, RFC 7526
	"198.18.0.0/15", // benchmarking, RFC 2544
	"::/8", // reserved: only other forms of IPv4 addresses, like ::ffff:0:0:0/96 of RFC 2765
	"100::/64", // discard-only, RFC 6666
	"100:0:0:1::/64", // dummy, RFC 9780
	"2001::/23", // IETF protocol assignments
	"2001:db8::/32", // documentation, RFC 3849
	"3fff::/20", // documentation, RFC 9637
	"5f00::/16", // segment routing, RFC 9602
	"fc00::/7", // unique local, RFC 4193

	// Services of clouds for their instances only, according to their manuals: metadata with
	// credentials, name servers, agents. Addresses inside a prefix above are listed again, so
	// that an operator who allows that prefix for ordinary peers does not open them. Most
	// clouds use 169.254.169.254; no key can open it, nor the rest of 169.254.0.0/16 and
	// fe80::/10.
	"168.63.129.16/32", // Azure: wire server, name server, probes
	"161.26.0.0/16", // IBM: infrastructure services, name servers
	"166.8.0.0/14", // IBM: cloud service endpoints
	"100.100.100.200/32", // Alibaba: metadata
	"100.100.2.136/31", // Alibaba: name servers
	"100.100.2.138/31",
	"192.0.0.192/32", // Oracle, classic: metadata
	"199.36.153.4/30", // Google: restricted.googleapis.com
	"199.36.153.8/30", // Google: private.googleapis.com
	"2600:2d00:2:1000::/64", // Google: these two services over IPv6
	"2600:2d00:2:2000::/64",
	"fd20:ce::254/128", // Google: metadata
	"fd00:ec2::/32", // Amazon: metadata, name server, time
	"fd00:c1::a9fe:a9fe/128", // Oracle: metadata
	"fd00:42::42/128", // Scaleway: metadata
};

const size_t nb_denied_by_default = sizeof(denied_by_default) / sizeof(denied_by_default[0]);
