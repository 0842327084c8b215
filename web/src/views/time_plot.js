// SPDX-License-Identifier: Apache-2.0
//
// time_plot - how uPlot draws the chart of time: scales, axes, colours, and the mark of the peak.
//
// uPlot draws without its own selection and legend: our brush also works by touch and keyboard, and
// the line above the chart has the values under the pointer.  The rate has its own scale on the
// right and uses the lowest third.

import uPlot from 'uplot';

import { COLUMNS, STACKED_MOST } from '../model/chart_columns.js';
import { tickText, timeTickTexts } from '../model/figure.js';
import { BYTES } from '../model/tally.js';
import { colour } from '../shell/dom.js';

/** @typedef {import('../shell/store.js').Store} Store */

const RATE_SHARE = 3;
const BINARY_STEPS = Array.from({ length: 60 }, (_, i) => 2 ** i);
const TIME_STEPS = [
	...[-9, -8, -7, -6, -5, -4, -3, -2, -1, 0].flatMap((e) => [1, 2, 5].map((m) => m * 10 ** e)),
	10,
	15,
	30,
	60,
	120,
	300,
	600,
	900,
	1800,
	3600,
	7200,
	14400,
	21600,
	43200,
	86400,
	172800,
	604800,
];

/** Half a label of the axis of time, in pixels. */
const LABEL_ROOM = 24;

/** The hex colour with an opacity. @param {string} name @param {string} alpha two hex digits */
const thin = (name, alpha) => colour(name).slice(0, 7) + alpha;

/**
 * The colour of a row of stackedSeries().
 *
 * @param {number} row
 * @param {number} rowCount with the rest, which is the last
 */
export const stackedColour = (row, rowCount) => (row === rowCount - 1 ? '--s-rest' : `--s${row}`);

/** @param {number} width @param {boolean} isNarrow @returns {uPlot.Axis[]} */
function axes(width, isNarrow) {
	const axis = {
		stroke: () => colour('--soft'),
		font: '11px system-ui, "DejaVu Sans", sans-serif',
		grid: { stroke: thin('--line', '99'), width: 1 },
		ticks: { show: false },
	};

	return [
		{
			...axis,
			size: 26,
			gap: 7,
			// Close up, labels of a long run have hours, minutes and seconds.
			space: (_plot, _axis, low, high) => (high >= 60 && high - low < 0.9 * high ? 100 : 70),
			incrs: TIME_STEPS,
			values: (plot, splits) => {
				const last = plot.scales.x.max ?? 0;
				const room = (LABEL_ROOM / width) * (last - (plot.scales.x.min ?? 0));

				// A label at the right end would be cut off.
				return timeTickTexts(splits.map((value) => Math.round(value * 1e9))).map(
					(text, i) => (isNarrow && splits[i] > last - room ? '' : text),
				);
			},
		},
		{
			...axis,
			scale: 'bytes',
			size: isNarrow ? 52 : 64,
			gap: 4,
			space: 28,
			incrs: BINARY_STEPS,
			values: (_, splits) => splits.map((value) => tickText(value, BYTES)),
		},
		{
			...axis,
			scale: 'rate',
			side: 1,
			show: !isNarrow,
			size: 76,
			gap: 4,
			grid: { show: false },
			splits: (plot) => rateTicks((plot.scales.rate.max ?? 0) / RATE_SHARE),
			values: (_, splits) => splits.map((value) => `${tickText(value, BYTES)}/s`),
		},
	];
}

/**
 * 0, and the largest power of two that is not above the largest rate, and its half where there is
 * room.
 */
function rateTicks(/** @type {number} */ most) {
	const top = 2 ** Math.floor(Math.log2(Math.max(1, most)));

	if (most < 2)
		return [];
	return top > 0.8 * most ? [0, top / 2, top] : [0, top];
}

