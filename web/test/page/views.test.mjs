// SPDX-License-Identifier: Apache-2.0
//
// The views beside the flame graph: the brush over time, which everything follows, table,
// histograms, leaks and differences.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { launch } from './browser.mjs';
import { colours, openPage, sample, samplePage, settle } from './harness.mjs';

let browser;
let made;
let changed;
const open = (options) => openPage(browser, made, options);

before(async () => {
	browser = await launch();
	made = samplePage('made.json');
	changed = samplePage('diff.json');
});
after(() => browser?.close());

/** A place over the chart; share: of its time. */
async function moment(page, share) {
	const box = await page.locator('.brush').boundingBox();

	return [box.x + box.width * share, box.y + box.height / 3];
}

async function brush(page, from, to) {
	const { mouse } = page;

	await mouse.move(...(await moment(page, from)));
	await mouse.down();
	await mouse.move(...(await moment(page, (from + to) / 2)));
	await mouse.move(...(await moment(page, to)));
	await mouse.up();
	await settle(page);
}

const firstRow = (page) => page.textContent('.rows .row[data-at="0"]');
const cells = (page, column) => page.locator(`.rows .row .${column}`).allTextContents();

test('the chart of time is drawn with its band, and tells what is under the pointer', async () => {
	const tab = await open();

	assert.ok((await colours(tab.page, '.plot canvas')) > 6);
	assert.match(
		await tab.page.textContent('.time-head'),
		/live.*95 % band.*RSS.*allocated per second/s,
	);
	await tab.page.mouse.move(...(await moment(tab.page, 0.5)));
	await settle(tab.page);
	assert.match(
		await tab.page.textContent('.time-head .says'),
		/^5\d\d ms\d+\.\d MiB ± \d+ %\d+\.\d MiB.*[KMG]iB.* a second$/,
	);
	await tab.close('time');
});

test('at the peak the chart has the value of the header, the status and the way there', async () => {
	const tab = await open();
	const { series } = sample('made.json');
	const peak = (await tab.page.textContent('.facts')).match(
		/peak · at (\d+ ms)(\d+\.\d MiB ± \d+ %)/,
	);

	assert.ok(peak);
	await tab.page.mouse.move(
		...(await moment(tab.page, series.peak.time_ns / series.time_ns.at(-1))),
	);
	await settle(tab.page);
	assert.ok(
		(await tab.page.textContent('.time-head .says')).startsWith(`${peak[1]}${peak[2]}`),
		await tab.page.textContent('.time-head .says'),
	);
	assert.match(await tab.page.textContent('.time-head .says'), /MiB read at \d+ ms/);
	await tab.page.locator('button', { hasText: 'to the peak' }).click();
	assert.ok(
		(await tab.status()).startsWith(`Live at ${peak[1]}: ${peak[2]}`),
		await tab.status(),
	);
	await tab.page.locator('.switch button', { hasText: /^Peak$/ }).click();
	assert.ok(
		(await tab.status()).startsWith(`Peak at ${peak[1]}: ${peak[2]}`),
		await tab.status(),
	);
	await tab.close('peak');
});

test('of a program that was not profiled there is no bound, but the reason', async () => {
	const { writePage } = await import('./browser.mjs');
	const data = sample('made.json');
	const none = { estimate: null, low: null, high: null };

	Object.assign(data.meta, {
		is_unprofiled: true,
		exposure_bytes: 0,
		unseen_bytes: null,
		samples: 0,
		resident: null,
		highest: null,
		notes: ['Nothing was sampled: it is a Go program.'],
		totals: {
			live_bytes: none,
			live_count: none,
			allocated_bytes: none,
			allocated_count: none,
			peak_bytes: none,
		},
	});
	const tab = await openPage(browser, writePage('unprofiled.html', data));

	assert.equal(await tab.page.textContent('.view'), 'Nothing was sampled: it is a Go program.');
	assert.equal(await tab.page.locator('.plot').count(), 0);
	for (const part of ['.facts', '.status', '.toolbar'])
		assert.doesNotMatch(await tab.page.textContent(part), /[<≤]|less than/);
	assert.equal(await tab.page.locator('.switch[aria-label=Metric] button:visible').count(), 0);
	await tab.close('unprofiled');
});

