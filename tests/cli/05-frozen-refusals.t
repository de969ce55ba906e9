#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What each command says of each pair of options, and of options that are wrong, as it has been (tests/freeze/refusals).
# FROZEN=all has the pairs of all commands: `make nightly` and whoever moves code; else those of one.
. tests/lib.sh
. tests/freeze/compare.sh
need_command xz
[ "${O##*/}" = asan ] && EBT_NO_SKIP= skip_all "the same lines as of the program without sanitizers"
part=some-refusals
[ "${FROZEN:-}" = all ] && part=refusals
[ -z "${GOLDEN:-}" ] || part=refusals
frozen_are $part refusals "what is said, and the status, are as they have been"
done_testing
