// SPDX-License-Identifier: Apache-2.0
//
// share - the share of a sum in percent, as tables print it.
//
//   shareText(12, 100)          '12.0 %'
//   shareText(0.01, 100)        '< 0.1 %'
//   changeShareText(50, 116)    '+132 %': the change from 50 to 116
//
// Pure.

/** @param {number} value @param {number} all @returns {string} "" if there is nothing to share */
export function shareText(value, all) {
	const percent = (100 * value) / all;

	if (!(all > 0) || !Number.isFinite(percent))
		return '';
	if (percent > 0 && percent < 0.1)
		return '< 0.1 %';
	return `${percent.toFixed(percent < 99.95 ? 1 : 0)} %`;
}

/** @param {number} before @param {number} after @returns {string} "new" if there was nothing */
export function changeShareText(before, after) {
	if (!(before > 0))
		return after > 0 ? 'new' : '';
	const percent = (100 * (after - before)) / before;
	const size = Math.abs(percent);
	const text = size >= 99.95 ? size.toFixed(0) : size.toFixed(1);

	if (percent >= 1000)
		return `× ${(after / before).toFixed(after / before < 99.5 ? 1 : 0)}`;
	return `${percent < 0 ? '−' : percent > 0 ? '+' : ''}${text} %`;
}
