# SPDX-License-Identifier: BSD-2-Clause
# What stat must say of a ring without holes, worked out anew from its events: columns domain, ts,
# kind, name, value. Prints lines of a name and a number; `orphans` are ends without a begin, of
# which stat's rules are others.
function pop(d, ts,    name, b, len, i) {
	name = open_name[d, depth[d]]
	b = open_ts[d, depth[d]]
	len = ts - b
	depth[d]--
	inside = 0
	for (i = 1; i <= depth[d]; i++) inside += open_name[d, i] == name
	if (!inside) total[name] += len
	self[name] += len - inner[d, depth[d] + 1]
	if (depth[d]) inner[d, depth[d]] += len
	count[name]++
	if (len > longest[name]) longest[name] = len
	if (name == "domain_condition_wait") return
	stopping[d]--
	if (stopping[d]) return
	pauses++
	gc += len
	if (len > max) max = len
	if (pauses == 1 || len < min) min = len
}
$3 == "lifecycle" && $4 == "ring_stop" { stopped = 1; stop = $2 }
$3 == "lost" { lost += $5 }
stopped { next }
$3 == "begin" {
	d = $1
	depth[d]++
	open_name[d, depth[d]] = $4
	open_ts[d, depth[d]] = $2
	inner[d, depth[d]] = 0
	if ($4 != "domain_condition_wait") stopping[d]++
	begun[$4]++
	if ($4 == "minor") minors[d]++
}
$3 == "end" {
	d = $1
	at = depth[d]
	while (at && open_name[d, at] != $4) at--
	if (!at) { orphans++; next }
	while (depth[d] >= at) pop(d, $2)
}
$3 == "counter" { sum[$4] += $5 }
END {
	for (d in depth) left += depth[d]
	print "orphans", orphans + left
	print "lost", lost + 0
	print "pauses", pauses + 0
	print "gc", gc + 0
	print "max", max + 0
	print "min", min + 0
	minor = begun["minor_global_roots"] + 0
	for (d in minors) if (minors[d] > minor) minor = minors[d]
	print "minor", minor
	print "forced_minor", begun["explicit_gc_minor"] + 0
	print "forced_major", begun["explicit_gc_major"] + begun["explicit_gc_full_major"] + begun["explicit_gc_compact"] + 0
	print "allocated", ("minor_allocated_words" in sum) ? sum["minor_allocated_words"] : sum["minor_allocated"] / 8
	print "promoted", ("minor_promoted_words" in sum) ? sum["minor_promoted_words"] : sum["minor_promoted"] / 8
	for (n in count) print "phase", n, count[n], total[n], self[n], longest[n]
}
