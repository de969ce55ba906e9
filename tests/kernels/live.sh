#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# live.sh KERNEL TEST: a live test on another kernel, in a guest of its own. What the table not-here
# has is skipped, with the reason that stands there.
. tests/lib.sh
. tests/kernels/lib.sh
kernel=$1 test=$2

# not_here [SENTENCE]: why the test, or what it says, cannot hold there.
not_here() {
	awk -F'\t+' -v kernel="$kernel" -v test="${test##*/}" -v sentence="${1-}" '
		/^#/ || ($1 != kernel && $1 != "*") || $2 != test { next }
		sentence == "" ? $3 == "*" : sentence ~ "^(" $3 ")$" { print $4; exit }' \
		tests/kernels/not-here
}
reason=$(not_here)
if [ -n "$reason" ]; then
	echo "1..0 # SKIP $reason"
	exit 0
fi
guest_needs "$kernel"
truncate -s 8G "$TMP/job/disk" && mkfs.ext4 -q "$TMP/job/disk" || skip_all "no disk can be made"
GUEST_SETUP="export EBTRACE_OCAML_ROOT='${EBTRACE_OCAML_ROOT:-}'; . tests/kernels/tmpfs.sh"
BOOT_SECONDS=${BOOT_SECONDS:-1800}
on_kernel "$kernel" -- "$test"
done_testing
