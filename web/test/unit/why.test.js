// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import {
	barText,
	besideOf,
	comparedRowsOf,
	headText,
	keyOf,
	linkOf,
	lookBefore,
	lookOf,
	looksOf,
	missedText,
	pinnedOf,
	processesOf,
	rowsOf,
} from '../../src/model/why.js';
import { momentText } from '../../src/model/pinned.js';

import { makeProfile } from '../../src/model/profile.js';
import { madeData } from './made.js';

const why = JSON.parse(readFileSync(new URL('../data/why.json', import.meta.url), 'utf8'));
const looks = looksOf({ data: { why } });
const [server] = looks;
const oneRow = (row, rss = 100) => rowsOf({ ...server, rssBytes: rss, rows: [row] })[0];

test('rows are figures of one unit, with their share of RSS', () => {
	const rows = rowsOf(server);

	assert.equal(rows.length, 16);
	assert.deepEqual(
		rows.slice(0, 4).map(({ name, text, share }) => [name, text, share]),
		[
			['live', '0.89 GiB ± 6 %', '26.7 %'],
			['rounding', '0.04 GiB ± 15 %', '1.2 %'],
			['pinned', '1.17 GiB ± 19 %', '35.2 %'],
			['returnable', '0.63 GiB', '18.7 %'],
		],
	);
	assert.equal(rows[4].text, '0.01 GiB (0-0.01)');
	assert.equal(rows[3].adviceText, 'at most 640.0 MiB');
	assert.deepEqual(
		rows.filter(({ name }) => name === 'mappings').map(({ detail }) => detail),
		['page_cache_open (store)', '[anon:v8 <b>heap</b>]'],
	);
});

test('what live blocks keep is said where it explains much of RSS', () => {
	const keptOf = (block_bytes, pinned) =>
		looksOf({ data: { why: [{ ...why[0], block_bytes, ratios: { pinned } }] } })[0].kept;

	assert.equal(keptOf(1 << 30, 2.25),
		'Live blocks of 1.00 GiB, with their headers, keep 2.25 GiB of pages resident.');
	assert.equal(keptOf(1 << 30, 1.05), '');
	assert.equal(keptOf(1 << 20, 3), '');
	assert.equal(keptOf(null, 2.25), '');
	assert.equal(keptOf(1 << 30, null), '');
	assert.equal(looks[1].kept, '');
});

test('what no look saw is a note', () => {
	const missed = (process_count, highest_bytes) =>
		missedText({ data: { why_missed: { process_count, highest_bytes } } });

	assert.equal(missed(1, null), 'no look saw 1 process');
	assert.equal(missed(34, 1 << 30),
		'no look saw 34 processes; ' +
			'the RSS of one process was 1.00 GiB at its highest, when no look was taken');
	assert.equal(missed(0, null), '');
	assert.equal(missedText({ data: {} }), '');
});

test('live and pinned lead to their functions, at the look of the rows and of its process', () => {
	const profile = makeProfile({ ...madeData({ 'main;cache@1': 3 }), why });
	const live = linkOf(profile, server, 'live');

	assert.deepEqual([live.view, live.metric, live.who, live.from], ['flame', 'live', '4711', null]);
	assert.equal(linkOf(profile, server, 'returnable'), null);
	assert.equal(linkOf(profile, server, 'pinned'), null, 'the page has no cells of looks');
	const pinned = linkOf({ ...profile, looks: [{ moments: ['last'] }] }, looks[1], 'pinned');
	assert.deepEqual([pinned.metric, pinned.look, pinned.who], ['pinned', 'peak', '4711']);
	const alone = makeProfile({ ...profile.data, why: why.slice(0, 1) });
	assert.equal(linkOf(alone, server, 'live').who, '');
});

test('the head names the largest rows', () => {
	const profile = { data: { why } };

	assert.equal(headText(profile), 'process 4711 mostly pinned 1.17 GiB ± 19 %, live 0.89 GiB ± 6 %');
	assert.equal(headText({ data: { why: why.slice(0, 1) } }),
		'mostly pinned 1.17 GiB ± 19 %, live 0.89 GiB ± 6 %');
	assert.equal(headText({ data: {} }), '');
});

