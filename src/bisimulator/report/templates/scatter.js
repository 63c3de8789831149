// Return against fairness: one point per method with its intervals; the paper's points are hollow. The frontier is a line.

class ScatterChart extends Chart {
  get tallest() {
    return 420;
  }

  get points() {
    const paper = this.spec.showPaper ? this.spec.paper.filter((point) => !hidden.has(point.method)) : [];
    return [...this.named, ...paper].filter((point) => point.x !== null && point.y !== null);
  }

  get named() {
    return [...this.shown, ...this.spec.references];
  }

  ranges() {
    const points = this.points.length ? this.points : this.spec.series;
    const range = (place, half, bounds, others = []) =>
      extent([...points.map((point) => point[place]), ...others], points.map((point) => (point.hollow ? 0 : point[half])), bounds);
    // the frontier counts only above the points: it may fall off steeply beside them
    const above = this.spec.frontier ? points.map((point) => between(...this.spec.frontier, point.x)) : [];
    return { x: range("x", "xHalf", this.spec.xBounds), y: range("y", "yHalf", null, above) };
  }

  fromX(pixel) {
    return linear([this.inner.left, this.inner.right], this.ranges().x)(pixel);
  }

  // Clipped to the frame; flat from where the demand stops binding.
  frontier() {
    const { left, right, top, bottom } = this.inner;
    const [width, height, { x, y }] = [right - left, bottom - top, this.ranges()];
    const [toX, toY] = [linear(x, [0, width]), linear(y, [height, 0])];
    const [levels, values] = this.spec.frontier;
    const line = levels.map((level, i) => [level, values[i]]).filter(([, value]) => value !== null);
    line.push([Math.max(x[1], line.at(-1)[0]), line.at(-1)[1]]);
    const d = `M${line.map(([level, value]) => `${toX(level).toFixed(1)},${toY(value).toFixed(1)}`).join("L")}`;
    this.canvas.append(svg("svg", { x: left, y: top, width, height }, svg("path", { class: "frontier", d })));
  }

  marks() {
    if (this.spec.frontier) this.frontier();
    for (const point of this.points) {
      const [x, y] = [this.x(point.x), this.y(point.y)];
      const bar = (x1, x2, y1, y2) => svg("line", { class: "bar", x1, x2, y1, y2, style: { stroke: point.colour } });
      if (!point.hollow) {
        if (point.xHalf) this.canvas.append(bar(this.x(point.x - point.xHalf), this.x(point.x + point.xHalf), y, y));
        if (point.yHalf) this.canvas.append(bar(x, x, this.y(point.y - point.yHalf), this.y(point.y + point.yHalf)));
      }
      this.canvas.append(svg("path", {
        class: point.hollow ? "dot hollow" : "dot", "data-method": point.method, d: marker(point.marker, 6),
        transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, style: { stroke: point.colour, fill: point.hollow ? "none" : point.colour },
      }));
    }
    if (this.width >= 560) this.labels();
  }

