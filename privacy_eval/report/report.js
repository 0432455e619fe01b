"use strict";
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const make = (tag, parent, properties) => parent.appendChild(
  Object.assign(document.createElement(tag), properties));

// Links into closed sections open these; so does "open all". Printing opens the rest: what is
// closed in sections, and notes, but neither sections nor long lists of warnings.
const reveal = element => {
  for (let e = element; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
  for (const inside of element.children) if (inside.tagName === "DETAILS") inside.open = true;
  element.scrollIntoView();
};
const follow = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1).split("?")[0]));
  if (target) reveal(target);
};
addEventListener("hashchange", () => { for (const one of all("select")) keep(one); follow(); });
// The address keeps what is selected: #section?t2-gender=female.
const kept = new URLSearchParams(location.hash.split("?")[1] || "");
const keep = select => {
  if (select.value) kept.set(select.name, select.value); else kept.delete(select.name);
  const place = location.hash.split("?")[0] || "#";
  history.replaceState(null, "", `${place}${kept.size ? `?${kept}` : ""}`);
};
for (const link of all('a[href^="#"]')) link.addEventListener("click", () => setTimeout(follow));
let closed = [];
addEventListener("beforeprint", () => {
  closed = all("details:not([open], .part, .items)");
  for (const details of closed) details.open = true;
  for (const image of all("img")) image.loading = "eager";
});
addEventListener("afterprint", () => { for (const details of closed) details.open = false; });

// A table with more columns than a page of paper has room for is printed in parts below each other,
// each with the columns that name its rows.
const WIDEST = 18;
let whole = [];
addEventListener("beforeprint", () => {
  whole = all(".scroll > table").filter(table => table.tHead && !table.hidden
    && table.tHead.rows[0].cells.length > WIDEST && !table.closest(".part:not([open])"));
  for (const table of whole) {
    const titles = [...table.tHead.rows[0].cells];
    const named = Math.max(1, titles.findIndex(title => !title.classList.contains("l")));
    const parts = Math.ceil((titles.length - named) / (WIDEST - named));
    const size = Math.ceil((titles.length - named) / parts);
    for (let from = named; from < titles.length; from += size) {
      const part = table.cloneNode(true);
      for (const element of [part, ...all("[id]", part)]) element.removeAttribute("id");
      part.classList.add("printed");
      for (const row of part.rows) {
        [...row.cells].forEach((cell, n) => {
          if (cell.colSpan > 1) cell.colSpan = named + size;
          else if (n >= named && (n < from || n >= from + size)) cell.remove();
        });
      }
      table.before(part);
    }
    table.hidden = true;
  }
});
addEventListener("afterprint", () => {
  for (const part of all(".printed")) part.remove();
  for (const table of whole) table.hidden = false;
});
// The contents say which section is read; the search opens what is closed.
const reading = new IntersectionObserver(seen => {
  for (const {target, isIntersecting} of seen) {
    for (const link of all(`nav a[href="#${target.id}"]`)) {
      if (isIntersecting) link.ariaCurrent = "true"; else link.removeAttribute("aria-current");
    }
  }
}, {rootMargin: "-20% 0px -70% 0px"});
for (const section of all("main > section")) reading.observe(section);
const menu = document.querySelector("nav details");
const search = make("input", menu, {type: "search", placeholder: "find in the report"});
search.ariaLabel = "Find in the report";
search.addEventListener("keydown", event => {
  if (event.key !== "Enter" || !search.value) return;
  const wanted = search.value.toLowerCase();
  for (const one of all("main details")) {
    if (one.textContent.toLowerCase().includes(wanted)) one.open = true;
  }
  search.blur();
  window.find(search.value, false, event.shiftKey, true);
});
if (matchMedia("(max-width: 60rem)").matches) menu.open = false;
const opener = make("button", menu, {textContent: "open all", type: "button"});
opener.addEventListener("click", () => {
  const open = opener.textContent === "open all";
  for (const details of all("main details")) details.open = open;
  opener.textContent = open ? "close all" : "open all";
});

// Tables: sort by a column, averages last; show rows with certain values; copy.
const number = text => parseFloat(text.replace("\u2212", "-").replace(/^< /, ""));
const compare = (x, y) => {
  const p = number(x), q = number(y);
  return isNaN(p) || isNaN(q) ? x.localeCompare(y, "en", {numeric: true}) : p - q;
};
const text = cell => cell.textContent.trim();
const sort = (rows, column, down) => rows.sort((a, b) => {
  const mean = a.classList.contains("mean") - b.classList.contains("mean");
  const x = text(a.cells[column]), y = text(b.cells[column]);
  if (mean) return mean;
  if (x === "" || y === "") return (x === "") - (y === "");
  return down ? compare(y, x) : compare(x, y);
});
const sorted = head => {
  const table = head.closest("table"), down = head.getAttribute("aria-sort") === "ascending";
  for (const other of all("thead th", table)) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const rows = body => [...body.rows].filter(row => row.cells.length > head.cellIndex);
  const bodies = [...table.tBodies];
  if (table.querySelector("tbody th:only-child")) {  // blocks under headings stay apart
    for (const body of bodies) body.append(...sort(rows(body), head.cellIndex, down));
  } else {
    bodies[0].append(...sort(bodies.flatMap(rows), head.cellIndex, down));
  }
};
// Cells are escaped as those of the written tables: latex.py, table_formats.py, csv_text.py.
const glyphs = {"\n": " ", "\r": " ", "\t": " ", "\\": "\\textbackslash{}",
  "^": "\\textasciicircum{}", "~": "\\textasciitilde{}", "<": "\\textless{}",
  ">": "\\textgreater{}", "|": "\\textbar{}", '"': "\\char34{}", "'": "\\textquotesingle{}",
  "`": "\\textasciigrave{}", "\u2013": "\\textendash{}", "\u00a7": "\\S{}", "\u2020": "\\dag{}", "\u2021": "\\ddag{}"};
