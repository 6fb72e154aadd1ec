(function () {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const light = ["#1f6feb", "#c2410c", "#1a7f37", "#a21caf", "#0e7490", "#b91c1c", "#6d28d9", "#7c6f00"];
  const dark = ["#58a6ff", "#ff9e64", "#56d364", "#e879f9", "#22d3ee", "#ff7b72", "#b197fc", "#e3c341"];
  const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3], [14, 6]];
  const night = window.matchMedia("(prefers-color-scheme: dark)");
  const select = document.getElementById("query");
  let plots = [];
  let printing = false;

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colors = () => (night.matches && !printing ? dark : light);

  function time(ms) {
    if (ms == null) return "–";
    if (ms >= 1000) return digits(ms / 1000) + " s";
    return ms >= 1 ? digits(ms) + " ms" : digits(ms * 1000) + " µs";
  }
  function digits(x) {
    return x >= 9.95 ? String(Math.round(x)) : String(Number(x.toPrecision(2)));
  }
  function percentile(x) {
    return x == null ? "–" : "p" + Number((100 * (1 - 1 / x)).toFixed(4));
  }
  function count(x) {
    return x == null ? "–" : Math.round(x).toLocaleString("en-US");
  }
  function bytesText(x) {
    if (x == null) return "–";
    for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) if (x >= size) return digits(x / size) + " " + unit;
    return x + " B";
  }

  function axis(more) {
    return Object.assign({ stroke: css("--soft"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line") },
      filter: (u, splits) => splits }, more);
  }
  function line(i, more) {
    const list = colors();
    return Object.assign({
      label: short(data.candidates[i], 48), stroke: list[i % list.length], width: 2,
      dash: dashes[Math.floor(i / list.length) % dashes.length], value: (u, v) => time(v),
    }, more);
  }
  // logs returns splits of a logarithmic scale, few enough to be read.
  function logs(u, index, min, max) {
    const out = [];
    const far = Math.log10(max / min) > 2.5;
    for (let k = Math.floor(Math.log10(min)); k <= Math.ceil(Math.log10(max)); k++) {
      for (const f of far ? [1] : [1, 2, 5]) {
        const v = f * Math.pow(10, k);
        if (v >= min * 0.999 && v <= max * 1.001) out.push(v);
      }
    }
    return out;
  }
  // room returns bounds of a logarithmic scale around the values.
  function room(u, min, max) {
    if (min == null || !(min > 0)) return [0.1, 10];
    return [min / 1.3, max * 1.3];
  }

  function draw(id, options, columns) {
    const figure = document.getElementById(id);
    const there = columns && columns[0].length > 0 && columns.slice(1).some((c) => c.some((v) => v != null));
    figure.classList.toggle("none", !there);
    if (!there) return;
    const place = figure.querySelector(".plot");
    const width = Math.max(280, place.clientWidth);
    plots.push([new uPlot(Object.assign({ width: width, height: 300, cursor: { drag: { x: true, y: false } } }, options), columns, place), place]);
  }

  const yTime = () => axis({ values: (u, v) => v.map(time), splits: logs, size: 64 });

  function shade(bands) {
    return { drawClear: [function (u) {
      u.ctx.save();
      u.ctx.fillStyle = css("--shade");
      let end = -Infinity; // of the bands before, over which nothing is drawn again
      for (const [begin, to] of bands.sort((a, b) => a[0] - b[0])) {
        const from = Math.max(begin, end);
        if (to <= from) continue;
        end = to;
        const a = u.valToPos(from, "x", true), b = u.valToPos(to, "x", true);
        u.ctx.fillRect(a, u.bbox.top, Math.max(2, b - a), u.bbox.height);
      }
      u.ctx.restore();
    }] };
  }

  function bound(q) {
    return { label: "objective: " + q.upper, stroke: css("--bad"), width: 1, dash: [3, 3], points: { show: false }, value: () => time(q.bound) };
  }
  // withBound adds the objective as a line over all of x.
  function withBound(q, series, columns) {
    if (q.bound == null) return;
    series.push(bound(q));
    columns.push(columns[0].map(() => q.bound));
  }

  function rate(q) {
    const xs = [...new Set(q.steps.flatMap((s) => s.map((p) => p.rate)))].sort((a, b) => a - b);
    const columns = [xs].concat(q.steps.map((s) => {
      const at = new Map(s.map((p) => [p.rate, p.time]));
      return xs.map((x) => (at.has(x) ? at.get(x) : null));
    }));
    const some = columns.slice(1).some((c) => c.some((v) => v != null));
    const series = [{ label: "rate", value: (u, v) => (v == null ? "–" : count(v) + "/s") }].concat(data.candidates.map((_, i) => line(i, { spanGaps: true, points: { show: true, size: 7 } })));
    if (some) withBound(q, series, columns);
    draw("rate", { scales: { x: { time: false, distr: 3, range: room }, y: { distr: 3, range: room } }, series: series,
      axes: [axis({ values: (u, v) => v.map((x) => (x == null ? "" : count(x))), splits: logs, label: "operations a second", labelSize: 22, stroke: css("--soft") }), yTime()] }, columns);
  }

  function spectrum(q) {
    let last = 0;
    q.spectra.forEach((s) => s.forEach((v, i) => { if (v != null) last = Math.max(last, i); }));
    const xs = data.spectra.slice(0, last + 1);
    const columns = [xs].concat(q.spectra.map((s) => s.slice(0, last + 1)));
    const series = [{ label: "percentile", value: (u, v) => percentile(v) }].concat(data.candidates.map((_, i) => line(i, { points: { show: false } })));
    if (last > 0) withBound(q, series, columns);
    const marks = [1, 2, 4, 10, 20, 100, 200, 1000, 10000, 100000];
    draw("spectrum", { scales: { x: { time: false, distr: 3, range: (u, a, b) => [1, Math.max(b, 2)] }, y: { distr: 3, range: room } }, series: series,
      axes: [axis({ splits: (u, i, a, b) => marks.filter((x) => x >= a && x <= b * 1.001), values: (u, v) => v.map(percentile) }), yTime()] }, columns);
  }

  function rounds(q) {
    const xs = Array.from({ length: data.rounds }, (_, i) => i + 1);
    const columns = [xs].concat(q.rounds);
    const series = [{ label: "round", value: (u, v) => (v == null ? "–" : String(v)) }].concat(data.candidates.map((_, i) => line(i, { points: { show: true, size: 7 } })));
    withBound(q, series, columns);
    draw("rounds", { scales: { x: { time: false, range: [0.5, data.rounds + 0.5] }, y: { distr: 3, range: room } }, series: series,
      axes: [axis({ splits: () => (xs.length > 25 ? xs.filter((x) => x % 5 === 0) : xs), values: (u, v) => v.map(String), label: q.upper + " of " + q.name.slice(0, 60) + ", by round", labelSize: 22, stroke: css("--soft") }), yTime()],
      hooks: shade([...new Set(data.stalls.map((s) => s.round))].map((r) => [r - 0.15, r + 0.15])) }, columns);
  }

  function timeline() {
    const xs = [];
    const columns = data.candidates.map(() => []);
    for (const m of data.time) {
      if (m.first && xs.length > 0) { // a gap between two rounds
        xs.push(m.at - 1e-6);
        columns.forEach((c) => c.push(null));
      }
      xs.push(m.at);
      columns.forEach((c, i) => c.push(i === m.candidate ? m.p99 : null));
    }
    const series = [{ label: "time", value: (u, v) => (v == null ? "–" : v.toFixed(1) + " s") }].concat(data.candidates.map((_, i) => line(i, { points: { show: true, size: 4 } })));
    draw("time", { scales: { x: { time: false }, y: { distr: 3, range: room } }, series: series,
      axes: [axis({ values: (u, v) => v.map((x) => x + " s") }), yTime()],
      hooks: shade(data.stalls.filter((s) => s.to > s.from).map((s) => [s.from, s.to])) }, [xs].concat(columns));
  }

  function bytes() {
    const xs = data.bytes.map((_, i) => i);
    const bars = uPlot.paths.bars({ size: [0.5, 90] });
    const list = colors();
    const name = (i) => (data.bytes[i] ? data.candidates[data.bytes[i].candidate] : "");
    // The sum is drawn first, and the records over it, so that what is seen of the sum are the indexes.
    draw("bytes", { height: xs.length > 5 ? 400 : 300, padding: [null, xs.length > 5 ? 130 : null, null, null], scales: { x: { time: false, range: [-0.6, xs.length - 0.4] }, y: { range: (u, a, b) => [0, (b || 1) * 1.1] } },
      series: [{ label: "candidate", value: (u, v) => (v == null ? "–" : name(v)) },
        { label: "indexes", stroke: list[1], fill: list[1], width: 0, paths: bars, points: { show: false }, value: (u, v, s, i) => (i == null ? "–" : bytesText(data.bytes[i].indexes)) },
        { label: "records", stroke: list[0], fill: list[0], width: 0, paths: bars, points: { show: false }, value: (u, v) => bytesText(v) }],
      axes: [axis({ splits: () => xs, values: (u, v) => v.map((i) => label(name(i), xs.length)), grid: { show: false }, size: xs.length > 5 ? 170 : 50, rotate: xs.length > 5 ? -45 : 0 }),
        axis({ values: (u, v) => v.map(bytesText), size: 70 })] },
    [xs, data.bytes.map((b) => b.records + b.indexes), data.bytes.map((b) => b.records)]);
  }
  function label(name, of) {
    const most = of > 5 ? 32 : Math.floor(100 / Math.max(of, 1));
    return short(name, most);
  }
  // short returns a name in so many characters; names differ at their ends, too.
  function short(name, most) {
    const half = Math.floor((most - 1) / 2);
    return name.length > most ? name.slice(0, half) + "…" + name.slice(-half) : name;
  }

  function all() {
    plots.forEach(([p]) => p.destroy());
    plots = [];
    const q = data.queries[Number(select.value)];
    if (!q) return;
    rate(q);
    spectrum(q);
    rounds(q);
    timeline();
    bytes();
  }

  select.value = String(data.query);
  select.addEventListener("change", all);
  night.addEventListener("change", all);
  let later;
  window.addEventListener("resize", () => { clearTimeout(later); later = setTimeout(all, 150); });
  for (const [name, on] of [["beforeprint", true], ["afterprint", false]]) {
    window.addEventListener(name, () => {
      printing = on;
      document.documentElement.classList.toggle("print", on);
      document.querySelectorAll("main details").forEach((d) => { d.open = on; });
      all();
    });
  }
  all();
})();
