// SPDX-License-Identifier: Apache-2.0
//
// time - memory over time, above all views: the live estimate with its confidence interval, RSS,
// and the rate of allocation; beside it the selected part, or functions on top of each other.  Its
// brush sets the window that the other views follow, and its axis can be zoomed.
//
// A change of the theme builds the chart again with new colours.

import uPlot from 'uplot';

import { timeText } from '../model/figure.js';
import { peakEdgeOf } from '../model/select.js';
import { around, isAllShown, panned, shownOf, shownPatch, zoomed } from '../model/time_zoom.js';
import {
	hasTimes,
	isWhole,
	moved,
	ordered,
	patchOf,
	watchedSince,
	windowOf,
} from '../model/window.js';
import { element, fill } from '../shell/dom.js';
import { makeSwitch } from '../shell/toolbar.js';
import { makeBrush } from './brush.js';
import { canStack, makeDrawing } from './time_drawn.js';
import { listenForZoom } from './time_gestures.js';
import { drawPeak, plotOptions } from './time_plot.js';
import { legend, readout, stackedLegend } from './time_says.js';

/** @typedef {import('../shell/store.js').Store} Store */

/** A zoomed axis has this many bins at least: closer, there is nothing more to see. */
const LEAST_BINS = 4;
const STEP = 0.6;

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
		const plotHost = element('div', { class: 'plot' });
		const areas = element('div', { class: 'areas' });
		const drawing = makeDrawing(store);
		const controls = makeControls(store, zoomBy, zoomToWindow);
		let drawn = drawing.now();
		/** @type {uPlot | null} */
		let plot = null;
		/** @type {ReturnType<typeof makeBrush> | null} */
		let brush = null;

		host.setAttribute('aria-label', 'Memory over time');
		host.setAttribute('role', 'region');
		fill(host, element('div', { class: 'time-head' }, says, controls.box), plotHost, areas);

		/** @param {number} a @param {number} b */
		function choose(a, b) {
			store.set(patchOf(store.profile, ordered(store.profile, a, b)));
		}

		const shown = () => shownOf(store.state, drawn.run);
		const least = () =>
			(LEAST_BINS * (drawn.run.to - drawn.run.from)) /
			Math.max(LEAST_BINS, store.profile.binCount);

		/** @param {import('../model/time_zoom.js').Span} span */
		function show(span) {
			store.set(shownPatch(span, drawn.run));
		}

		/**
		 * @param {number} factor
		 * @param {number | null} at share of the width; null: at the middle
		 */
		function zoomBy(factor, at) {
			const span = shown();

			show(zoomed(span, drawn.run, span.from + (at ?? 0.5) * (span.to - span.from), factor, least()));
		}

		/** @param {number} by share of the width */
		function pan(by) {
			const span = shown();

			show(panned(span, drawn.run, by * (span.to - span.from)));
		}

		/** The axis shows the window, or the whole run if it shows the window already. */
		function zoomToWindow() {
			const { edges } = store.profile;
			const at = windowOf(store.profile, store.state);
			const span = around({ from: edges[at.from], to: edges[at.to] }, drawn.run, least());
			const now = shown();
			const isThere = Math.abs(now.from - span.from) + Math.abs(now.to - span.to) < 10;

			show(isWhole(store.profile, at) || isThere ? drawn.run : span);
		}

		listenForZoom(plotHost, {
			zoomBy,
			pan,
			place: () => plot?.over ?? plotHost,
			canZoomOut: () => !isAllShown(shown(), drawn.run),
			stop: () => brush?.stop(),
		});

		/** @param {number | null} at point of the columns */
		function say(at) {
			const seconds = at === null ? null : (drawn.columns[0][at] ?? null);

			fill(says, seconds === null ? legend(store, drawn) : readout(store, drawn, seconds));
			areas.hidden = drawn.stacked.length === 0;
			fill(areas, stackedLegend(store, drawn, seconds));
		}

		const size = () => ({
			width: Math.max(200, plotHost.clientWidth),
			height:
				window.innerWidth <= 640
					? 120
					: Math.max(110, Math.min(170, Math.round(window.innerHeight * 0.19))),
		});
		const data = () =>
			/** @type {uPlot.AlignedData} */ (/** @type {unknown} */ (drawn.columns));

		function make() {
			const { width, height } = size();
			const of = {
				/** @returns {[number, number]} */
				shown: () => [shown().from / 1e9, shown().to / 1e9],
				onCursor: say,
				/** @param {uPlot} onto */
				onDraw(onto) {
					drawPeak(onto, drawn.peak);
					brush?.place();
				},
			};

			plot?.destroy();
			plot = new uPlot(plotOptions(width, height, of), data(), plotHost);
			brush = makeBrush(plot.over, {
				edgeAt: (x) => edgeNear(store, (plot?.posToVal(x, 'x') ?? 0) * 1e9),
				placeOf: (edge) =>
					plot?.valToPos(
						Math.max(drawn.run.from, store.profile.edges[edge]) / 1e9,
						'x',
					) ?? 0,
				choose,
				move: (end, steps) =>
					store.set(
						patchOf(
							store.profile,
							moved(store.profile, windowOf(store.profile, store.state), end, steps),
						),
					),
				clear: () => store.set({ from: null, to: null }),
			});
			say(null);
		}

		function showWindow() {
			const { profile } = store;
			const at = windowOf(profile, store.state);

			brush?.enable(hasWindow(store));
			brush?.show(at, profile.binCount, {
				from: timeText(profile.edges[at.from]),
				to: timeText(profile.edges[at.to]),
			});
			controls.show(isAllShown(shown(), drawn.run));
		}

		return {
			update(changed) {
				const before = drawn;

				drawn = drawing.now();
				if (plot === null || changed.has('theme'))
					make();
				else if (before !== drawn || changed.has('shownFrom') || changed.has('shownTo'))
					plot.setData(data());
				if (plot !== null && before !== drawn && plot.cursor.idx === null)
					say(null);
				if (changed.has('size'))
					plot?.setSize(size());
				showWindow();
			},
			key(event) {
				switch (event.key) {
				case '+':
				case '=':
					zoomBy(STEP, null);
					return true;
				case '-':
					zoomBy(1 / STEP, null);
					return true;
				case '[':
				case ']':
					pan(event.key === '[' ? -0.25 : 0.25);
					return true;
				case 'z':
					zoomToWindow();
					return true;
				case 't':
					if (canStack(store))
						store.set({ chart: store.state.chart === 'line' ? 'functions' : 'line' });
					return canStack(store);
				default:
					return false;
				}
			},
			destroy() {
				plot?.destroy();
			},
		};
	},
};

