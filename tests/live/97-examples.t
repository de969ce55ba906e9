#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What is typed in README and in each page of the manual is run, as it is there, but for the process (an
# OCaml program that runs already, its ring off), the program, the host, and shorter times. The names of
# files are those of the documents. DOCS chooses documents.
. tests/lib.sh
need_command jq
need_command xz
[ -e /sys/kernel/tracing/trace ] || mount -t tracefs none /sys/kernel/tracing ||
	skip_all "tracefs cannot be mounted"
ocaml_root
tree=$PWD
OCAML_LINK=-g ocaml_build_here trees

# The folder in which all is typed. Another ssh and pkg-config are found before those of the machine.
mkdir "$TMP/here" "$TMP/bin"
ln -s "$(realpath "$O/ebtrace")" "$TMP/bin/ebtrace"
printf '#!/bin/sh\nshift\nexec "$@"\n' >"$TMP/bin/ssh"
printf '#!/bin/sh\nexec "$@"\n' >"$TMP/bin/sudo"
cat >"$TMP/bin/pkg-config" <<-END
	#!/bin/sh
	for last; do :; done
	echo "-I$tree/include -L$(realpath "$O") -l\${last#lib} -Wl,-rpath,$(realpath "$O")"
END
chmod +x "$TMP"/bin/*
cp "$EXE" "$TMP/here/prog"
cd "$TMP/here" || exit 1
export PATH=$TMP/bin:$PATH

# What is there before: a recording, the ring of a program that has ended, traces, a build.
mkdir "$TMP/rings"
EBTRACE_DIR=$TMP/rings EBTRACE_START=1 EBTRACE_PRESERVE=1 "$tree/$O/tests/prog/minigc" -q -n 2000 -c /dev/null
mv "$TMP"/rings/*.events 1234.events
ebtrace -q -o run.ebt -- ./prog 1 50 >"$TMP/out" 2>&1
ok $? "a recording for the examples" || diag "$(<"$TMP/out")"
for name in prog old new; do xz -dc "$tree/tests/data/memtrace/single.ctf.xz" >$name.ctf; done
xz -dc "$tree/tests/data/pagetrace/gcbig-p2-go122.pt.xz" >prog.pt
echo 'for i in 1 2 3; do ./prog 1 20; done' >build.sh
ls 1234.events >"$TMP/out" 2>&1
ok $? "and the ring of a program that has ended"
"$EXE" 2 1000000000 4 >/dev/null 2>&1 &
pid=$!
children+=($pid)
OCAML_RUNTIME_EVENTS_START=1 OCAML_RUNTIME_EVENTS_DIR=$TMP/rings "$EXE" 1 1000000000 4 >/dev/null 2>&1 &
with_ring=$!
children+=($with_ring)
wait_for test -s "$TMP/rings/$with_ring.events"

# A command, as the machine of the test types it.
ours() {
	sed -E "s/info -p 1234\b/info -p $with_ring/; s/-p 1234\b/-p $pid/; s/-d [0-9]+s\b/-d 0.3s/
		s/--interval 1s/--interval 100ms/; s/-- \.\/prog( args)?/-- .\/prog 1 50/; s/--at 10s/--at 10ms/"
}
documents=${DOCS:-README.md $(cd "$tree" && echo docs/man/*.scd)}
for document in $documents; do
	rm -rf "$TMP/typed" && mkdir "$TMP/typed"
	(cd "$tree" && tests/examples.pl "$document" "$TMP/typed") >"$TMP/blocks"
	ok $? "$document: its examples are found"
	find "$TMP/typed" -type f ! -name '*.cmd' -exec cp {} . \;
	while read -r number line; do
		[ "$number" != - ] || continue
		ours <"$TMP/typed/$number.cmd" >"$TMP/cmd"
		# All processes are those of a namespace of their own.
		if grep -qE 'ebtrace.* -a |ebtrace top --once --group' "$TMP/cmd"; then
			{ printf '%q 1 1000000000 4 >/dev/null &\n' "$EXE"; cat "$TMP/cmd"; } >"$TMP/all"
			printf 'unshare -pf --mount-proc bash -e %q\n' "$TMP/all" >"$TMP/cmd"
		fi
		timeout 120 bash -e -o pipefail "$TMP/cmd" >"$TMP/out" 2>"$TMP/err" </dev/null
		ok $? "$document:$line: $(sed -n 1p "$TMP/typed/$number.cmd")" ||
			diag "$(<"$TMP/cmd")" "$(tail -5 "$TMP/err")"
	done <"$TMP/blocks"
done
# The two that README names besides: the demonstration; `make check` runs this test.
if [ -z "${DOCS:-}" ]; then
	kill $pid $with_ring
	(cd "$tree" && O=$O tests/demo.sh) >"$TMP/out" 2>&1
	ok $? "README: make demo" || diag "$(tail -5 "$TMP/out")"
	grep -q 'equal: every event is accounted for' "$TMP/out"
	ok $? "README: its events are accounted for"
fi
done_testing
