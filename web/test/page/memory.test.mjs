// SPDX-License-Identifier: Apache-2.0
//
// The view of memory: the rows that add up to RSS, and what stands beside them.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { launch, writePage } from './browser.mjs';
import { openPage, sample, samplePage, settle } from './harness.mjs';

let browser;
let made;
const open = (options = {}) => openPage(browser, made, { hash: 'view=memory', ...options });
const rowTexts = (page, of) =>
	page.locator(`.memory-rows >> nth=${of} >> tbody tr:not(.advice)`).allTextContents();
const says = (page) => page.textContent('.memory .view-says');
const isCut = (page) =>
	page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);

before(async () => {
	browser = await launch();
	made = writePage('memory.html', { ...sample('made.json'), why: sample('why.json') });
});
after(() => browser?.close());

test('a profile without looks has no tab, and a link to it opens the page', async () => {
	const tab = await openPage(browser, samplePage('made.json'), { hash: 'view=memory' });

	assert.equal(await tab.page.locator('.tabs button', { hasText: 'Memory' }).count(), 0);
	assert.equal(await tab.page.locator('.memory').count(), 0);
	await tab.close();
});

test('the rows, their certainty and advice stand there as text, never as markup', async () => {
	const tab = await open();
	const rows = await rowTexts(tab.page, 0);

	assert.match(await says(tab.page), /^RSS 3\.34 GiB of server, process 4711, last look, at 960 ms\./);
	assert.equal(rows.length, 16);
	assert.match(rows[2], /pinned.*1\.17 GiB ± 19 %.*35\.2 %.*interval/);
	assert.ok(rows.some((text) => text.includes('[anon:v8 <b>heap</b>]')));
	assert.equal(await tab.page.locator('.memory-rows .advice').count(), 3);
	assert.match(await tab.page.textContent('.memory-rows .advice'), /at most 640\.0 MiB: malloc_trim\(0\)/);
	assert.match((await rowTexts(tab.page, 1))[0], /live-not-resident.*120\.0 MiB \(98-147\)|± 23 %/);
	assert.match(
		await tab.page.getAttribute('.memory-bar', 'aria-label'),
		/^Parts of RSS: pinned 1\.17 GiB ± 19 %, 35\.2 %; live 0/,
	);
	assert.equal(await isCut(tab.page), false);
	await tab.close('memory');
});

test('parts of the bar have the widths of their shares', async () => {
	const tab = await open();
	const widths = await tab.page.$$eval('.memory-bar i', (parts) =>
		parts.map((part) => part.getBoundingClientRect().width),
	);
	const all = widths.reduce((sum, width) => sum + width, 0);

	assert.ok(Math.abs(widths[2] / all - 1203 / 3420) < 0.01, String(widths[2] / all));
	await tab.close();
});

test('arrows walk through the rows, and a click on the bar finds its row', async () => {
	const tab = await open();
	const chosen = () => tab.page.textContent('.memory-rows tr.chosen th');

	await tab.page.keyboard.press('ArrowDown');
	await tab.page.keyboard.press('ArrowDown');
	assert.match(await chosen(), /^rounding/);
	assert.equal(await tab.page.locator('.memory-bar i.chosen').count(), 1);
	await tab.page.keyboard.press('ArrowUp');
	assert.match(await chosen(), /^live/);
	await tab.page.locator('.memory-bar i').nth(3).click();
	assert.match(await chosen(), /^returnable/);
	assert.equal(await tab.page.locator('.memory-rows tr.chosen').count(), 1);
	await tab.close('memory-chosen');
});

test('other looks and processes are chosen, and the address keeps the choice', async () => {
	const tab = await open();

	await tab.page.locator('.memory-choices button', { hasText: 'largest RSS' }).click();
	assert.match(await says(tab.page), /^RSS 4\.00 GiB of server, process 4711, largest RSS, at 612 ms/);
	assert.match(await tab.hash(), /extra=memory:4711:peak/);
	await tab.page.selectOption('.memory-choices select', '4712');
	assert.match(await says(tab.page), /^RSS 40\.0 MiB of worker.*the allocator is unknown/);
	assert.equal(await tab.page.locator('.memory-choices button').count(), 0);
	await tab.close();

	const again = await open({ hash: 'view=memory&extra=memory:4712:last' });
	assert.match(await says(again.page), /^RSS 40\.0 MiB of worker/);
	await again.close();
});

