// SPDX-License-Identifier: Apache-2.0
//
// tree.mjs - the call tree that the page makes of its data: reads {"data", "states"}, prints for
// each state the nodes of the whole tree as [path of functions, samples, total, self], where total
// and self are [estimate, low, high].
//
// tests/e2e/test_page_tree.py compares them with the nodes of geiger tree --json.

import { readFileSync } from 'node:fs';

import { callRowsOf, makeExpansion, openAll } from '../src/model/call_rows.js';
import { figureOf } from '../src/model/groups.js';
import { makeProfile } from '../src/model/profile.js';
import { select } from '../src/model/select.js';
import { downTree, framesTo, runsOf, selfRunsOf, upTree } from '../src/model/tree.js';
import { finite, STATE } from './answers.mjs';

const { data, states } = JSON.parse(readFileSync(0, 'utf8'));
const profile = makeProfile(data);

const answers = states.map((state) => {
	const selection = select(profile, { ...STATE, ...state });
	const tree = state.inverted ? upTree(selection) : downTree(selection);
	const expansion = makeExpansion();

	openAll(tree, tree.root, expansion);
	return callRowsOf(tree, expansion, { column: 'total', descending: true }).map(({ node }) => [
		framesTo(node).map((frame) => profile.names[frame]).join(';'),
		node.samples,
		finite(figureOf(selection, runsOf(tree, node), true)),
		finite(figureOf(selection, selfRunsOf(tree, node), true)),
	]);
});

process.stdout.write(JSON.stringify(answers));
