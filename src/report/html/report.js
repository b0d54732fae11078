'use strict';
(function () {
  var root = document.documentElement, charts = [];
  function $(selector, from) { return Array.prototype.slice.call((from || document).querySelectorAll(selector)); }
  function color(name) { return getComputedStyle(root).getPropertyValue('--' + name).trim(); }
  function short(value) {
    if (value === 0) { return '0'; }
    var units = ['', 'k', 'M', 'G', 'T'], u = 0;
    while (Math.abs(value) >= 1e4 && u < 4) { value /= 1e3; u += 1; }
    return String(parseFloat(value.toPrecision(4))) + units[u];
  }
  var shapes = {other: 'circle', kept: 'circle', recommended: 'circle', current: 'rect', heuristic: 'rectRot', unsafe: 'crossRot', bad: 'circle', good: 'circle', warn: 'circle'};
  var paints = {other: 'other', kept: 'kept', recommended: 'rec', current: 'current', heuristic: 'heuristic', unsafe: 'unsafe', roof: 'ink', front: 'kept', line: 'soft', bad: 'bad', good: 'good', warn: 'warn'};
  var sizes = {other: 3.5, kept: 5, recommended: 8, current: 7, heuristic: 8, unsafe: 5};
  // Intervals of the points under the pointer and of the named ones.
  var whiskers = {
    id: 'whiskers',
    afterDatasetsDraw: function (chart) {
      var active = chart.getActiveElements(), ctx = chart.ctx;
      if (!chart.options.intervals) { return; }
      chart.data.datasets.forEach(function (set, s) {
        if (set.showLine || !chart.isDatasetVisible(s)) { return; }
        set.data.forEach(function (p, i) {
          var hit = active.some(function (a) { return a.datasetIndex === s && a.index === i; });
          if (!hit && !p.label) { return; }
          var x = chart.scales.x, y = chart.scales.y;
          ctx.save();
          ctx.strokeStyle = set.borderTint; ctx.globalAlpha = hit ? 0.9 : 0.45; ctx.lineWidth = 1.5;
          ctx.beginPath();
          if (p.xl !== undefined) { ctx.moveTo(x.getPixelForValue(p.xl), y.getPixelForValue(p.y)); ctx.lineTo(x.getPixelForValue(p.xh), y.getPixelForValue(p.y)); }
          if (p.yl !== undefined) { ctx.moveTo(x.getPixelForValue(p.x), y.getPixelForValue(p.yl)); ctx.lineTo(x.getPixelForValue(p.x), y.getPixelForValue(p.yh)); }
          ctx.stroke();
          ctx.restore();
        });
      });
    }
  };
  var labels = {
    id: 'labels',
    afterDatasetsDraw: function (chart) {   // before the tooltip, which lies above them
      var ctx = chart.ctx, taken = [];
      if (!chart.options.intervals) { return; }
      ctx.save();
      ctx.font = '600 12px ' + Chart.defaults.font.family;
      ctx.fillStyle = color('ink');
      ctx.textBaseline = 'middle';
      chart.data.datasets.forEach(function (set, s) {
        if (set.showLine || !chart.isDatasetVisible(s)) { return; }
        chart.getDatasetMeta(s).data.forEach(function (at) { taken.push({x0: at.x - 6, y0: at.y - 6, x1: at.x + 6, y1: at.y + 6}); });
      });
      chart.data.datasets.forEach(function (set, s) {
        if (!chart.isDatasetVisible(s)) { return; }
        set.data.forEach(function (p, i) {
          if (!p.label) { return; }
          var at = chart.getDatasetMeta(s).data[i], w = ctx.measureText(p.label).width, area = chart.chartArea;
          var tries = [[12, 0], [-12 - w, 0], [-w / 2, -17], [-w / 2, 18], [12, 14], [12, -14]], best = null;
          tries.some(function (t) {
            var b = {x0: at.x + t[0], y0: at.y + t[1] - 8, x1: at.x + t[0] + w, y1: at.y + t[1] + 8};
            if (b.x0 < area.left || b.x1 > chart.width || b.y0 < 0 || b.y1 > area.bottom) { return false; }
            if (taken.some(function (o) { return b.x0 < o.x1 && o.x0 < b.x1 && b.y0 < o.y1 && o.y0 < b.y1; })) { return false; }
            best = b;
            return true;
          });
          if (!best) { best = {x0: at.x + 12, y0: at.y - 8, x1: at.x + 12 + w, y1: at.y + 8}; }
          taken.push(best);
          ctx.fillText(p.label, best.x0, (best.y0 + best.y1) / 2);
        });
      });
      ctx.restore();
    }
  };
  // As the static drawings have them: fewer decades, finer steps.
  function roundTicks(min, max) {
    var decades = Math.log10(max / min), out = [], d, steps = decades > 2.5 ? [1] : decades > 1.2 ? [1, 3] : decades > 0.6 ? [1, 2, 5] : [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8];
    var stride = decades > 6 ? Math.ceil(decades / 6) : 1;
    for (d = Math.floor(Math.log10(min)); d <= Math.ceil(Math.log10(max)); d += 1) {
      if (d % stride === 0) { steps.forEach(function (s) { var v = s * Math.pow(10, d); if (v >= min * 0.999 && v <= max * 1.001) { out.push({value: v}); } }); }
    }
    return out;
  }
  function axis(spec) {
    var out = {type: spec.log ? 'logarithmic' : 'linear', beginAtZero: spec.zero, grace: spec.log ? 0 : '6%', grid: {color: color('grid'), borderColor: color('soft')},
      title: {display: true, text: spec.title, color: color('ink')}, ticks: {color: color('soft'), callback: short, maxTicksLimit: 8}};
    if (spec.log) { out.afterBuildTicks = function (scale) { scale.ticks = roundTicks(scale.min, scale.max); }; }
    if (spec.powers) {
      out.afterBuildTicks = function (scale) {
        scale.ticks = [];
        for (var t = 1; t <= scale.max * 1.001; t *= 2) { if (t >= scale.min * 0.999) { scale.ticks.push({value: t}); } }
      };
    }
    return out;
  }
  function tooltip() {
    return {backgroundColor: color('ink'), titleColor: color('card'), bodyColor: color('card'), displayColors: false, padding: 10, bodySpacing: 3};
  }
  function widen(data, key, low, high) {
    var all = [];
    data.series.forEach(function (s) { s.points.forEach(function (p) { all.push(p[key]); if (p.label) { [low, high].forEach(function (k) { if (p[k] !== undefined) { all.push(p[k]); } }); } }); });
    return {min: Math.min.apply(null, all), max: Math.max.apply(null, all)};
  }
  function xy(canvas, data) {
    var sets = data.series.map(function (s) {
      var paint = color(paints[s.role] || 'soft'), hollow = s.role === 'other' || s.role === 'unsafe';
      return {label: s.name, data: s.points, showLine: s.line, borderTint: paint, borderColor: s.line || hollow ? paint : color('card'), backgroundColor: hollow ? 'transparent' : paint,
        pointStyle: shapes[s.role] || 'circle', pointRadius: s.line ? 0 : sizes[s.role] || 4, pointHoverRadius: s.line ? 0 : (sizes[s.role] || 4) + 2, pointHitRadius: s.line ? 0 : 8, borderWidth: s.line ? 2 : 1.5,
        borderDash: s.role === 'front' ? [4, 4] : undefined, order: s.line ? 9 : s.role === 'other' ? 5 : s.role === 'kept' ? 4 : 1};
    });
    var x = axis(data.x), y = axis(data.y), rx = widen(data, 'x', 'xl', 'xh'), ry = widen(data, 'y', 'yl', 'yh');
    function bound(a, spec, r) {
      if (spec.log) { a.min = r.min / 1.08; a.max = r.max * 1.08; } else { a.suggestedMin = r.min; a.suggestedMax = r.max; }
    }
    bound(x, data.x, rx);
    bound(y, data.y, ry);
    var tip = tooltip();
    tip.callbacks = {
      title: function (items) { var p = items[0].raw; return p.hover ? p.hover[0] : p.label || ''; },
      label: function (item) { return item.raw.hover ? item.raw.hover.slice(1) : ''; }
    };
    tip.filter = function (item, i) { return i < 3; };
    return new Chart(canvas, {type: 'scatter', data: {datasets: sets}, plugins: [whiskers, labels],
      options: {animation: false, responsive: true, maintainAspectRatio: false, intervals: true, interaction: {mode: 'nearest', intersect: true}, scales: {x: x, y: y}, plugins: {legend: {display: false}, tooltip: tip}}});
  }
  function stack(canvas, data) {
    var sets = data.parts.map(function (p) {
      return {label: p.name, data: p.values, texts: p.texts, backgroundColor: color('c' + p.color), borderColor: color('card'), borderWidth: {right: 1.5}, borderSkipped: false, barThickness: 24};
    });
    canvas.parentNode.classList.add('stack');
    canvas.style.height = 52 + 44 * data.rows.length + 'px';
    var tip = tooltip();
    tip.callbacks = {label: function (item) { return item.dataset.texts[item.dataIndex]; }};
    var x = axis({title: data.unit, zero: true}), y = {stacked: true, grid: {display: false}, ticks: {color: color('ink')}};
    x.stacked = true;
    return new Chart(canvas, {type: 'bar', data: {labels: data.rows, datasets: sets},
      options: {animation: false, responsive: true, maintainAspectRatio: false, indexAxis: 'y', scales: {x: x, y: y}, plugins: {legend: {display: false}, tooltip: tip}}});
  }
  function draw() {
    charts.forEach(function (c) { c.destroy(); });
    charts = [];
    if (typeof Chart === 'undefined') { return; }
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    $('figure[data-chart]').forEach(function (figure) {
      var source = document.getElementById(figure.getAttribute('data-chart')), svg = figure.querySelector('svg.plot'), canvas = figure.querySelector('canvas');
      if (!source || !svg) { return; }
      if (!canvas) {
        canvas = document.createElement('canvas');
        canvas.setAttribute('role', 'img');
        canvas.setAttribute('aria-label', svg.getAttribute('aria-label'));
        svg.parentNode.appendChild(canvas);
      }
      try {
        var data = JSON.parse(source.textContent);
        svg.setAttribute('hidden', '');
        charts.push(data.kind === 'stack' ? stack(canvas, data) : xy(canvas, data));
      } catch (error) {
        svg.removeAttribute('hidden');
        canvas.remove();
        console.error(error);
      }
    });
  }
  function theme() {
    $('button.theme').forEach(function (button) {
      button.hidden = false;
      button.addEventListener('click', function () {
        var dark = root.getAttribute('data-theme') ? root.getAttribute('data-theme') === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
        root.setAttribute('data-theme', dark ? 'light' : 'dark');
        draw();
      });
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  }
  // Tables sort by a click on a heading, or the keyboard's Enter on it.
  function sortable(table) {
    $('thead th', table).forEach(function (th, column) {
      if (!th.textContent.trim()) { return; }
      var button = document.createElement('button');
      button.type = 'button';
      while (th.firstChild) { button.appendChild(th.firstChild); }
      th.appendChild(button);
      th.setAttribute('aria-sort', 'none');
      button.addEventListener('click', function () {
        var up = th.getAttribute('aria-sort') !== 'ascending', body = table.tBodies[0];
        $('thead th[aria-sort]', table).forEach(function (other) { other.setAttribute('aria-sort', 'none'); });
        th.setAttribute('aria-sort', up ? 'ascending' : 'descending');
        var rows = $('tr', body).map(function (row, i) {
          var cell = row.cells[column], key = cell ? cell.getAttribute('data-v') || cell.textContent.trim() : '';
          return {row: row, key: key, number: parseFloat(key), at: i};
        });
        rows.sort(function (a, b) {
          var both = !isNaN(a.number) && !isNaN(b.number);
          var order = both ? a.number - b.number : a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
          return (up ? order : -order) || a.at - b.at;
        });
        rows.forEach(function (r) { body.appendChild(r.row); });
      });
    });
  }
  function filter() {
    $('input.find').forEach(function (input) {
      input.hidden = false;
      if (input.parentNode.classList.contains('tools')) { input.parentNode.hidden = false; }
      input.addEventListener('input', function () {
        var word = input.value.toLowerCase();
        $('tbody tr', document.getElementById(input.getAttribute('data-table'))).forEach(function (row) { row.hidden = row.textContent.toLowerCase().indexOf(word) < 0; });
      });
    });
  }
  $('table.sortable').forEach(sortable);
  $('.nojs').forEach(function (e) { e.hidden = true; });
  filter();
  theme();
  draw();
  // Whoever prints wants everything on paper.
  var opened = [];
  addEventListener('beforeprint', function () { opened = $('details:not([open]):not(.big):not(.data)'); opened.forEach(function (d) { d.open = true; }); });
  addEventListener('afterprint', function () { opened.forEach(function (d) { d.open = false; }); });
}());
