#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kernel.sh KERNEL: makes sure that a kernel of Debian 12 is there for boot.sh, and prints the
# directory of its vmlinuz and initrd. KERNEL is 6.1, Debian 12's own, or 6.12, of its security
# archive. They are kept in $EBTRACE_KERNELS, else /var/cache/ebtrace/kernels, with the package that
# they are from. Once a day the archive is asked for a newer one; without network the old one is
# used.
set -eu
kernel=$1
cd "$(dirname "$0")"
files=("$PWD/kernel.sh" "$PWD/init")
case $kernel in
6.1) meta=linux-image-amd64 ;;
6.12) meta=linux-image-6.12-amd64 ;;
*) echo "there is no kernel '$kernel': 6.1 or 6.12" >&2; exit 2 ;;
esac
# What the root's file systems in the guest need, a disk, and what tests mount.
modules="virtio_pci 9pnet_virtio 9p overlay virtio_blk crc32c_generic ext4 fuse"

cache=${EBTRACE_KERNELS:-/var/cache/ebtrace/kernels}/$kernel
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
work=$cache/work
rm -rf "$work"
mkdir "$work"
trap 'rm -rf "$work"' EXIT
cd "$cache"

apt_get() {
	timeout 600 apt-get -qq -o APT::Sandbox::User=root -o Acquire::http::Timeout=20 \
		-o Acquire::Retries=1 "$@"
}
# latest: sets package, the one that the name stands for now, and file, which the archive has.
latest() {
	package=$(apt-cache depends "$meta" 2>/dev/null |
		awk '/Depends: linux-image-/ { print $2; exit }')
	case $package in
	linux-image-"$kernel".*) ;;
	*) echo "$meta depends on '$package', which is no kernel $kernel" >&2; return 1 ;;
	esac
	file=$(apt_get download --print-uris "$package" | awk '{ print $2; exit }')
	[ -n "$file" ]
}
# Only a whole package gets its name.
fetch() {
	latest || return
	[ -e "$file" ] && return
	(cd "$work" && apt_get download "$package" >&2) && mv "$work"/*.deb "$file" || return
	find . -maxdepth 1 -name '*.deb' ! -name "$file" -delete
}
cached() { find . -maxdepth 1 -name '*.deb' -printf '%f\n' | head -1; }

deb=$(cached)
if [ -z "$deb" ] || [ -z "$(find . -maxdepth 1 -name asked -mtime -1)" ]; then
	touch asked
	{ apt_get update && fetch; } >&2 || fetch || true
	deb=$(cached)
fi
if [ -z "$deb" ]; then
	rm -f asked
	echo "no package of Linux $kernel ($meta) in $cache, and none can be fetched" >&2
	exit 1
fi

# What is made of it depends on the package and on how it is made.
made=$deb.$(cat "${files[@]}" | cksum | cut -d' ' -f1)
if [ ! -e "$made" ]; then
	dpkg -x "$deb" "$work/root" || { rm -f "$deb"; exit 1; }
	version=$(ls "$work/root/lib/modules")
	depmod -b "$work/root" "$version"
	mkdir -p "$work/made" "$work/i/bin" "$work/i/modules" "$work"/i/{proc,sys,dev,lower,rw,new}
	cp /bin/busybox "$work/i/bin/"
	install -m 755 "${files[1]}" "$work/i/init"
	for module in $modules; do
		modprobe -d "$work/root" -S "$version" -D "$module" | awk '/^insmod/ { print $2 }'
	done | awk '!seen[$0]++' >"$work/order"
	n=100 # loaded in this order
	while read -r path; do
		name=${path##*/}
		name=$work/i/modules/$((n++))-${name%.ko*}.ko
		case $path in *.xz) xz -dc "$path" ;; *) cat "$path" ;; esac >"$name"
	done <"$work/order"
	(cd "$work/i" && find . | cpio -o -H newc --quiet) | gzip -1 >"$work/made/initrd"
	cp "$work"/root/boot/vmlinuz-* "$work/made/vmlinuz"
	mv "$work/made" "$made"
	# A guest that is about to boot may still read an older one.
	find . -maxdepth 1 -name '*.deb.*' ! -name "$made" -mtime +0 -exec rm -rf {} +
fi
echo "$cache/$made"
