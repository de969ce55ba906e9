// SPDX-License-Identifier: BSD-2-Clause
// The map of a heap, as its user moves in it.
'use strict';
async function check_pages() {
	const frame = document.getElementById('pages'), doc = frame.contentDocument;
	for (let i = 0; i < 100 && !doc.documentElement.dataset.ready; i++)
		await new Promise(done => setTimeout(done, 100));
	tap.is(doc.documentElement.dataset.ready, 'yes', 'the script of the map runs to its end');
	const canvas = doc.getElementById('map'), info = () => doc.getElementById('info').textContent;
	const facts = JSON.parse(doc.getElementById('facts').textContent);
	const view = () => doc.documentElement.dataset.view.split(' ').map(Number);
	const r = canvas.getBoundingClientRect();
	const fire = (kind, type, options) => canvas.dispatchEvent(
		new frame.contentWindow[kind](type, {bubbles: true, cancelable: true, ...options}));
	const at = (x, y) => ({clientX: r.left + 130 + x * (r.width - 150), clientY: r.top + 6 + y * (r.height - 74) * 0.72});
	const pixel = (x, y) => {
		const p = at(x, y), scale = frame.contentWindow.devicePixelRatio || 1;
		const pen = document.createElement('canvas').getContext('2d');
		pen.drawImage(canvas, (r.left - p.clientX) * scale, (r.top - p.clientY) * scale);
		return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3).join(' ');
	};
	const rgb = c => [c >> 16, c >> 8 & 255, c & 255].join(' ');

	tap.is(view().join(), [0, 0, facts.columns, facts.rows].join(), 'at first the whole map is shown');
	tap.is(pixel(0.3, 0.99), rgb(facts.colours[0]), 'what is allocated has the colour of the legend');
	tap.is(pixel(0.005, 0.02), '255 255 255', 'what was never seen is white');
	fire('MouseEvent', 'mousemove', at(0.3, 0.99));
	tap.ok(/^\d+\.\d+ ms  \u00b7  0xc000[0-9a-f]{6}, .*100 % allocated$/.test(info()),
		'the line on top has time, address and shares of what the mouse is on: ' + info());

	fire('WheelEvent', 'wheel', {...at(0.5, 0.5), deltaY: -100});
	const [x, y, w, h] = view();
	tap.ok(w < facts.columns && h < facts.rows, 'the wheel zooms in');
	tap.near(x + w / 2, facts.columns / 2, 1, 'at what the mouse is on');
	tap.near(y + h / 2, facts.rows / 2, 1, 'in both directions');
	fire('WheelEvent', 'wheel', {...at(0.5, 0.5), deltaY: -100, shiftKey: true});
	tap.ok(view()[2] < w && view()[3] === h, 'with Shift in time alone');
	const before = view();
	fire('MouseEvent', 'mousedown', at(0.5, 0.5));
	fire('MouseEvent', 'mousemove', at(0.6, 0.5));
	frame.contentWindow.dispatchEvent(new frame.contentWindow.MouseEvent('mouseup'));
	tap.near(view()[0], before[0] - before[2] * 0.1, 1, 'a drag moves the map');
	fire('MouseEvent', 'mousemove', at(0.2, 0.5));
	tap.near(view()[0], before[0] - before[2] * 0.1, 1, 'until the button is released');
	for (let i = 0; i < 60; i++)
		fire('WheelEvent', 'wheel', {...at(0.5, 0.5), deltaY: -100});
	tap.ok(view()[2] >= 4 && view()[3] >= 4, 'zooming ends at single cells');
	for (let i = 0; i < 9; i++)
		fire('KeyboardEvent', 'keydown', {key: 'ArrowRight'});
	tap.ok(view()[0] + view()[2] <= facts.columns, 'keys move it, and not beyond its edge');
	doc.getElementById('reset').click();
	tap.is(view().join(), [0, 0, facts.columns, facts.rows].join(), '"Show all" restores the map');
}
