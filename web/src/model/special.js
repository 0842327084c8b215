// SPDX-License-Identifier: Apache-2.0
//
// special - the gamma law's tails and quantiles, for confidence intervals in the page.
//
//   const law = gammaLaw(3);
//   gammaTail(law, 7.5, true).tail            P(S <= 2) for a Poisson variable S of mean 7.5
//   gammaInverse(law, 0.025, true)            the x with 2.5 % above it
//
// This is a port of src/stats/estimate/special*.c, which names the sources.  JavaScript lacks
// lgamma and erfc: this module uses Stirling's series after a shift for the first, and Q(1/2, z^2)
// for the second.  The relative error is 1e-9 or better in the range that the page needs
// (test/unit/interval.test.js).  Pure; no DOM.

/**
 * @typedef {{ shape: number, logNorm: number }} GammaLaw
 */

const EPSILON = Number.EPSILON;
const TINY = 2.2250738585072014e-308;
const TWO_PI = 6.28318530717958647693;
const HALF_LOG_TWO_PI = 0.91893853320467274178;
const MOST_STEPS = 1e7;

/**
 * The correction of Stirling's formula by its series, z >= 16.
 * @param {number} z
 */
function stirlingSeries(z) {
	const s = 1 / (z * z);

	return (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s / 1188)))) / z;
}

/**
 * log Gamma(1 + a), a >= 0.
 * @param {number} a
 */
function logGamma1p(a) {
	let product = 1;
	let z = a;

	if (a < 1e-3) {
		return a * (-0.57721566490153286061 + a * (1.64493406684822643647 / 2 -
			a * (1.20205690315959428540 / 3 - a * (1.08232323371113819152 / 4 -
				a * 1.03692775514336992633 / 5))));
	}
	while (z < 16) {
		z += 1;
		product *= z;
	}
	return (z + 0.5) * Math.log(z) - z + HALF_LOG_TWO_PI + stirlingSeries(z) - Math.log(product);
}

/**
 * @param {number} z
 */
function stirlingError(z) {
	if (z >= 16)
		return stirlingSeries(z);
	return logGamma1p(z) - (z + 0.5) * Math.log(z) + z - HALF_LOG_TWO_PI;
}

/**
 * log(1 + d) - d for d in [-0.4, 0.7] without cancellation.
 * @param {number} d
 */
function log1pMinus(d) {
	const r = d / (2 + d);
	const square = r * r;
	let sum = 0;

	for (let k = 27; k >= 3; k -= 2)
		sum = sum * square + 1 / k;
	return 2 * r * square * sum - r * d;
}

/**
 * k log(k/mean) + mean - k, k > 0.
 * @param {number} k
 * @param {number} mean
 */
function deviance(k, mean) {
	const ratio = mean / k;

	if (ratio < 0.6 || ratio > 1.7)
		return mean - k - k * Math.log(ratio);
	return -k * log1pMinus((mean - k) / k);
}

/**
 * A gamma law, prepared for many tails.
 * @param {number} shape
 */
export function gammaLaw(shape) {
	if (shape < 1)
		return { shape, logNorm: logGamma1p(shape) };
	return { shape, logNorm: stirlingError(shape) + 0.5 * Math.log(TWO_PI * shape) };
}

/**
 * @param {GammaLaw} law
 * @param {number} x
 */
function lawProbability(law, x) {
	const a = law.shape;

	return Math.exp((a < 1 ? a * Math.log(x) - x : -deviance(a, x)) - law.logNorm);
}

/**
 * @param {number} a
 * @param {number} x
 */
function gammaSeries(a, x) {
	let sum = 1;
	let term = 1;

	for (let n = 1; n < MOST_STEPS && term > sum * (EPSILON / 8); n++) {
		term *= x / (a + n);
		sum += term;
	}
	return sum;
}

/**
 * @param {number} a
 * @param {number} x
 */
function gammaFraction(a, x) {
	let b = x + 1 - a;
	let c = 1 / TINY;
	let d = 1 / b;
	let value = d;

	for (let n = 1; n < MOST_STEPS; n++) {
		const numerator = -n * (n - a);

		b += 2;
		d = numerator * d + b;
		d = Math.abs(d) < TINY ? TINY : d;
		c = b + numerator / c;
		c = Math.abs(c) < TINY ? TINY : c;
		d = 1 / d;
		value *= c * d;
		if (Math.abs(c * d - 1) < EPSILON)
			break;
	}
	return value;
}

