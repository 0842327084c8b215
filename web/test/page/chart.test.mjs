// SPDX-License-Identifier: Apache-2.0
//
// The chart of time: the line of what is selected, functions on top of each other, and the zoom of
// its axis, by mouse, wheel, keys and buttons.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { launch, writePage } from './browser.mjs';
import { openPage, sample, samplePage, settle } from './harness.mjs';

let browser;
let made;
const open = (options) => openPage(browser, made, options);

before(async () => {
	browser = await launch();
	made = samplePage('made.json');
});
after(() => browser?.close());

const says = (page) => page.textContent('.time-head .says');

/** Moves the pointer over the chart; share: of its width. */
async function point(page, share) {
	const box = await page.locator('.brush').boundingBox();

	await page.mouse.move(box.x + box.width * share, box.y + box.height / 3);
	await settle(page);
}

test('the selected line has the number that the bottom line has at the same moment', async () => {
	const tab = await open();

	await tab.page.fill('input[type=search]', 'string');
	await settle(tab.page);
	assert.match(await says(tab.page), /whole program.*“string”.*95 % band/s);
	await point(tab.page, 0.5);
	const [, moment, found, whole] =
		(await says(tab.page)).match(/^(\d+ ms)([\d.]+ MiB ± \d+ %)([\d.]+ MiB ± \d+ %)/);
	await tab.page.evaluate((ms) => {
		location.hash = `search=string&to=${ms / 1000}`;
	}, parseInt(moment));
	await settle(tab.page);
	const status = await tab.status();
	assert.ok(status.startsWith(`Live at ${moment}: ${whole}`), `${whole}: ${status}`);
	assert.ok(status.includes(`“string”: ${found}`), `${found}: ${status}`);
	await tab.close('chart-search');
});

test('the chart follows a zoomed frame, a function and a process', async () => {
	const tab = await open({ hash: 'zoom=_start;main' });

	assert.match(await says(tab.page), /whole program.*main/s);
	await tab.page.keyboard.press('Escape');
	assert.doesNotMatch(await says(tab.page), /whole program/);
	await tab.page.evaluate(() => (location.hash = 'focus=new_node&view=table'));
	await settle(tab.page);
	assert.match(await says(tab.page), /whole program.*new_node/s);
	await tab.close();
});

test('metrics and units can be chosen where they alter the view', async () => {
	const tab = await open({ hash: 'view=leaks' });
	const disabled = (label) =>
		tab.page.locator(`.switch[aria-label=${label}] button:visible:disabled`).count();

	assert.ok((await disabled('Metric')) > 3);
	assert.equal(await disabled('Unit'), 2);
	await tab.page.keyboard.press('m');
	assert.equal(await tab.hash(), '#view=leaks');
	await tab.picture('leaks-disabled');
	await tab.page.locator('[role=tab]', { hasText: 'Lifetimes' }).click();
	assert.ok((await disabled('Metric')) > 3);
	assert.equal(await disabled('Unit'), 0);
	await tab.page.locator('[role=tab]', { hasText: 'Sizes' }).click();
	assert.equal((await disabled('Metric')) + (await disabled('Unit')), 0);
	await tab.close();
});

test('a comparison has the line of the profile before, in its scale and from its own start', async () => {
	const data = sample('diff.json');
	const end = data.series.time_ns.at(-1);

	data.diff.scale = 0.5;
	data.diff.before_series = {
		time_ns: [0, end / 2, 2 * end],
		live: [0, 2 ** 20, 2 ** 21],
		most: [0, 2 ** 22, 2 ** 22],
	};
	const tab = await openPage(browser, writePage('before-line.html', data), { theme: 'dark' });

	assert.match(await says(tab.page), /before × 0\.500/);
	// The run before took twice as long: its middle point is at a quarter of the axis.
	await point(tab.page, 0.25);
	assert.match(await says(tab.page), /before × 0\.500 2\.00 MiB/);
	await tab.close('before-line');
});

