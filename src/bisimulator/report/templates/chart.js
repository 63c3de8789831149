// Axes, lines and points. A chart is redrawn when its width changes or a method is hidden or shown.

const hidden = new Set(); // keys of methods that are not drawn
const charts = [];

class Chart {
  constructor(box, spec) {
    Object.assign(this, { box, spec, at: null, width: 0 });
    this.tip = html("div", { class: "tip", role: "status", hidden: "" });
    this.canvas = svg("svg", { class: "canvas", tabindex: "0", role: "img", "aria-label": spec.label });
    box.append(this.canvas, this.tip);
    if (spec.series.some((series) => !series.method)) {
      box.after(html("div", { class: "own-legend" }, ...spec.series.map((series) => html("span", {}, key(series), series.label))));
    }
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerdown", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => this.leave());
    this.canvas.addEventListener("blur", () => this.leave());
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    charts.push(this);
    new ResizeObserver(() => box.clientWidth !== this.width && this.draw()).observe(box);
  }

  get tallest() {
    return 260;
  }

  get shown() {
    return this.spec.series.filter((series) => !hidden.has(series.method));
  }

  draw() {
    this.width = this.box.clientWidth;
    if (!this.width) return;
    const height = Math.round(Math.min(this.tallest, Math.max(190, 0.62 * this.width)));
    const inner = { left: 52, right: this.width - 20, top: this.spec.yTitle ? 26 : 10, bottom: height - 38 };
    fill(this.canvas, { width: this.width, height, viewBox: `0 0 ${this.width} ${height}` }, []);
    this.canvas.replaceChildren();
    const { x, y } = this.ranges();
    Object.assign(this, { inner, x: scale(x, [inner.left, inner.right]), y: scale(y, [inner.bottom, inner.top]) });
    this.frame(x, y);
    this.marks();
    this.cursor = svg("g", { class: "cursor" });
    this.canvas.append(this.cursor);
    this.hover(this.at);
  }

  frame(xRange, yRange) {
    const { left, right, top, bottom } = this.inner;
    const across = this.spec.xTicks || ticks(...xRange, Math.max(3, Math.floor((right - left) / 70)));
    const up = ticks(...yRange, Math.max(4, Math.floor((bottom - top) / 34)));
    for (const value of up.places) {
      const place = this.y(value);
      this.canvas.append(
        svg("line", { class: "grid", x1: left, x2: right, y1: place, y2: place }),
        svg("text", { class: "tick", x: left - 6, y: place + 3.5, "text-anchor": "end" }, tickText(value, up.digits)),
      );
    }
    for (const value of across.places) {
      const place = this.x(value);
      this.canvas.append(
        svg("line", { class: "grid", x1: place, x2: place, y1: top, y2: bottom }),
        svg("text", { class: "tick", x: place, y: bottom + 15, "text-anchor": "middle" }, tickText(value, across.digits)),
      );
    }
    if (this.spec.yTitle) this.canvas.append(svg("text", { class: "axis", x: 4, y: 12 }, this.spec.yTitle));
    this.canvas.append(svg("text", { class: "axis", x: (left + right) / 2, y: bottom + 32, "text-anchor": "middle" }, this.spec.xTitle));
  }

  // Next to the pointer if there is room; otherwise below or above the chart, so that it hides no line.
  show(place, lines) {
    this.tip.replaceChildren(...lines);
    this.tip.hidden = false;
    const [wide, high] = [this.tip.offsetWidth, this.tip.offsetHeight];
    const aside = place + 14 + wide > this.width ? place - 14 - wide : place + 14;
    this.tip.style.left = `${Math.max(0, Math.min(this.width - wide, aside))}px`;
    const frame = this.box.getBoundingClientRect();
    const below = frame.bottom + high < innerHeight || frame.top < high;
    this.tip.style.top = this.width >= 3 * wide ? `${this.inner.top}px` : below ? `${frame.height}px` : `${-high}px`;
  }

  leave() {
    this.hover(null);
  }

  key(event) {
    const stops = this.stops();
    const here = this.at === null ? -1 : this.at;
    const moves = { ArrowRight: here + 1, ArrowLeft: this.at === null ? stops - 1 : here - 1, Home: 0, End: stops - 1 };
    if (event.key === "Escape") this.leave();
    else if (event.key in moves && stops) {
      event.preventDefault();
      this.hover(Math.max(0, Math.min(stops - 1, moves[event.key])));
    }
  }
}

const tipLine = (series, text) =>
  html("div", { class: "tip-line" }, key(series), html("span", { class: "tip-name" }, series.label), html("b", {}, text));

// A small sample of a method's line and marker.
function key(series) {
  const colour = { stroke: series.colour, fill: series.colour };
  return svg(
    "svg",
    { class: "key", width: 24, height: 12, "aria-hidden": "true" },
    svg("line", { x1: 1, x2: 23, y1: 6, y2: 6, "stroke-width": 2, "stroke-dasharray": series.dash, style: { stroke: series.colour } }),
    series.marker ? svg("path", { d: marker(series.marker, 3.6), transform: "translate(12 6)", style: colour }) : null,
  );
}

