// SPDX-License-Identifier: Apache-2.0
//
// paint - paints boxes onto a canvas.
//
// Colours come from style.css and are read once for each theme (readPalette).  A frame has the
// colour of its module.  Frames with few samples are hatched, and frames that a search does not
// match are pale.  Texts are cut to the width of their box; each text is measured once.

import { hasFewSamples } from '../model/select.js';
import { colour } from '../shell/dom.js';
import { COLOUR_COUNT } from './modules.js';

/** @typedef {import('./layout.js').Box} Box */
/** @typedef {import('../model/tree.js').CallNode} CallNode */
/** @typedef {import('../model/profile.js').Profile} Profile */

export const ROW = 19;
const TEXT_FROM = 26;
const PADDING = 4;

/** @param {CanvasRenderingContext2D} context */
export function readPalette(context) {
	const modules = Array.from({ length: COLOUR_COUNT }, (_, i) => colour(`--m${i}`));

	return {
		modules,
		other: colour('--m-other'),
		page: colour('--page'),
		root: colour('--line'),
		text: colour('--frame-text'),
		match: colour('--match'),
		matchText: colour('--match-text'),
		accent: colour('--accent'),
		accentText: colour('--accent-text'),
		hatch: hatch(context, colour('--hatch')),
		font: `12px ${colour('--flame-font')}`,
	};
}

/** @typedef {ReturnType<typeof readPalette>} Palette */

/** Diagonal lines, 6 pixels apart. @param {CanvasRenderingContext2D} context @param {string} ink */
function hatch(context, ink) {
	const tile = document.createElement('canvas');
	const ratio = Math.max(1, Math.round(window.devicePixelRatio || 1));
	const size = 6 * ratio;

	tile.width = tile.height = size;
	const brush = /** @type {CanvasRenderingContext2D} */ (tile.getContext('2d'));
	brush.strokeStyle = ink;
	brush.lineWidth = 1.6 * ratio;
	for (const shift of [-size, 0, size]) {
		brush.beginPath();
		brush.moveTo(shift - 1, size + 1);
		brush.lineTo(shift + size + 1, -1);
		brush.stroke();
	}
	const pattern = context.createPattern(tile, 'repeat');
	pattern?.setTransform(new DOMMatrix().scale(1 / ratio));
	return pattern;
}

/**
 * @typedef {object} Scene
 * @property {Profile} profile
 * @property {Palette} palette
 * @property {Map<number, number>} moduleColours  module to its place in the palette
 * @property {((node: CallNode) => boolean) | null} matches   null: nothing is searched for
 * @property {CallNode | null} centre             of a sandwich
 * @property {CallNode | null} hovered
 * @property {CallNode | null} selected
 * @property {number} width
 */

/** @type {Map<string, number>} */
const widths = new Map();

/** @param {CanvasRenderingContext2D} context @param {string} text */
function widthOf(context, text) {
	let width = widths.get(text);

	if (width === undefined) {
		if (widths.size > 20000)
			widths.clear();
		width = context.measureText(text).width;
		widths.set(text, width);
	}
	return width;
}

/** @param {CanvasRenderingContext2D} context @param {string} text @param {number} room */
function cut(context, text, room) {
	const width = widthOf(context, text);

	if (width <= room)
		return text;
	// Cut by the mean width of the text's characters, rounded down, so that the result is
	// rarely too long.
	const fits = Math.floor((text.length * (room - 12)) / width);
	return fits >= 2 ? `${text.slice(0, fits)}…` : '';
}

/** @param {Profile} profile @param {CallNode} node @param {boolean} isRest */
export function textOf(profile, node, isRest) {
	if (isRest)
		return '';
	if (node.folded > 0)
		return `(${node.folded} more)`;
	return node.frame === 0 ? 'all' : profile.names[node.frame];
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Scene} scene
 * @param {Box[]} boxes
 * @param {(row: number) => number} top  pixels, of a row
 * @param {number} height                of the screen; boxes outside are left out
 */
export function paint(context, scene, boxes, top, height) {
	const { palette } = scene;

	for (const box of boxes) {
		const y = top(box.row);

		if (y > -ROW && y < height)
			paintBox(context, scene, box, y);
	}
	context.font = palette.font;
	context.textBaseline = 'middle';
	for (const box of boxes) {
		const y = top(box.row);
		const left = Math.max(box.x, 0);
		const room = Math.min(box.x + box.width, scene.width) - left - 2 * PADDING;

		if (room < TEXT_FROM - 2 * PADDING || y <= -ROW || y >= height)
			continue;
		const text = cut(context, textOf(scene.profile, box.node, box.isRest), room);
		const pale = isPale(scene, box);

		if (box.node === scene.centre)
			context.fillStyle = palette.accentText;
		else
			context.fillStyle = scene.matches !== null && !pale ? palette.matchText : palette.text;
		context.globalAlpha = pale ? 0.55 : 1;
		if (text !== '')
			context.fillText(text, left + PADDING, y + ROW / 2);
	}
	context.globalAlpha = 1;
}

/** @param {Scene} scene @param {Box} box */
function isPale({ matches }, { node, isRest }) {
	return matches !== null && (isRest || !matches(node));
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Scene} scene
 * @param {Box} box
 * @param {number} y
 */
function paintBox(context, scene, box, y) {
	const { palette, profile } = scene;
	const { node, isRest } = box;
	const left = Math.max(box.x, -2);
	const right = Math.min(box.x + box.width, scene.width + 2);
	// Leave a gap of one pixel, unless the box is narrower.
	const width = Math.max(right - left - (box.width > 3 ? 1 : 0), 0.5);
	const isMatch = scene.matches !== null && !isPale(scene, box);

	if (node === scene.centre)
		context.fillStyle = palette.accent;
	else if (isMatch)
		context.fillStyle = palette.match;
	else if (node.frame === 0 || isRest)
		context.fillStyle = node.parent === null ? palette.root : palette.other;
	else
		context.fillStyle =
			palette.modules[scene.moduleColours.get(profile.frameModule[node.frame]) ?? -1] ??
			palette.other;
	context.globalAlpha = isPale(scene, box) && node.parent !== null ? 0.35 : 1;
	context.fillRect(left, y, width, ROW - 1);
	if (
		palette.hatch &&
		width > 2 &&
		!isRest &&
		hasFewSamples(node.value, node.variance, node.samples)
	) {
		context.fillStyle = palette.hatch;
		context.fillRect(left, y, width, ROW - 1);
	}
	context.globalAlpha = 1;
	if (node === scene.selected || node === scene.hovered) {
		context.strokeStyle = node === scene.selected ? palette.accent : palette.text;
		context.lineWidth = node === scene.selected ? 2 : 1;
		const inset = context.lineWidth / 2;
		context.strokeRect(
			left + inset,
			y + inset,
			Math.max(width - 2 * inset, 0.5),
			ROW - 1 - 2 * inset,
		);
	}
}
