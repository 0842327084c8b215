// SPDX-License-Identifier: Apache-2.0
//
// answers.mjs - what tree.mjs and rows.mjs share: the state of the page that questions start from,
// and figures as JSON has them.

export const STATE = Object.freeze({
	metric: 'live',
	unit: 'bytes',
	from: null,
	to: null,
	hide: [],
	focus: [],
	who: '',
	within: 1e6,
});

/** [estimate, low, high]; a bound that does not exist is null. */
export const finite = ({ estimate, low, high }) => [
	estimate,
	low,
	high === Infinity ? null : high,
];
