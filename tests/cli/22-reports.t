#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every report of recordings and their events, in text and JSON, byte for byte; GOLDEN=rewrite (make golden) writes it anew.
# Other tests know what is right; this one sees what changes.
. tests/lib.sh
need_command xz
golden=$PWD/tests/golden/reports
ebt=$(realpath "$O/ebtrace")
mkdir -p "$golden"
for f in memtrace/{single,multidomain,fork} pagetrace/gc-p2-go122; do
	suffix=.ctf
	[ "${f%%/*}" = memtrace ] || suffix=.pt
	xz -dc "tests/data/$f$suffix.xz" >"$TMP/${f##*/}$suffix"
done
cp tests/data/{capture,profile}/*.ebt "$TMP"
cd "$TMP" || exit 1
export TZ=UTC
# group NAME ARGS... reads lines of further arguments. The output of each comes behind its command; of a long one the
# beginning and a checksum.
group() {
	local name=$1 line
	shift
	while read -r line; do
		echo "\$ ebtrace $* $line"
		# shellcheck disable=SC2086
		"$ebt" "$@" $line >one 2>&1
		echo "status $?" >>one
		[ "$(stat -c %s one)" -lt 30000 ] || { head -c 2000 one; echo; cksum one; continue; }
		cat one
	done >out
	[ "${GOLDEN:-}" = rewrite ] && cp out "$golden/$name"
	same_file out "$golden/$name" "reports are as they were: $name"
}
group mem mem <<'END'
single.ctf
--json single.ctf
hotspots --top 5 single.ctf
hotspots --json multidomain.ctf
live --at 50ms single.ctf
live --json single.ctf
lifetimes single.ctf
lifetimes --json --top 3 single.ctf
timeline single.ctf
timeline --json --top 3 single.ctf
--filter lifetime>1ms multidomain.ctf
fork.ctf
END
group mem-diff mem diff <<'END'
single.ctf multidomain.ctf
--json --top 5 single.ctf multidomain.ctf
--live --top 5 single.ctf multidomain.ctf
--per time --top 5 single.ctf multidomain.ctf
--per alloc --json --top 3 single.ctf fork.ctf
END
for report in summary totals fragmentation occupancy churn heat lifetimes owners damage; do
	printf '%s\n' "gc-p2-go122.pt" "--json gc-p2-go122.pt" "--from 10ms --to 20ms gc-p2-go122.pt" >lines
	group "pages-$report" pages $report <lines
done
group pages-kernel pages <<'END'
pages.ebt
--json pages.ebt
heat pages.ebt
owners --json pages.ebt
END
group stat stat <<'END'
ocaml-5.0.ebt
--json ocaml-5.1.ebt
-v ocaml-5.5.ebt
--json forks.ebt
--by program forks.ebt
--by process --top 2 forks.ebt
--mmu ocaml-blame.ebt
--mmu --json wrapped.ebt
--json probes.ebt
--interval 100ms ocaml-blame.ebt
END
group blame stat --blame <<'END'
blame.ebt
--json blame.ebt
ocaml-blame.ebt
--json ocaml-blame.ebt
END
group spans spans <<'END'
laps-new.ebt
ocaml-mixed.ebt
ocaml-fibers.ebt
--json laps-old.ebt
--json laps-new.ebt
--fibers ocaml-fibers.ebt
--fibers --json ocaml-fibers.ebt
-f folded laps-new.ebt
--by program laps-old.ebt
--interval 200ms laps-new.ebt
END
group profile profile <<'END'
laps-new.ebt
ocaml-mixed.ebt
ocaml-fibers.ebt
--json laps-new.ebt
diff laps-old.ebt laps-new.ebt
--json ocaml-fibers.ebt
--by thread ocaml-mixed.ebt
--by domain --top 3 ocaml-mixed.ebt
--by program --json --top 3 laps-old.ebt
-f folded laps-old.ebt
diff --json --top 3 laps-old.ebt laps-new.ebt
END
group profile-time profile <<'END'
--off-cpu offcpu.ebt
--off-cpu --json ocaml-blame.ebt
--wall blame.ebt
--wall --json laps-new.ebt
--wall --by thread offcpu.ebt
--off-cpu --min-duration 1ms offcpu.ebt
--off-cpu -f folded offcpu.ebt
END
group top top <<'END'
--json ocaml-blame.ebt
--json --sort gc forks.ebt
END
for f in blame forks memtrace pages pagetrace probes trigger wrapped; do
	printf '%s\n' "$f.ebt" "-f ndjson $f.ebt" "-f chrome $f.ebt" >lines
	group "trace-$f" trace -q <lines
done
group info info <<'END'
blame.ebt forks.ebt memtrace.ebt minigc-stacks.ebt ocaml-5.3.ebt pages.ebt pagetrace.ebt probes.ebt trigger.ebt
--json blame.ebt forks.ebt memtrace.ebt ocaml-5.4.ebt pagetrace.ebt wrapped.ebt
single.ctf fork.ctf gc-p2-go122.pt
--json multidomain.ctf gc-p2-go122.pt
END
done_testing