test('exact counts are allocations, and neither a scheme nor an interval is named', async () => {
	const { writePage } = await import('./browser.mjs');
	const data = sample('made.json');

	data.meta.is_exact = true;
	const tab = await openPage(browser, writePage('exact.html', data), { hash: 'view=table&metric=live' });

	assert.match(await tab.status(), /, \d+ allocations$/);
	assert.match(await tab.page.textContent('.title'), /exact · \d+ allocations/);
	assert.doesNotMatch(await tab.page.textContent('.title'), /samples|poisson|every|intervals/);
	assert.match(await tab.page.textContent('.head .samples'), /Allocations/);
	await tab.close('exact');
});

test('everything follows the brush, and the address keeps it', async () => {
	const tab = await open({ hash: 'view=table&metric=allocated' });
	const whole = await tab.status();
	const wholeRow = await firstRow(tab.page);

	await brush(tab.page, 0.2, 0.5);
	assert.match(await tab.hash(), /from=0\.\d+&to=0\.\d+/);
	assert.match(await tab.status(), /Allocated from 2\d\d ms to 5\d\d ms/);
	assert.notEqual(await tab.status(), whole);
	assert.notEqual(await firstRow(tab.page), wholeRow);
	const inWindow = await firstRow(tab.page);

	await tab.picture('brushed');
	await tab.page.locator('.switch button', { hasText: 'Kept' }).click();
	assert.match(await tab.status(), /Kept from 2\d\d ms to 5\d\d ms/);
	assert.notEqual(await firstRow(tab.page), inWindow);
	await tab.page.locator('.switch button', { hasText: /^Live$/ }).click();
	assert.match(await tab.status(), /Live at 5\d\d ms/);
	for (const [view, text] of [
		['Sizes', /65-128 B/],
		['Lifetimes', /allocated from 2\d\d ms to 5\d\d ms/],
	]) {
		await tab.page.locator('[role=tab]', { hasText: view }).click();
		assert.match(await tab.page.textContent('.view'), text);
	}
	await tab.page.reload();
	await tab.page.waitForSelector('.status b');
	assert.match(await tab.status(), /Live at 5\d\d ms/);
	await tab.page.keyboard.press('Escape');
	assert.match(await tab.status(), /Live at the end/);
	await tab.close();
});

test('what is live at an edge in the page is what the command says of that moment', async () => {
	const tab = await open();

	await tab.page.click('text=to the peak');
	const peak = await tab.page.textContent('.status b');

	assert.match(peak, /^307\.7 MiB ± 9 %/);
	await tab.close();
});

test('the ends of the window move by drag and by keyboard, and never meet', async () => {
	const tab = await open({ hash: 'metric=allocated&from=0.3&to=0.6' });
	const { page } = tab;
	const at = (end) =>
		page.locator(`.brush .end.${end}`).getAttribute('aria-valuenow').then(Number);
	const [from, to] = [await at('from'), await at('to')];

	await page.focus('.brush .end.from');
	await page.keyboard.press('ArrowRight');
	await page.keyboard.press('ArrowRight');
	assert.equal(await at('from'), from + 2);
	await page.keyboard.press('End');
	assert.equal(await at('from'), to - 1);
	await page.keyboard.press('Home');
	assert.equal(await at('from'), 0);
	assert.match(await page.locator('.brush .end.to').getAttribute('aria-valuetext'), /ms$/);

	const box = await page.locator('.brush .end.to').boundingBox();
	await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
	await page.mouse.down();
	await page.mouse.move(...(await moment(page, 0.9)));
	await page.mouse.up();
	assert.ok((await at('to')) > to + 10);

	await page.focus('.brush .window');
	await page.keyboard.press('ArrowLeft');
	assert.equal(await at('from'), 0);
	await page.mouse.click(...(await moment(page, 0.97)));
	assert.match(await tab.status(), /in the whole run/);
	await tab.close();
});

test('a window can be chosen by touch', async () => {
	const context = await browser.newContext({
		viewport: { width: 400, height: 800 },
		hasTouch: true,
		isMobile: true,
	});
	const page = await context.newPage();

	await page.goto(`file://${made}#metric=allocated`);
	await page.waitForSelector('.brush');
	const [x, y] = await moment(page, 0.3);
	const [end] = await moment(page, 0.6);
	const session = await context.newCDPSession(page);
	const touch = (type, points) =>
		session.send('Input.dispatchTouchEvent', { type, touchPoints: points });

	await touch('touchStart', [{ x, y }]);
	for (let i = 1; i <= 5; i++)
		await touch('touchMove', [{ x: x + (end - x) * i / 5, y }]);
	await touch('touchEnd', []);
	assert.match(await page.textContent('.status'), /Allocated from \d+ ms to \d+ ms/);
	await context.close();
});

