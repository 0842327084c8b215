// SPDX-License-Identifier: Apache-2.0
//
// detail - the line below the graph: the chosen frame, and buttons that act on it.

import { element, fill } from '../shell/dom.js';
import { describe, shareText, totalText } from './stack_text.js';

/** @typedef {import('../model/tree.js').CallTree} CallTree */
/** @typedef {import('../model/tree.js').CallNode} CallNode */

/**
 * @typedef {object} Actions
 * @property {() => void} zoomOut
 * @property {() => void} sandwich
 * @property {() => void} hide
 * @property {() => void} only
 * @property {() => Promise<boolean>} copy
 */

/**
 * @param {HTMLElement} host
 * @param {CallTree} tree
 * @param {CallNode | null} node
 * @param {Actions} actions
 * @param {{ isZoomed: boolean, isSandwich: boolean }} state
 */
export function drawDetail(host, tree, node, actions, { isZoomed, isSandwich }) {
	const isFunction = node !== null && node.frame !== 0;

	fill(
		host,
		node === null
			? element(
					'div',
					{ class: 'what soft' },
					'Click a frame to zoom to it, or move with the arrow keys. Press ? for help.',
				)
			: what(tree, node),
		element(
			'div',
			{ class: 'actions' },
			(isZoomed || isSandwich) &&
				button(isSandwich ? 'Back to all' : 'Zoom out', 'Esc', actions.zoomOut),
			isFunction && !isSandwich && button('Sandwich', 's', actions.sandwich),
			isFunction && button('Only this', 'o', actions.only),
			isFunction && button('Hide', 'h', actions.hide),
			isFunction && copyButton(actions),
		),
	);
}

/** @param {CallTree} tree @param {CallNode} node */
function what(tree, node) {
	const { name, where } = describe(tree, node);

	return element(
		'div',
		{ class: 'what' },
		element('span', { class: 'name' }, name),
		`  ${totalText(tree, node)}`,
		element(
			'span',
			{ class: 'soft' },
			` · ${shareText(tree, node)}${where ? ` · ${where}` : ''}`,
		),
	);
}

/** @param {string} text @param {string} key @param {() => void} act */
function button(text, key, act) {
	return element('button', { title: `key ${key}`, onclick: act }, text);
}

/** @param {Actions} actions */
function copyButton(actions) {
	const made = button('Copy stack', 'c', async () => {
		made.textContent = (await actions.copy()) ? 'Copied' : 'Not allowed';
	});

	return made;
}

/** @param {string} text @returns {Promise<boolean>} */
export async function copyText(text) {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		// Browsers refuse the clipboard to pages from disk and plain HTTP; those use a text
		// field.
		const area = element('textarea', { class: 'hidden-text' });

		area.value = text;
		document.body.append(area);
		area.select();
		const copied = document.execCommand('copy');
		area.remove();
		return copied;
	}
}