// Lines with a shaded interval. A series without x is a horizontal line.
class LineChart extends Chart {
  constructor(box, spec) {
    super(box, spec);
    this.grid = [...new Set(spec.series.flatMap((series) => series.x || []))].sort((a, b) => a - b);
  }

  ranges() {
    const series = this.shown.length ? this.shown : this.spec.series;
    const values = series.flatMap((one) => one.y);
    const halves = series.flatMap((one) => one.y.map((_, i) => one.half?.[i] || 0));
    if (this.spec.fromZero) values.push(0);
    return { x: this.grid.length > 1 ? [this.grid[0], this.grid.at(-1)] : extent(this.grid), y: extent(values, halves, this.spec.yBounds) };
  }

  marks() {
    const lines = this.shown.map((series) => this.path(series));
    this.canvas.append(...lines.map(([band]) => band).filter(Boolean), ...lines.map(([, line]) => line));
  }

  path(series) {
    const xs = series.x || [this.grid[0], this.grid.at(-1)];
    const twice = (values) => (series.x || !values ? values : [values[0], values[0]]); // a horizontal line has two ends
    const [ys, halves] = [twice(series.y), twice(series.half)];
    const known = xs.map((_, i) => i).filter((i) => ys[i] !== null);
    const at = (i, shift = 0) => `${this.x(xs[i]).toFixed(1)},${this.y(ys[i] + shift).toFixed(1)}`;
    const line = svg("path", {
      class: "line", "data-method": series.method, d: known.length ? `M${known.map((i) => at(i)).join("L")}` : null,
      "stroke-dasharray": series.dash, style: { stroke: series.colour },
    });
    if (!halves || !known.length) return [null, line];
    const upper = known.map((i) => at(i, halves[i] || 0));
    const lower = known.map((i) => at(i, -(halves[i] || 0))).reverse();
    return [svg("path", { class: "band", d: `M${[...upper, ...lower].join("L")}Z`, style: { fill: series.colour } }), line];
  }

  aside() {
    return 0;
  }

  stops() {
    return this.grid.length;
  }

  point(event) {
    const place = event.clientX - this.canvas.getBoundingClientRect().left;
    const distance = this.grid.map((x) => Math.abs(this.x(x) - place));
    this.hover(distance.indexOf(Math.min(...distance)));
  }

  hover(at) {
    this.at = at;
    this.cursor?.replaceChildren();
    if (at === null || !this.cursor) {
      this.tip.hidden = true;
      return;
    }
    const x = this.grid[at];
    const values = this.shown
      .map((series) => ({ series, i: series.x ? series.x.indexOf(x) : 0 }))
      .filter(({ series, i }) => i >= 0 && series.y[i] !== null)
      .sort((a, b) => b.series.y[b.i] - a.series.y[a.i]);
    const place = this.x(x);
    this.cursor.append(
      svg("line", { x1: place, x2: place, y1: this.inner.top, y2: this.inner.bottom }),
      ...values.map(({ series, i }) =>
        svg("circle", { cx: this.x(x + this.aside(series)), cy: this.y(series.y[i]), r: 3.5, style: { fill: series.colour } }),
      ),
    );
    const head = html("div", { class: "tip-head" }, `${this.spec.xTitle}: ${x.toLocaleString("en")}`);
    this.show(place, [head, ...values.map(({ series, i }) => tipLine(series, withHalf(series.y[i], series.half?.[i])))]);
  }
}

// One point per series and category, side by side, with intervals; no line leads from one category to another.
class DotChart extends LineChart {
  ranges() {
    return { ...super.ranges(), x: [this.grid[0] - 0.5, this.grid.at(-1) + 0.5] };
  }

  aside(series) {
    const number = this.shown.length;
    return Math.min(0.8 / number, 0.12) * (this.shown.indexOf(series) - (number - 1) / 2);
  }

  marks() {
    for (const series of this.shown) {
      series.x.filter((_, i) => series.y[i] !== null).forEach((x) => this.mark(series, x, series.x.indexOf(x)));
    }
  }

  mark(series, x, i) {
    const [across, up, half] = [this.x(x + this.aside(series)), this.y(series.y[i]), series.half?.[i] || 0];
    const bar = { x1: across, x2: across, y1: this.y(series.y[i] - half), y2: this.y(series.y[i] + half) };
    this.canvas.append(
      svg("line", { class: "bar", ...bar, style: { stroke: series.colour } }),
      svg("path", {
        class: "dot", "data-method": series.method, d: marker(series.marker, 4),
        transform: `translate(${across.toFixed(1)} ${up.toFixed(1)})`, style: { fill: series.colour },
      }),
    );
  }
}