test('the table sorts by every column, either way', async () => {
	const tab = await open({ hash: 'view=table&metric=allocated' });
	const { page } = tab;

	assert.match(await firstRow(page), /read_request.*439\.8 MiB ± 7 %/s);
	await page.locator('.head .total button').click();
	assert.match(await firstRow(page), /(_start|main).*87\d\.\d MiB|868\.\d MiB/s);
	assert.equal(await page.locator('.head .total').getAttribute('aria-sort'), 'descending');
	await page.locator('.head .samples button').click();
	const counts = (await cells(page, 'cell.samples')).map(Number);

	assert.deepEqual(counts, [...counts].sort((a, b) => b - a));
	await page.locator('.head .samples button').click();
	assert.equal(Number((await cells(page, 'cell.samples'))[0]), 1);
	await page.locator('.head .name button').click();
	const names = await cells(page, 'label');

	assert.deepEqual(names, [...names].sort(new Intl.Collator('en', { numeric: true }).compare));
	assert.match(await tab.hash(), /extra=function%2Cname%2Ca|extra=function,name,a/);
	await tab.close('table');
});

test('the table groups, filters, and leads to callers and callees', async () => {
	const tab = await open({ hash: 'view=table&metric=allocated' });
	const { page } = tab;

	await page.selectOption('.table-head select', 'module');
	assert.match(await firstRow(page), /made.*\/usr\/bin\/made/s);
	await page.selectOption('.table-head select', 'thread');
	assert.match(await firstRow(page), /thread 4711 of 4711/);
	assert.match(await page.textContent('.table-head'), /^by .*2 rows/);
	assert.doesNotMatch(await page.textContent('.table-head'), /no room/);
	await page.locator('.rows .row', { hasText: 'thread 4712 of 4712' }).click();
	assert.match(await page.textContent('.status'), /only thread 4712/);
	assert.match(await tab.hash(), /who=4712\/4712/);
	assert.match(await page.textContent('.table-head'), /1 row/);
	await page.locator('.chip').click();
	assert.match(await page.textContent('.table-head'), /2 rows/);
	await page.selectOption('.table-head select', 'function');
	await page.keyboard.press('Escape');
	await page.locator('.search input').fill('parse');
	assert.match(await page.textContent('.table-head'), /2 of 14 rows/);
	await page.locator('.search input').press('Enter');
	await page.keyboard.press('ArrowDown');
	await page.keyboard.press('ArrowDown');
	assert.match(await page.evaluate(() => document.activeElement.textContent), /parse/);
	await page.keyboard.press('Enter');
	assert.match(await tab.hash(), /sandwich=parse_/);
	await tab.close();
});

test('what a search finds can be kept alone or left out', async () => {
	const tab = await open({ hash: 'metric=allocated&search=parse_' });
	const { page } = tab;
	const all = await page.textContent('.status .selected b');
	const found = await page.textContent('.status .found b');

	await page.locator('.narrow', { hasText: 'only these' }).click();
	assert.equal((await page.textContent('.status .selected')).includes(found.split(',')[0]), true);
	assert.match(await tab.hash(), /only=parse_/);
	await page.keyboard.press('Escape');
	assert.equal(await page.textContent('.status .selected b'), all);
	await tab.close();
});

test('temporary memory is what was freed soon, and how soon can be chosen', async () => {
	const tab = await open({ hash: 'view=table&metric=temporary' });
	const { page } = tab;

	assert.match(
		await page.textContent('.status'),
		/Temporary \(freed within 1 ms\) in the whole run: 493\.8 MiB/,
	);
	await page.selectOption('.within select', { label: '10 ms' });
	assert.match(await page.textContent('.status'), /freed within 10 ms\)/);
	assert.match(await tab.hash(), /within=0\.01/);
	await page.locator('.switch button', { hasText: 'Live' }).click();
	assert.equal(await page.locator('.within').isVisible(), false);
	await tab.close('temporary');
});