/**
 * The controls beside the chart: the window, the zoom of the axis, and what is drawn.
 *
 * @param {Store} store
 * @param {(factor: number, at: number | null) => void} zoomBy
 * @param {() => void} zoomToWindow
 */
function makeControls(store, zoomBy, zoomToWindow) {
	/** @param {string} text @param {string} title @param {() => void} onclick */
	const button = (text, title, onclick) =>
		element('button', { class: 'small', title, onclick }, text);
	const range = element('span', { class: 'range' });
	const peak = button('to the peak', 'window that ends at the peak', () => {
		const { profile, state } = store;

		const edge = peakEdgeOf(profile, state.who);

		if (edge !== null)
			store.set(patchOf(profile, ordered(profile, windowOf(profile, state).from, edge)));
	});
	const whole = button('whole run', 'the whole run (Esc)', () =>
		store.set({ from: null, to: null }));
	const closer = button('zoom to window', 'the axis shows the window (key z)', zoomToWindow);
	const out = button('whole axis', 'the axis shows the whole run (key z)', () =>
		store.set({ shownFrom: null, shownTo: null }));
	const plus = button('+', 'zoom the axis in (key +, or the wheel)', () => zoomBy(STEP, null));
	const minus = button('−', 'zoom the axis out (key -, or the wheel)', () =>
		zoomBy(1 / STEP, null));
	const chart = makeSwitch(
		'Chart',
		[
			['line', 'Line', 'live memory as one line (key t)'],
			['functions', 'Functions', 'live memory by the functions that hold most of it (key t)'],
		],
		(value) => store.set({ chart: value }),
	);

	chart.group.classList.add('small');
	plus.setAttribute('aria-label', 'Zoom in');
	minus.setAttribute('aria-label', 'Zoom out');
	return {
		box: element('div', { class: 'time-window' },
			range, peak, whole, closer, out, plus, minus, chart.group),
		/** @param {boolean} isAllOnAxis */
		show(isAllOnAxis) {
			const { profile } = store;
			const at = windowOf(profile, store.state);
			const isAll = isWhole(profile, at);
			const edge = peakEdgeOf(profile, store.state.who);

			whole.hidden = closer.hidden = isAll;
			out.hidden = isAllOnAxis;
			minus.toggleAttribute('disabled', isAllOnAxis);
			plus.hidden = minus.hidden = chart.group.hidden = !canStack(store);
			chart.show(store.state.chart);
			peak.hidden =
				!hasWindow(store) ||
				edge === null ||
				(at.to === edge && !isAll);
			fill(
				range,
				isAll || !hasWindow(store)
					? invitation(store)
					: `${timeText(profile.edges[at.from])} to ${timeText(profile.edges[at.to])}`,
			);
		},
	};
}

/** @param {Store} store @param {number} ns */
function edgeNear(store, ns) {
	const { edges } = store.profile;
	let best = 0;

	for (let i = 1; i < edges.length; i++)
		if (Math.abs(edges[i] - ns) < Math.abs(edges[best] - ns))
			best = i;
	return best;
}
