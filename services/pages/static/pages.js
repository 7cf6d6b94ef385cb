// Live parts, and buttons that copy. Everything else works without scripts.
"use strict";

// A poll waits while its answer could move what a person points at, reads aloud or edits.
function busy(part) {
  if (document.hidden || part.querySelector("tbody:hover")) return true;
  if (part.contains(document.activeElement) && document.activeElement.matches("input, select, textarea")) return true;
  return [...part.querySelectorAll("textarea, input:not([type=hidden])")].some(
    (field) => field.type !== "checkbox" && field.value !== field.defaultValue);
}

function note(words) {
  const place = document.querySelector("[data-live-note]");
  if (place && place.textContent !== words) place.textContent = words;
}

document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target.matches("[data-live]") && busy(event.target)) event.preventDefault();
});

document.addEventListener("htmx:configRequest", (event) => {
  if (event.target.matches("[data-live]")) {
    event.detail.headers["If-None-Match"] = `"${event.target.dataset.etag}"`;
  }
});

// The focus stays on the same link or button of the new part.
let focused = null;
document.addEventListener("htmx:beforeSwap", (event) => {
  const part = event.target;
  if (!part.matches("[data-live]")) return;
  const at = part.contains(document.activeElement) ? document.activeElement : null;
  focused = at && { name: at.nodeName, href: at.getAttribute("href"), text: at.textContent };
});

document.addEventListener("htmx:afterSettle", () => {
  reveal();
  if (!focused) return;
  const same = [...document.querySelectorAll(`#live ${focused.name}`)].find(
    (one) => one.getAttribute("href") === focused.href && one.textContent === focused.text);
  if (same) same.focus({ preventScroll: true });
  focused = null;
});

document.addEventListener("htmx:afterRequest", (event) => {
  if (!event.target.matches || !event.target.matches("[data-live]")) return;
  note(event.detail.failed ? "The platform does not answer. What you see is of the last update." : NOTE);
});

// A part that the page fetches after it is shown says when it cannot.
for (const failure of ["htmx:responseError", "htmx:sendError"]) {
  document.addEventListener(failure, (event) => {
    if (!event.target.matches("[data-fetched]")) return;
    const said = document.createElement("p");
    said.className = "problem";
    said.role = "alert";
    said.textContent = "The platform did not answer. Reload the page to ask again.";
    event.target.replaceChildren(said);
  });
}

const NOTE = "This page updates itself while it is visible. Nothing moves while you point at a table.";

function reveal() {
  for (const button of document.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select and copy it";
  }
});

if (document.querySelector("[data-live]")) note(NOTE);
reveal();
