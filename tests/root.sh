#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# root.sh NAME: makes sure that a Debian for tests exists, and prints its directory:
#   ocaml              Debian 13 with OCaml 5.3: $EBTRACE_OCAML_ROOT, else /var/cache/ebtrace/trixie
#   ocaml-programs     that of ocaml, with coqc, ocamlformat and Lwt
#   ocaml-fp           Debian 13 with OCaml 5.3 that is configured with frame pointers, of its source in npm
#   packages-bookworm  Debian 12 with what our packages depend on, compilers and CMake
#   packages-trixie    Debian 13 with the same, but for CMake
# All but the first are in /var/cache/ebtrace, and tests change only what they mount above them.
set -eu
name=${1:-}
compilers=gcc,g++,libc6-dev,pkgconf
case $name in
ocaml)
	root=${EBTRACE_OCAML_ROOT:-/var/cache/ebtrace/trixie} suite=trixie
	# libstdlib-ocaml-dev is named as debootstrap does not follow virtual packages.
	include=ocaml-nox,libstdlib-ocaml-dev,gcc,libc6-dev
	;;
ocaml-programs)
	root=/var/cache/ebtrace/$name suite=trixie
	from=$("$0" ocaml)
	;;
ocaml-fp)
	root=/var/cache/ebtrace/$name suite=trixie
	include=gcc,libc6-dev,make
	;;
packages-bookworm)
	root=/var/cache/ebtrace/$name suite=bookworm
	include=$compilers,cmake,make,libbpf1,libdw1,libelf1,libncursesw6,libzstd1,zlib1g
	;;
packages-trixie)
	root=/var/cache/ebtrace/$name suite=trixie
	include=$compilers,libbpf1,libdw1t64,libelf1t64,libncursesw6,libzstd1,zlib1g
	;;
*)
	echo "usage: $0 ocaml | ocaml-programs | ocaml-fp | packages-bookworm | packages-trixie" >&2
	exit 2
	;;
esac

# works ROOT: the programs and libraries that the tests use are there, and run.
works() {
	if [ "$name" = ocaml-programs ]; then
		chroot "$1" sh -c 'coqc --version && ocamlformat --version && ocamlfind query lwt.unix' >/dev/null 2>&1
		return
	fi
	if [ "$name" = ocaml-fp ]; then
		[ "$(chroot "$1" ocamlopt -config 2>/dev/null | grep -cE '^(version: 5\.3\.0|with_frame_pointers: true)$')" = 2 ]
		return
	fi
	if [ "$name" = ocaml ]; then
		[ "$(chroot "$1" ocamlopt -version 2>/dev/null)" = 5.3.0 ] && [ -x "$1/usr/bin/gcc" ] &&
			[ -n "$(find "$1/usr/lib" -name stdlib.cmxa)" ]
		return
	fi
	chroot "$1" sh -c '[ -z "$(dpkg --audit)" ] && gcc --version && g++ --version &&
		pkg-config --version && [ "$(ldconfig -p |
			grep -cE "lib(bpf|dw|elf|zstd|z)\.so\.1 |libncursesw\.so\.6 ")" = 6 ]' >/dev/null 2>&1 || return
	[ "$name" != packages-bookworm ] || chroot "$1" cmake --version >/dev/null 2>&1
}

mkdir -p "${root%/*}"
exec 9>"$root.lock"
flock 9
if ! works "$root"; then
	new=$root.new
	rm -rf --one-file-system "$new"
	# Its status is not needed, as the programs are tried.
	if [ "$name" = ocaml-programs ]; then
		cp -a "$from" "$new"
		cp /etc/resolv.conf "$new/etc"
		chroot "$new" sh -c 'apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y \
			--no-install-recommends coq liblwt-ocaml-dev ocaml-findlib ocamlformat' >&2 || true
	else
		debootstrap --variant=minbase --include=$include $suite "$new" >&2 || true
	fi
	if [ "$name" = ocaml-fp ]; then
		(cd "$new/usr/src" && npm pack --silent ocaml@5.3.0 && tar -xzf ocaml-*.tgz) >&2 || true
		chroot "$new" sh -ec 'cd /usr/src/package
			./configure --enable-frame-pointers --disable-ocamldoc --disable-debugger
			nice make -j"$(nproc)"
			make install
			rm -rf /usr/src/*' >&2 || true
	fi
	works "$new" || { echo "the programs do not run in $new" >&2; exit 1; }
	rm -f "$new"/var/cache/apt/archives/*.deb
	rm -rf --one-file-system "$root"
	mv "$new" "$root"
fi
echo "$root"
