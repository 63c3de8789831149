// Elements, scales and numbers. Text is only ever set as text, never parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "style") Object.assign(node.style, value);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

const html = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
const svg = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

function number(value) {
  if (value === null || value === undefined) return "unknown";
  const size = Math.abs(value);
  const digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 || size === 0 ? 2 : 3;
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

const withHalf = (value, half) => number(value) + (half === null || half === undefined ? "" : ` ± ${number(half)}`);

// About `count` round tick positions between two numbers.
function ticks(low, high, count) {
  const raw = (high - low) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw * 0.999);
  const places = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) places.push(k * step || 0);
  return { places, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9) + (/^2.5/.test(step / power) ? 1 : 0)) };
}

function tickText(value, digits) {
  value = value || 0; // no "-0"
  if (Math.abs(value) >= 10000) return `${(value / 1000).toLocaleString("en")}k`;
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

// From a range to pixels.
const linear = (from, to) => (value) => to[0] + ((value - from[0]) / (from[1] - from[0] || 1)) * (to[1] - to[0]);

// The same, but values outside the range are drawn on its edge.
const scale = (from, to) => (value) => linear(from, to)(Math.min(from[1], Math.max(from[0], value)));

// The range of an axis for values and their intervals, with a small margin. Intervals of few seeds can be far wider than
// the values are apart; they may make the range three times as wide and no more, and never exceed the bounds.
function extent(values, halves = [], bounds = null, margin = 0.05) {
  const known = values.map((value, i) => [value, halves[i] || 0]).filter(([value]) => Number.isFinite(value));
  if (!known.length) return [0, 1];
  const [smallest, largest] = [Math.min(...known.map(([v]) => v)), Math.max(...known.map(([v]) => v))];
  let low = Math.min(...known.map(([v, half]) => v - half));
  let high = Math.max(...known.map(([v, half]) => v + half));
  if (largest - smallest > 1e-9) [low, high] = [Math.max(low, 2 * smallest - largest), Math.min(high, 2 * largest - smallest)];
  if (bounds) [low, high] = [Math.max(low, bounds[0] ?? low), Math.min(high, bounds[1] ?? high)];
  if (high - low < 1e-9) [low, high] = [low - 0.5 * (Math.abs(low) || 1), high + 0.5 * (Math.abs(high) || 1)];
  return [low - margin * (high - low), high + margin * (high - low)];
}

function polygon(corners, radius, turn = 0, inner = 1) {
  const count = inner === 1 ? corners : 2 * corners;
  const place = (i) => {
    const angle = turn + (2 * Math.PI * i) / count - Math.PI / 2;
    const r = radius * (i % 2 ? inner : 1);
    return `${(r * Math.cos(angle)).toFixed(2)},${(r * Math.sin(angle)).toFixed(2)}`;
  };
  return `M${Array.from({ length: count }, (_, i) => place(i)).join("L")}Z`;
}

function plus(radius, turn) {
  const t = 0.36 * radius;
  const corners = [[-t, -radius], [t, -radius], [t, -t], [radius, -t], [radius, t], [t, t], [t, radius], [-t, radius], [-t, t], [-radius, t], [-radius, -t], [-t, -t]];
  const turned = corners.map(([x, y]) => [x * Math.cos(turn) - y * Math.sin(turn), x * Math.sin(turn) + y * Math.cos(turn)]);
  return `M${turned.map(([x, y]) => `${x.toFixed(2)},${y.toFixed(2)}`).join("L")}Z`;
}

// The same markers as in the figures.
const MARKERS = {
  "o": (r) => polygon(24, r),
  "s": (r) => polygon(4, 1.15 * r, Math.PI / 4),
  "D": (r) => polygon(4, 1.2 * r),
  "d": (r) => `M0,${-1.35 * r}L${0.8 * r},0L0,${1.35 * r}L${-0.8 * r},0Z`,
  "^": (r) => polygon(3, 1.25 * r),
  "v": (r) => polygon(3, 1.25 * r, Math.PI),
  "<": (r) => polygon(3, 1.25 * r, -Math.PI / 2),
  ">": (r) => polygon(3, 1.25 * r, Math.PI / 2),
  "p": (r) => polygon(5, 1.1 * r),
  "h": (r) => polygon(6, 1.1 * r),
  "H": (r) => polygon(6, 1.1 * r, Math.PI / 6),
  "8": (r) => polygon(8, 1.05 * r, Math.PI / 8),
  "*": (r) => polygon(5, 1.45 * r, 0, 0.42),
  "P": (r) => plus(1.15 * r, 0),
  "X": (r) => plus(1.15 * r, Math.PI / 4),
};

const marker = (kind, radius) => (MARKERS[kind] || MARKERS.o)(radius);
