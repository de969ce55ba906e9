// SPDX-License-Identifier: BSD-2-Clause
// The picture that flame_svg.c draws: zooms, searches, follows the mouse and the keys. A frame is a
// <g class="f"> with title (name, position, values), rect and text, in the order parents first.
'use strict';
(() => {
const svg = document.documentElement;
const byId = id => document.getElementById(id);
const [info, found, field, reset, panel] = ['info', 'found', 'search', 'reset', 'panel'].map(byId);
const margin = +svg.dataset.margin, level = +svg.dataset.level, total = +svg.dataset.total;
const unit = svg.dataset.unit;
const hint = 'Click a function to zoom in. / searches, Esc shows all again, arrows and Enter move.';

// Positions and widths are shares of the whole; end: the number behind the last frame below.
const drawn = +svg.getAttribute('width') - 2 * margin;
const open = [];
const frames = [...svg.querySelectorAll('.f')].map((g, number) => {
	const [title, rect, text] = g.children;
	const depth = Math.round(rect.getAttribute('y') / level);
	const lines = title.textContent.split('\n');
	const at = lines.find(line => line.startsWith('at ')) || '';
	const f = {g, rect, text, depth, lines, number, name: lines[0], position: at.slice(3), hit: false,
		x: rect.getAttribute('x') / drawn, w: rect.getAttribute('width') / drawn};
	open.length = depth;
	f.parent = open[depth - 1];
	open.push(f);
	for (const above of open)
		above.end = number + 1;
	g.frame = f;
	return f;
});
const root = frames[0];
let zoomed = root, current = null, width, letter;

function cut(name, pixels) {
	const letters = [...name], fit = Math.floor((pixels - 6) / letter);
	if (letters.length <= fit)
		return name;
	return fit < 3 ? '' : letters.slice(0, fit - 1).join('') + '\u2026';
}

function place(f, x, w, above) {
	f.g.style.display = '';
	f.g.classList.toggle('up', above);
	f.rect.setAttribute('x', x);
	f.rect.setAttribute('width', w);
	f.text.setAttribute('x', x + 3);
	f.text.textContent = cut(f.name, w);
}

function layout() {
	const scale = width / zoomed.w, above = new Set();
	for (let f = zoomed.parent; f; f = f.parent)
		above.add(f);
	for (const f of frames) {
		if (above.has(f))
			place(f, 0, width, true);
		else if (f.number >= zoomed.number && f.number < zoomed.end)
			place(f, (f.x - zoomed.x) * scale, f.w * scale, false);
		else
			f.g.style.display = 'none';
	}
	reset.classList.toggle('off', zoomed === root && !field.value);
}

function resize() {
	const all = Math.max(window.innerWidth || 0, 480);
	width = all - 2 * margin;
	svg.setAttribute('width', all);
	svg.removeAttribute('viewBox');
	for (const e of svg.querySelectorAll('[data-right]'))
		e.setAttribute('x', all - e.dataset.right);
	panel.setAttribute('width', all);
	root.text.textContent = 'm'.repeat(40);
	letter = root.text.getComputedTextLength() / 40 || 6.63;
	layout();
}

function amount(share) {
	let value = share * total, u = 0;
	if (unit !== 'bytes')
		return Math.round(value) + ' ' + unit;
	const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
	for (; value >= 1024 && u < units.length - 1; u++)
		value /= 1024;
	return value.toFixed(u ? 1 : 0) + ' ' + units[u];
}

const percent = share => (100 * share).toFixed(2) + ' %';

// A text without capitals matches both; what is not a regular expression is searched as it is.
function matcher(pattern) {
	const flags = pattern === pattern.toLowerCase() ? 'iu' : 'u';
	field.classList.remove('bad');
	try {
		return new RegExp(pattern, flags);
	} catch {
		field.classList.add('bad');
		return new RegExp(pattern.replace(/[.*+?^${}()|[\]\\\/]/g, '\\$&'), flags);
	}
}

function search(pattern) {
	const expression = pattern && matcher(pattern);
	let share = 0, count = 0, behind = 0;
	if (!pattern)
		field.classList.remove('bad');
	for (const f of frames) {
		f.hit = !!expression && f !== root && !f.g.classList.contains('rest') &&
			(expression.test(f.name) || expression.test(f.position));
		f.g.classList.toggle('hit', f.hit);
		count += f.hit;
		// What is below a match is part of it.
		if (f.hit && f.number >= behind) {
			share += f.w / root.w;
			behind = f.end;
		}
	}
	found.textContent = !expression ? '' :
		`${count} match: ${amount(share)}, ${percent(share)} of all`;
	svg.dataset.share = share;
	layout();
}

function show(f) {
	info.textContent = f ? f.lines.join('  \u00b7  ') : hint;
}

function moveTo(f) {
	if (!f)
		return;
	if (current)
		current.g.classList.remove('at');
	current = f;
	f.g.classList.add('at');
	f.g.scrollIntoView({block: 'nearest'});
	show(f);
}

function zoom(f) {
	zoomed = f;
	layout();
}

function showAll() {
	field.value = '';
	search('');
	zoom(root);
}

// The children of a frame that are shown, in order.
const children = f => frames.slice(f.number + 1, f.end).filter(c => c.parent === f);

function beside(f, step) {
	const all = f.parent ? children(f.parent) : [f];
	return all[all.indexOf(f) + step];
}

const keys = {
	ArrowDown: f => children(f).reduce((a, b) => a && a.w >= b.w ? a : b, null),
	ArrowUp: f => f.parent,
	ArrowLeft: f => beside(f, -1),
	ArrowRight: f => beside(f, 1),
};

svg.addEventListener('keydown', e => {
	const in_field = e.target === field;
	if (e.key === 'Escape') {
		showAll();
		field.blur();
	} else if (!in_field && (e.key === '/' || e.ctrlKey && e.key === 'f')) {
		field.focus();
	} else if (!in_field && e.key === 'Enter' && current) {
		zoom(current);
	} else if (!in_field && keys[e.key]) {
		moveTo(current ? keys[e.key](current) : zoomed);
	} else {
		return;
	}
	e.preventDefault();
});
const frameOf = e => e.target.closest && (e.target.closest('.f') || {}).frame;
svg.addEventListener('click', e => {
	const f = frameOf(e);
	if (f)
		zoom(f);
});
svg.addEventListener('mouseover', e => show(frameOf(e)));
reset.addEventListener('click', showAll);
field.addEventListener('input', () => search(field.value));
// The lines on top stay when the picture is scrolled.
window.addEventListener('scroll', () =>
	byId('top').setAttribute('transform', `translate(0,${window.scrollY})`));
window.addEventListener('resize', resize);
byId('tools').style.display = '';
resize();
show(null);
svg.dataset.ready = 'yes';
})();
