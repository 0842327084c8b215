// SPDX-License-Identifier: Apache-2.0
//
// A recording that goes on, seen in all views; a process that is only looked at; a folder of
// profiles.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';

import { makeProfile } from '../../src/model/profile.js';
import { rowsOf } from '../../src/model/rows.js';
import { select } from '../../src/model/select.js';
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
		'id="geiger-data"></script>',
		'id="geiger-data" data-source="data.json" data-live="1"></script>',
	);
	const server = createServer((request, answer) => {
		const isData = request.url.endsWith('/data.json');

		answer.writeHead(200, {
			'content-type': isData ? 'application/json' : 'text/html; charset=utf-8',
		});
		answer.end(isData ? JSON.stringify(next()) : page);
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
	await page.waitForFunction(
		(before) =>
			Number(/, (\d+) samples/.exec(document.querySelector('.status').textContent)[1]) >
			before,
		first,
	);
	const second = await samples();
	await tab.picture('live');
	await page.locator('[role=tab]', { hasText: 'Sizes' }).click();
	share = 1;
	await page.waitForFunction(
		(before) =>
			Number(/, (\d+) samples/.exec(document.querySelector('.status').textContent)[1]) >
			before,
		second,
	);
	assert.match(await page.textContent('.histogram'), /1-2 KiB.*439\.8 MiB/s);
	await tab.close('live-end');
});

test('a window stays where it was while the recording goes on', async () => {
	let share = 0.4;
	const address = await serve(() => until(share));
	const tab = await openPage(browser, address, {
		hash: 'view=table&metric=allocated&from=0.1&to=0.3',
	});
	const before = await tab.page.textContent('.status .selected');

	share = 0.7;
	await tab.page.waitForResponse((response) => response.url().endsWith('data.json'));
	await tab.page.waitForResponse((response) => response.url().endsWith('data.json'));
	await settle(tab.page);
	assert.equal(await tab.page.textContent('.status .selected'), before);
	await tab.close();
});

/** Runs geiger and programs; ends them all. */
async function withGeiger(run) {
	const place = mkdtempSync(join(tmpdir(), 'geiger-page-'));
	const children = [];
	const start = (command, options = {}) => {
		const child = spawn(command[0], command.slice(1), {
			stdio: ['ignore', 'pipe', 'ignore'],
			cwd: place,
			...options,
		});

		children.push(child);
		return child;
	};

	try {
		await run({ place, start });
	} finally {
		children.reverse().forEach((child) => child.kill('SIGINT'));
		await Promise.all(
			children.map(
				(child) =>
					child.exitCode !== null ||
					child.signalCode !== null ||
					new Promise((done) => child.on('exit', done)),
			),
		);
		rmSync(place, { recursive: true, force: true });
	}
}

/** The first text of its output that matches. */
async function says(child, pattern) {
	let printed = '';

	for await (const part of child.stdout) {
		printed += part;
		if (pattern.test(printed))
			return pattern.exec(printed)[0];
	}
	throw new Error(`it ended, and said ${printed}`);
}

const { GEIGER: geiger } = process.env;
const skip = !geiger && 'no geiger to record with';
const ADDRESS = /http:\S+token=\S+/;
// Grows for as long as it is let, at most two minutes.
const GROWS =
	'import os, time\nprint(os.getpid(), flush=True)\nkept = []\nfor i in range(600):\n' +
	'    kept.append(bytearray(1 << 20))\n    time.sleep(0.2)\n';

test(
	'geiger serve --pid shows a process from its first moment, as it grows',
	{ skip, timeout: 600000 },
	() =>
		withGeiger(async ({ start, place }) => {
			const program = start([
				geiger,
				'record',
				'-q',
				'-i',
				'64k',
				'-o',
				join(place, 'p.geiger'),
				'python3',
				'-c',
				GROWS,
			]);
			const pid = /^\d+/.exec(await says(program, /^\d+\n/))[0];
			const tab = await openPage(
				browser,
				await says(start([geiger, 'serve', '--pid', pid]), ADDRESS),
				{ hash: 'view=table&metric=live' },
			);
			const { page } = tab;
			const live = () =>
				page.evaluate(() =>
					parseFloat(
						/([\d.]+) MiB/.exec(document.querySelector('.status').textContent)?.[1] ??
							'0',
					),
				);
			const first = await live();

			assert.equal(await page.textContent('.live-badge'), 'live');
			assert.ok(await page.locator('.plot canvas').isVisible());
			await page.waitForFunction(
				(before) =>
					parseFloat(
						/([\d.]+) MiB/.exec(document.querySelector('.status').textContent)?.[1] ??
							'0',
					) >
					before + 2,
				first,
			);
			assert.match(
				await page.textContent('.rows .row[data-at="0"]'),
				/<module>|PyByteArray_Resize|PyObject_Malloc|python/,
			);
			assert.match(
				await page.textContent('.time-window'),
				/drag to choose a window after \d.* s, when this began to look/,
			);
			await page.waitForFunction(
				() =>
					Number(
						document.querySelector('.brush .end.to')?.getAttribute('aria-valuemax'),
					) >= 4,
			);
			await page.focus('.brush .end.from');
			await page.keyboard.press('ArrowRight');
			await page.locator('.switch[aria-label=Metric] button', { hasText: 'Kept' }).click();
			assert.match(await page.textContent('.status'), /Kept from .* to now: [\d.]+ MiB/);
			assert.ok(
				(await live()) <
					parseFloat(/([\d.]+) MiB/.exec(await page.textContent('.facts'))[1]),
				'less than there is in all',
			);
			await tab.close('pid');
		}),
);

