// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const web = fileURLToPath(new URL('../..', import.meta.url));
const FORBIDDEN = [
	/\b(inner|outer)HTML\b/,
	/insertAdjacentHTML|createContextualFragment|DOMParser|\.write(ln)?\(|setHTML/,
	/\beval\s*\(|new\s+Function\b|import\s*\(/,
	/set(Timeout|Interval)\(\s*['"`]/,
	/srcdoc|javascript:/,
	/setAttribute\(\s*['"`](on|style)/,
	/\sstyle\s*=\s*["']/,
];

function sources(folder) {
	return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
		entry.isDirectory()
			? sources(join(folder, entry.name))
			: /\.(js|html)$/.test(entry.name)
				? [join(folder, entry.name)]
				: [],
	);
}

/** Lines of sources that use a forbidden feature. */
function findings(name, text) {
	return (
		text
			.split('\n')
			// Types are imported in comments.
			.map((line) => line.replace(/\/\*.*?\*\/|^\s*(\/\/|\*|\/\*).*$/g, ''))
			.flatMap((line, index) =>
				FORBIDDEN.filter((pattern) => pattern.test(line)).map(
					(pattern) => `${name}:${index + 1}: ${pattern}`,
				),
			)
	);
}

test('no source makes markup or code of a text', () => {
	const files = sources(join(web, 'src'));

	assert.ok(files.length > 20);
	assert.deepEqual(files.flatMap((file) => findings(file, readFileSync(file, 'utf8'))), []);
});

test('the check finds what it is for', () => {
	for (const line of [
		'a.innerHTML = b',
		'eval(x)',
		'new Function(y)',
		'document.write(z)',
		'<p style="color: red">',
		"setTimeout('x')",
	])
		assert.equal(findings('x', line).length, 1, line);
});

test('the built pages have their place for data once, and no script from elsewhere', () => {
	for (const name of ['page.html', 'live.html', 'fleet.html']) {
		const text = readFileSync(join(web, 'dist', name), 'utf8').replace(
			/<(script|style)>.*?<\/\1>/gs,
			'<$1></$1>',
		);

		assert.equal(
			text.split('<script type="application/octet-stream" id="geiger-data"></script>').length,
			2,
		);
		assert.ok(!/(src|href)=(?!"data:,")/.test(text));
		assert.match(
			text,
			/default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'/,
		);
	}
});
