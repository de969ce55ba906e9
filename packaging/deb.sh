#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# deb.sh OUT: builds the Debian packages from a copy of the tracked files, and moves them to OUT.
# Of the caller's environment (flags, options of make, PATH) nothing but $DEB_CFLAGS_APPEND reaches the build.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
out=$(realpath "$1")
work=$(mktemp -d "${TMPDIR:-/tmp}/ebtrace-deb.XXXXXX")
trap 'rm -rf "$work"' EXIT

mkdir "$work/source"
git ls-files -z | while IFS= read -r -d '' file; do
	[ -e "$file" ] && printf '%s\0' "$file"
done | xargs -0 cp -P --parents -t "$work/source"
cd "$work/source"
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$work" LC_ALL=C.UTF-8 \
	DEB_CFLAGS_APPEND="${DEB_CFLAGS_APPEND-}" DEB_BUILD_OPTIONS="nocheck parallel=${JOBS:-$(nproc)}" \
	dpkg-buildpackage -b --no-sign >"$work/log" 2>&1 || {
	tail -60 "$work/log" >&2
	echo "the packages cannot be built" >&2
	exit 1
}
rm -f "$out"/*ebtrace*.{deb,changes,buildinfo}
mv "$work"/*.{deb,changes,buildinfo} "$out"
printf '%s\n' "$1"/*.deb
