// SPDX-License-Identifier: Apache-2.0
//
// big.mjs [STACKS | PAGE.html] - times of a page, made up of 100 000 stacks or given: prints how
// long the first picture takes, and the frames a second while it zooms.  No test: machines differ.

import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { launch, scratch, writePage } from './browser.mjs';

/** Stacks that branch as programs do: few near the root, many below. */
export function bigData(stacks, seed = 1) {
	let random = seed;
	const next = () => (random = (random * 1103515245 + 12345) % 2147483648) / 2147483648;
	const strings = [''];
	const frames = { name: [0], full: [0], file: [0], line: [0], module: [0], flags: [0] };
	const nodes = { depth: [0], frame: [0], folded: [0] };
	const cells = { node_delta: [], class: [], born: [], gone: [], n: [] };
	let last = 0;

	for (let i = 0; i < 4000; i++) {
		strings.push(`ns${i % 37}::Class${i % 211}::function_${i}`);
		for (const column of Object.keys(frames))
			frames[column].push(
				column === 'name' ? strings.length - 1 : column === 'module' ? i % 12 : 0,
			);
	}
	strings.push(...Array.from({ length: 12 }, (_, i) => `lib${i}.so`));
	const path = [];
	for (let made = 0; made < stacks; made++) {
		// A stack keeps some of the one before it.
		path.length = Math.floor(path.length * Math.sqrt(next()));
		const depth = Math.max(path.length + 1, 8 + Math.floor(next() * 32));
		const used = new Set();
		while (path.length < depth) {
			let frame = 1 + Math.floor(next() ** 3 * 4000);
			while (used.has(frame))
				frame = 1 + ((frame + 1) % 4000);
			used.add(frame);
			path.push(frame);
			nodes.depth.push(path.length);
			nodes.frame.push(frame);
			nodes.folded.push(0);
		}
		for (let cell = 0; cell < 3; cell++) {
			cells.node_delta.push(nodes.depth.length - 1 - last);
			last = nodes.depth.length - 1;
			cells.class.push(Math.floor(next() * 60));
			cells.born.push(Math.floor(next() * 100));
			cells.gone.push(next() < 0.5 ? 100 : 99);
			cells.n.push(1 + Math.floor(next() ** 8 * 200));
		}
	}
	const classes = Object.fromEntries(
		[
			'size',
			'sure',
			'bytes',
			'count',
			'bytes_variance',
			'count_variance',
			'bytes_skew',
			'count_skew',
			'reserve_bytes',
			'reserve_count',
			'per_byte',
			'bytes_slack',
			'count_slack',
			'unknown',
			'kind',
		].map((name) => [name, []]),
	);
	const R = 524288;
	for (let i = 0; i < 60; i++) {
		const z = 16 * 1.2 ** i;
		const p = -Math.expm1(-z / R);
		const values = {
			size: z,
			sure: p > 0.98 ? 1 : 0,
			bytes: z / p,
			count: 1 / p,
			bytes_variance: (z * z * (1 - p)) / p ** 2,
			count_variance: (1 - p) / p ** 2,
			bytes_skew: (z ** 3 * (1 - p) * (2 - p)) / p ** 3,
			count_skew: ((1 - p) * (2 - p)) / p ** 3,
			reserve_bytes: R,
			reserve_count: R / z,
			per_byte: 1 / z,
		};
		for (const name of Object.keys(classes))
			classes[name].push(values[name] ?? 0);
	}
	const module = Array.from({ length: 12 }, (_, i) => 4001 + i);
	return {
		format: 'geiger-page', version: 1,
		meta: {
			title: 'big',
			command: 'big',
			host: 'host',
			geiger: '0',
			start_seconds: 0,
			duration_ns: 100e9,
			interval_bytes: R,
			exposure_bytes: R,
			scheme: 'poisson',
			samples: cells.n.reduce((a, b) => a + b, 0),
			dropped: 0,
			confidence: 0.95,
			has_history: true,
			is_live: false,
			totals: {},
			peak_at_ns: null,
			unseen_bytes: 1934035,
			resident: null,
			unresolved: { frames: 0, of: 0, module: '' },
			notes: [],
		},
		strings,
		modules: {
			name: module,
			path: module,
			build_id: module.map(() => 0),
			status: module.map(() => 0),
		},
		frames,
		nodes,
		times: { edges_ns: Array.from({ length: 101 }, (_, i) => i * 1e9), peak_edge: null },
		classes,
		kinds: ['malloc'],
		cells,
		folds: {
			nodes: nodes.depth.length,
			kept: nodes.depth.length,
			least_share: 0,
			bytes_share: 0,
			count_share: 0,
			classes: 0,
			bins: 100,
			light_bins: 0,
			notes: [],
		},
		series: null,
		lifetimes: null,
		tables: null,
		leaks: null,
		diff: null,
	};
}

