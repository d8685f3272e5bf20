# SPDX-License-Identifier: BSD-3-Clause
# Sourced by scripts that work in roots of Debian releases (after common.sh): makes them, installs into
# them, runs commands in them. A root is made once and kept.
# shellcheck shell=sh disable=SC2034,SC2154

roots=/var/tmp/slipring-roots # a root takes 1.2 GB
umask 022 # debootstrap leaves / of a root as mkdir has made it

skip() {
	printf '%s\n' "$*"
	exit 77
}

# code_name RELEASE
code_name() {
	case $1 in 12) echo bookworm ;; *) echo trixie ;; esac
}

# inside COMMAND...: runs in $root, with its own mounts. The sources are in /src.
inside() {
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount --pid --fork --kill-child sh -c '
		root=$1 top=$2
		shift 2
		mkdir -p "$root/src"
		mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" &&
			mount --rbind /dev "$root/dev" && mount -t tmpfs tmpfs "$root/run" &&
			mount --bind "$top" "$root/src" && mount -o remount,bind,ro "$root/src" || exit 1
		exec chroot "$root" env -i HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
			PATH=/usr/sbin:/usr/bin:/sbin:/bin PYTHONDONTWRITEBYTECODE=1 "$@"
	' inside "$root" "$top" "$@"
}

# make_root RELEASE: a minimal Debian in $root, with the apt settings of this machine.
make_root() {
	[ ! -e "$root/complete" ] || return 0
	command -v debootstrap >/dev/null || quietly apt-get -q -y install debootstrap ||
		skip "no debootstrap"
	say "making $root: Debian $1, some minutes"
	rm -rf "${root:?}"
	mkdir -p "$root" || exit 1
	# shellcheck disable=SC2086 # a mirror, or debootstrap's own
	quietly nice debootstrap --variant=minbase "$(code_name "$1")" "$root" ${DEBIAN_MIRROR-} ||
		skip "no root of Debian $1: debootstrap got none (DEBIAN_MIRROR names another mirror)"
	apt-config dump Acquire >"$root/etc/apt/apt.conf.d/90host"
	touch "$root/complete"
}

# install PACKAGE...: installs into $root, once.
install() {
	[ "$(cat "$root/complete")" != "$*" ] || return 0
	cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
	say "installing into $root"
	quietly inside apt-get -q update && quietly inside nice apt-get -q -y \
		--no-install-recommends install "$@" || skip "no packages for $root: apt-get failed"
	echo "$*" >"$root/complete"
}
