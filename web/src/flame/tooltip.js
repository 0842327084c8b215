// SPDX-License-Identifier: Apache-2.0
//
// tooltip - shows beside the pointer which frame is under it.

import { hasFewSamples } from '../model/select.js';
import { element, fill } from '../shell/dom.js';
import { describe, selfText, shareText, totalText, viaText } from './stack_text.js';

/** @typedef {import('../model/tree.js').CallTree} CallTree */
/** @typedef {import('../model/tree.js').CallNode} CallNode */

export function makeTooltip() {
	const box = element('div', { class: 'tooltip', role: 'tooltip', hidden: true });
	/** @type {CallNode | null} */
	let shown = null;

	return {
		box,
		hide() {
			box.hidden = true;
			shown = null;
		},
		/**
		 * @param {CallTree} tree
		 * @param {CallNode} node
		 * @param {boolean} isRest
		 * @param {number} x
		 * @param {number} y
		 */
		show(tree, node, isRest, x, y) {
			if (node !== shown)
				fill(box, isRest ? rest() : lines(tree, node));
			shown = node;
			box.hidden = false;
			// Place the tooltip on the side of the pointer that has room.
			const { offsetWidth, offsetHeight } = box;
			const left =
				x + 14 + offsetWidth > innerWidth - 4 ? Math.max(4, x - 10 - offsetWidth) : x + 14;
			const top =
				y + 18 + offsetHeight > innerHeight - 4
					? Math.max(4, y - 10 - offsetHeight)
					: y + 18;

			box.style.setProperty('transform', `translate(${left}px, ${top}px)`);
		},
	};
}

function rest() {
	return element(
		'div',
		{ class: 'soft' },
		'frames too narrow to draw; zoom in to see them',
	);
}

/** @param {CallTree} tree @param {CallNode} node */
function lines(tree, node) {
	const { name, where } = describe(tree, node);
	const self = selfText(tree, node);
	const via = viaText(tree, node);

	return [
		element('div', { class: 'name' }, name),
		element(
			'div',
			{},
			totalText(tree, node),
			element('span', { class: 'soft' }, ` · ${shareText(tree, node)}`),
		),
		self && element('div', { class: 'soft' }, `itself ${self}`),
		via && element('div', { class: 'soft' }, `via ${via}`),
		hasFewSamples(node.value, node.variance, node.samples) &&
			element('div', { class: 'warn' }, 'rests on few samples'),
		where && element('div', { class: 'soft' }, where),
	];
}
