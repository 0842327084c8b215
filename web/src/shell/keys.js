// SPDX-License-Identifier: Apache-2.0
//
// keys - keys that work in every view.  Views have more (their `keys`); the help shows all lists.

/** @type {[string, string][]} */
export const KEYS = [
	['/', 'search'],
	['Esc', 'step back: close, clear the search, zoom out, whole run'],
	['m', 'next metric'],
	['u', 'bytes or allocations'],
	['d', 'dark, light, as the system'],
	['l', 'hide library frames, or show them'],
	['1 … 9', 'views'],
	['p', 'pause a live recording'],
	['?', 'this help'],
];

/** @type {[string, string][]} */
export const FLAME_KEYS = [
	['← → ↑ ↓', 'walk from frame to frame'],
	['Enter', 'zoom to the frame'],
	['Backspace', 'zoom out by one'],
	['0', 'zoom out'],
	['i', 'inverted: from the allocating functions to their callers'],
	['s', 'sandwich: callers and callees of the function'],
	['h', 'hide the function and all below it'],
	['o', 'only stacks with the function'],
	['c', 'copy the stack as text'],
	['n, N', 'next, previous match'],
];

/** @type {[string, string][]} */
export const TREE_KEYS = [
	['↑ ↓', 'walk from row to row; Page keys, Home, End'],
	['→ ←', 'expand, collapse; to the first callee, to the caller'],
	['Enter', 'expand or collapse'],
	['*', 'expand everything below the row'],
	['i', 'callees or callers'],
	['n, N', 'next, previous match of the search'],
	['g, s', 'show the row in the flame graph; callers and callees'],
	['h, o', 'hide the function; only stacks with it'],
	['c', 'copy the stack as text'],
];

/** @type {[string, string][]} */
export const TIME_KEYS = [
	['Tab', 'to the window and its two ends'],
	['← →', 'move it by a bin of time'],
	['Page ↑ ↓', 'move it by ten'],
	['Home, End', 'to an end of the run'],
	['+, -', 'zoom the axis in, out'],
	['[, ]', 'shift the zoomed axis'],
	['z', 'zoom to the window, and out again'],
	['t', 'one line, or functions on top of each other'],
];

/** @type {[string, string][]} */
export const TABLE_KEYS = [
	['↑ ↓', 'walk from row to row; Page keys, Home, End'],
	['Enter, s', 'callers and callees of the function'],
	['h', 'hide the function and all below it'],
	['o', 'only stacks with the function'],
];

/** @type {[string, string][]} */
export const MEMORY_KEYS = [['↑ ↓', 'walk through the rows that add up to RSS']];

/** True if the element takes text input. @param {EventTarget | null} target */
export function isTyping(target) {
	return (
		target instanceof HTMLElement &&
		(target.tagName === 'INPUT' || target.tagName === 'SELECT' || target.tagName === 'TEXTAREA')
	);
}
