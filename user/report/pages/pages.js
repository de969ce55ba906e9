// SPDX-License-Identifier: BSD-2-Clause
// The page that pages_html.c writes: the map of a heap, which the wheel, a drag and the keys move,
// and the totals of the same time beneath.
'use strict';
(async () => {
const byId = id => document.getElementById(id);
const facts = JSON.parse(byId('facts').textContent), {columns, rows} = facts;
const canvas = byId('map'), pen = canvas.getContext('2d'), info = byId('info');
const names = facts.names;
const colours = facts.colours.map(c => '#' + c.toString(16).padStart(6, '0'));
const NAMES = facts.mappings.length ? 190 : 0; // beside the map
const LEFT = 130, RIGHT = 20 + NAMES, TOP = 6, GAP = 34, TOTALS = 0.28;
const hint = 'Wheel: zoom. Drag: move. Shift and wheel: time only. Arrow keys, + and -: likewise. ' +
	'Point at the map to read it.';
function scaled(value, by, units, digits) {
	let u = 0;
	for (; value >= by && u < units.length - 1; u++)
		value /= by;
	return value.toFixed(u ? digits : 0) + ' ' + units[u];
}
const bytes = value => scaled(value, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'], 1);
const time = value => scaled(value, 1000, ['ns', 'us', 'ms', 's'], 3);
info.textContent = hint;
names.forEach((name, i) => {
	const span = document.createElement('span');
	span.style.setProperty('--c', colours[i]);
	span.textContent = name;
	byId('legend').append(span);
});
byId('legend').append('white: never seen');
if (facts.regions.length > 1)
	byId('legend').append('; a line: addresses between that were never used are left out');
if (facts.late_ns)
	byId('legend').append('; found: by reading the page tables, up to ' + time(facts.late_ns) + ' late');
if (!columns) {
	info.textContent = 'No events';
	document.documentElement.dataset.ready = 'yes';
	return;
}

const packed = Uint8Array.from(atob(byId('cells').textContent), c => c.charCodeAt(0));
const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
const cells = new Uint8Array(await new Response(stream).arrayBuffer());
const plane = columns * rows;

// The whole map once, a pixel a cell, the lowest address at the bottom.
const whole = document.createElement('canvas');
whole.width = columns;
whole.height = rows;
const image = new ImageData(columns, rows);
for (let y = 0; y < rows; y++)
	for (let x = 0; x < columns; x++) {
		const from = y * columns + x, to = 4 * ((rows - 1 - y) * columns + x);
		let white = 255;
		for (let k = 0; k < names.length; k++) {
			const share = cells[k * plane + from];
			white -= share;
			for (let c = 0; c < 3; c++)
				image.data[to + c] += share * (facts.colours[k] >> (16 - 8 * c) & 255) / 255;
		}
		for (let c = 0; c < 3; c++)
			image.data[to + c] += Math.max(white, 0);
		image.data[to + 3] = 255;
	}
whole.getContext('2d').putImageData(image, 0, 0);


// What is shown: columns from x on, rows from y on, counted from the top of the map.
const view = {x: 0, y: 0, w: columns, h: rows};
const box = {};
function clamp() {
	view.w = Math.min(Math.max(view.w, 4), columns);
	view.h = Math.min(Math.max(view.h, 4), rows);
	view.x = Math.min(Math.max(view.x, 0), columns - view.w);
	view.y = Math.min(Math.max(view.y, 0), rows - view.h);
	document.documentElement.dataset.view = [view.x, view.y, view.w, view.h].join(' ');
}
function address(row) {
	const from = facts.regions.findLast(r => r.row <= row);
	return '0x' + (BigInt(from.addr) + BigInt(Math.floor((row - from.row) * facts.row_bytes))).toString(16);
}
function mapping(row) {
	return facts.mappings.find(m => m.row <= row && row < m.row + m.rows);
}
// Names of the largest mappings in view, where there is room for them.
function draw_names() {
	const used = [], place = row => box.top + (rows - row - view.y) / view.h * box.height;
	const shown = facts.mappings.map(m => {
		const top = Math.max(place(m.row + m.rows), box.top);
		return {m, top, bottom: Math.min(place(m.row), box.top + box.height)};
	}).filter(s => s.bottom > s.top).sort((a, b) => b.bottom - b.top - a.bottom + a.top);
	for (const s of shown) {
		const y = (s.top + s.bottom) / 2, x = box.left + box.width;
		if (used.some(other => Math.abs(other - y) < 14))
			continue;
		used.push(y);
		pen.fillRect(x + 4, s.top, 1, Math.max(s.bottom - s.top, 1));
		pen.textAlign = 'left';
		pen.fillText(s.m.name, x + 10, y + 4, NAMES);
	}
}
function time_step(ns) {
	let step = 1;
	for (let i = 0; step * 8 < ns; i = (i + 1) % 3)
		step *= [2, 2.5, 2][i];
	return step;
}
function text(s, x, y, align) {
	pen.textAlign = align;
	pen.fillText(s, x, y);
}
function draw_totals() {
	const t = facts.totals, most = Math.max(1, ...t.map(p => p.reduce((a, b) => a + b, 0)));
	pen.save();
	pen.beginPath();
	pen.rect(box.left, box.totals, box.width, box.totals_height);
	pen.clip();
	for (let k = names.length - 1; k >= 0; k--) {
		pen.fillStyle = colours[k];
		pen.beginPath();
		pen.moveTo(box.left, box.totals + box.totals_height);
		const first = Math.floor(view.x * t.length / columns);
		const last = Math.min(Math.ceil((view.x + view.w) * t.length / columns), t.length);
		for (let i = first; i < last; i++) {
			const sum = t[i].slice(0, k + 1).reduce((a, b) => a + b, 0);
			const y = box.totals + box.totals_height * (1 - sum / most);
			for (const edge of [i, i + 1])
				pen.lineTo(box.left + (edge * columns / t.length - view.x) / view.w * box.width, y);
		}
		pen.lineTo(box.left + box.width, box.totals + box.totals_height);
		pen.fill();
	}
	pen.restore();
	pen.fillStyle = '#222';
	text(bytes(most * facts.page_bytes), box.left - 8, box.totals + 10, 'right');
	text('0', box.left - 8, box.totals + box.totals_height, 'right');
}
function draw() {
	const scale = window.devicePixelRatio || 1;
	const {clientWidth: width, clientHeight: height} = canvas;
	canvas.width = width * scale;
	canvas.height = height * scale;
	pen.scale(scale, scale);
	Object.assign(box, {left: LEFT, top: TOP, width: width - LEFT - RIGHT});
	box.totals_height = (height - TOP - 2 * GAP) * TOTALS;
	box.height = height - TOP - 2 * GAP - box.totals_height;
	box.totals = box.top + box.height + GAP;
	clamp();
	pen.imageSmoothingEnabled = view.w > box.width || view.h > box.height;
	pen.drawImage(whole, view.x, view.y, view.w, view.h, box.left, box.top, box.width, box.height);
	pen.font = '13px sans-serif';
	draw_totals();
	pen.strokeStyle = pen.fillStyle = '#222';
	draw_names();
	for (const [top, high] of [[box.top, box.height], [box.totals, box.totals_height]]) {
		pen.strokeRect(box.left + 0.5, top + 0.5, box.width, high);
		const ns = facts.ns / columns, step = time_step(view.w * ns);
		for (let at = Math.ceil(view.x * ns / step) * step; at <= (view.x + view.w) * ns; at += step)
			text(time(at), box.left + (at / ns - view.x) / view.w * box.width, top + high + 18, 'center');
	}
	for (let i = 0, last = Infinity; i <= 8; i++) {
		const row = rows - view.y - view.h * (1 - i / 8), y = box.top + box.height * (1 - i / 8);
		if (last - y > 16)
			text(address(Math.min(Math.max(row, 0), rows - 1)), box.left - 8, y + 4, 'right');
		last = y;
	}
	for (const r of facts.regions.slice(1)) {
		const y = box.top + (rows - r.row - view.y) / view.h * box.height;
		if (y > box.top && y < box.top + box.height) {
			pen.beginPath();
			pen.moveTo(box.left, y);
			pen.lineTo(box.left + box.width, y);
			pen.stroke();
		}
	}
}

// The cell at a point of the page; null: none.
function cell_at(e) {
	const r = canvas.getBoundingClientRect();
	const x = (e.clientX - r.left - box.left) / box.width, y = (e.clientY - r.top - box.top) / box.height;
	if (x < 0 || x >= 1 || y < 0 || y >= 1)
		return null;
	return {x: view.x + x * view.w, y: view.y + y * view.h};
}
function zoom(at, by, time_only) {
	const w = view.w, h = view.h;
	view.w = Math.min(Math.max(w * by, 4), columns);
	view.x = at.x - (at.x - view.x) * view.w / w;
	if (!time_only) {
		view.h = Math.min(Math.max(h * by, 4), rows);
		view.y = at.y - (at.y - view.y) * view.h / h;
	}
	draw();
}
function describe(at) {
	const column = Math.floor(at.x), row = rows - 1 - Math.floor(at.y), from = row * columns + column;
	const shares = names.map((name, k) => [name, cells[k * plane + from]]).filter(s => s[1]);
	info.textContent = `${time((column + 1) * facts.ns / columns)}  \u00b7  ${address(row)}, ` +
		`${bytes(facts.row_bytes)}${mapping(row) ? ' of ' + mapping(row).name : ''}  \u00b7  ` +
		(shares.map(([name, s]) => `${(s / 2.55).toFixed(0)} % ${name}`).join(', ') || 'never seen');
}
let drag = null;
canvas.addEventListener('wheel', e => {
	const at = cell_at(e);
	if (!at)
		return;
	e.preventDefault();
	zoom(at, Math.exp(Math.sign(e.deltaY || e.deltaX) * 0.25), e.shiftKey);
}, {passive: false});
canvas.addEventListener('mousedown', e => {
	drag = cell_at(e);
});
window.addEventListener('mouseup', () => {
	drag = null;
});
canvas.addEventListener('mousemove', e => {
	const at = cell_at(e);
	if (drag && at) {
		view.x += drag.x - at.x;
		view.y += drag.y - at.y;
		draw();
	} else if (at) {
		describe(at);
	} else {
		info.textContent = hint;
	}
});
canvas.addEventListener('mouseleave', () => {
	info.textContent = hint;
});
canvas.addEventListener('keydown', e => {
	const middle = {x: view.x + view.w / 2, y: view.y + view.h / 2};
	const keys = {
		'+': () => zoom(middle, 0.8), '=': () => zoom(middle, 0.8), '-': () => zoom(middle, 1.25),
		ArrowLeft: () => { view.x -= view.w / 10; }, ArrowRight: () => { view.x += view.w / 10; },
		ArrowUp: () => { view.y -= view.h / 10; }, ArrowDown: () => { view.y += view.h / 10; },
		Escape: reset,
	};
	if (!keys[e.key])
		return;
	e.preventDefault();
	keys[e.key]();
	draw();
});
function reset() {
	Object.assign(view, {x: 0, y: 0, w: columns, h: rows});
	draw();
}
byId('reset').addEventListener('click', reset);
window.addEventListener('resize', draw);
draw();
document.documentElement.dataset.ready = 'yes';
})();
