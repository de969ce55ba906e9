// SPDX-License-Identifier: BSD-2-Clause
// A picture of live bytes over time, as its user reads it.
'use strict';
function check_timeline() {
	const p = picture('timeline'), data = p.byId('data').dataset;
	const points = p.byId('data').textContent.trim().split('\n').map(l => l.split(' ').map(Number));
	const info = () => p.byId('info').textContent;
	tap.is(p.svg.dataset.ready, 'yes', 'the script of the timeline runs to its end');
	tap.is(points.length, Math.round(data.elapsed / data.step), 'it has all points');
	const i = points.findIndex(point => point[0] > 1 << 20), ms = t => (t / 1e6).toFixed(3) + ' ms';
	const x = +data.left + (i + 0.5) / points.length * (data.right - data.left);
	p.event(p.svg, 'mousemove', {clientX: x, clientY: 200});
	tap.ok(info().startsWith(`${ms(i * data.step)} to ${ms((i + 1) * data.step)}`),
		'the line on top has the time of what the mouse is on');
	tap.ok(info().includes(`at most ${(points[i][0] / (1 << 20)).toFixed(1)} MiB alive`),
		'and its bytes');
	const line = p.byId('cursor');
	tap.ok(line.style.visibility === 'visible' &&
		Math.abs(line.getBoundingClientRect().x - x) < 1, 'where a line stands');
	p.event(p.svg, 'keydown', {key: 'ArrowRight'});
	tap.ok(info().startsWith(ms((i + 1) * data.step)), 'an arrow key moves to the next point');
	p.event(p.svg, 'mousemove', {clientX: 5, clientY: 200});
	tap.is(line.style.visibility, 'hidden', 'beside the chart there is no line');
}
