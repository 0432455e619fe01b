const number = text => parseFloat(text.replace("\u2212", "-"));
const compare = (x, y) => {
  const p = number(x), q = number(y);
  return isNaN(p) || isNaN(q) ? x.localeCompare(y) : p - q;
};
const sort = (rows, column, down) => rows.sort((a, b) => {
  const x = a.cells[column].textContent.trim(), y = b.cells[column].textContent.trim();
  if (x === "" || y === "") return (x === "") - (y === "");
  return down ? compare(y, x) : compare(x, y);
});
for (const head of document.querySelectorAll("thead th")) {
  const act = () => {
    const table = head.closest("table");
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.querySelectorAll("thead th")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const bodies = [...table.tBodies];
    const rows = body => [...body.rows].filter(row => row.cells.length > head.cellIndex);
    if (bodies.some(body => body.querySelector("th"))) {  // blocks under headings stay apart
      for (const body of bodies) body.append(...sort(rows(body), head.cellIndex, down));
    } else {
      bodies[0].append(...sort(bodies.flatMap(rows), head.cellIndex, down));
    }
  };
  head.tabIndex = 0;
  head.title = "sort";
  head.addEventListener("click", act);
  head.addEventListener("keydown", event => { if (event.key === "Enter") act(); });
}
