// SPDX-License-Identifier: Apache-2.0
//
// The page as a server sends it: it asks for its data, asks again while the recording goes on, and
// keeps what it has when the server is gone.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { launch, root } from './browser.mjs';
import { openPage, sample } from './harness.mjs';

let browser;
/** @type {import('node:http').Server[]} */
const servers = [];

before(async () => {
	browser = await launch();
});
after(() => {
	// A test that failed has not closed its own, and node would wait for it.
	servers.forEach((server) => server.close());
	return browser?.close();
});

/** A server of one profile, whose data `answer()` gives; null: it fails. */
async function serve(answer) {
	const empty = '<script type="application/octet-stream" id="geiger-data"></script>';
	const page = readFileSync(join(root, 'web/dist/live.html'), 'utf8').replace(
		empty,
		'<script type="application/octet-stream" id="geiger-data" data-source="data?token=secret" data-live="1"></script>',
	);
	const server = createServer((request, response) => {
		if (request.url === '/') {
			response.setHeader('Content-Type', 'text/html; charset=utf-8');
			response.end(page);
			return;
		}
		const data = request.url === '/data?token=secret' ? answer() : null;

		response.statusCode = data === null ? 503 : 200;
		response.setHeader('Content-Type', 'application/json');
		response.end(JSON.stringify(data));
	});

	servers.push(server);
	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	return { address: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

/** The profile when it had so many of its bins. */
function dataOf(samples, isLive) {
	const data = sample('made.json');

	data.meta.is_live = isLive;
	data.meta.samples = samples;
	return data;
}

test('a recording that goes on is shown as it grows, until it ends', async () => {
	let now = dataOf(100, true);
	const server = await serve(() => now);
	const tab = await openPage(browser, server.address);
	const shows = (text) =>
		tab.page.waitForFunction(
			(wanted) => document.querySelector('.says').textContent.includes(wanted),
			text,
		);

	assert.equal(await tab.page.textContent('.live-badge'), 'live');
	await shows('100 samples');
	await tab.page.keyboard.press('/');
	await tab.page.keyboard.type('node');
	now = dataOf(200, true);
	await shows('200 samples');
	assert.equal(await tab.page.inputValue('.search input'), 'node');
	assert.ok(
		await tab.page.evaluate(() => document.activeElement.matches('.search input')),
		'what one types in stays',
	);
	await tab.page.keyboard.press('Enter');

	await tab.page.keyboard.press('p');
	assert.equal(await tab.page.textContent('.live-badge'), 'paused');
	now = dataOf(300, true);
	await tab.page.waitForTimeout(1500);
	assert.match(await tab.page.textContent('.title'), /200 samples/);
	await tab.page.keyboard.press('p');
	await shows('300 samples');
	now = dataOf(400, false);
	await shows('400 samples');
	await tab.page.waitForFunction(() => document.querySelector('.live-badge').hidden);
	await tab.close('live');
	server.close();
});

test('when the server is gone, what is there stays', async () => {
	let now = dataOf(100, true);
	const server = await serve(() => now);
	const tab = await openPage(browser, server.address);

	now = null;
	await tab.page.waitForFunction(
		() => document.querySelector('.live-badge').textContent === 'no connection',
	);
	assert.match(await tab.status(), /269\.0 MiB/);
	now = dataOf(500, true);
	await tab.page.waitForFunction(
		() => document.querySelector('.live-badge').textContent === 'live',
	);
	tab.errors.splice(0, tab.errors.length, ...tab.errors.filter((error) => !/503/.test(error)));
	await tab.close();
	server.close();
});

const { GEIGER: geiger } = process.env;

test(
	'geiger serve shows a program while it runs',
	{ skip: !geiger && 'no geiger to record with' },
	async () => {
		const place = mkdtempSync(join(tmpdir(), 'geiger-page-'));
		const script = join(place, 'grow.py');
		const children = [];
		const run = (...command) => {
			const child = spawn(command[0], command.slice(1), {
				stdio: ['ignore', 'pipe', 'ignore'],
			});
			children.push(child);
			return child;
		};

		// Grows for as long as it is let, at most two minutes.
		writeFileSync(
			script,
			'import time\nkept = []\nfor i in range(600):\n    kept.append(bytearray(1 << 20))\n    time.sleep(0.2)\n',
		);
		try {
			const profile = join(place, 'grow.geiger');
			run(geiger, 'record', '-q', '-i', '64k', '-o', profile, 'python3', script);
			for (let i = 0; i < 300 && !existsSync(profile); i++)
				await new Promise((done) => setTimeout(done, 100));
			const server = run(geiger, 'serve', profile);
			let printed = '';
			for await (const part of server.stdout) {
				printed += part;
				if (/http:\S+token=\S+\n/.test(printed))
					break;
			}
			const address = /http:\S+token=\S+/.exec(printed)[0];
			const tab = await openPage(browser, address);
			const live = () =>
				tab.page.evaluate(() =>
					parseFloat(
						/([\d.]+) MiB/.exec(document.querySelector('.status').textContent)?.[1] ??
							'0',
					),
				);
			const first = await live();

			assert.ok(
				!/token/.test(await tab.page.evaluate(() => location.href)),
				'the token is in no history',
			);
			assert.equal(await tab.page.textContent('.live-badge'), 'live');
			await tab.page.waitForFunction(
				(before) =>
					parseFloat(
						/([\d.]+) MiB/.exec(document.querySelector('.status').textContent)?.[1] ??
							'0',
					) >
					before + 2,
				first,
			);
			await tab.page.click('summary[aria-label=Download]');
			const [file] = await Promise.all([
				tab.page.waitForEvent('download'),
				tab.page.click('.menu-list a >> text=collapsed'),
			]);
			assert.match(readFileSync(await file.path(), 'utf8'), /^\S.* \d+$/m);
			await tab.close('serve');
		} finally {
			children.forEach((child) => child.kill('SIGINT'));
			await Promise.all(
				children.map(
					(child) =>
						child.exitCode !== null || new Promise((done) => child.on('exit', done)),
				),
			);
			rmSync(place, { recursive: true, force: true });
		}
	},
);