/**
 * @param {number} a
 * @param {number} x
 */
function gammaUpperSmall(a, x) {
	const logPower = a * Math.log(x) - logGamma1p(a);
	let sum = 0;
	let term = 1;

	for (let n = 1; n < 40; n++) {
		term *= -x / n;
		sum += term / (a + n);
	}
	return -Math.expm1(logPower) - Math.exp(logPower) * a * sum;
}

// Temme's expansion for large shapes near their mean: coefficients as in
// src/stats/estimate/special_large.c.
const LARGE = [
	[-3.33333333333333315e-01, 8.33333333333333287e-02, -1.48148148148148154e-02,
		1.15740740740740734e-03, 3.52733686067019424e-04, -1.78755144032921798e-04,
		3.91926317852243767e-05, -2.18544851067999198e-06, -1.85406221071515997e-06,
		8.29671134095308652e-07, -1.76659527368260782e-07, 6.70785354340149841e-09,
		1.02618097842403086e-08, -4.38203601845335294e-09, 9.14769958223679021e-10,
		-2.55141939949462482e-11, -5.83077213255042561e-11, 2.43619480206674150e-11],
	[-1.85185185185185192e-03, -3.47222222222222203e-03, 2.64550264550264536e-03,
		-9.90226337448559630e-04, 2.05761316872427979e-04, -4.01877572016460897e-07,
		-1.80985503344899767e-05, 7.64916091608110982e-06, -1.61209008945634465e-06,
		4.64712780280743402e-09, 1.37863344691572092e-07, -5.75254560351770471e-08,
		1.19516285997781477e-08, -1.75432417197476467e-11, -1.00915437106004126e-09,
		4.16279299184258280e-10],
	[4.13359788359788337e-03, -2.68132716049382727e-03, 7.71604938271604895e-04,
		2.00938786008230470e-06, -1.07366532263651599e-04, 5.29234488291201250e-05,
		-1.27606351886187284e-05, 3.42357873409613781e-08, 1.37219573090629342e-06,
		-6.29899213838005482e-07, 1.42806142060642425e-07, -2.04770984219908661e-10,
		-1.40925299108675203e-08, 6.22897408492202184e-09],
	[6.49434156378600773e-04, 2.29472093621399168e-04, -4.69189494395255702e-04,
		2.67720632062838854e-04, -7.56180167188397662e-05, -2.39650511386729680e-07,
		1.10826541153473025e-05, -5.67495282699159655e-06, 1.42309007324358833e-06,
		-2.78610802915281434e-11, -1.69584040919302782e-07],
	[-8.61888290916711726e-04, 7.84039221720066615e-04, -2.99072480303190177e-04,
		-1.46384525788434181e-06, 6.64149821546512189e-05, -3.96836504717943471e-05,
		1.13757269706784187e-05, 2.50749722623753294e-10],
	[-3.36798553366358131e-04, -6.97281375836585711e-05, 2.77275324495939183e-04,
		-1.99325705161888469e-04, 6.79778047793720800e-05],
];

/**
 * @param {number} a
 * @param {number} x
 */
function isLarge(a, x) {
	return a >= 40 && x >= 0.6 * a && x <= 1.7 * a;
}

/**
 * @param {number} a
 * @param {number} x
 * @param {number} probability
 * @param {boolean} upper
 */
function gammaLarge(a, x, probability, upper) {
	const eta = Math.sqrt(2 * deviance(a, x) / a) * (x > a ? 1 : -1);
	const s = 1 / a;
	let sum = 0;

	for (let k = LARGE.length - 1; k >= 0; k--) {
		let part = 0;

		for (let i = LARGE[k].length - 1; i >= 0; i--)
			part = part * eta + LARGE[k][i];
		sum = sum * s + part;
	}
	const stirling = 1 + s * (1 / 12 + s * (1 / 288 - s * (139 / 51840 +
		s * (571 / 2488320 - s * 163879 / 209018880))));
	const part = probability * stirling * sum;

	return upper ? normalUpper(eta * Math.sqrt(a)) + part : normalUpper(-eta * Math.sqrt(a)) - part;
}

/**
 * { tail: Q(a, x) or P(a, x), probability: x^a e^-x / Gamma(a+1) }, a > 0.
 * @param {GammaLaw} law
 * @param {number} x
 * @param {boolean} upper
 */
