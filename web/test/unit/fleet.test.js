// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { errorText, figureOf, newestFirst, patternOf, qText, scopeText, timeText }
	from '../../src/fleet/answer.js';
import { pathOf, treeOf } from '../../src/fleet/call_tree.js';
import { COMMANDS, PARAMETERS, addressOf, commandOf, quoted, readQuestion, requestOf, valueOf,
	withValues } from '../../src/fleet/question.js';
import { columnsOf, peakOf, slotsOf } from '../../src/fleet/slots.js';
import { layOut, viewOf } from '../../src/flame/layout.js';

const HOSTILE = "it's \"<b>\\ ${1} %41 a=b&c;\n";

test('an address carries the whole question, and gives it back', () => {
	const search = '?view=flame&service=checkout&version=1.2&label=a%3Db&label=zone%3De+u&focus=%5Emain';
	const question = readQuestion(search);

	assert.equal(question.view, 'flame');
	assert.deepEqual(question.values.label, ['a=b', 'zone=e u']);
	assert.equal(addressOf(question), `/${search}`);
	assert.deepEqual(readQuestion(addressOf(question).slice(1)), question);
	const hostile = withValues(readQuestion(''), { service: HOSTILE, host: HOSTILE }, 'hosts');
	assert.deepEqual(readQuestion(addressOf(hostile).slice(1)), hostile);
});

test('an address without a view shows the services, or the versions of its service', () => {
	assert.equal(readQuestion('').view, 'services');
	assert.equal(readQuestion('?service=a').view, 'versions');
	assert.equal(addressOf(readQuestion('?service=a&view=versions')), '/?service=a');
	assert.equal(addressOf(readQuestion('?view=services')), '/');
});

test('what the page does not know is named, and the token is not', () => {
	const { view, unknown, values } = readQuestion('?service=a&view=nothing&colour=1&token=x&since=2h');

	assert.equal(view, 'versions');
	assert.deepEqual(unknown, ['colour', 'view=nothing']);
	assert.deepEqual(values, { service: ['a'], since: ['2h'] });
});

test('an empty value is a value, and null removes it', () => {
	const question = readQuestion('?service=a&version=');

	assert.equal(valueOf(question, 'version'), '');
	assert.equal(requestOf('tree', question), '/fleet/tree.json?service=a&version=');
	assert.equal(valueOf(withValues(question, { version: null }), 'version'), null);
	assert.deepEqual(question.values.version, [''], 'a question is never modified');
});

test('a command gets the parameters that it has', () => {
	const question = readQuestion('?service=a&version=1&by=line&at=peak&before=0&after=1&rate=0.1');

	assert.equal(requestOf('report', question), '/fleet/report.json?service=a&version=1&at=peak&by=line');
	assert.equal(requestOf('diff', question),
		'/fleet/diff.json?service=a&before=0&after=1&at=peak&by=line&rate=0.1');
	assert.equal(requestOf('services', question), '/fleet/services.json');
	assert.equal(requestOf('timeline', question), '/fleet/timeline.json?service=a&version=1');
});

