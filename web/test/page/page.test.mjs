// SPDX-License-Identifier: Apache-2.0
//
// The page in chromium, with the data of the golden tests' profile.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { launch } from './browser.mjs';
import { colours, openPage, samplePage, settle, spot } from './harness.mjs';

let browser;
let made;
const open = (options) => openPage(browser, made, options);

before(async () => {
	browser = await launch();
	made = samplePage('made.json');
});
after(() => browser?.close());

test('it opens from disk and asks for nothing else', async () => {
	const tab = await open();

	assert.equal(await tab.page.title(), 'made --by test - geiger');
	assert.match(
		await tab.page.textContent('.facts'),
		/live at the end.*271\.4 MiB ± 9 %.*peak.*307\.7 MiB/s,
	);
	assert.match(await tab.status(), /Live at the end: 269\.0 MiB ± 9 %, 533 samples/);
	assert.ok((await colours(tab.page, '.flame-area canvas')) > 5);
	await tab.close('opened');
});

test('a click zooms, the URL tells it, and Back and Esc undo it', async () => {
	const tab = await open();
	const wide = await spot(tab.page, 5, 0.95); // the string at the right

	await tab.page.mouse.click(...wide);
	await settle(tab.page);
	assert.match(await tab.hash(), /^#zoom=_start;main;load_file;parse_document;std::__cxx11/);
	assert.match(
		await tab.page.textContent('.flame-detail'),
		/basic_str.*30\.0 MiB ± \d+ %, \d+ samples/s,
	);
	await tab.picture('zoomed');
	await tab.page.goBack();
	assert.equal(await tab.hash(), '');
	await tab.page.goForward();
	await settle(tab.page);
	await tab.page.keyboard.press('Escape');
	assert.equal(await tab.hash(), '');
	await tab.close();
});

test('a link opens on the same spot', async () => {
	const tab = await open({
		hash: 'view=flame&metric=allocated&unit=count&search=node&zoom=_start;main',
	});

	assert.match(await tab.status(), /Allocated in the whole run: 5\.\d+ M/);
	assert.equal(await tab.page.inputValue('.search input'), 'node');
	assert.equal(await tab.page.textContent('.flame-detail .actions button'), 'Zoom out');
	await tab.close();
});

test('the pointer is told the interval and the samples', async () => {
	const tab = await open();

	await tab.page.mouse.move(...(await spot(tab.page, 7)));
	assert.match(
		await tab.page.textContent('.tooltip'),
		/new_node.*2\d\d\.\d MiB ± \d+ %, \d+ samples · 87\.\d %/s,
	);
	await tab.close('tooltip');
});

test('a search is counted once and lights up', async () => {
	const tab = await open();

	await tab.page.keyboard.press('/');
	await tab.page.keyboard.type('node');
	assert.match(await tab.status(), /“node”: 235\.5 MiB ± \d+ %, 471 samples, 87\.5 %/);
	assert.equal(await tab.hash(), '#search=node');
	await tab.picture('searched');
	await tab.page.keyboard.press('Escape');
	assert.equal(await tab.hash(), '');
	await tab.close();
});

test('the keyboard walks, zooms, turns the tree and opens the sandwich', async () => {
	const tab = await open();
	const { keyboard } = tab.page;
	const chosen = () => tab.page.textContent('.flame-detail .name');

	await tab.page.focus('.flame-area');
	for (let i = 0; i < 6; i++)
		await keyboard.press('ArrowDown');
	assert.equal(await chosen(), 'parse_node');
	await keyboard.press('ArrowRight');
	assert.match(await chosen(), /basic_string/);
	await keyboard.press('ArrowLeft');
	await keyboard.press('Enter');
	assert.match(await tab.hash(), /zoom=.*parse_node$/);
	assert.match(await tab.page.textContent('[aria-live]'), /^parse_node, /);
	await keyboard.press('Backspace');
	assert.match(await tab.hash(), /zoom=.*parse_document$/);
	await keyboard.press('s');
	assert.match(await tab.hash(), /sandwich=parse_node/);
	await tab.picture('sandwich');
	await keyboard.press('Escape');
	await keyboard.press('i');
	assert.equal(await tab.hash(), '#inverted=1');
	await keyboard.press('u');
	await keyboard.press('m');
	assert.equal(await tab.hash(), '#metric=peak&unit=count&inverted=1');
	await tab.close('inverted');
});

test('what is hidden, or focused on, is told and can be ended', async () => {
	const tab = await open();

	await tab.page.mouse.click(...(await spot(tab.page, 5, 0.95)));
	await tab.page.keyboard.press('h');
	assert.match(await tab.status(), /239\.0 MiB .*without std::__cxx11/s);
	await tab.page.click('.chip');
	assert.match(await tab.status(), /269\.0 MiB/);
	await tab.page.keyboard.press('0');
	await settle(tab.page);
	await tab.page.mouse.click(...(await spot(tab.page, 5, 0.2)));
	await tab.page.click('text=Only this');
	assert.match(await tab.status(), /235\.5 MiB .*only parse_node/s);
	await tab.close();
});

test('help opens by key and by button', async () => {
	const tab = await open();

	await tab.page.keyboard.press('?');
	assert.ok(await tab.page.isVisible('dialog.help'));
	await tab.picture('help');
	await tab.page.keyboard.press('Escape');
	assert.ok(!(await tab.page.isVisible('dialog.help')));
	await tab.page.click('[aria-label=Help]');
	assert.ok(await tab.page.isVisible('dialog.help'));
	await tab.close();
});

test('a stack can be copied', async () => {
	const tab = await open();

	await tab.page.mouse.click(...(await spot(tab.page, 7)));
	await tab.page.evaluate(() => {
		navigator.clipboard.writeText = async (text) => {
			window.copied = text;
		};
	});
	await tab.page.click('text=Copy stack');
	assert.match(
		await tab.page.evaluate(() => window.copied),
		/^2\d\d\.\d MiB .* samples\n {2}new_node \(made\)\n {2}parse_node/,
	);
	await tab.close();
});

test('the selection downloads in three formats', async () => {
	const tab = await open();
	const sizes = {};

	for (const [text, suffix] of [
		['Collapsed stacks', '.collapsed'],
		['speedscope', '.speedscope.json'],
		['pprof', '.pb.gz'],
	]) {
		await tab.page.click('summary[aria-label=Download]');
		const [file] = await Promise.all([
			tab.page.waitForEvent('download'),
			tab.page.click(`.menu-list >> text=${text}`),
		]);
		assert.ok(file.suggestedFilename().endsWith(suffix), file.suggestedFilename());
		const { createReadStream } = await import('node:fs');
		sizes[suffix] = 0;
		for await (const part of createReadStream(await file.path()))
			sizes[suffix] += part.length;
	}
	assert.ok(Object.values(sizes).every((size) => size > 50), JSON.stringify(sizes));
	await tab.close();
});

test('dark and light follow the system and the key', async () => {
	const background = (tab) =>
		tab.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
	const dark = await open({ theme: 'dark' });

	assert.equal(await background(dark), 'rgb(20, 23, 27)');
	await dark.page.keyboard.press('d');
	assert.equal(await background(dark), 'rgb(255, 255, 255)');
	assert.equal(await dark.hash(), '#theme=light');
	await dark.page.keyboard.press('d');
	assert.equal(await background(dark), 'rgb(20, 23, 27)');
	await dark.close('dark');
});

test('every view fits a narrow screen and a wide one, dark and light', async () => {
	for (const [size, theme] of [[[400, 800], 'dark'], [[1280, 800], 'light']]) {
		const tab = await open({ size, theme });
		const count = await tab.page.locator('[role=tab]').count();

		for (let view = 0; view < count; view++) {
			await tab.page.locator('[role=tab]').nth(view).click();
			await settle(tab.page);
			const wide = await tab.page.evaluate(() => document.scrollingElement.scrollWidth);
			assert.ok(wide <= size[0], `view ${view}: ${wide} pixels wide`);
			await tab.picture(`view${view}-${size[0]}-${theme}`);
		}
		await tab.close();
	}
});

test('nothing but the script of the page can run in it', async () => {
	const tab = await open();
	const ran = await tab.page.evaluate(() => {
		const script = document.createElement('script');
		const image = document.createElement('img');

		script.textContent = 'window.ran = 1';
		document.body.append(script);
		image.setAttribute('onerror', 'window.ran = 2');
		image.src = 'data:image/png;base64,none';
		document.body.append(image);
		return new Promise((done) => setTimeout(() => done(window.ran ?? 'nothing'), 50));
	});

	assert.equal(ran, 'nothing');
	assert.ok(
		tab.errors.length >= 1 &&
			tab.errors.every((error) => /Content Security Policy/.test(error)),
		tab.errors.join('\n'),
	);
	tab.errors.length = 0;
	await tab.close();
});

test('a brush chooses a window that everything follows', async () => {
	const tab = await open({ hash: 'metric=allocated' });
	const plot = await tab.page.locator('.time .u-over').boundingBox();
	const y = plot.y + plot.height / 2;
	const rows = async () => {
		await tab.page.locator('[role=tab]', { hasText: 'Table' }).click();
		await settle(tab.page);
		return tab.page.textContent('main');
	};
	const before = await rows();

	await tab.page.mouse.move(plot.x + plot.width * 0.25, y);
	await tab.page.mouse.down();
	await tab.page.mouse.move(plot.x + plot.width * 0.4, y, { steps: 5 });
	await tab.page.mouse.up();
	await settle(tab.page);
	assert.match(await tab.hash(), /from=0\.2\d*&to=0\.4\d*/);
	assert.match(await tab.status(), /Allocated from 2\d\d ms to 4\d\d ms: 1\d\d\.\d MiB/);
	assert.notEqual(await rows(), before);
	await tab.picture('brushed');
	await tab.page.keyboard.press('Escape');
	assert.ok(!/from=/.test(await tab.hash()));
	await tab.close();
});

test('two profiles are told apart by more than chance, or not', async () => {
	const tab = await openPage(browser, samplePage('diff.json'), {
		hash: 'view=diff&metric=allocated',
	});
	const text = await tab.page.textContent('main');

	assert.match(text, /before:.*after:/s);
	assert.match(text, /functions? differ/);
	await tab.close('diff');
});
