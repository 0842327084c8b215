// SPDX-License-Identifier: Apache-2.0
//
// flame - the view of the call tree: icicle or flame graph, by callees or by callers, or both sides
// of one function ("sandwich").
//
// The canvas has the size of its visible part and stays fixed in a scroller.  Only boxes on the
// screen are laid out and painted (flame/).  The state has the zoomed node as a path of names, so
// that it stays valid in another window.  The chosen and the hovered node are not part of the
// state.

import { drawDetail } from '../flame/detail.js';
import { Stage } from '../flame/stage.js';
import { rankModules } from '../flame/modules.js';
import { isExact } from '../model/profile.js';
import { matchesOf } from '../model/search.js';
import { shortNames } from '../model/short_names.js';
import { element, fill } from '../shell/dom.js';
import { makeLibrarySwitch } from '../shell/library_switch.js';
import { makeSwitch } from '../shell/toolbar.js';
import { altersSelection } from '../shell/store.js';

/** @typedef {import('../shell/store.js').Store} Store */

/** @type {import('../shell/view.js').View} */
export const flameView = {
	id: 'flame',
	title: 'Flame graph',
	fills: true,
	mount(host, store) {
		const legend = element('div', { class: 'legend' });
		const detail = element('div', { class: 'flame-detail' });
		const sides = element('span', { class: 'sides' });
		const stage = new Stage(store, () => showDetail());
		const direction = makeSwitch(
			'Direction',
			[
				['down', 'Callees', 'from main to the allocating functions'],
				['up', 'Callers', 'from the allocating functions to their callers (key i)'],
			],
			(value) => store.set({ inverted: value === 'up', zoom: [], sandwich: '' }),
		);
		const library = makeLibrarySwitch(store);
		const shape = makeSwitch(
			'Shape',
			[
				['icicle', 'Icicle', 'the root on top'],
				['flame', 'Flame', 'the root at the bottom'],
			],
			(value) => store.set({ flame: value === 'flame' }),
		);

		fill(
			host,
			element('div', { class: 'flame-bar' }, direction.group, shape.group,
				library.button, sides, legend),
			stage.area,
			stage.said,
			detail,
			stage.tooltip.box,
		);

		function showDetail() {
			drawDetail(detail, stage.treeOfSelected(), stage.selected, stage.actions, {
				isZoomed: store.state.zoom.length > 0,
				isSandwich: stage.isSandwich,
			});
		}

		return {
			update(changed) {
				const { state } = store;

				if (changed.has('profile')) {
					stage.ranked = rankModules(store.profile);
					drawLegend(legend, store, stage.ranked);
				}
				if (changed.has('theme'))
					stage.forgetPalette();
				const isOther = changed.has('inverted') || changed.has('sandwich');
				if (altersSelection(changed) || isOther)
					stage.build(isOther);
				else if (changed.has('zoom'))
					stage.follow(true);
				if (altersSelection(changed) || changed.has('search'))
					stage.matches = matchesOf(store.selection(), state.search)?.has ?? null;
				if (changed.has('flame'))
					stage.home();
				direction.show(state.inverted ? 'up' : 'down');
				library.update();
				shape.show(state.flame ? 'flame' : 'icicle');
				sides.hidden = !stage.isSandwich;
				fill(sides, '↑ callers of ', element('b', {}, state.sandwich), ' · ↓ its callees');
				direction.group.hidden = shape.group.hidden = stage.isSandwich;
				showDetail();
				stage.draw();
			},
			key: (event) => stage.key(event),
			destroy: () => stage.destroy(),
		};
	},
};

/** The most letters of a module in the legend, unless more tell it from another one. */
const LEGEND_LETTERS = 16;

/** @param {HTMLElement} host @param {Store} store @param {number[]} ranked */
function drawLegend(host, { profile }, ranked) {
	const names = ranked.map((module) => profile.moduleNames[module]);
	const short = shortNames(names, LEGEND_LETTERS);
	/** @param {string} name @param {string} text @param {string} colour */
	const entry = (name, text, colour) =>
		element(
			'span',
			{ title: name },
			element('i', { style: { background: `var(${colour})` } }),
			element('b', {}, text),
		);

	fill(
		host,
		names.map((name, index) => entry(name, short[index], `--m${index}`)),
		profile.moduleNames.length > ranked.length + 1 && entry('other', 'other', '--m-other'),
		!isExact(profile) && element(
			'span',
			{ title: 'fewer than 20 samples: the estimate may be far from the true value' },
			element('i', { class: 'few' }),
			element('b', {}, 'few samples'),
		),
	);
}
