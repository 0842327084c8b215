// SPDX-License-Identifier: Apache-2.0
//
// time - memory over time, above all views: the live estimate with its confidence interval, RSS,
// and the rate of allocation.  Its brush sets the window that the other views follow.
//
// uPlot draws the chart, without its own selection and legend: our brush also works by touch and
// keyboard, and the line above the chart has the values under the pointer.  The rate has its own
// scale on the right and uses the lowest third.  A change of the theme builds the chart again with
// new colours.

import uPlot from 'uplot';

import { figureText, numberText, timeText } from '../model/figure.js';
import { BYTES } from '../model/tally.js';
import {
	hasTimes,
	isWhole,
	moved,
	ordered,
	patchOf,
	seriesOf,
	watchedSince,
	windowOf,
} from '../model/window.js';
import { colour, element, fill } from '../shell/dom.js';
import { makeBrush } from './brush.js';

/** @typedef {import('../shell/store.js').Store} Store */
/** @typedef {ReturnType<typeof seriesOf>} Series */

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

/** @param {Series} series */
const dataOf = (series) =>
	/** @type {uPlot.AlignedData} */ (
		/** @type {unknown} */ ([
			series.seconds,
			series.high,
			series.low,
			series.live,
			series.rss,
			series.rate,
		])
	);

/** The hex colour with an opacity. @param {string} name @param {string} alpha two hex digits */
const thin = (name, alpha) => colour(name).slice(0, 7) + alpha;

/**
 * @param {number} width
 * @param {number} height
 * @param {(at: number | null) => void} onCursor
 * @param {(plot: uPlot) => void} onDraw
 * @returns {uPlot.Options}
 */
function optionsOf(width, height, onCursor, onDraw) {
	const isNarrow = width < 560;
	const axis = {
		stroke: () => colour('--soft'),
		font: '11px system-ui, "DejaVu Sans", sans-serif',
		grid: { stroke: thin('--line', '99'), width: 1 },
		ticks: { show: false },
	};
	/** @type {uPlot.Series} */
	const line = { points: { show: false }, spanGaps: true };

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
			x: {
				time: false,
				range: (_, low, high) => [
					low ?? 0,
					(high ?? 0) > (low ?? 0) ? high : (low ?? 0) + 1,
				],
			},
			bytes: { range: (_, low, high) => [0, Math.max(1, (high ?? 0) * 1.06)] },
			rate: { range: (_, _low, high) => [0, Math.max(1, (high ?? 0) * RATE_SHARE)] },
		},
		axes: [
			{
				...axis, size: 22, gap: 3, space: 70, incrs: TIME_STEPS,
				values: (_, splits) => splits.map((value) => timeText(Math.round(value * 1e9))),
			},
			{
				...axis,
				scale: 'bytes',
				size: isNarrow ? 52 : 64,
				gap: 4,
				space: 28,
				incrs: BINARY_STEPS,
				values: (_, splits) => splits.map((value) => numberText(value, BYTES)),
			},
			{
				...axis,
				scale: 'rate',
				side: 1,
				show: !isNarrow,
				size: 72,
				gap: 4,
				space: 20,
				incrs: BINARY_STEPS,
				grid: { show: false },
				values: (plot, splits) => {
					const most = (plot.scales.rate.max ?? 0) / RATE_SHARE;

					return splits.map((value) =>
						value > 0 && value <= most * 1.02 ? `${numberText(value, BYTES)}/s` : '',
					);
				},
			},
		],
		series: [
			{},
			{ ...line, scale: 'bytes', stroke: 'transparent' },
			{ ...line, scale: 'bytes', stroke: 'transparent' },
			{ ...line, scale: 'bytes', stroke: colour('--accent'), width: 1.75 },
			{ ...line, scale: 'bytes', stroke: colour('--rss'), width: 1.25, dash: [5, 3] },
			{
				...line,
				scale: 'rate',
				stroke: thin('--soft', '99'),
				fill: thin('--soft', '33'),
				width: 1,
				paths: /** @type {any} */ (uPlot.paths.stepped)({ align: -1 }),
			},
		],
		bands: [{ series: [1, 2], fill: colour('--band') }],
		hooks: { setCursor: [(plot) => onCursor(plot.cursor.idx ?? null)], draw: [onDraw] },
	};
}