  // Labels that touch no point, bar or other label; methods on the same point share a block. If there is no room, the
  // legend has the name.
  labels() {
    const points = this.named.filter((one) => one.x !== null && one.y !== null);
    const taken = this.points.map((point) => around(this.x(point.x), this.y(point.y), 7, 7));
    for (const point of points) {
      const [x, y] = [this.x(point.x), this.y(point.y)];
      taken.push(around(x, y, Math.abs(this.x(point.x + (point.xHalf || 0)) - x), 1));
      taken.push(around(x, y, 1, Math.abs(this.y(point.y + (point.yHalf || 0)) - y)));
    }
    const onLine = [];
    if (this.spec.frontier) {
      for (let x = this.inner.left; x <= this.inner.right; x += 8) onLine.push(around(x, this.y(between(...this.spec.frontier, this.fromX(x))), 4, 4));
    }
    const free = (others) => (box) =>
      box[0] >= this.inner.left && box[2] <= this.inner.right + 12 && box[1] >= 0 && box[3] <= this.inner.bottom &&
      others.every((other) => box[0] > other[2] || box[2] < other[0] || box[1] > other[3] || box[3] < other[1]);
    for (const block of blocks(points, (point) => [this.x(point.x), this.y(point.y)])) {
      const [x, y] = [this.x(block[0].x), this.y(block[0].y)];
      const texts = block.map((point) => svg("text", { class: "name", style: { fill: point.colour } }, point.label));
      this.canvas.append(...texts);
      const width = Math.max(...texts.map((text) => text.getComputedTextLength()));
      const find = (slope, others) => places(x, y, width, LINE * block.length, slope).find(free(others));
      const clear = [...taken, ...onLine];
      const box = find(1, clear) || (onLine.length && find(20, clear)) || find(1, taken); // over the line rather than nowhere
      if (!box) {
        for (const text of texts) text.remove();
        continue;
      }
      taken.push(box);
      texts.forEach((text, i) => fill(text, { x: box[0], y: box[1] + i * LINE + 10.5 }, []));
      const [edge, middle] = [box[0] > x ? box[0] - 2 : box[2] + 2, (box[1] + box[3]) / 2];
      if (Math.hypot(edge - x, middle - y) > 16 + (box[3] - box[1] - LINE) / 2) {
        texts[0].before(svg("line", { class: "leader", x1: x, y1: y, x2: edge, y2: middle, style: { stroke: block[0].colour } }));
      }
    }
  }

  stops() {
    return this.points.length;
  }

  point(event) {
    const frame = this.canvas.getBoundingClientRect();
    const distance = this.points.map((point) =>
      Math.hypot(this.x(point.x) - (event.clientX - frame.left), this.y(point.y) - (event.clientY - frame.top)),
    );
    const nearest = distance.indexOf(Math.min(...distance));
    this.hover(distance[nearest] < 40 ? nearest : null);
  }

  hover(at) {
    this.at = at;
    this.cursor?.replaceChildren();
    const point = at === null ? null : this.points[at];
    if (!point || !this.cursor) {
      this.tip.hidden = true;
      return;
    }
    // methods that decide alike coincide: the tooltip names all of them
    const same = this.points.filter((other) => Math.hypot(this.x(other.x) - this.x(point.x), this.y(other.y) - this.y(point.y)) < 2);
    const [x, y] = [this.x(point.x), this.y(point.y)];
    this.cursor.append(svg("circle", { class: "ring", cx: x, cy: y, r: 11 }));
    const value = (name, number, half) => html("div", { class: "tip-line" }, html("span", { class: "tip-name" }, name), html("b", {}, withHalf(number, half)));
    this.show(x, [
      ...same.map((one) => html("div", { class: "tip-head" }, key(one), one.hollow ? `${one.label}, in the paper` : one.label)),
      value(this.spec.xTitle, point.x, point.xHalf),
      value(this.spec.yTitle, point.y, point.yHalf),
    ]);
  }
}

// The value at x of a line through points, whose ends are continued.
function between(xs, ys, x) {
  const i = xs.findIndex((other) => other >= x);
  if (i <= 0) return i ? ys.at(-1) : ys[0];
  return ys[i - 1] + ((ys[i] - ys[i - 1]) * (x - xs[i - 1])) / (xs[i] - xs[i - 1]);
}

const around = (x, y, across, up) => [x - across, y - up, x + across, y + up];

const LINE = 13; // pixels

// Boxes next to a point, the nearest first, on the right before on the left; the further up or down, the further aside.
function places(x, y, width, height, slope) {
  const boxes = [];
  for (let ring = 0; ring < 26; ring++) {
    for (const up of ring ? [-ring, ring] : [0]) {
      const top = y + 7 * up - height / 2;
      const gap = 11 + slope * ring;
      boxes.push([x + gap, top, x + gap + width, top + height], [x - gap - width, top, x - gap, top + height]);
    }
  }
  return boxes;
}

// Groups of points that coincide.
function blocks(points, place) {
  const groups = [];
  for (const point of points) {
    const [x, y] = place(point);
    const block = groups.find(([first]) => Math.hypot(place(first)[0] - x, place(first)[1] - y) < 3);
    if (block) block.push(point);
    else groups.push([point]);
  }
  return groups;
}
