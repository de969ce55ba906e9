# SPDX-License-Identifier: BSD-2-Clause
# Conversions of whole ring files, one row a format: sourced by run.sh. Two files, both larger than
# any buffer: four rings of minigc, with all kinds of events, and one of an OCaml program whose
# collector runs all the time.
#
# olly 0.5.3's bytes an event were measured apart; it writes no other formats.
declare -A olly_bytes=([fxt]=48 [chrome]=114)
formats="text ndjson perfetto chrome fxt ebt"
declare -A ring_files converted_events converted_bytes built

# has_built FORMAT|stat: whether this ebtrace can do it; said once if not.
has_built() {
	if [ -z "${built[$1]:-}" ]; then
		built[$1]=yes
		case $1 in
			stat) "$ebtrace" stat "${ring_files[sample]}" >/dev/null 2>&1 ;;
			*) "$ebtrace" -q -f "$1" -o /dev/null "${ring_files[sample]}" 2>/dev/null ;;
		esac || { built[$1]=no; missing "# not built: $1"; }
	fi
	[ "${built[$1]}" = yes ]
}

# A whole conversion: four rings of 4 Mi words, as a program at full speed left them.
make_ring_files() {
	local file format
	mkdir "$tmp/minigc" "$tmp/sample"
	EBTRACE_START=1 EBTRACE_PRESERVE=1 EBTRACE_LOG_WSIZE=22 EBTRACE_DIR=$tmp/minigc \
		"$minigc" -q -t 4 -n 4000000 -c /dev/null 2>/dev/null
	EBTRACE_START=1 EBTRACE_PRESERVE=1 EBTRACE_DIR=$tmp/sample \
		"$minigc" -q -t 1 -n 1000 -c /dev/null 2>/dev/null
	ring_files[sample]=$(ls "$tmp"/sample/*.events)
	ring_files[minigc]=$(ls "$tmp"/minigc/*.events) || failed "no ring file of minigc"
	if [ -n "$ocaml_load" ]; then
		OCAML_RUNTIME_EVENTS_START=1 OCAML_RUNTIME_EVENTS_PRESERVE=1 OCAMLRUNPARAM=e=22,d=2 \
			OCAML_RUNTIME_EVENTS_DIR=$ring_dir "$ocaml_load" minor 40000 </dev/null >/dev/null 2>&1
		ring_files[ocaml]=$(ls "$ring_dir"/*.events) || failed "no ring file of OCaml"
	fi
	for file in minigc ocaml; do
		[ -n "${ring_files[$file]:-}" ] || continue
		for format in $formats; do
			has_built $format || continue
			"$ebtrace" trace -q -f $format -o "$tmp/all" "${ring_files[$file]}" ||
				failed "conversion to $format"
			converted_bytes[$file.$format]=$(stat -c %s "$tmp/all")
			[ $format != ndjson ] || converted_events[$file]=$(tail -1 "$tmp/all" | jq .events)
		done
	done
	rm -f "$tmp/all"
}

# convert NAME FILE COMMAND...: ns an event, into the row NAME; `wall` and `rss` stay.
convert() {
	local name=$1 file=$2
	shift 2
	"$usage" "$tmp/convert" "$ebtrace" "$@" "${ring_files[$file]}" >/dev/null ||
		{ failed "$name: conversion of a ring file"; return 1; }
	read -r wall _ rss <"$tmp/convert"
	row "$name" ns/event "$(calc "$wall * 1e9 / ${converted_events[$file]}")"
}

bench_convert() {
	local format file name peer
	for file in minigc ocaml; do
		[ -n "${ring_files[$file]:-}" ] || continue
		name=
		[ $file = minigc ] || name=_$file
		for format in $formats; do
			has_built $format || continue
			convert convert${name}_$format $file trace -q -f $format -o /dev/null || continue
			row convert${name}_${format}_rate MB/s \
				"$(calc "${converted_bytes[$file.$format]} / $wall / 1e6")"
			row convert${name}_${format}_events "M events/s" \
				"$(calc "${converted_events[$file]} / $wall / 1e6")"
			peer=
			[ -z "${olly_bytes[$format]:-}" ] ||
				peer=",\"theirs\":${olly_bytes[$format]},\"peer\":\"olly 0.5.3\""
			row convert${name}_${format}_bytes B/event "$(calc \
				"${converted_bytes[$file.$format]} / ${converted_events[$file]}")" "$peer"
			[ $file.$format != minigc.ndjson ] ||
				row convert_rss MiB "$(calc "$rss / 1024")" ',"goal":100'
		done
		! has_built stat || convert stat$name $file stat -q
	done
}

# The same as a capture, which is then read to its end.
bench_capture() {
	local cpu bytes events=${converted_events[minigc]}
	"$usage" "$tmp/capture" "$ebtrace" trace -q -o "$tmp/run.ebt" "${ring_files[minigc]}" &&
		"$usage" "$tmp/read" "$ebtrace" info "$tmp/run.ebt" >/dev/null ||
		{ failed "a capture of a ring file"; return 0; }
	read -r wall cpu rss <"$tmp/capture"
	bytes=$(stat -c %s "$tmp/run.ebt")
	row capture_write ns/event "$(calc "$wall * 1e9 / $events")"
	row capture_size bytes/event "$(calc "$bytes / $events")" \
		",\"theirs\":$(calc "${converted_bytes[minigc.ndjson]} / $events"),\"peer\":\"NDJSON\""
	read -r wall cpu rss <"$tmp/read"
	row capture_read ns/event "$(calc "$wall * 1e9 / $events")"
}
