#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Makes sure that a Debian 13 with OCaml 5.3 is there for the tests against the real OCaml, and
# prints its directory: $EBTRACE_OCAML_ROOT, else /var/cache/ebtrace/trixie.
set -eu
root=${EBTRACE_OCAML_ROOT:-/var/cache/ebtrace/trixie}

works() {
	[ "$(chroot "$1" ocamlopt -version 2>/dev/null)" = 5.3.0 ] && [ -x "$1/usr/bin/gcc" ] &&
		[ -n "$(find "$1/usr/lib" -name stdlib.cmxa)" ]
}

mkdir -p "${root%/*}"
exec 9>"$root.lock"
flock 9
if ! works "$root"; then
	new=$root.new
	rm -rf --one-file-system "$new"
	# libstdlib-ocaml-dev is named as debootstrap does not follow virtual packages. What counts is
	# the compiler, which is tried below.
	debootstrap --variant=minbase --include=ocaml-nox,libstdlib-ocaml-dev,gcc,libc6-dev \
		trixie "$new" >&2 || true
	works "$new" || { echo "the compiler does not run in $new" >&2; exit 1; }
	rm -rf --one-file-system "$root"
	mv "$new" "$root"
fi
echo "$root"