test('functions stand on top of each other, and their names filter', async () => {
	const tab = await open({ theme: 'dark' });

	await tab.page.keyboard.press('t');
	assert.match(await tab.hash(), /chart=functions/);
	const names = tab.page.locator('.areas .name');
	assert.equal(await names.first().textContent(), 'new_node');
	assert.ok((await names.count()) <= 8);
	await point(tab.page, 0.5);
	assert.match(await tab.page.textContent('.areas'), /new_node235\.5 MiB/);
	assert.doesNotMatch(await says(tab.page), /second/);
	await tab.picture('chart-functions-dark');
	await names.first().click();
	assert.match(await tab.hash(), /focus=new_node/);
	await tab.page.goBack();
	await tab.page.locator('.time-window button', { hasText: 'Line' }).click();
	assert.equal(await tab.hash(), '');
	await tab.close();
});

test('the axis is zoomed by wheel, keys and buttons, and out again', async () => {
	const tab = await open();
	const { page } = tab;
	const shown = async () =>
		(await tab.hash()).match(/shown(From|To)=([\d.]+)/g)?.map((part) => Number(part.split('=')[1])) ?? [];

	await point(page, 0.5);
	await page.mouse.wheel(0, -300);
	await settle(page);
	const [from, to] = await shown();
	assert.ok(from > 0.05 && to < 1.1 && Math.abs((from + to) / 2 - 0.58) < 0.05, `${from} ${to}`);
	await page.mouse.wheel(200, 0);
	await settle(page);
	assert.ok((await shown())[0] > from);
	await page.locator('button', { hasText: 'whole axis' }).click();
	assert.equal(await tab.hash(), '');
	await page.keyboard.press('+');
	assert.equal((await shown()).length, 2);
	await page.keyboard.press('-');
	assert.equal(await tab.hash(), '');
	for (let i = 0; i < 20; i++)
		await page.keyboard.press('+');
	const [least, most] = await shown();
	assert.ok(most - least > 0.02, `${least} ${most}`);
	await page.keyboard.press('Escape');
	assert.equal(await tab.hash(), '');
	await tab.close();
});

test('a window can be zoomed to, also at 400 pixels', async () => {
	const tab = await open({ hash: 'from=0.3&to=0.5', size: [400, 800], theme: 'dark' });
	const { page } = tab;
	const box = async () => page.locator('.brush .window').boundingBox();
	const before = await box();

	await page.keyboard.press('z');
	await settle(page);
	const after = await box();
	assert.ok(after.width > 3 * before.width, `${before.width} ${after.width}`);
	assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
	await tab.picture('chart-zoomed-narrow');
	await page.keyboard.press('z');
	await settle(page);
	assert.ok(Math.abs((await box()).width - before.width) < 2);
	await tab.close();
});

test('two fingers zoom the axis at their middle, and choose no window', async () => {
	const context = await browser.newContext({
		viewport: { width: 400, height: 800 },
		hasTouch: true,
		isMobile: true,
	});
	const page = await context.newPage();

	await page.goto(`file://${made}`);
	await page.waitForSelector('.brush');
	const box = await page.locator('.brush').boundingBox();
	const session = await context.newCDPSession(page);
	const at = (share, id) => ({ x: box.x + box.width * share, y: box.y + box.height / 3, id });
	const touch = (type, touchPoints) =>
		session.send('Input.dispatchTouchEvent', { type, touchPoints });

	await touch('touchStart', [at(0.45, 0)]);
	await touch('touchStart', [at(0.45, 0), at(0.55, 1)]);
	for (let i = 1; i <= 5; i++)
		await touch('touchMove', [at(0.45 - 0.03 * i, 0), at(0.55 + 0.03 * i, 1)]);
	await touch('touchEnd', []);
	await settle(page);
	const hash = await page.evaluate(() => location.hash);
	const [, from, to] = /^#shownFrom=([\d.]+)&shownTo=([\d.]+)$/.exec(hash) ?? [];

	assert.ok(Number(to) - Number(from) < 0.6, hash);
	assert.ok(Math.abs((Number(from) + Number(to)) / 2 - 0.58) < 0.1, hash);
	await context.close();
});
