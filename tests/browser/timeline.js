// SPDX-License-Identifier: BSD-2-Clause
// A picture of live bytes over time, as its user reads it.
'use strict';
function check_timeline() {
	const p = picture('timeline'), data = p.byId('data').dataset;
	const points = p.byId('data').textContent.trim().split('\n').map(l => l.split(' ').map(Number));
	const info = () => p.byId('info').textContent;
	tap.is(p.svg.dataset.ready, 'yes', 'the script of the timeline runs to its end');
	tap.is(points.length, Math.round(data.elapsed / data.step), 'it has all points');
	const large = points.findIndex(point => point[0] > 1 << 20), ms = t => (t / 1e6).toFixed(3) + ' ms';
	// As large as the window allows.
	const scale = p.svg.getScreenCTM(), box = p.svg.viewBox.baseVal;
	tap.near(scale.a, p.window.innerWidth / box.width, 0.01, 'it is as wide as the window');
	// A mouse is on whole pixels.
	const width = data.right - data.left, to_mouse = x => Math.round(scale.e + scale.a * x);
	const mouse = to_mouse(+data.left + (large + 0.5) / points.length * width);
	const i = Math.floor(((mouse - scale.e) / scale.a - data.left) / width * data.elapsed / data.step);
	const x = +data.left + (i + 0.5) * data.step / data.elapsed * width;
	p.event(p.svg, 'mousemove', {clientX: mouse, clientY: 200});
	tap.ok(info().startsWith(`${ms(i * data.step)} to ${ms((i + 1) * data.step)}`),
		'the line on top has the time of what the mouse is on');
	tap.ok(info().includes(`at most ${(points[i][0] / (1 << 20)).toFixed(1)} MiB alive`),
		'and its bytes');
	const legend = () => points[i].slice(3).map((v, k) => p.byId(`band${k}`).textContent);
	const shown = v => v < 1024 ? `${v} B` : v < 1 << 20 ? `${(v / 1024).toFixed(1)} KiB` : `${(v / (1 << 20)).toFixed(1)} MiB`;
	tap.is(legend().join(), points[i].slice(3).map(shown).join(), 'the legend has the bytes of each site there');
	tap.is(p.svg.querySelectorAll('.band').length, points[i].length - 3, 'and there is a band for each');
	tap.ok(Math.abs(points[i].slice(3).reduce((a, b) => a + b) - points[i][1]) < 10, 'which add up to what is alive');
	const line = p.byId('cursor');
	tap.ok(line.style.visibility === 'visible' &&
		Math.abs(line.getBoundingClientRect().x - scale.e - scale.a * x) < 1, 'where a line stands');
	p.event(p.svg, 'keydown', {key: 'ArrowRight'});
	tap.ok(info().startsWith(ms((i + 1) * data.step)), 'an arrow key moves to the next point');
	p.event(p.svg, 'mousemove', {clientX: 5, clientY: 200});
	tap.ok(legend().some((v, k) => v !== shown(points[i][3 + k])), 'beside it the legend has the most of each');
	tap.is(line.style.visibility, 'hidden', 'beside the chart there is no line');
}
