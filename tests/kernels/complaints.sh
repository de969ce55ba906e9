# SPDX-License-Identifier: BSD-2-Clause
# complaints FILE: the lines of a kernel log that say that something went wrong in the kernel.
# Faults of the firmware, which the kernel asks to report, are not ours.
complaints() {
	grep -E -e 'WARNING:|BUG:|Oops|Call Trace|\<stall(s|ed)?\>|lockup|blocked for more than' \
		-e 'verifier|uprobe' "$1" |
		grep -viE 'report (this|a) bug|firmware bug|stall warnings timeout'
}
