"use strict";
const at = (id) => document.getElementById(id);
const make = (tag, options = {}, ...children) => {
  const { dataset = {}, ...rest } = options;
  const node = Object.assign(document.createElement(tag), rest);
  Object.assign(node.dataset, dataset);
  node.append(...children);
  return node;
};
const pressed = (button, on) => button.setAttribute("aria-pressed", String(on));
const several = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

/* ---- the page's address: #key=value&key=value ---- */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
const address = () => Object.fromEntries(location.hash.slice(1).split("&").filter((part) => part.includes("=")).map((part) => { const end = part.indexOf("="); return [part.slice(0, end), decoded(part.slice(end + 1))]; }));
const written = (parts) => `#${Object.entries(parts).map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&")}`;

/* ---- theme ---- */
const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
const onTheme = [];
function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  document.documentElement.style.colorScheme = dark ? "dark" : "light";
  at("theme").textContent = dark ? "Light" : "Dark";
  for (const draw of onTheme) draw();
}
at("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme !== "dark"));
prefersDark.addEventListener("change", (event) => setTheme(event.matches));
setTheme(prefersDark.matches);