test('parts of the bar add up to one, however the rest falls out', () => {
	const sum = (rows) => rows.reduce((all, { part }) => all + part, 0);
	const less = rowsOf({
		...server,
		rssBytes: 100,
		rows: [
			{ name: 'live', bytes: 120, low: 100, high: 140, certainty: 'interval' },
			{ name: 'rest', bytes: -20, low: -40, high: 0, certainty: 'bound' },
		],
	});

	assert.ok(Math.abs(sum(rowsOf(server)) - 1) < 1e-9);
	assert.deepEqual(less.map(({ part }) => part), [1, 0]);
	assert.equal(less[1].text, '−20 B (0-40)');
	assert.equal(less[1].share, '');
	assert.equal(barText(less), 'live 120 B ± 17 %, 120 %');
});

test('what is not known is no number', () => {
	assert.equal(oneRow({ name: 'caches', bytes: null, low: 0, high: 2048 }).text, 'at most 2.00 KiB');
	assert.equal(oneRow({ name: 'caches', bytes: null, low: null, high: null }).text, 'unknown');
	assert.equal(oneRow({ name: 'caches', bytes: null, low: null, high: null }).part, 0);
	assert.equal(oneRow({ name: 'pinned', bytes: 0, low: 0, high: 2048 }).text, '< 2.00 KiB');
	assert.equal(oneRow({ name: 'swap', bytes: 0, low: 0, high: 0 }).text, '0 B');
});

test('a row that this page does not know keeps its name', () => {
	const row = oneRow({ name: 'gpu', bytes: 50, low: 50, high: 50, certainty: 'exact' });

	assert.deepEqual([row.name, row.text, row.share, row.colour], ['gpu', '50 B', '50.0 %', -1]);
});

test('the opening look is the last one at the largest process, and an address names others', () => {
	assert.equal(lookOf(looks, ''), server);
	assert.equal(keyOf(looks[1]), 'memory:4711:peak');
	assert.equal(lookOf(looks, 'memory:4711:peak'), looks[1]);
	assert.equal(lookOf(looks, 'leaks:growing'), server);
	assert.deepEqual(
		processesOf(looks).map(({ title, looks: own }) => [title, own.length]),
		[
			['4711, up to 4.00 GiB: server', 2],
			['4712, up to 40.0 MiB: worker', 1],
		],
	);
	assert.equal(momentText(looks[1]), 'largest RSS, at 612 ms');
	assert.equal(momentText(looks[2]), 'last look and largest RSS, at 955 ms');
});

test('beside RSS nothing has a share', () => {
	assert.deepEqual(
		besideOf(looks[2]).map(({ name, text, share }) => [name, text, share]),
		[['pss', '22.0 MiB', '']],
	);
});

test('damaged looks are left out', () => {
	assert.deepEqual(looksOf({ data: {} }), []);
	assert.deepEqual(looksOf({ data: { why: null } }), []);
	assert.deepEqual(looksOf({ data: { why: [null, {}, { rss_bytes: 0, rows: [] }, 7] } }), []);
	const [damaged] = looksOf({ data: { why: [{ rss_bytes: 1, rows: [null, 7, {}], beside: 3 }] } });
	assert.equal(rowsOf(damaged)[0].text, 'unknown');
	assert.deepEqual(besideOf(damaged), []);
});