/** @param {string} kind @param {string} text @param {string} says */
const key = (kind, text, says) =>
	element('span', { class: 'key', title: says }, element('i', { class: `sign ${kind}` }), text);

/** @param {Store} store @param {Series} series */
function legend(store, series) {
	return [
		key(
			'live',
			'live',
			'estimate of what was allocated and not yet freed: the largest since the point before',
		),
		key(
			'band',
			`${Math.round((store.profile.meta.confidence ?? 0.95) * 100)} % band`,
			'the truth is in it with that confidence, at each moment',
		),
		series.rss.some((value) => value !== null) &&
			key('rss', 'RSS', 'resident memory as the kernel told it'),
		peakOf(store) !== null && key('peak', 'peak', 'the largest live estimate'),
		key('rate', 'allocated per second', 'estimate; scale on the right'),
	];
}

/** The values under the pointer, as text. @param {Series} series @param {number} at */
function readout(series, at) {
	const live = series.live[at];
	const rss = series.rss[at];
	const rate = series.rate[at];
	const band = {
		estimate: live ?? 0,
		low: series.low[at] ?? 0,
		high: series.high[at] ?? Infinity,
	};
	const then = series.then[at];
	const text = figureText(band, BYTES);
	// The line shows the largest value of a bin.  The value at the end of the bin may be
	// smaller.
	const isLess = then !== null && numberText(then, BYTES) !== numberText(live ?? 0, BYTES);

	return [
		element('b', {}, timeText(series.seconds[at] * 1e9)),
		live !== null &&
			key(
				'live',
				isLess ? `up to ${text}, then ${numberText(then, BYTES)}` : text,
				'the largest live estimate since the point before, and the one at this moment',
			),
		rss !== null &&
			key(
				'rss',
				`${series.rssIsUpperBound[at] ? 'at most ' : ''}${rssText(rss, series.rssAt[at])}`,
				`the largest reading since the point before, or the last one${series.rssIsUpperBound[at] ? '; pages that processes share count in each of them' : ''}`,
			),
		rate !== null &&
			key(
				'rate',
				`${figureText(
					{
						estimate: rate,
						low: Math.max(0, series.rateLow[at] ?? 0),
						high: series.rateHigh[at] ?? Infinity,
					},
					BYTES,
				)} a second`,
				'',
			),
	];
}

/** A reading of RSS, with its own time. @param {number} bytes @param {number | null} at ns */
function rssText(bytes, at) {
	return at === null
		? numberText(bytes, BYTES)
		: `${numberText(bytes, BYTES)} read at ${timeText(at)}`;
}

/**
 * The time at which the chart marks the peak; null if the profile has no peak.
 *
 * @param {Store} store
 */
function peakOf({ profile }) {
	const peak = profile.data.series?.peak;

	return typeof peak?.time_ns === 'number' && typeof peak?.estimate === 'number' ? peak : null;
}

/**
 * Draws the peak: a point on the line and a mark below it, like the command.
 *
 * @param {uPlot} plot
 * @param {Store} store
 */