test('figures that rest on few samples are hatched, and say so', async () => {
	const tab = await open({ hash: 'view=table&metric=allocated' });
	const worker = tab.page.locator('.rows .row', { hasText: 'worker' });

	assert.equal(await worker.locator('.self .bar.unsure').count(), 1);
	assert.match(
		await worker.locator('.self .figure').getAttribute('title'),
		/^5\.38 MiB \(4\.50-8\.27\), 4 samples: few/,
	);
	assert.equal(
		await tab.page
			.locator('.rows .row', { hasText: 'new_node' })
			.locator('.bar.unsure')
			.count(),
		0,
	);
	await tab.close();
});

test('a table of 20 000 functions has the rows on the screen as elements, and no others', async () => {
	const { writePage } = await import('./browser.mjs');
	const many = 20000;
	const data = sample('made.json');
	const strings = data.strings.length;

	data.strings.push(...Array.from({ length: many }, (_, i) => `function_${i}`));
	const frames = data.frames.name.length;
	for (let i = 0; i < many; i++) {
		for (const column of Object.keys(data.frames))
			data.frames[column].push(column === 'name' ? strings + i : 0);
		for (const column of Object.keys(data.nodes))
			data.nodes[column].push(column === 'depth' ? 1 : column === 'frame' ? frames + i : 0);
	}
	let last = data.cells.node_delta.reduce((sum, delta) => sum + delta, 0);
	for (let i = 0; i < many; i++) {
		const node = data.nodes.depth.length - many + i;

		for (const column of Object.keys(data.cells))
			data.cells[column].push(
				{ node_delta: node - last, gone: data.times.edges_ns.length - 1, n: 1 }[column] ??
					0,
			);
		last = node;
	}
	const tab = await openPage(browser, writePage('many.html', data), { hash: 'view=table' });
	const shown = () => tab.page.locator('.rows .row').count();

	assert.match(await tab.page.textContent('.table-head'), /200\d\d rows/);
	assert.ok((await shown()) < 80);
	await tab.page.evaluate(() => window.scrollTo(0, 300000));
	await settle(tab.page);
	assert.ok((await shown()) < 80);
	assert.ok(await tab.page.locator('.rows .row').nth(20).isVisible());
	assert.ok(Number(await tab.page.locator('.rows .row').nth(20).getAttribute('data-at')) > 8000);
	await tab.close();
});

test('sizes and lifetimes have a bar for each class, with its error', async () => {
	const tab = await open({ hash: 'view=sizes&metric=allocated' });

	assert.match(
		await tab.page.textContent('.histogram'),
		/65-128 B.*235\.5 MiB ± 10 %.*1-2 KiB.*439\.8 MiB ± 7 %/s,
	);
	assert.match(await tab.page.textContent('.histogram'), /129-256 B.*< 1\.84 MiB/s);
	await tab.picture('sizes');
	await tab.page.keyboard.press('5');
	assert.match(
		await tab.page.textContent('.histogram'),
		/≤ 1 ms.*493\.8 MiB.*never freed.*271\.4 MiB/s,
	);
	await tab.close('lifetimes');
});

test('leaks come with their evidence, and classes filter them', async () => {
	const tab = await open({ hash: 'view=leaks' });
	const { page } = tab;

	assert.match(
		await page.textContent('.leak'),
		/never freed.*235\.5 MiB ± 10 %, 471 samples.*100 % is kept.*new_node node\.h:12/s,
	);
	assert.equal(await page.locator('.leak').count(), 4);
	await page.locator('.leak .leak-actions button', { hasText: 'more callers' }).first().click();
	assert.match(await page.locator('.leak').first().textContent(), /_start/);
	await page.locator('.class', { hasText: 'level' }).click();
	assert.equal(await page.locator('.leak').count(), 1);
	await page.locator('.leak button.name').first().click();
	assert.match(await tab.hash(), /sandwich=std::/);
	await tab.close('leaks');
});