/** The series in the order of the columns of chartColumns(). */
function lines() {
	/** @type {uPlot.Series} */
	const line = { points: { show: false }, spanGaps: true };
	const bytes = { ...line, scale: 'bytes' };
	const stacked = Array.from({ length: STACKED_MOST + 1 }, (_, i) => ({
		...bytes,
		stroke: colour('--page'),
		width: 0.5,
		// Opaque: each area covers the lower part of the one before it.
		fill: colour(i === 0 ? '--s-rest' : `--s${STACKED_MOST - i}`),
	}));
	const rate = {
		...line,
		scale: 'rate',
		stroke: thin('--soft', '99'),
		fill: thin('--soft', '33'),
		width: 1,
		paths: /** @type {any} */ (uPlot.paths.stepped)({ align: -1 }),
	};
	const hidden = { ...bytes, stroke: 'transparent' };

	return [
		{},
		...stacked,
		hidden,
		hidden,
		{ ...bytes, stroke: colour('--before'), width: 1.5 },
		{ ...bytes, stroke: colour('--accent'), width: 1.75 },
		{ ...bytes, stroke: colour('--rss'), width: 1.25, dash: [5, 3] },
		rate,
		hidden,
		hidden,
		{ ...bytes, stroke: colour('--part'), width: 1.75 },
	];
}

/**
 * @param {number} width
 * @param {number} height
 * @param {{ shown: () => [number, number], onCursor: (at: number | null) => void,
 *   onDraw: (plot: uPlot) => void }} of
 * @returns {uPlot.Options}
 */
export function plotOptions(width, height, { shown, onCursor, onDraw }) {
	const isNarrow = width < 560;

	return {
		width,
		height,
		legend: { show: false },
		padding: [6, isNarrow ? 6 : 0, 0, 0],
		cursor: {
			drag: { x: false, y: false, setScale: false },
			y: false,
			points: { size: 6 },
			// The brush covers the plot, so it forwards pointer moves to the plot.
			bind: { mousemove: (_plot, _target, handle) => (event) => handle(event) },
		},
		select: { show: false, left: 0, top: 0, width: 0, height: 0 },
		scales: {
			x: { time: false, range: shown },
			bytes: { range: (_, _low, high) => [0, Math.max(1, (high ?? 0) * 1.06)] },
			rate: { range: (_, _low, high) => [0, Math.max(1, (high ?? 0) * RATE_SHARE)] },
		},
		axes: axes(width, isNarrow),
		series: lines(),
		bands: [
			{ series: [COLUMNS.high, COLUMNS.low], fill: colour('--band') },
			{ series: [COLUMNS.partHigh, COLUMNS.partLow], fill: colour('--part-band') },
		],
		hooks: { setCursor: [(plot) => onCursor(plot.cursor.idx ?? null)], draw: [onDraw] },
	};
}

/**
 * Draws the peak: a point on the line and a mark below it, like the command.
 *
 * @param {uPlot} plot
 * @param {{ time_ns: number, estimate: number } | null} peak
 */
export function drawPeak(plot, peak) {
	const at = (peak?.time_ns ?? NaN) / 1e9;

	if (peak === null || !(at >= (plot.scales.x.min ?? 0) && at <= (plot.scales.x.max ?? 0)))
		return;
	const { ctx } = plot;
	const scale = window.devicePixelRatio || 1;
	const x = plot.valToPos(at, 'x', true);
	const y = plot.valToPos(peak.estimate, 'bytes', true);
	const base = plot.bbox.top + plot.bbox.height;

	ctx.save();
	ctx.fillStyle = ctx.strokeStyle = colour('--accent');
	ctx.lineWidth = scale;
	ctx.setLineDash([2 * scale, 3 * scale]);
	ctx.beginPath();
	ctx.moveTo(x, y);
	ctx.lineTo(x, base);
	ctx.stroke();
	ctx.beginPath();
	ctx.arc(x, y, 3 * scale, 0, 2 * Math.PI);
	ctx.fill();
	ctx.beginPath();
	ctx.moveTo(x, base - 7 * scale);
	ctx.lineTo(x - 4 * scale, base);
	ctx.lineTo(x + 4 * scale, base);
	ctx.fill();
	ctx.restore();
}