function drawPeak(plot, store) {
	const peak = peakOf(store);

	if (peak === null)
		return;
	const { ctx } = plot;
	const scale = window.devicePixelRatio || 1;
	const x = plot.valToPos(peak.time_ns / 1e9, 'x', true);
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

/**
 * True if there is nothing to draw yet, as at the start of a live recording.
 *
 * @param {Store} store
 */
function hasSeries(store) {
	const { meta, data } = store.profile;

	return (
		meta.is_unprofiled !== true &&
		(meta.is_live === true || (data.series?.time_ns ?? []).length > 1)
	);
}

/** True if the user can choose a window. @param {Store} store */
function hasWindow({ profile }) {
	return hasTimes(profile) && profile.binCount > 1;
}

/** The hint beside the chart while no window is chosen. @param {Store} store */
function invitation(store) {
	const since = watchedSince(store.profile);

	if (!hasTimes(store.profile))
		return 'no window can be chosen: what was freed has no times here';
	if (!hasWindow(store))
		return '';
	return since === null
		? 'drag to choose a window'
		: `drag to choose a window after ${timeText(since)}, when this began to look`;
}

/** @type {import('../shell/view.js').View} */
export const timeView = {
	id: 'time',
	title: 'Time',
	exists: hasSeries,
	mount(host, store) {
		const says = element('div', { class: 'says' });
		const range = element('span', { class: 'range' });
		const peak = element(
			'button',
			{ class: 'small', title: 'window that ends at the peak', onclick: toPeak },
			'to the peak',
		);
		const whole = element(
			'button',
			{ class: 'small', title: 'the whole run (Esc)', onclick: clear },
			'whole run',
		);
		const plotHost = element('div', { class: 'plot' });
		/** @type {uPlot | null} */
		let plot = null;
		let series = seriesOf(store.profile);
		/** @type {ReturnType<typeof makeBrush> | null} */
		let brush = null;

		host.setAttribute('aria-label', 'Memory over time');
		host.setAttribute('role', 'region');
		fill(
			host,
			element(
				'div',
				{ class: 'time-head' },
				says,
				element('div', { class: 'time-window' }, range, peak, whole),
			),
			plotHost,
		);

		function clear() {
			store.set({ from: null, to: null });
		}

		function toPeak() {
			const { peakEdge } = store.profile;

			if (peakEdge !== null)
				choose(windowOf(store.profile, store.state).from, peakEdge);
		}

		/** @param {number} a @param {number} b */
		function choose(a, b) {
			store.set(patchOf(store.profile, ordered(store.profile, a, b)));
		}

		/** @param {number | null} at */
		function say(at) {
			fill(
				says,
				at === null || at >= series.seconds.length
					? legend(store, series)
					: readout(series, at),
			);
		}

		const size = () => ({
			width: Math.max(200, plotHost.clientWidth),
			height:
				window.innerWidth <= 640
					? 120
					: Math.max(110, Math.min(170, Math.round(window.innerHeight * 0.19))),
		});

		function make() {
			const { width, height } = size();

			/** @param {uPlot} drawn */
			const onDraw = (drawn) => {
				drawPeak(drawn, store);
				brush?.place();
			};

			plot?.destroy();
			plot = new uPlot(optionsOf(width, height, say, onDraw), dataOf(series), plotHost);
			brush = makeBrush(plot.over, {
				edgeAt: (x) => edgeNear(store, (plot?.posToVal(x, 'x') ?? 0) * 1e9),
				placeOf: (edge) => {
					const x = plot?.valToPos(store.profile.edges[edge] / 1e9, 'x') ?? 0;

					return Math.max(0, Math.min(x, plot?.over.clientWidth ?? x));
				},
				choose,
				move: (end, steps) =>
					store.set(
						patchOf(
							store.profile,
							moved(store.profile, windowOf(store.profile, store.state), end, steps),
						),
					),
				clear,
			});
			say(null);
		}

		function showWindow() {
			const { profile } = store;
			const at = windowOf(profile, store.state);
			const texts = {
				from: timeText(profile.edges[at.from]),
				to: timeText(profile.edges[at.to]),
			};

			const isAll = isWhole(profile, at);

			brush?.enable(hasWindow(store));
			brush?.show(at, profile.binCount, texts);
			whole.hidden = isAll;
			peak.hidden =
				!hasWindow(store) ||
				profile.peakEdge === null ||
				(at.to === profile.peakEdge && !isAll);
			fill(
				range,
				isAll || !hasWindow(store) ? invitation(store) : `${texts.from} to ${texts.to}`,
			);
		}

		return {
			update(changed) {
				if (changed.has('profile')) {
					series = seriesOf(store.profile);
					plot?.setData(dataOf(series));
					if (plot !== null && plot.cursor.idx === null)
						say(null);
				}
				if (plot === null || changed.has('theme'))
					make();
				else if (changed.has('size'))
					plot.setSize(size());
				showWindow();
			},
			destroy() {
				plot?.destroy();
			},
		};
	},
};

/** @param {Store} store @param {number} ns */
function edgeNear(store, ns) {
	const { edges } = store.profile;
	let best = 0;

	for (let i = 1; i < edges.length; i++)
		if (Math.abs(edges[i] - ns) < Math.abs(edges[best] - ns))
			best = i;
	return best;
}
