// SPDX-License-Identifier: Apache-2.0
//
// time_gestures - zooms and shifts an axis of time by the wheel, a touchpad or two fingers.
//
//   listenForZoom(host, { zoomBy, pan, place, canZoomOut, stop })
//
// The wheel zooms at the pointer; sideways, or with Shift, it shifts the axis.  If the whole run is
// shown already, the wheel scrolls the page.

/**
 * @typedef {object} ZoomHost
 * @property {(factor: number, at: number) => void} zoomBy  at: share of the width
 * @property {(by: number) => void} pan                     share of the width
 * @property {() => HTMLElement} place                      the plot, without its axes
 * @property {() => boolean} canZoomOut
 * @property {() => void} stop                              ends another gesture of these pointers
 */

const WHEEL_STEP = 0.0015;
/** A line of the wheel, in pixels, where the browser counts in lines. */
const LINE = 16;

/** @param {HTMLElement} host @param {ZoomHost} of */
export function listenForZoom(host, of) {
	/** @type {Map<number, number>} pointers that touch: their places */
	const fingers = new Map();

	/** @param {number} x in the window */
	const shareOf = (x) => {
		const { left, width } = of.place().getBoundingClientRect();

		return Math.min(1, Math.max(0, (x - left) / Math.max(1, width)));
	};

	/** @param {WheelEvent} event */
	function onWheel(event) {
		const scale = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : 1;
		const [x, y] = event.shiftKey && event.deltaX === 0
			? [event.deltaY, 0]
			: [event.deltaX, event.deltaY];
		const isSideways = Math.abs(x) > Math.abs(y);

		if ((isSideways || y > 0) && !of.canZoomOut())
			return;
		event.preventDefault();
		if (isSideways)
			of.pan((x * scale) / Math.max(1, of.place().clientWidth));
		else
			of.zoomBy(Math.exp(Math.max(-200, Math.min(200, y * scale)) * WHEEL_STEP *
				(event.ctrlKey ? 4 : 1)), shareOf(event.clientX));
	}

	const spread = () => {
		const [a, b] = fingers.values();

		return { width: Math.max(20, Math.abs(a - b)), middle: (a + b) / 2 };
	};

	/** @param {PointerEvent} event */
	function onDown(event) {
		if (event.pointerType !== 'touch')
			return;
		fingers.set(event.pointerId, event.clientX);
		if (fingers.size === 2) {
			of.stop();
			event.stopPropagation();
		}
	}

	/** @param {PointerEvent} event */
	function onMove(event) {
		if (!fingers.has(event.pointerId))
			return;
		if (fingers.size !== 2) {
			fingers.set(event.pointerId, event.clientX);
			return;
		}
		const before = spread();
		fingers.set(event.pointerId, event.clientX);
		const now = spread();

		of.zoomBy(before.width / now.width, shareOf(now.middle));
		of.pan((before.middle - now.middle) / Math.max(1, of.place().clientWidth));
		event.stopPropagation();
	}

	/** @param {PointerEvent} event */
	function onUp(event) {
		fingers.delete(event.pointerId);
	}

	host.addEventListener('wheel', onWheel, { passive: false });
	host.addEventListener('pointerdown', onDown, { capture: true });
	host.addEventListener('pointermove', onMove, { capture: true });
	host.addEventListener('pointerup', onUp, { capture: true });
	host.addEventListener('pointercancel', onUp, { capture: true });
}
