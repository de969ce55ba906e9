#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Everything that this machine's kernel does for ebtrace, once and small, without a complaint in its log.
exec bash tests/kernels/round.sh
