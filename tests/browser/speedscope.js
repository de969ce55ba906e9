// SPDX-License-Identifier: BSD-2-Clause
// speedscope imports traces. It shows them on a canvas, so what it has understood is read from the
// file that its button "Export" would save.
'use strict';
const warnings = [];
let saved = null;
console.warn = (...words) => warnings.push(words.join(' '));
console.log = () => {};
window.alert = words => warnings.push(words);
// In one step: virtual time does not wait for a file that is read.
window.Blob = function (parts) { saved = parts.join(''); };
URL.createObjectURL = () => '#';
HTMLAnchorElement.prototype.click = () => {};

// What it exports once it shows this trace; null if it never does.
async function imported(trace) {
	speedscope.loadFileFromBase64(trace.name, trace.base64);
	for (let tries = 0; tries < 200; tries++) {
		await new Promise(done => setTimeout(done, 20));
		const button = [...document.querySelectorAll('div')].find(
			div => div.children.length === 1 && div.textContent.endsWith('Export'));
		if (!button)
			continue;
		saved = null;
		button.click();
		const group = saved && JSON.parse(saved);
		if (group && group.name === trace.name)
			return group;
	}
	return null;
}

async function check_imports(traces) {
	for (const trace of traces) {
		warnings.length = 0;
		const group = await imported(trace);
		tap.ok(group !== null, `${trace.name}: speedscope imports it`);
		tap.is(warnings.length, 0, `${trace.name}: without a warning`);
		for (const warning of warnings.slice(0, 3))
			document.getElementById('tap').textContent += `# ${warning}\n`;
		const frames = new Set(group ? group.shared.frames.map(frame => frame.name) : []);
		tap.is(trace.frames.filter(name => !frames.has(name)).join('\n'), '',
			`${trace.name}: every phase is a frame, with its stack`);
		tap.ok(trace.frames.length > 0, `${trace.name}: of which it has some`);
	}
}
