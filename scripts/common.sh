# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the other scripts (top must be set): packages, builds, colours.
# shellcheck shell=sh disable=SC2034,SC2154

# Packages that a fresh Debian 12 or 13 needs to build the server and its tests, to test and to show it.
build_packages="build-essential meson ninja-build pkg-config libdpdk-dev dpdk-dev libssl-dev libyaml-dev
libmnl-dev libjansson-dev libseccomp-dev libunistring-dev libcmocka-dev python3"
packages="$build_packages dpdk coturn haproxy iproute2 iputils-ping ethtool tcpdump procps python3-venv
ca-certificates openssl dnsmasq-base udhcpc"

# Debian's release: 12, 13; nothing on other systems.
debian_release() {
	# shellcheck disable=SC1091 # the path is known, the content is not
	(. /etc/os-release 2>/dev/null && [ "${ID:-}" = debian ] && echo "${VERSION_ID:-}")
}

# The format is that of clang-format 14; Debian 12 is the last release that has it.
[ "$(debian_release)" != 12 ] || packages="$packages clang-format-14"

if [ -t 2 ] && [ -n "${TERM:-}" ] && [ "$TERM" != dumb ]; then
	bold=$(printf '\033[1m') red=$(printf '\033[31m') green=$(printf '\033[32m')
	dim=$(printf '\033[2m') plain=$(printf '\033[0m')
else
	bold= red= green= dim= plain=
fi

# Progress goes to stderr, results to stdout.
say() {
	printf '%s==>%s %s\n' "$bold" "$plain" "$*" >&2
}

die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

need_root() {
	[ "$(id -u)" -eq 0 ] || die "must run as root (network namespaces, packages${missing:+: $missing}): sudo $0"
}

# Runs a command quietly; its output is shown only when it fails.
quietly() {
	quiet_log=$(mktemp)
	if "$@" >"$quiet_log" 2>&1 </dev/null; then
		rm -f "$quiet_log"
		return 0
	fi
	cat "$quiet_log" >&2
	rm -f "$quiet_log"
	return 1
}

missing_packages() {
	for package in $packages; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' ||
			printf '%s ' "$package"
	done
}

missing=

# Installs missing packages. Services of the packages (coturn has one) do not start: a policy-rc.d that
# forbids it is in place meanwhile, unless the machine has one already.
install_packages() {
	command -v dpkg-query >/dev/null ||
		die "this script installs packages on Debian (12, 13) only; elsewhere, install the" \
			"packages that scripts/common.sh names, build with meson, and run the tests with --no-build"
	missing=$(missing_packages)
	[ -n "$missing" ] || return 0
	need_root
	say "installing: $missing"
	policy=/usr/sbin/policy-rc.d
	made_policy=
	if [ ! -e "$policy" ]; then
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod 755 "$policy"
		made_policy=yes
	fi
	export DEBIAN_FRONTEND=noninteractive
	status=0
	# Word splitting is wanted: a list of names.
	# shellcheck disable=SC2086
	{ quietly apt-get -q update &&
		quietly apt-get -q -y --no-install-recommends install $missing; } || status=1
	[ -z "$made_policy" ] || rm -f "$policy"
	[ "$status" -eq 0 ] || die "apt-get could not install: $missing"
}

# configure DIR [meson options]: runs meson setup once.
configure() {
	dir=$1
	shift
	[ ! -f "$top/$dir/build.ninja" ] || return 0
	rm -rf "${top:?}/$dir"
	quietly meson setup "$top/$dir" "$top" "$@"
}

# build DIR [meson options]: configures once, then compiles everything, or $targets.
targets=
build() {
	dir=$1
	configure "$@" || return 1
	# shellcheck disable=SC2086 # a list of names
	quietly nice ninja -C "$top/$dir" $targets
}