test('functions that keep pinned memory have figures of one unit, and shares', () => {
	const data = madeData({ 'main;cache@1': 3 });
	const triple = (estimate, low, high) => ({ estimate, low, high });
	const profile = makeProfile({
		...data,
		pinned: {
			total: triple(4e6, 3e6, 5e6),
			rows: [
				{
					frame: 2,
					bytes: triple(3e6, 2.5e6, 3.6e6),
					size_ratio: 4.26,
					size_ratio_p: 0.002,
					median_age_ns: 12e9,
					allocated_among: [
						{ frame: 1, share: 0.61, median_lifetime_ns: 467e6 },
						{ frame: 2, share: 0.3, median_lifetime_ns: 1e6 },
					],
				},
				{ frame: 1, bytes: triple(1e6, 1e5, null), allocated_among: [] },
				{ frame: 99, bytes: null, allocated_among: [{ frame: 99, share: 1 }] },
				{ frame: 1, bytes: triple(0, 0, 1024) },
				{ frame: 1, bytes: triple(0, 0, 4096) },
			],
		},
	});

	assert.deepEqual(pinnedOf(profile), {
		total: '3.81 MiB ± 25 %',
		more: '2 more functions, each of which keeps less than 4.00 KiB',
		rows: [
			{
				frame: 2,
				label: 'cache (libx.so)',
				text: '2.86 MiB ± 20 %',
				share: '75.0 %',
				comparison: 'keeps 4.3 times the average of its size (p = 0.002); median age 12 s; ' +
					'allocated among blocks of main (61 %), which live 467 ms',
			},
			{
				frame: 1,
				label: 'main (made)',
				text: 'at least 0.10 MiB',
				share: '25.0 %',
				comparison: '',
			},
			{ frame: 0, label: '?', text: 'unknown', share: '', comparison: '' },
		],
	});
	assert.equal(pinnedOf(makeProfile(data)), null);
	assert.equal(pinnedOf(makeProfile({ ...data, pinned: { rows: [] } })), null);
});

test('the estimate of a row is no bound of what an advice returns', () => {
	const adviceOf = (advice_bytes, certainty, high) =>
		oneRow({ name: 'pinned', bytes: 10, low: 5, high, certainty, advice: 'a', advice_bytes }).adviceText;

	assert.equal(adviceOf(10, 'interval', 20), 'about 10 B');
	assert.equal(adviceOf(10, 'bound', 10), 'at most 10 B');
	assert.equal(adviceOf(8, 'exact', 10), 'at most 8 B');
	assert.equal(adviceOf(0, 'exact', 10), '');
});

test('a comparison has the rows of a look at the same command and moment beside each row', () => {
	const row = (name, bytes, low = bytes, high = bytes, detail = '') => ({ name, bytes, low, high, detail });
	const look = (pid, command, moments, rows) =>
		({ pid, command, moments, rows, rss_bytes: 100, beside: [] });
	const data = {
		why: [look(1, 'server', ['last', 'peak'], [
			row('live', 40, 30, 50), row('pinned', 30), row('mappings', 20, 20, 20, 'pools, 3.50 MiB of it free'),
			row('files', 10),
		])],
		why_before: [
			look(7, 'other', ['last', 'peak'], [row('live', 1)]),
			look(8, 'server', ['peak'], [row('live', 9)]),
			look(8, 'server', ['last'], [
				row('live', 35, 30, 40), row('pinned', 5), row('shared', 60),
				row('mappings', 25, 25, 25, 'pools, 1.25 MiB of it free'),
			]),
		],
	};
	const [after] = looksOf({ data });
	const before = lookBefore({ data }, { ...after, moments: ['last'] });

	assert.equal(before.pid, 8);
	assert.deepEqual(before.moments, ['last']);
	assert.deepEqual(
		comparedRowsOf(after, before).map(({ name, text, before: former, change, grew }) =>
			[name, former, text, change, grew]),
		[
			['live', '35 B ± 15 %', '40 B ± 25 %', '·', 0],
			['pinned', '5 B', '30 B', '+25 B', 1],
			['mappings', '25 B', '20 B', '−5 B', -1],
			['files', '0 B', '10 B', '+10 B', 1],
			['shared', '60 B', '0 B', '−60 B', -1],
		],
	);
	assert.equal(lookBefore({ data: { why: data.why } }, after), null);
	assert.equal(lookBefore({ data }, { ...after, command: 'third' }), null);
	assert.equal(lookBefore({ data: { ...data, why_before: data.why_before.slice(0, 1) } }, after).pid, 7);
});

test('an old look tells how the process went on', () => {
	const laterOf = (ended_after_ns, last_rss_bytes) =>
		looksOf({ data: { why: [{ ...why[0], rss_bytes: 1 << 30, ended_after_ns, last_rss_bytes }] } })[0].later;

	assert.equal(laterOf(2e9, null), 'the process ended 2 s after this look');
	assert.equal(laterOf(1e8, 1 << 29),
		'the process ended 100 ms after this look; the last RSS that was read is 512.0 MiB');
	assert.equal(laterOf(1e8, 1.02 * 2 ** 30), '');
	assert.equal(laterOf(null, 1), '');
});