/**
 * Runs in the page, before its own scripts.  Sets window.picture to the time at which the frame
 * that shows the status, and so everything above it, has been drawn: a message that is sent when a
 * frame begins arrives after its drawing.  The page itself takes the time, because the way from
 * the browser to this program and back takes longer than a frame.
 */
function notePicture() {
	const observer = new MutationObserver(() => {
		if (document.querySelector('.status b') === null)
			return;
		observer.disconnect();
		requestAnimationFrame(() => {
			const { port1, port2 } = new MessageChannel();

			port1.onmessage = () => (window.picture = performance.now());
			port2.postMessage(null);
		});
	});
	observer.observe(document, { childList: true, subtree: true });
}

async function main(what) {
	const file = what.endsWith('.html')
		? resolve(what)
		: writePage('big.html', bigData(Number(what)));
	const browser = await launch();
	const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });

	page.on('pageerror', (error) => console.log(error.stack));
	const session = await page.context().newCDPSession(page);
	await session.send('Performance.enable', { timeDomain: 'threadTicks' });
	await page.addInitScript(notePicture);
	await page.goto(`file://${file}`);
	await page.waitForFunction(() => window.picture !== undefined);
	const picture = await page.evaluate(() => window.picture);
	console.log(`${what}: ${(statSync(file).size / 1e6).toFixed(2)} MB`);
	const { metrics } = await session.send('Performance.getMetrics');
	const busy = 1000 * metrics.find(({ name }) => name === 'TaskDuration').value;
	console.log(
		`first picture  ${picture.toFixed(0)} ms after the page was asked for; ${busy.toFixed(0)} ms of processor time`,
	);
	for (const inverted of [false, true]) {
		if (inverted) {
			const start = Date.now();
			await page.keyboard.press('i');
			await page.evaluate(
				() =>
					new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
			);
			console.log(`inverted tree  ${Date.now() - start} ms`);
		}
		await page.evaluate(() => {
			window.frames_ = [];
			const tick = (now) => {
				window.frames_.push(now);
				requestAnimationFrame(tick);
			};
			requestAnimationFrame(tick);
		});
		await page.focus('.flame-area');
		const began = await page.evaluate(() => performance.now());
		for (let step = 0; step < 5; step++) {
			await page.keyboard.press('ArrowDown');
			await page.keyboard.press('ArrowDown');
			await page.keyboard.press('Enter');
			await page.waitForTimeout(250);
		}
		await page.keyboard.press('0');
		await page.waitForTimeout(300);
		const gaps = await page.evaluate((from) => {
			const times = window.frames_.filter((time) => time >= from);
			return times.slice(1).map((time, i) => time - times[i]).sort((a, b) => a - b);
		}, began);
		const total = gaps.reduce((a, b) => a + b, 0);
		console.log(
			`zooming        ${((1000 * gaps.length) / total).toFixed(0)} frames a second; ` +
				`95 % of frames within ${gaps[Math.floor(gaps.length * 0.95)].toFixed(0)} ms, the longest ${gaps.at(-1).toFixed(0)} ms`,
		);
	}
	await page.screenshot({ path: join(scratch, 'big.png') });
	await browser.close();
}

if (process.argv[1]?.endsWith('big.mjs'))
	await main(process.argv[2] ?? '100000');
