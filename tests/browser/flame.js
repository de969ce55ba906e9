// SPDX-License-Identifier: BSD-2-Clause
// A flame graph of single.ctf, as its user uses it. expected: shares that were computed from the
// folded text of the same trace.
'use strict';
function check_flame(expected) {
	const p = picture('flame'), field = p.byId('search');
	const width = g => +g.querySelector('rect').getAttribute('width');
	const shown = g => g.style.display !== 'none';
	const search = text => {
		field.value = text;
		p.event(field, 'input');
	};
	tap.is(p.svg.dataset.ready, 'yes', 'the script of the picture runs to its end');
	tap.ok(p.frames.every(g => /^.+\n(at .+\n)?\d+\.\d\d %: [\d.]+ [KM]?i?B \(/.test(
		g.querySelector('title').textContent)),
	'each function has a tooltip with its bytes, its share and an interval');

	search('Map\\.Make');
	tap.near(+p.svg.dataset.share, expected.map, 1e-5,
		'the share of functions that match is the one of the stacks that have any of them');
	tap.ok(/^\d+ match: [\d.]+ MiB, \d+\.\d\d % of all$/.test(p.byId('found').textContent),
		'it is shown, with its bytes');
	tap.ok(p.frames.every(g => g.classList.contains('hit') ===
		/Map\.Make|at .*Map\.Make/.test(g.querySelector('title').textContent)),
	'the functions that match are marked, and no others');
	search('map\\.ml:119');
	tap.ok(p.named('Stdlib__Map.Make.bal').classList.contains('hit'),
		'file and line are searched, too');
	search('LIST');
	tap.is(+p.svg.dataset.share, 0, 'a text with capitals matches capitals alone');
	search('list');
	tap.ok(+p.svg.dataset.share > 0, 'and one without matches both');
	search('(fun');
	tap.ok(field.classList.contains('bad') && +p.svg.dataset.share > 0,
		'what is no regular expression is marked, and searched as it is');
	p.event(field, 'keydown', {key: 'Escape'});
	tap.ok(field.value === '' && !p.doc.querySelector('.hit') && !p.byId('found').textContent,
		'Esc ends the search');

	const before = p.frames.map(width), churn = p.named('Dune__exe__Mt_single.churn');
	const all = width(p.frames[0]);
	p.event(churn.querySelector('rect'), 'click');
	const fun = p.named('Dune__exe__Mt_single.churn.(fun)');
	tap.near(width(churn), all, 0.01, 'a click makes a function as wide as the picture');
	tap.near(width(fun) / all, expected.fun / expected.churn, 1e-4,
		'what it calls is as wide as its share of that');
	tap.ok(!shown(p.named('Dune__exe__Mt_single.build')), 'others are not shown');
	tap.ok(p.named('Dune__exe__Mt_single').classList.contains('up'), 'but its callers are');
	tap.is(fun.querySelector('text').textContent, 'Dune__exe__Mt_single.churn.(fun)',
		'names have the room that there is');
	p.event(p.byId('reset'), 'click');
	tap.ok(p.frames.every((g, i) => shown(g) && Math.abs(width(g) - before[i]) < 0.01),
		'"Show all" restores the picture');
	tap.ok(p.frames.every(g => g.querySelector('text').getBBox().width <= width(g)),
		'no name is wider than its function');

	p.event(churn.querySelector('rect'), 'mouseover');
	tap.ok(p.byId('info').textContent.startsWith('Dune__exe__Mt_single.churn  \u00b7  at ') &&
		/[KM]iB \(.+ to .+\)/.test(p.byId('info').textContent),
	'the line on top has function, file, line and bytes of what the mouse is on');
	const key = name => p.event(p.svg, 'keydown', {key: name});
	for (const name of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowRight'])
		key(name);
	tap.ok(churn.classList.contains('at') && p.byId('info').textContent.includes('.churn '),
		'arrow keys move to the largest callee and to the next function');
	key('Enter');
	tap.near(width(churn), all, 0.01, 'Enter zooms');
	key('Escape');
	tap.near(width(churn), before[p.frames.indexOf(churn)], 0.01, 'Esc shows all again');
	key('/');
	tap.ok(p.doc.activeElement === field, '/ is where to search');
	p.event(field, 'keydown', {key: 'ArrowDown'});
	tap.ok(churn.classList.contains('at'), 'keys in the field move nothing');
}

// The same with names that are markup, script, or no text at all.
function check_hostile() {
	const p = picture('hostile');
	tap.is(p.svg.dataset.ready, 'yes', 'hostile names do not stop the script');
	tap.ok(p.named('</svg>]]><a b="\'&'), 'markup in a name is text');
	tap.ok(!p.doc.querySelector('a') && p.doc.querySelectorAll('script').length === 1,
		'and makes no element');
	tap.ok(p.named('\ufffd\ufffd\ufffd\ufffdlib.string_of_int'),
		'control characters and what is not UTF-8 are replaced');
	tap.ok(!p.window.ran, 'nothing in a name runs');
}