test(
	'geiger serve lists a folder, and compares two of its profiles',
	{ skip, timeout: 600000 },
	() =>
		withGeiger(async ({ start, place }) => {
			for (const [name, size] of [
				['before', 200],
				['after', 400],
			]) {
				const child = start([
					geiger,
					'record',
					'-q',
					'-i',
					'16k',
					'-o',
					join(place, `${name} <b>.geiger`),
					'python3',
					'-c',
					`x = [bytearray(5000) for i in range(${size * 10})]\nimport os\nos._exit(0)`,
				]);

				await new Promise((done) => child.on('exit', done));
			}
			const tab = await openPage(
				browser,
				await says(start([geiger, 'serve', place]), ADDRESS),
				{ isList: true },
			);
			const { page } = tab;

			await page.click('td.c:has-text("after <b>.geiger") a');
			await page.waitForSelector('.status b');
			await page.locator('[role=tab]', { hasText: 'Profiles' }).click();
			await page.waitForSelector('.profiles tbody tr');
			assert.match(await page.textContent('.profiles .this'), /after <b>\.geiger/);
			await page.click('text=what changed since it');
			await page.waitForSelector('.diff-total');
			assert.match(
				await page.textContent('.diff-total'),
				/Live at the end: .* → .* \+[\d.]+ MiB \(\+/,
			);
			assert.ok((await page.locator('.rows .bar.change.more').count()) >= 1);
			await tab.close('folder-difference');
		}),
);

test(
	'a window of the page has the numbers of geiger report, estimates and intervals',
	{ skip, timeout: 600000 },
	() =>
		withGeiger(async ({ place }) => {
			const profile = join(place, 'p.geiger');
			const page = join(place, 'p.html');
			const program =
				'import json\nkept = []\nfor i in range(300):\n    kept.append([str(j) * 40 for j in range(300)])\n' +
				'    json.dumps(kept[-1])\n    if i % 3 == 0:\n        kept.pop(0)\n';

			// Itself, no script that forks: of what a child holds longer than its
			// parent, `freed` knows the end alone.
			const python = execFileSync(
				'python3',
				['-c', 'import os, sys; print(os.path.realpath(sys.executable), end="")'],
				{ encoding: 'utf8' },
			);
			execFileSync(
				geiger,
				['record', '-q', '-i', '16k', '-o', profile, python, '-c', program],
				{ env: { ...process.env, PYTHONMALLOC: 'malloc' } },
			);
			execFileSync(geiger, ['html', profile, '-o', page, '--max-size', '0']);
			const text = /id="geiger-data">([^<]*)</.exec(readFileSync(page, 'utf8'))[1];
			const made = makeProfile(JSON.parse(gunzipSync(Buffer.from(text, 'base64'))));
			const { edges, binCount } = made;

			for (const [a, b] of [
				[0.2, 0.6],
				[0.5, 0.9],
			].map((of) => of.map((share) => Math.round(share * binCount))))
				for (const [metric, ...options] of [
					['allocated', '--between', `${edges[a]}ns,${edges[b]}ns`],
					['freed', '--between', `${edges[a]}ns,${edges[b]}ns`],
					['live', '--at', `${edges[b]}ns`],
				]) {
					const told = JSON.parse(
						execFileSync(
							geiger,
							[
								'report',
								'--json',
								'--limit',
								'0',
								'--metric',
								metric,
								...options,
								profile,
							],
							{ maxBuffer: 1 << 26 },
						),
					);
					const rows = rowsOf(
						select(made, {
							metric,
							unit: 'bytes',
							from: edges[a],
							to: edges[b],
							hide: [],
							focus: [],
						}),
						'function',
					);
					const byName = new Map();
					const key = (name, module) => `${name} of ${module ?? ''}`;

					for (let i = 0; i < rows.length; i++)
						byName.set(
							key(rows.label(i), made.modulePaths[made.frameModule[rows.frame(i)]]),
							i,
						);
					assert.equal(rows.length, told.rows.length);
					let compared = 0;
					for (const row of told.rows) {
						const i = byName.get(key(row.function, row.module));

						assert.notEqual(i, undefined, `${row.function} of ${row.module}`);
						assert.equal(rows.samples(i, 'total'), row.samples, row.function);
						for (const side of ['self', 'total'])
							for (const [end, value] of Object.entries(rows.figure(i, side)))
								if (end in row[side] && row[side][end] !== null)
									assert.ok(
										Math.abs(value - row[side][end]) <=
											1e-6 * Math.abs(row[side][end]) + 1,
										`${metric} ${options} ${row.function} ${side} ${end}: ${value}, not ${row[side][end]}`,
									);
						compared++;
					}
					assert.ok(compared > 5, `${compared} rows`);
				}
		}),
);
