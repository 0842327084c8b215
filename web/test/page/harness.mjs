// SPDX-License-Identifier: Apache-2.0
//
// harness - opens pages under test, and detects errors and requests.
//
//   const tab = await openPage(browser, file, {
//     size: [400, 800], theme: 'dark', hash: 'view=table' });
//   await tab.page.click('...');
//   await tab.close('narrow');           saves a picture in build/web/pages
//
// close() fails if the page had an error or made a request.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { root, scratch, writePage } from './browser.mjs';

export const sample = (name) => JSON.parse(readFileSync(join(root, 'web/test/data', name), 'utf8'));
export const samplePage = (name) => writePage(name.replace('.json', '.html'), sample(name));

/**
 * @param {string} address a path, or http://...
 */
export async function openPage(
	browser,
	address,
	{ size = [1280, 800], theme = 'light', hash = '', isList = false } = {},
) {
	const context = await browser.newContext({
		viewport: { width: size[0], height: size[1] },
		colorScheme: theme,
		reducedMotion: 'reduce',
		acceptDownloads: true,
	});
	const page = await context.newPage();

	// The longest wait.  A busy machine may need half a minute.
	page.setDefaultTimeout(180000);
	const url = address.startsWith('http') ? address : `file://${encodeURI(address)}`;
	const errors = [];
	const strangers = [];

	page.on('pageerror', (error) => errors.push(String(error.stack)));
	page.on('console', (message) => {
		if (message.type() === 'error' || message.type() === 'warning')
			errors.push(message.text());
	});
	page.on('request', (request) => {
		const asked = request.url();
		const own = address.startsWith('http')
			? asked.startsWith(new URL(address).origin)
			: asked.split('#')[0] === url;
		if (!own && !asked.startsWith('data:') && !asked.startsWith('blob:'))
			strangers.push(asked);
	});
	await page.goto(hash ? `${url}#${hash}` : url);
	await page.waitForSelector(isList ? 'table' : '.status b');
	await settle(page);
	return {
		page,
		status: () => page.textContent('.status'),
		hash: () => page.evaluate(() => location.hash),
		errors,
		async picture(name) {
			await settle(page);
			await page.screenshot({ path: join(scratch, `${name}.png`) });
		},
		async close(name) {
			if (name)
				await this.picture(name);
			await context.close();
			assert.deepEqual(errors, []);
			assert.deepEqual(strangers, []);
		},
	};
}

/** Waits until the page has drawn everything. */
export function settle(page) {
	return page.evaluate(
		() =>
			new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))),
	);
}

/** The position of a row of the graph on the screen; share: of the width. */
export async function spot(page, row, share = 0.2) {
	const box = await page.locator('.flame-area').boundingBox();

	return [box.x + box.width * share, box.y + row * 19 + 9];
}

/** How many colours a canvas shows. */
export function colours(page, selector) {
	return page.evaluate((of) => {
		const canvas = document.querySelector(of);
		const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
		const seen = new Set();

		for (let i = 0; i < data.length; i += 4)
			seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
		return seen.size;
	}, selector);
}
