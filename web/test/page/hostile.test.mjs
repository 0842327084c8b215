// SPDX-License-Identifier: Apache-2.0
//
// Names that want to be more than names: in functions, modules, paths, arguments, notes, and in a
// program that is really recorded.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { launch, scratch, writePage } from './browser.mjs';
import { openPage, sample, settle } from './harness.mjs';

const EVIL = [
	'<script>window.ran=1</script>',
	'<img src=x onerror="window.ran=1">',
	'</script><script>window.ran=1</script>',
	'"\'><svg onload=window.ran=1>',
	'javascript:window.ran=1',
	'{{constructor.constructor("window.ran=1")()}}',
];
let browser;

before(async () => {
	browser = await launch();
});
after(() => browser?.close());

/** Every text of the data becomes evil. */
function poison(value) {
	let count = 0;
	return (function walk(at) {
		if (typeof at === 'string')
			return at === '' || at === 'geiger-page' ? at : `${EVIL[count++ % EVIL.length]} ${at}`;
		if (Array.isArray(at))
			return at.map(walk);
		if (at && typeof at === 'object')
			return Object.fromEntries(Object.entries(at).map(([key, inner]) => [key, walk(inner)]));
		return at;
	})(value);
}

/** Nothing ran, and nothing of it became an element. */
async function isHarmless(page) {
	const found = await page.evaluate(() => ({
		ran: window.ran ?? null,
		scripts: document.querySelectorAll('script').length,
		strangers: [
			...document.querySelectorAll(
				'img, iframe, object, embed, svg [onload], [onerror], [onclick]',
			),
		].map((e) => e.outerHTML),
		links: [...document.querySelectorAll('a[href]')]
			.map((a) => a.getAttribute('href'))
			.filter((href) => /^javascript/i.test(href)),
	}));

	assert.deepEqual(found, { ran: null, scripts: 2, strangers: [], links: [] });
}

async function visitAll(tab) {
	const { page } = tab;

	await isHarmless(page);
	for (const view of await page.locator('[role=tab]').all()) {
		await view.click();
		await settle(page);
		await isHarmless(page);
	}
	await page.locator('[role=tab]').first().click();
	await page.focus('.flame-area');
	for (const key of ['ArrowDown', 'ArrowDown', 'Enter', 's', 'Escape', 'h']) {
		await page.keyboard.press(key);
		await isHarmless(page);
	}
	await page.mouse.move(300, 600);
	await isHarmless(page);
}

for (const name of ['made.json', 'diff.json'])
	test(`texts of ${name} that are markup stay texts`, async () => {
		const tab = await openPage(
			browser,
			writePage(`hostile-${name}.html`, poison(sample(name))),
		);

		assert.match(await tab.page.textContent('.command'), /^<|^"|^j|^\{/);
		await visitAll(tab);
		await tab.close(`hostile-${name}`);
	});

test('a link that is markup stays a text', async () => {
	const evil = encodeURIComponent(EVIL[1]);
	const file = writePage('hostile-link.html', sample('made.json'));
	const tab = await openPage(browser, file, {
		hash: `search=${evil}&hide=${evil}&focus=x${evil}&sandwich=${evil}&zoom=${evil}&view=${evil}&extra=${evil}`,
	});

	await isHarmless(tab.page);
	await tab.close();
});

const geiger = process.env.GEIGER;
const canRecord = Boolean(geiger) && process.env.GEIGER_AGENT !== '';

test(
	'a program whose functions, arguments and path are markup',
	{ skip: !canRecord && 'no geiger to record with' },
	async () => {
		const place = mkdtempSync(join(tmpdir(), 'geiger-page-'));

	try {
		const folder = join(place, '<img src=x onerror=window.ran=1>');
		const program = join(folder, 'evil');
		const profile = join(place, 'evil.geiger');
		const html = join(scratch, 'evil.html');

			mkdirSync(folder);
			writeFileSync(
				join(place, 'evil.c'),
				'#include <stdlib.h>\n__attribute__((noinline)) void *evil_function(size_t n) { char *p = malloc(n); if (p) p[0] = 1; return p; }\n' +
					'int main(void) { for (int i = 0; i < 2000; i++) { void *volatile p = evil_function(20000); (void)p; } return 0; }\n',
			);
			execFileSync('cc', ['-g0', '-O1', '-o', join(place, 'plain'), join(place, 'evil.c')]);
			execFileSync('objcopy', [
				'--redefine-sym',
				`evil_function=${EVIL[0]}`,
				join(place, 'plain'),
				program,
			]);
			execFileSync(geiger, ['record', '-q', '-i', '64k', '-o', profile, program, EVIL[1]]);
			execFileSync(geiger, ['html', profile, '-o', html]);
			assert.ok(
				!readFileSync(html, 'utf8').includes('window.ran'),
				'texts of the profile are not in the file as they are',
			);

			const tab = await openPage(browser, html);
			assert.ok((await tab.page.textContent('.command')).includes(EVIL[1]));
			await tab.page.fill('.search input', EVIL[0]);
			assert.match(
				await tab.status(),
				/MiB .*, \d+ samples, 9\d\.\d %|MiB .*, \d+ samples, 100\.0 %/,
			);
			await tab.page.keyboard.press('Enter');
			await visitAll(tab);
			await tab.close('hostile-program');
		} finally {
			rmSync(place, { recursive: true, force: true });
		}
	},
);
