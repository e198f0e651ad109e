// Finds the pages that contain all words. A page with the whole query as a keyword comes first, then pages with a
// word in the title, then pages with a word in a heading.
const up = document.body.dataset.up;
const input = document.getElementById("search");
const results = document.getElementById("results");
const menu = document.getElementById("menu");
const nav = document.getElementById("nav");

function score(page, words) {
  const title = page.title.toLowerCase();
  const keywords = page.keywords || [];
  const headings = (page.headings || []).concat(keywords).join(" ").toLowerCase();
  const text = page.text.toLowerCase();
  let sum = keywords.includes(words.join(" ")) ? 1000 : 0;
  for (const word of words) {
    if (title.includes(word)) sum += 20;
    else if (headings.includes(word)) sum += 8;
    else if (text.includes(word)) sum += 1;
    else return 0;
    sum += Math.min(5, text.split(word).length - 1) / 5;
  }
  return sum;
}

function excerpt(page, word) {
  const at = Math.max(0, page.text.toLowerCase().indexOf(word));
  return page.text.slice(Math.max(0, at - 60), at + 120);
}

function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  results.replaceChildren();
  results.hidden = words.length === 0;
  if (results.hidden) return;
  const best = pages.map((page) => [score(page, words), page]).filter(([n]) => n > 0)
    .sort((a, b) => b[0] - a[0]).slice(0, 12);
  for (const [, page] of best) {
    const link = document.createElement("a");
    link.href = up + page.page;
    link.textContent = page.title;
    const span = document.createElement("span");
    span.textContent = excerpt(page, words[0]);
    link.append(span);
    const item = document.createElement("li");
    item.append(link);
    results.append(item);
  }
  if (best.length === 0) results.append("No page has all of these words.");
}

input.addEventListener("input", search);
input.value = new URLSearchParams(location.search).get("q") || "";
search();
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") { input.value = ""; search(); }
  if (event.key === "/" && document.activeElement !== input) { event.preventDefault(); input.focus(); }
});
menu.addEventListener("click", () => {
  menu.setAttribute("aria-expanded", String(nav.classList.toggle("open")));
});
