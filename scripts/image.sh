# SPDX-License-Identifier: BSD-3-Clause
# Sourced by scripts/package after roots.sh: makes an OCI image of the packages, without a registry.
# shellcheck shell=bash disable=SC2034,SC2154

# buildahs COMMAND...: runs buildah with its own storage, in $work
buildahs() {
	buildah --log-level error --storage-driver vfs --root "$work/storage" --runroot "$work/run" "$@"
}

# fill: installs the packages and the drivers of drivers-config into $root. At the end apt removes
# itself and each package that no other needs. The licences stay, and so does dpkg's list of packages,
# which scanners read.
fill() {
	cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
	mkdir "$root/fill"
	cp "$out"/slipring_"$version"_"$arch".deb "$out"/slipring-exporter_"$version"_all.deb "$root/fill"
	cat >"$root/fill/script" <<-'END'
	cat >/etc/dpkg/dpkg.cfg.d/fill <<-EXCLUDED
	path-exclude=/usr/share/doc/*
	path-include=/usr/share/doc/*/copyright
	path-exclude=/usr/share/man/*
	path-exclude=/usr/share/locale/*
	EXCLUDED
	get() {
		apt-get -q -y --no-install-recommends "$@"
	}
	get update
	get install systemd-standalone-sysusers systemd-standalone-tmpfiles # in place of systemd
	systemd-sysusers --inline 'u slipring 999 "TURN server" /nonexistent' # the same in all images
	get install /fill/*.deb
	abi=$(dpkg-query -W -f '${Package}' 'librte-eal[0-9]*')
	get install "^librte-net-(ena|i40e|iavf|ice|igc|ixgbe|mlx5|tap|af-xdp)-?${abi#librte-eal}\$"
	apt-mark auto $(dpkg-query -W -f '${Package} ')
	apt-mark manual slipring slipring-exporter $(dpkg-query -W -f '${Package} ' 'librte-net-*')
	get remove --auto-remove --allow-remove-essential apt e2fsprogs login perl-base util-linux
	dpkg-query -W slipring slipring-exporter # they were not among these
	! dpkg-query -W udev || dpkg --remove --force-depends udev adduser # needed by libibverbs
	END
	quietly inside sh -eux /fill/script || die "--container: the packages cannot be installed"
	cd "$root" || exit 1
	find . -xdev -name __pycache__ -prune -exec rm -r {} +
	find usr/share/doc -type f ! -name copyright -delete
	rm -rf complete fill src dev/* run/* tmp/* var/cache/* var/log/* var/lib/apt var/lib/dpkg/*-old \
		etc/*- etc/apt etc/dpkg/dpkg.cfg.d/fill etc/hostname etc/hosts etc/localtime etc/resolv.conf \
		etc/timezone etc/udev usr/lib/udev usr/lib/*-linux-gnu/gconv usr/share/info usr/share/locale \
		usr/share/man usr/share/zoneinfo
	command install -d -o 999 -g 999 run/slipring var/log/slipring
	cd "$top" || exit 1
}

# make_image: makes the image slipring:NUMBER in $out from the packages there
make_image() {
	command -v buildah >/dev/null || quietly apt-get -q -y --no-install-recommends install buildah ||
		skip "no buildah"
	root=$roots/debian$release-new
	make_root "$release"
	work=$(mktemp -d "$roots/image-XXXXXX")
	trap 'rm -rf "$work"' EXIT
	image=${version%-*}
	image=slipring:${image//\~/-}
	say "making $image"
	container=$(buildahs from scratch)
	pristine=$root
	root=$(buildahs mount "$container")
	cp -a "$pristine/." "$root"
	fill
	unpacked=$(du -sxm --apparent-size "$root" | cut -f 1)
	[ "$unpacked" -le 120 ] || die "--container: the image is too large: $unpacked MB, at most 120"
	buildahs config --arch "$arch" --user 999:999 --entrypoint '["/usr/bin/slipring"]' \
		--cmd '-c /etc/slipring/slipring.yaml' --stop-signal SIGTERM --workingdir / \
		--env PATH=/usr/sbin:/usr/bin:/sbin:/bin --env LANG=C.UTF-8 --env container=oci \
		--env RUNTIME_DIRECTORY=/run/slipring \
		--label org.opencontainers.image.title=slipring \
		--label "org.opencontainers.image.version=$version" \
		--label "org.opencontainers.image.revision=$commit" \
		--label org.opencontainers.image.licenses=BSD-3-Clause "$container"
	file=slipring_${version}_$arch.oci.tar
	rm -f "$out"/slipring_*_"$arch".oci.tar
	buildahs commit -q --format oci --disable-compression=false \
		--timestamp "$(git log -1 --format=%ct "$commit")" "$container" "oci-archive:$out/$file:$image" >/dev/null
	say "$image: $unpacked MB unpacked, $(du -m --apparent-size "$out/$file" | cut -f 1) MB packed"
	echo "$file"
}
