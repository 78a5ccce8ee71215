// Sorts, filters and copies the tables of a report. Without this script the report is the same, but at rest.
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const add = (parent, tag, fields = {}) => parent.appendChild(Object.assign(document.createElement(tag), fields));
  const text = (cell) => (cell.dataset.word ?? cell.textContent).replace(/\s+/g, " ").trim();
  const label = (group) => text(group.rows[0].cells[0]);
  const lines = (group) => [...group.rows].filter((row) => !row.classList.contains("story"));

  // A number by its first digits, "<0.0001" just below 0.0001, ">99" just above 99, a verdict by its place
  // among the counts.
  function key(cell, ranks) {
    const words = text(cell);
    const beyond = { "<": -1e-9, ">": 1e-9 }[words[0]] ?? 0;
    if (cell.matches(".number")) return parseFloat(words.replace(/[<>,]/g, "")) + beyond;
    return ranks.includes(words) ? ranks.indexOf(words) : words;
  }

  function compare(one, other, way) {
    if (typeof one === "string") return way * one.localeCompare(String(other), "en", { numeric: true });
    return Number.isNaN(one) - Number.isNaN(other) || way * (one - other) || 0;
  }

  function sort(table, head) {
    const way = { ascending: "descending", descending: "none" }[head.ariaSort] ?? "ascending";
    all("th[aria-sort]", table).forEach((other) => other.removeAttribute("aria-sort"));
    if (way !== "none") head.setAttribute("aria-sort", way);
    const ranks = all(".counts li", table.closest("section")).map((item) => item.dataset.word);
    const groups = [...table.tBodies].map((group) => ({ group, key: key(group.rows[0].cells[head.cellIndex], ranks) }));
    if (way === "none") groups.sort((one, other) => one.group.dataset.place - other.group.dataset.place);
    else groups.sort((one, other) => compare(one.key, other.key, way === "ascending" ? 1 : -1));
    table.append(...groups.map(({ group }) => group));
  }

  function filter() {
    const wanted = search.value.toLowerCase().split(/\s+/);
    for (const section of all("section")) {
      const pressed = all("[aria-pressed=true]", section).map((button) => button.parentElement.dataset.word);
      for (const group of all(".shapes > tbody", section)) {
        const words = all("[data-word]", group).map(text);
        const named = wanted.every((word) => label(group).toLowerCase().includes(word));
        group.hidden = !named || (pressed.length > 0 && !pressed.some((word) => words.includes(word)));
      }
    }
    const shapes = (groups) => new Set(groups.map(label)).size;
    const groups = all(".shapes > tbody").filter((group) => label(group) !== "overall");
    tools.hidden = groups.length === 0;
    tools.lastElementChild.value = `${shapes(groups.filter((group) => !group.hidden))} of ${shapes(groups)} shapes`;
  }

  function markdown(table) {
    const shown = [...table.tHead.rows[0].cells].map((head) => !head.matches(".drawn"));
    const row = (cells) => `| ${cells.filter((_, place) => shown[place]).join(" | ")} |`;
    const heads = [...table.tHead.rows[0].cells];
    const rows = [...table.tBodies].filter((group) => !group.hidden).flatMap((group) =>
      lines(group).map((line, number) => {
        const cells = [...line.cells].map((cell) => text(cell).replace(/[|\\]/g, "\\$&"));
        return row(number ? [text(group.rows[0].cells[0]), ...cells] : cells);
      }),
    );
    const rule = row(heads.map((head) => (head.matches(".number") ? "--:" : "---")));
    return [row(heads.map(text)), rule, ...rows, ""].join("\n");
  }

  async function copy(table, button) {
    try {
      await navigator.clipboard.writeText(markdown(table));
    } catch {
      const area = add(document.body, "textarea", { value: markdown(table) });
      area.select();
      document.execCommand("copy");
      area.remove();
      button.focus();
    }
    button.textContent = "copied";
    setTimeout(() => (button.textContent = "copy as markdown"), 2000);
  }

  const tools = document.querySelector(".tools");
  const search = tools?.querySelector("input");
  for (const table of all("table")) {
    [...table.tBodies].forEach((group, place) => (group.dataset.place = place));
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "copy", textContent: "copy as markdown" });
    button.addEventListener("click", () => copy(table, button));
    table.parentElement.after(button);
    if (table.tBodies.length < 4) continue;
    for (const head of all("thead th:not(.drawn)", table)) {
      const words = head.textContent;
      head.textContent = "";
      add(head, "button", { type: "button", textContent: words }).addEventListener("click", () => sort(table, head));
    }
  }
  if (tools) {
    for (const item of all(".counts li")) {
      if (!all(".shapes [data-word]", item.closest("section")).some((cell) => text(cell) === item.dataset.word)) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.ariaPressed = "false";
      button.append(...item.childNodes);
      item.append(button);
      button.addEventListener("click", () => {
        button.ariaPressed = String(button.ariaPressed !== "true");
        filter();
      });
    }
    search.addEventListener("input", filter);
    filter();
  }
  document.body.classList.add("scripted");
})();
