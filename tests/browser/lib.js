// SPDX-License-Identifier: BSD-2-Clause
// TAP for a page in a browser: results are lines of <pre id="tap">, which is read from the DOM at
// the end. The page shows each picture in a frame of its own.
'use strict';
const tap = {
	ok(good, name) {
		document.getElementById('tap').textContent += `${good ? 'ok' : 'not ok'} - ${name}\n`;
	},
	is(got, want, name) {
		this.ok(got === want, name);
		if (got !== want)
			document.getElementById('tap').textContent += `# got '${got}', expected '${want}'\n`;
	},
	near(got, want, by, name) {
		this.ok(Math.abs(got - want) <= by, name);
		if (!(Math.abs(got - want) <= by))
			document.getElementById('tap').textContent += `# got ${got}, expected ${want}\n`;
	},
};

// A picture, as its user sees it.
function picture(id) {
	const frame = document.getElementById(id), doc = frame.contentDocument;
	const svg = doc.documentElement;
	return {
		doc, svg, window: frame.contentWindow,
		byId: name => doc.getElementById(name),
		frames: [...doc.querySelectorAll('.f')],
		named: name => [...doc.querySelectorAll('.f')].find(
			g => g.querySelector('title').textContent.split('\n')[0] === name),
		event(target, type, options) {
			const all = {bubbles: true, cancelable: true, ...options};
			const kind = type.startsWith('key') ? 'KeyboardEvent' :
				type === 'input' ? 'Event' : 'MouseEvent';
			target.dispatchEvent(new frame.contentWindow[kind](type, all));
		},
	};
}
