# SPDX-License-Identifier: BSD-2-Clause
# Tests on another kernel, in an emulator; sourced behind tests/lib.sh by their host's side, a .t:
#
#   . tests/lib.sh
#   . tests/kernels/lib.sh
#   guest_needs 6.1                        # skips, or fails in CI, and says what is missing
#   guest_programs                         # if a script needs $OCAML_PROGRAMS, as round.sh does
#   on_kernel 6.1 [WORD...] -- SCRIPT...   # a boot, with WORDs on the kernel's command line
#   done_testing
#
# Each SCRIPT, a path from the top of the tree, is a test as any other: it sources tests/lib.sh and
# prints TAP. They run in one guest as root, one after the other, at the top of the tree. O is as
# here, ALONE is 1, JOB is a directory that the host sees ($TMP/job here), and OCAML_PROGRAMS one
# with what guest_programs has made. What they print is repeated here, line by line. It is a failure
# if the guest hangs or panics, if a script ends before its plan, or if the kernel complains.
#
# GUEST_SETUP: shell words that run in the guest before the scripts. not_here SENTENCE, if a test
# defines it anew, prints why what has failed cannot succeed there, or nothing.
. tests/kernels/complaints.sh
not_here() { :; }

# guest_needs KERNEL: the emulator and the kernel.
guest_needs() {
	[ "$(uname -m)" = x86_64 ] || skip_all "the kernels are for x86-64"
	need_root
	need_command qemu-system-x86_64
	need_command cpio
	need_command modprobe
	need_file /bin/busybox
	tests/kernels/kernel.sh "$1" >"$TMP/kernel" 2>"$TMP/kernel.err" ||
		skip_all "Linux $1: $(tail -n 1 "$TMP/kernel.err")"
	mkdir -p "$TMP/job"
}

# guest_programs: programs of OCaml, made here, which need nothing but the test root.
guest_programs() {
	mkdir -p "$TMP/job/ocaml"
	ocaml_programs "$TMP/job/ocaml"
}

on_kernel() {
	local kernel=$1 words=() script job=$TMP/job began booted=
	shift
	while [ "$1" != -- ]; do words+=("$1"); shift; done
	shift
	rm -f "$job"/*.tap "$job"/*.err "$job"/*.status "$job/dmesg" "$job/release"
	cat >"$job/run.sh" <<-END
		export O='$O' EBT_NO_SKIP='${EBT_NO_SKIP:-}' ALONE=1 JOB=/tmp/job
		export OCAML_PROGRAMS=/tmp/job/ocaml
		uname -r >/tmp/job/release
		${GUEST_SETUP:-}
		for script in $*; do
			name=/tmp/job/\${script##*/}
			bash "\$script" >"\$name.tap" 2>"\$name.err"
			echo \$? >"\$name.status"
		done
		dmesg >/tmp/job/dmesg
	END
	began=$(date +%s)
	BOOT_SECONDS=${BOOT_SECONDS:-400} tests/kernels/boot.sh "$kernel" "$job" "${words[@]}" \
		2>"$TMP/boot.err"
	is $? 0 "Linux $kernel${words[*]:+ with ${words[*]}} boots, and comes to its end" ||
		diag "$(cat "$TMP/boot.err")"
	[ -e "$job/release" ] && booted=$(($(stat -c %Y "$job/release") - began))
	diag "booted in ${booted:-?} s, ended after $(($(date +%s) - began)) s"
	for script in "$@"; do repeat "$kernel" "$job/${script##*/}"; done
	complaints "$job/dmesg" >"$TMP/complaints" 2>&1
	[ ! -s "$TMP/complaints" ]
	ok $? "$kernel: the kernel does not complain" || diag "$(cat "$TMP/complaints")"
}

# repeat KERNEL NAME: the TAP in NAME.tap, whose plan must be there and right.
repeat() {
	local kernel=$1 line plan="" n=0 failed=0 reason
	while IFS= read -r line; do
		case $line in
		"ok "*) n=$((n + 1)); ok 0 "$kernel: ${line#ok * - }" ;;
		"not ok "*)
			n=$((n + 1)) failed=1 line=${line#not ok * - }
			reason=$(not_here "$line")
			[ -n "$reason" ]
			ok $? "$kernel: $line${reason:+ # SKIP $reason}" ;;
		1..*) plan=${line#1..} ;;
		*) diag "${line#\# }" ;;
		esac
	done <"$2.tap"
	case $plan in
	"0 # SKIP"*) ok 0 "$kernel: ${2##*/} # SKIP ${plan#*SKIP }" ;;
	*)
		is "$n of ${plan:-no plan}, $(cat "$2.status" 2>/dev/null)" "$n of $n, $failed" \
			"$kernel: ${2##*/} comes to its end" || diag "$(tail -n 20 "$2.err")" ;;
	esac
}
