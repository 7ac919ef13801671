"use strict";
// Draws the charts of the view that is shown, the grid of maps, the sortable table, and the
// dialog of one head. Text from the corpus is only ever set as text, never as HTML.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const dialog = document.getElementById("head");
  const drawn = new Set();
  let current = 0;
  let open = null;

  const element = (name, text, attributes = {}) => {
    const made = document.createElement(name);
    if (text !== undefined && text !== null) made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const embed = (place, spec) =>
    vegaEmbed(place, spec, { actions: false, ast: true, renderer: "svg" });
  const levels = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const describe = (text) => {
    const words = text.tokens.join(" ");
    return words.length > 70 ? words.slice(0, 70) + "…" : words;
  };
  const fill = (select, texts) => {
    select.replaceChildren(...texts.map((text, i) => element("option", describe(text), { value: i })));
  };

  const kindOf = (name) => name.replace(/L\d+\.H\d+$/, ""); // "cross " of "cross L2.H3"

  function thumbnail(text, name) {
    const width = text.tokens.length;
    const height = (text.queries || text.tokens).length;
    const map = levels(text.maps[name]);
    const canvas = element("canvas", null, {
      width, height, tabindex: 0, role: "button", title: name, "data-head": name,
    });
    const context = canvas.getContext("2d");
    const image = context.createImageData(width, height);
    map.forEach((level, i) => {
      const ink = Math.sqrt(level / 255); // the square root, so that small weights can be seen
      image.data.set([255 - 247 * ink, 255 - 207 * ink, 255 - 148 * ink, 255], 4 * i);
    });
    context.putImageData(image, 0, 0);
    return canvas;
  }

  function grid(section, view) {
    const place = section.querySelector(".grid");
    const select = section.querySelector(".grid-text");
    if (!place) return;
    const show = () => {
      const text = view.maps[select.value];
      if (!text) return;
      const names = Object.keys(text.maps).map((name) => name.match(/\d+/g).map(Number));
      const kind = kindOf(Object.keys(text.maps)[0]);
      const layers = Math.max(...names.map((n) => n[0])) + 1;
      const heads = Math.max(...names.map((n) => n[1])) + 1;
      place.replaceChildren(element("span", ""));
      for (let head = 0; head < heads; head++) place.append(element("span", "H" + head));
      for (let layer = 0; layer < layers; layer++) {
        place.append(element("span", "L" + layer));
        for (let head = 0; head < heads; head++) {
          const name = `${kind}L${layer}.H${head}`;
          place.append(text.maps[name] ? thumbnail(text, name) : element("span", ""));
        }
      }
    };
    fill(select, view.maps);
    select.addEventListener("change", show);
    show();
  }

  function table(section, view) {
    const place = section.querySelector("table.heads");
    if (!place) return;
    const columns = ["head", "labels", ...view.headlines];
    const head = element("tr");
    const body = element("tbody");
    let sorted = -1;
    let falling = true;
    const value = (row, column) => {
      if (column === 0) return row.layer * 1000 + row.head;
      if (column === 1) return row.labels;
      const cell = row.cells[column - 2];
      return cell ? cell.value : -Infinity;
    };
    const wanted = section.querySelector(".filter");
    const render = () => {
      const query = wanted.value.trim().toLowerCase();
      const rows = view.table.filter((row) => `${row.name} ${row.labels}`.toLowerCase().includes(query));
      if (sorted >= 0) {
        rows.sort((a, b) => {
          const [x, y] = [value(a, sorted), value(b, sorted)];
          return (x < y ? -1 : x > y ? 1 : 0) * (falling ? -1 : 1);
        });
      }
      body.replaceChildren(...rows.map((row) => {
        const line = element("tr", null, { "data-head": row.name });
        const name = element("td");
        name.append(element("button", row.name, { class: "head", "data-head": row.name }));
        line.append(name, element("td", row.labels));
        for (const cell of row.cells) {
          const made = element("td", cell ? cell.text : "–", { class: "number" });
          if (cell) made.append(element("small", cell.interval));
          line.append(made);
        }
        return line;
      }));
    };
    columns.forEach((name, i) => {
      const cell = element("th", name, { scope: "col", tabindex: 0 });
      const sort = () => {
        falling = sorted === i ? !falling : i > 1;
        sorted = i;
        for (const other of head.children) other.removeAttribute("aria-sort");
        cell.setAttribute("aria-sort", falling ? "descending" : "ascending");
        render();
      };
      cell.addEventListener("click", sort);
      cell.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
      head.append(cell);
    });
    const top = element("thead");
    top.append(head);
    place.replaceChildren(top, body);
    wanted.addEventListener("input", render);
    render();
  }

  const svgElement = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };

  // The text that is looked at above, the text that looks below, a line for every weight of 5%.
  function drawLinks(text, map) {
    const place = document.getElementById("head-links");
    place.replaceChildren();
    if (!text.queries) return;
    const layOut = (tokens) => {
      let x = 8;
      const middles = tokens.map((token) => {
        const size = 8 * Math.max(2, [...token].length);
        x += size + 10;
        return x - 10 - size / 2;
      });
      return [middles, x];
    };
    const [above, wide] = layOut(text.tokens);
    const [below, wider] = layOut(text.queries);
    const width = Math.max(wide, wider);
    const svg = svgElement("svg", { width, height: 170, viewBox: `0 0 ${width} 170`, role: "img" });
    map.forEach((level, i) => {
      const [query, key] = [Math.floor(i / text.tokens.length), i % text.tokens.length];
      if (level < 13) return;
      const line = svgElement("line", {
        x1: above[key], y1: 28, x2: below[query], y2: 140, stroke: "#08306b",
        "stroke-width": 0.5 + (3.5 * level) / 255, "stroke-opacity": (0.15 + (0.85 * level) / 255).toFixed(2),
      });
      const title = svgElement("title", {});
      title.textContent = `${text.queries[query]} looks at ${text.tokens[key]}: ${Math.round(level / 2.55)}%`;
      line.append(title);
      svg.append(line);
    });
    const write = (tokens, middles, y) => tokens.forEach((token, i) => {
      const word = svgElement("text", { x: middles[i], y, "text-anchor": "middle", "font-size": 13 });
      word.textContent = token;
      svg.append(word);
    });
    write(text.tokens, above, 20);
    write(text.queries, below, 158);
    place.append(svg);
  }

  async function drawMap(view) {
    const text = view.maps[document.getElementById("head-text").value];
    const note = document.getElementById("head-note");
    if (!text || !text.maps[open]) {
      note.textContent = "No map of this head was kept.";
      document.getElementById("head-links").replaceChildren();
      return;
    }
    const map = levels(text.maps[open]);
    const size = text.tokens.length;
    const queries = text.queries || text.tokens;
    const label = (tokens, i) => `${i}\u200b${tokens[i]}`;
    const values = Array.from(map, (level, i) => {
      const [query, key] = [Math.floor(i / size), i % size];
      return { query: label(queries, query), key: label(text.tokens, key), from: queries[query],
        to: text.tokens[key], weight: Math.round(level / 2.55) / 100 };
    });
    drawLinks(text, map);
    const spec = structuredClone(data.map);
    spec.datasets = { map: values };
    await embed("#head-map", spec);
    note.textContent = `From text ${text.id}.` +
      (text.queries ? " A row is the query that reads this token and says the next one." : "") +
      (size >= 48 ? " Of a longer text, the first 48 tokens are shown, so rows need not sum to 1." : "");
  }

  function numbers(view) {
    const place = document.getElementById("head-numbers");
    const row = (view.table || []).find((one) => one.name === open);
    place.replaceChildren();
    if (!row) return;
    const top = element("tr");
    for (const name of ["number", "value", "95% interval", "baseline"]) top.append(element("th", name));
    place.append(top);
    row.cells.forEach((cell, i) => {
      if (!cell) return;
      const line = element("tr");
      line.append(element("td", view.headlines[i]));
      for (const text of [cell.text, cell.interval, cell.baseline]) {
        line.append(element("td", text, { class: "number" }));
      }
      place.append(line);
    });
  }

  function show(name) {
    const view = data.views[current];
    if (!view) return null;
    open = name;
    const row = (view.table || []).find((one) => one.name === name);
    document.getElementById("head-name").textContent = row && row.labels ? `${name}: ${row.labels}` : name;
    const select = document.getElementById("head-text");
    const kept = select.value;
    fill(select, view.maps);
    if (dialog.open && kept) select.value = kept;
    const lines = (view.cards && view.cards[name]) || [];
    document.getElementById("head-card").replaceChildren(...lines.map((line) => element("li", line)));
    numbers(view);
    if (!dialog.open) dialog.showModal();
    return drawMap(view);
  }

  function walk(event) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step || !dialog.open || event.target.tagName === "SELECT") return;
    const [layer, head] = open.match(/\d+/g).map(Number);
    const name = `${kindOf(open)}L${layer + step[0]}.H${head + step[1]}`;
    const text = data.views[current].maps[0];
    if (text && text.maps[name]) {
      event.preventDefault();
      show(name);
    }
  }

  function draw(number) {
    current = number;
    const view = data.views[number];
    for (const section of document.querySelectorAll("section.view")) {
      section.hidden = Number(section.dataset.view) !== number;
    }
    const title = document.getElementById("page-title");
    if (title && view.title) title.textContent = view.title;
    if (drawn.has(number)) return;
    drawn.add(number);
    const section = document.querySelector(`section.view[data-view="${number}"]`);
    grid(section, view);
    for (const place of section.querySelectorAll("[data-thumb]")) {
      const text = view.maps[0];
      if (text && text.maps[place.dataset.thumb]) place.replaceChildren(thumbnail(text, place.dataset.thumb));
    }
    table(section, view);
    for (const place of section.querySelectorAll(".chart")) {
      embed(place, view.charts[place.dataset.chart]).then((made) => {
        made.view.addEventListener("click", (_, item) => {
          const datum = item && item.datum;
          if (datum && Number.isInteger(datum.layer) && Number.isInteger(datum.head)) {
            show(datum.name || `L${datum.layer}.H${datum.head}`);
          }
        });
      });
    }
  }

  document.addEventListener("click", (event) => {
    const named = event.target.closest && event.target.closest("[data-head]");
    if (named) show(named.dataset.head);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.tagName === "CANVAS") show(event.target.dataset.head);
    walk(event);
  });
  document.getElementById("head-text").addEventListener("change", () => drawMap(data.views[current]));
  const view = document.getElementById("view");
  if (view) view.addEventListener("change", () => draw(Number(view.value)));
  for (const place of document.querySelectorAll("[data-extra]")) {
    embed(place, data.extra[place.dataset.extra]);
  }
  if (data.views.length) draw(0);
})();
