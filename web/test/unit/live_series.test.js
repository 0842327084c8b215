// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { chartPartOf, nodesOfPath } from '../../src/model/chart_part.js';
import { liveSeries } from '../../src/model/live_series.js';
import { makeProfile, pathOf } from '../../src/model/profile.js';
import { figureOfAll } from '../../src/model/rows.js';
import { select } from '../../src/model/select.js';
import { DEFAULTS } from '../../src/shell/state.js';
import { EVERYTHING, madeData } from './made.js';

const sample = JSON.parse(readFileSync(new URL('../data/made.json', import.meta.url), 'utf8'));

/** The figures of selections, one for each edge. */
function bySelections(profile, query) {
	return Array.from(profile.edges, (to) => figureOfAll(select(profile, { ...query, to })));
}

function near(found, wanted, what) {
	assert.equal(found.length, wanted.length, what);
	found.forEach((figure, edge) => {
		assert.equal(figure.samples, wanted[edge].samples, `${what}, samples at edge ${edge}`);
		for (const end of ['estimate', 'low', 'high'])
			assert.ok(
				figure[end] === wanted[edge][end] ||
					Math.abs(figure[end] - wanted[edge][end]) <= 1e-9 * Math.abs(wanted[edge][end]),
				`${what}, ${end} at edge ${edge}: ${figure[end]}, not ${wanted[edge][end]}`,
			);
	});
}

test('at each edge the series has the figure of the selection of that moment', () => {
	const profile = makeProfile(sample);
	const pids = profile.owners.pid.slice(1).map(String);

	for (const part of [{}, { only: ['load'] }, { without: ['/^pa/'] }, { focus: ['main'] },
		...pids.map((who) => ({ who }))]) {
		const query = { ...EVERYTHING, ...part };

		near(liveSeries(profile, query), bySelections(profile, query), JSON.stringify(part));
	}
});

test('cells with lost times count in upper bounds alone, as in selections', () => {
	let random = 7;
	const next = (below) => (random = (random * 1103515245 + 12345) % 2147483648) % below;
	const data = madeData(
		Object.fromEntries(Array.from({ length: 200 }, (_, i) => {
			const born = next(8);
			return [`main;f${i % 7};g${i}`, [1 + next(5), { born, gone: Math.min(8, born + next(9)) }]];
		})), 8);

	for (const name of ['earlier', 'later', 'sooner', 'unsure'])
		data.cells[name] = data.cells.n.map(() => next(3) === 0 ? (name === 'unsure' ? 1 : next(4)) : 0);
	// A kept block has no free whose time could be lost.
	data.cells.gone.forEach((gone, cell) => {
		if (gone >= 8)
			data.cells.later[cell] = data.cells.sooner[cell] = 0;
	});
	const profile = makeProfile(data);

	for (const part of [{}, { focus: ['f3'] }])
		near(
			liveSeries(profile, { ...EVERYTHING, ...part }),
			bySelections(profile, { ...EVERYTHING, ...part }),
			JSON.stringify(part),
		);
});

test('the path of a zoomed frame selects the stacks through it', () => {
	const profile = makeProfile(
		madeData({ 'main;parse;new': 10, 'main;load;parse;new': 5, 'run;parse;new': 2, 'main;parse': 1 }),
	);
	const stacks = (path, isInverted) =>
		Array.from(nodesOfPath(profile, path, isInverted).entries())
			.filter(([node, inside]) => inside && profile.firstCell[node] < profile.firstCell[node + 1])
			.map(([node]) => pathOf(profile, node).map((frame) => profile.names[frame]).join(';'));

	assert.deepEqual(stacks(['main', 'parse'], false).sort(), ['main;parse', 'main;parse;new']);
	assert.deepEqual(stacks(['new', 'parse', 'run'], true), ['run;parse;new']);
	assert.deepEqual(stacks(['parse'], false), []);
});

test('the chart draws a part if anything narrows what is shown', () => {
	const profile = makeProfile(madeData({ 'main;parse;new': 10 }));
	const part = (patch) => chartPartOf(profile, { ...DEFAULTS, ...patch });

	assert.equal(part({}), null);
	assert.equal(part({ search: '/(/' }), null);
	assert.equal(part({ search: 'par' })?.text, '“par”');
	assert.equal(part({ zoom: ['main', 'parse'] })?.text, 'parse');
	assert.equal(part({ zoom: ['main'], view: 'table' }), null);
	assert.equal(part({ who: '12/14', hide: ['new'] })?.text, 'without new, thread 14');
	assert.deepEqual(part({ sandwich: 'new' })?.query.focus, ['new']);
});