const code = c => `[U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`;
const glyph = c => glyphs[c] || (/[{}$&#%_]/.test(c) ? "\\" + c
  : /[ -~\u00c0-\u00ff]/.test(c) ? c : code(c));
const value = "[-+]?(?:\\d[\\d.]*|inf)";
const numeric = new RegExp(`^(?:${value}|(?:${value} )?\\[(?:n/a|${value}, ${value})\\])$`);
const latex = cell => numeric.test(cell)
  ? cell.replaceAll("-", () => "$-$").replaceAll("inf", () => "$\\infty$")
  : /^<< [0-9.]+$/.test(cell) ? cell.replace("<<", () => "$\\ll$")
  : [...cell].map(glyph).join("").replace(/([-,])(?=\1)/g, "$1{}");
const row = cells => (/^[[*]/.test(cells[0]) ? "{}" : "") + cells.join(" & ") + " \\\\";
const markdown = cell => cell.replace(/[\\`*_{}\[\]#|<>~]/g, "\\$&");
const start = "[-+=@\uff0b\uff0d\uff1d\uff20\ufe62\ufe63\ufe66\ufe6b\u207a\u207c\u208a\u208c]";
const formula = new RegExp(
  `^(?=[\\t\\r]|[ "']*${start})|(?<=[;\\t\\r\\n])(?=[ "']*${start})`, "g");
const csv = cell => {
  const safe = /^(?:[-+0-9 .,eH[\]]|inf|nan)*$/.test(cell) ? cell : cell.replace(formula, "'");
  return /[,;"\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029]|^\s|\s$/.test(safe)
    ? `"${safe.replaceAll('"', '""')}"` : safe;
};
const written = {
  LaTeX: (head, rows, align, titles) => [`\\begin{tabular}{${align.join("")}}`, "\\toprule",
    ...[head.map((title, i) => titles[i] || latex(title)), ...rows.map(r => r.map(latex))].map(
      (cells, i) => row(cells) + (i ? "" : "\n\\midrule")),
    "\\bottomrule", "\\end{tabular}"],
  CSV: (head, rows) => [head, ...rows].map(row => row.map(csv).join(",")),
  Markdown: (head, rows, align) => [head, align.map(a => a === "l" ? ":--" : "--:"), ...rows].map(
    (row, i) => `| ${(i === 1 ? row : row.map(markdown)).join(" | ")} |`),
};
const contents = (table, kind) => {
  const heads = all("thead th", table), blocks = table.querySelector("tbody th:only-child") ? ["Block"] : [];
  const shown = row => !row.hidden && row.cells.length === heads.length;
  const rows = [...table.tBodies].flatMap(body => [...body.rows].filter(shown).map(row => [
    ...blocks.map(() => text(body.rows[0])), ...[...row.cells].map(text)]));
  // The heading of a single block is said once, above.
  const alone = kind !== "CSV" && blocks.length && new Set(rows.map(row => row[0])).size === 1;
  const above = !alone ? []
    : [kind === "LaTeX" ? `% ${latex(rows[0][0])}` : `${markdown(rows[0][0])}\n`];
  if (alone) blocks.pop(), rows.forEach(row => row.shift());
  const align = heads.map(head => head.classList.contains("l") ? "l" : "r");
  const titles = heads.map(head => head.dataset.tex);
  return [...above, ...written[kind]([...blocks, ...heads.map(text)], rows,
    [...blocks.map(() => "l"), ...align], [...blocks.map(() => ""), ...titles])].join("\n") + "\n";
};
const copy = content => {
  const area = make("textarea", document.body, {value: content});
  area.select();
  document.execCommand("copy");
  area.remove();
};
// A matrix compares what its rows name with what its columns name.
const isMatrix = (heads, rows) => {
  const titles = new Set(heads.slice(1).map(text));
  return rows.some(row => row.cells.length > 1 && titles.has(text(row.cells[0])));
};
const choose = (tools, title, values, act) => {
  const name = `t${all("div.tools").indexOf(tools)}-${title.toLowerCase()}`;
  const select = make("select", tools, {ariaLabel: title, name});
  make("option", select, {value: "", textContent: `${title}: all`});
  for (const value of values) make("option", select, {value, textContent: value});
  select.addEventListener("change", () => { keep(select); act(); });
  if (kept.has(name)) setTimeout(() => { select.value = kept.get(name); act(); });
  return select;
};
for (const table of all("table")) {
  const tools = document.createElement("div"), selects = new Map();
  tools.className = "tools";
  const rows = all("tbody tr", table), heads = all("thead th", table);
  const picture = table.className === "picture", matrix = picture || isMatrix(heads, rows);
  if (picture) table.after(tools); else table.parentElement.before(tools);
  const act = () => {
    for (const body of table.tBodies) {
      for (const row of body.rows) {
        row.hidden = [...selects].some(([select, column]) => select.value && select.value !==
          (column < 0 ? text(body.rows[0]) : row.cells.length > 1 && text(row.cells[column])));
        if (row.cells.length === 1) row.hidden = false;
      }
      body.hidden = ![...body.rows].some(row => row.cells.length > 1 && !row.hidden);
    }
  };
  heads.forEach((head, column) => {
    head.tabIndex = 0;
    head.title = "sort";
    head.addEventListener("click", () => sorted(head));
    head.addEventListener("keydown", event => {
      if (event.key === "Enter" || event.key === " ") event.preventDefault(), sorted(head);
    });
    if (matrix || !text(head) || !head.classList.contains("l") || rows.length < 5) return;
    const found = new Set(rows.filter(r => r.cells.length > column && r.cells.length > 1)
      .map(row => text(row.cells[column])).filter(value => value));
    if (found.size > 1 && found.size <= Math.min(24, rows.length / 2)) {
      selects.set(choose(tools, text(head), found, act), column);
    }
  });
  const blocks = new Set(all("tbody th:only-child", table).map(text));
  if (blocks.size > 1) selects.set(choose(tools, "Values", blocks, act), -1);
  for (const kind of Object.keys(written)) {
    const button = make("button", tools, {textContent: `copy ${kind}`, type: "button"});
    button.addEventListener("click", () => {
      copy(contents(table, kind));
      button.textContent = "copied";
      setTimeout(() => { button.textContent = `copy ${kind}`; }, 1500);
    });
  }
}

// Figures: show those of a kind, an attack model.
for (const tools of all("div.select")) {
  const figures = all("figure[data-f]", tools.parentElement);
  const facets = new Map(figures.map(figure => [figure, figure.dataset.f.split("|")]));
  const act = () => {
    for (const [figure, values] of facets) {
      figure.hidden = selects.some((s, i) => s.value && values[i] && s.value !== values[i]);
    }
  };
  tools.classList.add("tools");
  const selects = tools.dataset.f.split("|").map((title, i) => choose(
    tools, title, new Set([...facets.values()].map(v => v[i]).filter(v => v)), act));
}

// Curves: the values under the pointer.
const normal = z => {  // cumulative, by the formula 7.1.26 of Abramowitz and Stegun
  const t = 1 / (1 + 0.3275911 * Math.abs(z) / Math.SQRT2);
  const e = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027
    + t * 1.061405429)))) * Math.exp(-z * z / 2);
  return z < 0 ? e / 2 : 1 - e / 2;
};
const scales = {linear: x => x, log10: x => 10 ** x, probit: x => 100 * normal(x)};
const points = path => {
  const [x, y, ...steps] = path.getAttribute("d").match(/-?\d+/g).map(Number);
  const found = [[x, y]];
  for (let i = 0; i < steps.length; i += 2) {
    const [px, py] = found.at(-1);
    found.push([px + steps[i], py + steps[i + 1]]);
  }
  return found;
};
const at = make("div", document.body, {className: "at", hidden: true});
const known = new WeakMap();
const values = (axes, x) => {
  const [x0, x1, y0, y1] = axes.dataset.b.split(" ").map(Number);
  const [xs, ys] = axes.dataset.s.split(" ").map(name => scales[name]);
  const {width, height} = axes.viewBox.baseVal;
  const lines = [xs(x0 + (x1 - x0) * x / width).toPrecision(3)];
  for (const path of all("path[data-n]", axes)) {
    if (!known.has(path)) known.set(path, points(path));
    const curve = known.get(path);
    const i = curve.findIndex(([px], i) => i && Math.min(px, curve[i - 1][0]) <= x
      && x <= Math.max(px, curve[i - 1][0]));
    if (i < 1) continue;
    const [[ax, ay], [bx, by]] = [curve[i - 1], curve[i]];
    const y = ax === bx ? ay : ay + (by - ay) * (x - ax) / (bx - ax);
    lines.push(`${path.dataset.n}: ${ys(y1 - (y1 - y0) * y / height).toPrecision(3)}`);
  }
  return lines;
};
document.addEventListener("pointermove", event => {
  const axes = event.target.closest && event.target.closest("svg[data-b]");
  at.hidden = !axes;
  if (!axes) return;
  const box = axes.querySelector("rect").getBoundingClientRect();
  at.textContent = values(axes, (event.clientX - box.left) / box.width
    * axes.viewBox.baseVal.width).join("\n");
  at.style.left = `${Math.min(event.clientX + 14, innerWidth - at.offsetWidth - 4)}px`;
  at.style.top = `${event.clientY + 14}px`;
});
follow();