test('live, pinned and the head lead to what explains them', async () => {
	const tab = await openPage(browser, writePage('memory-links.html', {
		...sample('made.json'),
		why: sample('why.json'),
		why_missed: { process_count: 3, highest_bytes: 5 * 2 ** 30 },
		pinned_looks: [{
			moments: ['last'], time_ns: 960e6, by: 'all', hides: true, limit_bytes: null,
			node_delta: [3], n: [40], bytes: [8e8], bytes_variance: [4e14], bytes_skew: [4e20],
			seen_bytes: [8000], reserve_bytes: [2e6], upper: [64],
		}],
	}));
	const { page } = tab;
	const head = page.locator('.fact button.value');

	assert.match(await page.textContent('.facts'), /process 4711 mostly pinned 1\.17 GiB ± 19 %, live/);
	await head.click();
	assert.match(await tab.hash(), /view=memory/);
	assert.match(await tab.status(), /^RSS of process 4711, last look, at 960 ms: 3\.34 GiB$/);
	assert.match(await says(page), /no look saw 3 processes; the RSS of one process was 5\.00 GiB/);
	await page.locator('.memory-rows tr', { hasText: /^pinned/ }).locator('.row-link').first().click();
	assert.match(await tab.hash(), /metric=pinned&who=4711/);
	assert.equal(await page.locator('.look').isVisible(), false, 'one look is no choice');
	await page.goBack();
	await page.locator('.memory-rows tr', { hasText: /^live/ }).locator('.row-link').click();
	assert.match(await tab.hash(), /to=0\.9\d*&who=4711/);
	assert.match(await tab.status(), /^Live at 9\d\d ms/);
	await tab.close('memory-links');
});

test('a comparison shows RSS and its rows before, and what changed for certain', async () => {
	const why = sample('why.json');
	const [first] = why;
	const rows = first.rows.map((/** @type {any} */ row) =>
		(row.name === 'returnable' ? { ...row, bytes: 1 << 20, low: 1 << 20, high: 1 << 20 } : row));
	const tab = await openPage(browser, writePage('memory-diff.html', {
		...sample('made.json'),
		why,
		why_before: [{ ...first, rss_bytes: 3 * 2 ** 30, rows, moments: ['last', 'peak'] }],
	}), { hash: 'view=memory', size: [400, 800] });
	const row = (/** @type {RegExp} */ name) => tab.page.locator('.memory-rows tr', { hasText: name }).first();

	assert.match(await says(tab.page), /Before: 3\.00 GiB, last look/);
	assert.match(await row(/^returnable/).textContent() ?? '', /\+639\.0 MiB/);
	assert.match(await row(/^live/).textContent() ?? '', /·/);
	assert.equal(await isCut(tab.page), false);
	assert.equal(await tab.page.locator('.memory-rows td.before').first().isVisible(), false);
	await tab.page.setViewportSize({ width: 1200, height: 800 });
	assert.equal(await tab.page.locator('.memory-rows td.before').first().isVisible(), true);
	await tab.page.selectOption('.memory-choices select', '4712');
	assert.match(await says(tab.page), /No look of the profile before is at a process with this command/);
	await tab.close('memory-diff');
});

for (const theme of ['light', 'dark'])
	test(`a telephone shows it without scrolling sideways, ${theme}`, async () => {
		const tab = await open({ size: [400, 800], theme });

		assert.equal(await isCut(tab.page), false);
		assert.ok(await tab.page.locator('.memory-rows tr', { hasText: /^pinned/ }).isVisible());
		assert.equal(await tab.page.locator('.switch[aria-label=Metric]').isVisible(), false);
		await settle(tab.page);
		await tab.page.screenshot({ path: `build/web/pages/memory-400-${theme}.png`, fullPage: true });
		await tab.close();
	});

test('metric and unit are no choice here, and the wide page is dark if wished', async () => {
	const tab = await open({ theme: 'dark' });

	assert.ok(await tab.page.locator('.switch button', { hasText: 'Live' }).isDisabled());
	await tab.close('memory-dark');
});
