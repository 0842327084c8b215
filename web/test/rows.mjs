// SPDX-License-Identifier: Apache-2.0
//
// rows.mjs - what the page makes of its data: reads {"data", "questions": [{"by", "state"}]},
// prints a list for each query, [{"label", "detail", "samples", "self", "total"}], as tables of the
// page have them.  A question {"edges", "state"} has the chart's numbers at those edges as answer,
// {"figures"} their texts, and {"search", "state"} the total of what the search finds.
//
// tests/e2e/test_page.py compares them with the rows of geiger report.

import { readFileSync } from 'node:fs';

import { chartPartOf } from '../src/model/chart_part.js';
import { figureText } from '../src/model/figure.js';
import { liveSeries } from '../src/model/live_series.js';
import { withoutLibrary } from '../src/model/library.js';
import { makeProfile, pathOf } from '../src/model/profile.js';
import { rowsOf } from '../src/model/rows.js';
import { matchesOf } from '../src/model/search.js';
import { select } from '../src/model/select.js';
import { BYTES } from '../src/model/tally.js';
import { DEFAULTS } from '../src/shell/state.js';
import { finite, STATE } from './answers.mjs';

const { data, questions } = JSON.parse(readFileSync(0, 'utf8'));
const profile = makeProfile(data);

/** The figures that the chart draws for a state. */
function chartAt(edges, state) {
	const part = chartPartOf(profile, { ...DEFAULTS, ...state });
	const figures = liveSeries(profile, part?.query ?? { ...STATE, ...state }, part?.nodes);

	return edges.map((edge) => finite(figures[edge]));
}

const answers = questions.map(({ by, state, edges, figures, search }) => {
	if (search !== undefined)
		return finite(matchesOf(select(profile, { ...STATE, ...state }), search).figure);
	if (figures !== undefined)
		return figures.map(({ estimate, low, high }) =>
			figureText({ estimate, low, high: high ?? Infinity }, BYTES));
	if (edges !== undefined)
		return chartAt(edges, state);
	const shown = state.hideLibrary ? withoutLibrary(profile) : profile;
	const rows = rowsOf(select(shown, { ...STATE, ...state }), by);

	return {
		isWholeRun: rows.isWholeRun,
		all: finite(rows.all),
		rows: Array.from({ length: rows.length }, (_, i) => ({
			label:
				by === 'stack'
					? pathOf(shown, Number(rows.key(i)))
							.map((frame) => shown.names[frame])
							.join(';')
					: rows.label(i),
			detail: rows.detail(i),
			who: rows.who(i),
			key: rows.key(i),
			module: data.strings[data.modules.path[shown.frameModule[rows.frame(i)]]],
			samples: rows.samples(i, 'total'),
			self: finite(rows.figure(i, 'self')),
			total: finite(rows.figure(i, 'total')),
		})),
	};
});

process.stdout.write(JSON.stringify(answers));
