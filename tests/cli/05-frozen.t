#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every fixture in every format and every report in every form, byte by byte as it has been: tests/freeze/runs.sh says
# how each is made, tests/freeze/outputs has its hash. `make golden` writes the hashes anew, after one has read how the
# outputs differ (FREEZE_KEEP=DIR tests/freeze/runs.sh, of both programs).
. tests/lib.sh
. tests/freeze/compare.sh
need_command xz
part=outputs
[ "${O##*/}" = asan ] && part=quick
frozen_are $part outputs "what was made of it is, with its status and messages, as it has been"
done_testing
