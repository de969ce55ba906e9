// SPDX-License-Identifier: BSD-2-Clause
// The picture that mem_timeline_svg.c draws: shows time and bytes of what the mouse is on, or of
// what the arrow keys move to.
'use strict';
(() => {
const svg = document.documentElement;
const byId = id => document.getElementById(id);
const data = byId('data'), info = byId('info'), cursor = byId('cursor');
const hint = 'Point at the chart, or use the arrow keys, to read time and bytes.';
byId('tools').style.display = '';
info.textContent = data ? hint : '';
svg.dataset.ready = 'yes';
if (!data)
	return;
const step = +data.dataset.step, elapsed = +data.dataset.elapsed;
const left = +data.dataset.left, right = +data.dataset.right;
const points = data.textContent.trim().split('\n').map(line => line.split(' ').map(Number));
const values = [];
for (let value; (value = byId('band' + values.length));)
	values.push({value, most: value.textContent});
let current = -1;

function scaled(value, by, units, digits) {
	let u = 0;
	for (; value >= by && u < units.length - 1; u++)
		value /= by;
	return value.toFixed(u ? digits : 0) + ' ' + units[u];
}
const bytes = value => scaled(value, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'], 1);
const time = value => scaled(value, 1000, ['ns', 'us', 'ms', 's'], 3);

function show(i) {
	if (i < 0 || i >= points.length)
		return;
	current = i;
	const [most, last, allocated] = points[i];
	const begin = i * step, end = Math.min(begin + step, elapsed);
	const x = left + (begin + end) / 2 / elapsed * (right - left);
	cursor.setAttribute('transform', `translate(${x},0)`);
	cursor.style.visibility = 'visible';
	info.textContent = `${time(begin)} to ${time(end)}  \u00b7  at most ${bytes(most)} alive, ` +
		`${bytes(last)} at its end  \u00b7  ${bytes(allocated)} allocated`;
	values.forEach((v, k) => v.value.textContent = bytes(points[i][3 + k]));
}

// The picture is as large as the window allows: its own lengths, of the mouse's.
const own_x = e => new DOMPoint(e.clientX, e.clientY).matrixTransform(svg.getScreenCTM().inverse()).x;
svg.addEventListener('mousemove', e => {
	const at = (own_x(e) - left) / (right - left);
	if (at < 0 || at > 1) {
		cursor.style.visibility = 'hidden';
		info.textContent = hint;
		values.forEach(v => v.value.textContent = v.most);
	} else {
		show(Math.min(Math.floor(at * elapsed / step), points.length - 1));
	}
});
svg.addEventListener('keydown', e => {
	const by = {ArrowLeft: -1, ArrowRight: 1}[e.key];
	if (!by)
		return;
	show(current < 0 ? 0 : current + by);
	e.preventDefault();
});
})();