test('the parameters of each command are those that the server knows', () => {
	const source = readFileSync(new URL('../../../src/cli/fleet/fleet_page.c', import.meta.url), 'utf8');
	const lists = Object.fromEntries([...source.matchAll(/#define (\w+)\s+((?:\\\n|.)*)/g)]
		.map(([, name, list]) => [name, list]));
	const names = (text) => [...text.replace(/\b[A-Z]+\b/g, (name) => lists[name] ?? '')
		.matchAll(/"([\w-]+)"/g)].map(([, name]) => name).sort();
	const table = source.slice(source.indexOf('views[] = {'), source.indexOf('\n};', source.indexOf('views[] = {')));

	for (const [command, { operands, options }] of Object.entries(COMMANDS)) {
		const row = new RegExp(`\\{ "${command}",[^{]*\\{([^}]*)\\},\\s*\\{([^}]*)\\} \\}`).exec(table);

		assert.ok(row, command);
		assert.deepEqual(names(row[1]), [...operands].sort(), command);
		assert.deepEqual(names(row[2]), [...options].sort(), command);
	}
	assert.ok(PARAMETERS.includes('before-since'));
});

test('the command line is one that a shell takes', () => {
	const question = readQuestion("?service=my+shop&label=a%3Db%27c&inverted=1&focus=-x");

	assert.equal(commandOf('tree', question),
		"geiger fleet tree --label 'a=b'\\''c' --inverted --focus=-x 'my shop'");
	assert.equal(commandOf('services', readQuestion('')), 'geiger fleet services');
	assert.equal(quoted('$(x)'), "'$(x)'");
	assert.equal(quoted(''), "''");
});

test('figures without ends have no known error, and without an upper end are bounds', () => {
	assert.deepEqual(figureOf({ estimate: 12, low: 9, high: 14 }, 3),
		{ estimate: 12, low: 9, high: 14, isUnknown: false, samples: 3 });
	assert.equal(figureOf({ estimate: 12, low: null, high: null }).isUnknown, true);
	assert.equal(figureOf({ estimate: 12, low: 9, high: null }).high, Infinity);
	assert.ok(Number.isNaN(figureOf(undefined).estimate));
});

test('a title says of when and of how many hosts, and which error the intervals hold', () => {
	const fleet = { when: 'at 2026-11-27 02:40 UTC', hosts: 50, selected_hosts: 12, error: 'sampling' };

	assert.equal(scopeText('live', { fleet }), 'live at 2026-11-27 02:40 UTC, 50 hosts, stacks of 12');
	assert.equal(scopeText('live', { fleet: { error: 'sampling' }, when: 'now', hosts: 1, selected_hosts: 1 }),
		'live now, 1 host');
	assert.equal(errorText({ fleet, confidence: 0.95 }), '95 % intervals hold the error of sampling.');
	assert.equal(errorText({ fleet: { error: 'sampling and hosts' }, confidence: 0.9 }),
		'90 % intervals hold the error of sampling and that between hosts.');
	assert.equal(errorText({ fleet: { error: 'something new' } }), '');
});

test('versions are ordered by when they were seen, then as numbers', () => {
	const rows = [['1.9', 5], ['1.10', 5], ['0.1', 6], ['1.10-rc', 4]]
		.map(([version, last_seen_seconds]) => ({ version, last_seen_seconds }));

	assert.deepEqual(newestFirst(rows).map((row) => row.version), ['0.1', '1.10', '1.9', '1.10-rc']);
	assert.equal(rows[0].version, '1.9', 'the list itself stays');
});

test('small texts', () => {
	assert.equal(timeText(1795790400), '2026-11-27 14:40');
	assert.equal(timeText(NaN), '?');
	assert.equal(qText(null), '-');
	assert.equal(qText(0.0221), '0.022');
	assert.equal(qText(0.0000026), '2.6e-6');
	assert.equal(patternOf('std::vec<int*>::add(a|b)'), '^std::vec<int\\*>::add\\(a\\|b\\)$');
	assert.equal(patternOf('a{1}[b]'), '^a\\{1\\}\\[b\\]$');
});

const triple = (estimate) => ({ estimate, low: estimate * 0.9, high: estimate * 1.1 });
const node = (id, parent, depth, name, value, more = {}) => ({
	id, parent, depth, function: name, module: '/lib/libx.so', full_name: name && `${name}(int)`, folded: 0,
	samples: 100, self: triple(0), total: triple(value), ...more,
});

test('a tree keeps the numbers of the command, and children lie beside each other', () => {
	const { tree, profile, ranked } = treeOf({
		nodes: [
			node(0, null, 0, null, 100, { module: null }),
			node(1, 0, 1, 'light', 30),
			node(2, 0, 1, 'main', 65, { module: '/bin/main' }),
			node(3, 0, 1, null, 5, { folded: 7, module: null }),
			node(4, 2, 2, 'leaf', 60),
		],
	});
	const [main, light, rest] = tree.root.children;

	assert.deepEqual([main.name, light.name, rest.folded], ['main', 'light', 7]);
	assert.deepEqual([main.x, light.x, rest.x, main.children[0].x], [0, 65, 95, 0]);
	assert.deepEqual(main.figure, { estimate: 65, low: 58.5, high: 65 * 1.1, isUnknown: false, samples: 100 });
	assert.equal(main.fullName, 'main(int)');
	assert.deepEqual(pathOf(main.children[0]), ['main', 'leaf']);
	assert.equal(rest.frame, 0, 'folded functions are no function');
	assert.equal(profile.names[main.frame], 'main');
	assert.deepEqual(ranked.map((module) => profile.moduleNames[module]), ['libx.so', 'main']);
	const boxes = layOut(tree, viewOf(tree.root), 1000);
	assert.equal(boxes.length, 5);
	assert.equal(boxes.find((box) => box.node === light).x, 650);
});

test('a tree without samples is empty', () => {
	assert.equal(treeOf({ nodes: [] }).tree.root.value, 0);
	assert.deepEqual(treeOf({}).tree.root.children, []);
	const { tree } = treeOf({ nodes: [node(0, null, 0, null, 0)] });
	assert.deepEqual(layOut(tree, viewOf(tree.root), 1000), []);
});

const timeline = (start_seconds, ...points) => ({
	start_seconds,
	points: points.map(([seconds, value, rss = null]) => ({
		time_ns: seconds * 1e9, live_bytes: value === null ? { estimate: 1, low: null, high: null } : triple(value),
		rss_bytes: rss,
	})),
});

test('slots have their own times, and lines break where nobody reported', () => {
	const all = timeline(6000, [0, 10, 20], [600, 30, 40], [3600, 20]);
	const part = timeline(6600, [0, 7]);
	const { data, slots } = columnsOf(all, [{ name: 'v', data: part }], 600);

	assert.deepEqual(slotsOf(all).map(({ seconds }) => seconds), [6000, 6600, 9600]);
	assert.deepEqual(data[0], [6000, 6600, 7200, 9600]);
	assert.deepEqual(data[3], [10, 30, null, 20]);
	assert.deepEqual(data[4], [20, 40, null, null]);
	assert.deepEqual(data[5], [null, 7, null, null]);
	assert.equal(peakOf(slots).seconds, 6600);
	assert.equal(peakOf([]), null);
});

test('a slot whose error is not known has no band', () => {
	const { data } = columnsOf(timeline(0, [0, null]), [], 600);

	assert.deepEqual(data.slice(1, 4), [[null], [null], [1]]);
});