export function gammaTail(law, x, upper) {
	const a = law.shape;

	if (!(x > 0) || !Number.isFinite(x))
		return { tail: (x > 0) !== upper ? 1 : 0, probability: 0 };
	const probability = lawProbability(law, x);
	let tail;

	if (isLarge(a, x))
		return { tail: gammaLarge(a, x, probability, upper), probability };
	if (a < 1 && x <= 1.5 && upper)
		return { tail: gammaUpperSmall(a, x), probability };
	if (x < a + 1) {
		tail = probability * gammaSeries(a, x);
		return { tail: upper ? 1 - tail : tail, probability };
	}
	tail = a * probability * gammaFraction(a, x);
	return { tail: upper ? tail : 1 - tail, probability };
}

/**
 * P(a, x).
 * @param {number} a
 * @param {number} x
 */
export function gammaLower(a, x) {
	return gammaTail(gammaLaw(a), x, false).tail;
}

const HALF = gammaLaw(0.5);

/**
 * P(X > z) of the standard normal law.
 * @param {number} z
 * @returns {number}
 */
export function normalUpper(z) {
	const tail = 0.5 * gammaTail(HALF, 0.5 * z * z, true).tail;

	return z >= 0 ? tail : 1 - tail;
}

/**
 * @param {number} p
 */
function normalGuess(p) {
	const t = Math.sqrt(-2 * Math.log(p));

	return t - (2.515517 + t * (0.802853 + t * 0.010328)) /
		(1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

/**
 * The z with P(Z > z) = p for a standard normal Z, 0 < p < 1.
 * @param {number} p
 * @returns {number}
 */
export function normalUpperInverse(p) {
	if (p > 0.5)
		return -normalUpperInverse(1 - p);
	let z = normalGuess(p);

	for (let i = 0; i < 2; i++) {
		const density = Math.exp(-0.5 * z * z) * 0.39894228040143267794;
		const step = (normalUpper(z) - p) / density;

		z += step / (1 - 0.5 * z * step);
	}
	return z;
}

/**
 * @param {number} a
 * @param {number} p
 * @param {boolean} upper
 */
function gammaGuess(a, p, upper) {
	const spread = 1 / (9 * a);
	const z = normalGuess(p);
	const root = 1 - spread + (upper ? z : -z) * Math.sqrt(spread);

	if (upper || root > 0.3)
		return Math.log(a) + 3 * Math.log(Math.max(root, 0.01));
	return (Math.log(p) + logGamma1p(a)) / a;
}

/**
 * @param {number} a
 * @param {number} p
 * @param {boolean} upper
 */
function gammaInverseHuge(a, p, upper) {
	const z = normalUpperInverse(p) * (upper ? 1 : -1);
	const root = Math.sqrt(a);

	return a + (root * z + (z * z - 1) / 3 + (z * z - 7) * z / (36 * root));
}

/**
 * The log x whose tail is p <= 1/2, by Halley's method inside a bracket.
 * @param {GammaLaw} law
 * @param {number} p
 * @param {boolean} upper
 * @param {number} start
 */
function solveGamma(law, p, upper, start) {
	const enough = 1e-4 / Math.max(1, Math.sqrt(law.shape));
	let low = -745;
	let high = 709;
	let t = start;

	for (let i = 0; i < 200; i++) {
		const x = Math.exp(t);
		const { tail, probability } = gammaTail(law, x, upper);

		if ((tail < p) === !upper)
			low = t;
		else
			high = t;
		const slope = law.shape * probability / tail * (upper ? -1 : 1);
		let step = tail > 0 && slope !== 0 ? Math.log(p / tail) / slope : NaN;
		const halley = 1 + 0.5 * step * (law.shape - x - slope);

		if (halley > 0.5 && halley < 2)
			step /= halley;
		if (!(t + step >= low && t + step <= high))
			step = 0.5 * (low + high) - t;
		t += step;
		if (Math.abs(step) <= enough || high - low <= EPSILON)
			break;
	}
	return t;
}

/**
 * The x whose tail is p, 0 < p < 1; shape >= 0.
 * @param {GammaLaw} law
 * @param {number} p
 * @param {boolean} upper
 * @returns {number}
 */
export function gammaInverse(law, p, upper) {
	const a = law.shape;

	if (a === 0)
		return 0;
	if (p > 0.5)
		return gammaInverse(law, 1 - p, !upper);
	if (a > 1e12)
		return gammaInverseHuge(a, p, upper);
	return Math.exp(solveGamma(law, p, upper, gammaGuess(a, p, upper)));
}
