#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What each command says of each pair of options, and of options that are wrong, as it has been (tests/freeze/refusals).
. tests/lib.sh
. tests/freeze/compare.sh
need_command xz
[ "${O##*/}" = asan ] && EBT_NO_SKIP= skip_all "the same lines as of the program without sanitizers"
frozen_are refusals refusals "what is said, and the status, are as they have been"
done_testing