test('a difference is told with what is within sampling error in grey', async () => {
	const tab = await openPage(browser, changed, { hash: 'view=diff&metric=allocated' });
	const { page } = tab;
	const source = sample('diff.json').diff.allocated.bytes;

	assert.equal(await page.locator('.rows .row').count(), source.significant_count);
	assert.equal(await page.locator('.rows .bar.change.same').count(), 0);
	await page.locator('button', { hasText: /^All$/ }).click();
	assert.equal(await page.locator('.rows .row').count(), source.row_count);
	assert.equal(
		await page.locator('.rows .bar.change.same').count(),
		source.row_count - source.significant_count,
	);
	assert.match(
		await page.textContent('.diff-total'),
		/Allocated: 339\.3 MiB.*353\.0 MiB.*\+13\.6 MiB \(\+779\.5 KiB to \+26\.5 MiB\) \+4\.0 % \(p = /s,
	);
	await page.locator('.diff-table .head .p button').click();
	await tab.picture('difference');
	await page.locator('button', { hasText: 'Tree of calls' }).click();
	await settle(page);
	assert.ok((await colours(page, '.diff-area canvas')) > 4);
	await page.focus('.diff-area');
	await page.keyboard.press('ArrowDown');
	await page.keyboard.press('ArrowDown');
	await page.keyboard.press('Enter');
	assert.match(await page.textContent('.diff-frame'), /main.*MiB.*→.*samples/s);
	await tab.close('difference-tree');
});

test('two profiles open with their difference, of what the command compares; links still win', async () => {
	const tab = await openPage(browser, changed);
	const { page } = tab;
	const shown = () => page.textContent('.diff-total');
	const view = () => page.textContent('[role=tab][aria-selected=true]');
	const again = async () => {
		await page.reload();
		await page.waitForSelector('.status b');
	};

	assert.equal(await view(), 'Difference');
	assert.match(await shown(), /^Live at the peak of each: 33\.2 MiB.*42\.7 MiB.*\+9\.44 MiB/);
	assert.match(await tab.status(), /^Peak in after\.geiger: 42\.7 MiB/);
	assert.deepEqual(
		await page.locator('.switch[aria-label=Metric] button:visible').allTextContents(),
		['Live', 'Peak', 'Allocated', 'Freed', 'Temporary'],
	);
	for (const [title, text] of [
		['Temporary', /within 1 ms: 305\.0 MiB/],
		['Freed', /^Freed: 339\.3 MiB/],
		['Live', /^Live at the end: /],
	]) {
		await page
			.locator('.switch[aria-label=Metric] button', { hasText: new RegExp(`^${title}$`) })
			.click();
		assert.match(await shown(), text);
	}
	await again();
	assert.match(await shown(), /^Live at the end/);
	await page.keyboard.press('1');
	assert.match(await tab.hash(), /view=flame/);
	await again();
	assert.equal(await view(), 'Flame graph');
	await page.goBack();
	await settle(page);
	assert.equal(await view(), 'Difference');
	await tab.close('opened');

	const linked = await openPage(browser, changed, { hash: 'metric=allocated&sandwich=main' });
	assert.equal(await linked.page.textContent('[role=tab][aria-selected=true]'), 'Flame graph');
	await linked.close();
});

test('a profile without history has no chart and no window, and says what is there', async () => {
	const { writePage } = await import('./browser.mjs');
	const data = sample('made.json');

	data.meta.has_history = false;
	data.times = { edges_ns: [0, data.meta.duration_ns], peak_edge: null };
	data.series = {};
	for (const column of ['born', 'gone'])
		data.cells[column] = data.cells[column].map((bin) =>
			column === 'born' ? 0 : bin > 90 ? 1 : 0,
		);
	const tab = await openPage(browser, writePage('plain.html', data), { hash: 'view=table' });

	assert.equal(await tab.page.locator('.plot').count(), 0);
	assert.match(await firstRow(tab.page), /new_node/);
	assert.equal(await tab.page.locator('[role=tab]', { hasText: 'Lifetimes' }).count(), 0);
	await tab.close();
});

test('everything that can be clicked has a name, and can be reached by keyboard', async () => {
	for (const hash of [
		'view=table',
		'view=sizes',
		'view=lifetimes',
		'view=leaks',
		'view=diff&metric=allocated',
	]) {
		const tab = await openPage(browser, changed, { hash });
		const nameless = await tab.page.evaluate(() =>
			[
				...document.querySelectorAll(
					'button, select, input, [role=slider], [role=group], [tabindex="0"]',
				),
			]
				.filter(
					(e) =>
						e.checkVisibility() &&
						!(e.getAttribute('aria-label') || e.textContent.trim() || e.title),
				)
				.map((e) => e.outerHTML.slice(0, 120)),
		);

		assert.deepEqual(nameless, []);
		await tab.close();
	}
});
