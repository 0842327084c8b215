// SPDX-License-Identifier: Apache-2.0
//
// A recording that goes on: the page asks its server every second, and everything follows.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { launch, root } from './browser.mjs';
import { openPage, sample, settle } from './harness.mjs';

let browser;
const servers = [];

before(async () => {
	browser = await launch();
});
after(async () => {
	await browser?.close();
	for (const server of servers) {
		server.closeAllConnections();
		server.close();
	}
});

/** The profile as it was after a share of its time, in a recording that goes on. */
function until(share) {
	const data = sample('made.json');
	const { series, meta, times, cells } = data;
	const end = Math.max(1e6, share * meta.duration_ns);
	const points = series.time_ns.filter((time) => time <= end).length;
	const bins = times.edges_ns.findLastIndex((edge) => edge < end) + 1;
	const kept = cells.born.map((bin) => bin < bins);

	for (const name of Object.keys(series))
		if (Array.isArray(series[name]))
			series[name] = series[name].slice(0, points);
	cells.n = cells.n.map((n, i) => (kept[i] ? n : 0));
	meta.is_live = share < 1;
	meta.duration_ns = end;
	return data;
}

/** A server of one page whose profile grows. */
async function serve(next) {
	const page = readFileSync(join(root, 'web/dist/live.html'), 'utf8').replace(
		'id="geiger-data"></script>', 'id="geiger-data" data-source="data.json" data-live="1"></script>');
	const server = createServer((request, answer) => {
		const isData = request.url.endsWith('/data.json');
		const data = isData ? next() : null;

		if (isData && data === null) {
			answer.writeHead(503);
			answer.end();
			return;
		}
		answer.writeHead(200, { 'content-type': isData ? 'application/json' : 'text/html; charset=utf-8' });
		answer.end(isData ? JSON.stringify(data) : page);
	});

	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	servers.push(server);
	return `http://127.0.0.1:${server.address().port}/`;
}

test('a recording that goes on grows in every view, from nothing', async () => {
	let share = 0;
	const address = await serve(() => until(share));
	const tab = await openPage(browser, address, { hash: 'view=table&metric=allocated' });
	const { page } = tab;
	const samples = async () => Number(/, (\d+) samples/.exec(await tab.status())[1]);

	assert.ok(await page.locator('.plot canvas').isVisible());
	const first = await samples();
	share = 0.5;
	await page.waitForFunction((before) => Number(/, (\d+) samples/.exec(document.querySelector('.status').textContent)[1]) > before, first);
	const second = await samples();
	await tab.picture('live');
	await page.locator('[role=tab]', { hasText: 'Sizes' }).click();
	share = 1;
	await page.waitForFunction((before) => Number(/, (\d+) samples/.exec(document.querySelector('.status').textContent)[1]) > before, second);
	assert.match(await page.textContent('.histogram'), /1-2 KiB.*440 MiB/s);
	await tab.close('live-end');
});

test('a window stays where it was while the recording goes on', async () => {
	let share = 0.4;
	const address = await serve(() => until(share));
	const tab = await openPage(browser, address, { hash: 'view=table&metric=allocated&from=0.1&to=0.3' });
	const before = await tab.page.textContent('.status .selected');

	share = 0.7;
	await tab.page.waitForResponse((response) => response.url().endsWith('data.json'));
	await tab.page.waitForResponse((response) => response.url().endsWith('data.json'));
	await settle(tab.page);
	assert.equal(await tab.page.textContent('.status .selected'), before);
	await tab.close();
});

test('when the server is gone, what is there stays, and the page says so', async () => {
	let isGone = false;
	const address = await serve(() => (isGone ? null : until(0.5)));
	const tab = await openPage(browser, address, { hash: 'view=table&metric=allocated' });

	isGone = true;
	await tab.page.waitForSelector('[data-state=lost]');
	assert.match(await tab.page.textContent('.rows'), /new_node/);
	tab.errors.length = 0; // the browser tells of the answer 503
	await tab.close('lost');
});
