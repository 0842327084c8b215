// SPDX-License-Identifier: Apache-2.0
//
// The call tree in chromium: keys, sorting, search, and rows for as many stacks as there are.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { launch, writePage } from './browser.mjs';
import { openPage, sample, samplePage, settle } from './harness.mjs';
import { madeData } from '../unit/made.js';

let browser;
let made;
const open = (options) => openPage(browser, made, { hash: 'view=tree', ...options });

before(async () => {
	browser = await launch();
	made = samplePage('made.json');
});
after(() => browser?.close());

const rowText = (page, at) => page.textContent(`.rows .row[data-at="${at}"]`);
const labels = (page) => page.locator('.rows .label').allTextContents();
/** The row with the focus: its function, and whether it is expanded. */
const focused = (page) =>
	page.evaluate(() => {
		const row = document.activeElement?.closest('.row');

		return [row?.querySelector('.label')?.textContent, row?.getAttribute('aria-expanded')];
	});

test('the heaviest calls are expanded, with total, share and self', async () => {
	const tab = await open();

	assert.deepEqual((await labels(tab.page)).slice(0, 4),
		['_start', 'main', 'load_file', 'parse_document']);
	assert.match(await rowText(tab.page, 6), /new_node87\.5 %235\.5 MiB ± 10 %235\.5 MiB ± 10 %/);
	assert.match(await rowText(tab.page, 1), /main100 %269\.0 MiB ± 9 %-$/);
	await tab.close('call-tree');
});

test('arrows, Enter and * walk, expand and collapse', async () => {
	const tab = await open();
	const { page } = tab;
	const { keyboard } = page;

	await keyboard.press('ArrowDown');
	await keyboard.press('ArrowDown');
	assert.deepEqual(await focused(page), ['main', 'true']);
	await keyboard.press('ArrowLeft');
	assert.deepEqual(await focused(page), ['main', 'false']);
	assert.deepEqual(await labels(page), ['_start', 'main']);
	await keyboard.press('ArrowLeft');
	assert.deepEqual(await focused(page), ['_start', 'true']);
	await keyboard.press('ArrowRight');
	await keyboard.press('Enter');
	assert.deepEqual(await focused(page), ['main', 'true']);
	await keyboard.press('*');
	assert.ok((await labels(page)).includes('strdup'));
	await keyboard.press('End');
	await keyboard.press('s');
	assert.match(await tab.hash(), /view=flame|sandwich=/);
	await tab.close();
});

test('columns sort, a search lights up and leads on, and the tree turns over', async () => {
	const tab = await open();
	const { page } = tab;

	await page.click('.head >> text=Function');
	assert.equal(await tab.hash(), '#view=tree&extra=tree:name%2Ca');
	assert.equal(await page.getAttribute('.head .name', 'aria-sort'), 'ascending');
	await page.click('text=Collapse all');
	assert.equal((await labels(page)).length, 1);
	await page.keyboard.press('/');
	await page.keyboard.type('strdup');
	await page.keyboard.press('Enter');
	await page.keyboard.press('n');
	assert.deepEqual(await focused(page), ['strdup', null]);
	assert.equal(await page.textContent('.label.found'), 'strdup');
	await page.keyboard.press('i');
	assert.match(await tab.hash(), /inverted=1/);
	assert.deepEqual((await labels(page)).sort()[0], 'new_node');
	await tab.close('call-tree-callers');
});

test('it follows the metric, and what is hidden', async () => {
	const tab = await open({ hash: 'view=tree&metric=allocated&hide=new_node' });

	assert.ok(!(await labels(tab.page)).includes('new_node'));
	assert.match(await tab.page.textContent('.rows'), /read_request.*50\.\d %|4\d\d\.\d MiB/);
	await tab.close();
});

test('rows are a tree for those who do not see it', async () => {
	const tab = await open();
	const { page } = tab;
	const row = page.locator('.rows .row').nth(2);

	assert.equal(await page.locator('[role=treegrid]').count(), 1);
	assert.equal(await row.getAttribute('aria-level'), '3');
	assert.equal(await row.getAttribute('aria-posinset'), '1');
	assert.equal(await row.getAttribute('aria-expanded'), 'true');
	assert.equal(await page.locator('[role=gridcell]').first().getAttribute('role'), 'gridcell');
	await tab.close();
});

test('of a hundred thousand stacks those on the screen have elements', async () => {
	const stacks = {};

	for (let i = 0; i < 100000; i++)
		stacks[`main;part_${i % 300};step_${i}`] = 1 + (i % 7);
	const tab = await openPage(browser, writePage('call-tree-100000.html', madeData(stacks)), {
		hash: 'view=tree',
	});
	const { page } = tab;

	await page.click('text=Expand all');
	assert.equal(await page.textContent('.table-head .says'), '100301 rows');
	assert.ok((await page.locator('.rows .row').count()) < 120);
	await page.keyboard.press('ArrowDown');
	await page.keyboard.press('End');
	await settle(page);
	assert.match((await focused(page))[0], /^step_/);
	assert.ok((await page.locator('.rows .row').count()) < 120);
	await tab.close();
});

test('library frames can be hidden in the tree, the graph and the table', async () => {
	const tab = await open({ hash: 'view=tree&metric=live' });
	const { page } = tab;

	assert.ok((await labels(page)).includes('std::__cxx11::basic_string::_M_create'));
	await page.keyboard.press('l');
	assert.equal(await tab.hash(), '#view=tree&hideLibrary=1');
	assert.equal(await page.getAttribute('.toggle', 'aria-pressed'), 'true');
	const shown = await labels(page);

	assert.ok(!shown.some((name) => /basic_string|_start|strdup/.test(name)), shown.join());
	const row = page.locator('.rows .row', { hasText: 'parse_document' }).first();

	assert.match(await row.textContent(), /265\.5 MiB ± 9 %30\.0 MiB ± 29 %/);
	assert.match(await row.locator('.name').getAttribute('title'), /via std::__cxx11::basic_string/);
	await tab.picture('call-tree-own');
	await page.click('[role=tab] >> text=Table');
	assert.ok(!(await labels(page)).some((name) => /basic_string|_start|strdup/.test(name)));
	await page.click('.toggle');
	assert.ok((await labels(page)).includes('strdup'));
	assert.ok(!(await labels(page)).includes('_start'));
	assert.match(await page.textContent('.table-head .says'), /without 1 of start code/);
	await page.keyboard.press('/');
	await page.keyboard.type('_start');
	assert.deepEqual(await labels(page), ['_start']);
	await tab.close();
});
