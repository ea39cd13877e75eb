// The portal works without this file. What it adds: regions that refresh themselves, logs that run on, prices that
// follow the form, dialogs in place of unfolding questions, and keys.

const page = () => document.documentElement;

// --- Fetch a page and take elements out of it ---------------------------------------------------------------------

async function fetchPage(url, init = {}) {
  const answer = await fetch(url, { credentials: "same-origin", cache: "no-store", headers: { Accept: "text/html", "X-Part": "1" }, ...init });
  const kind = answer.headers.get("Content-Type") || "";
  if (!kind.startsWith("text/html")) throw new Error(`no page: ${answer.status}`);
  return { answer, doc: new DOMParser().parseFromString(await answer.text(), "text/html") };
}

// busy says that a person is at work inside an element, so that replacing it would take something away.
function busy(element) {
  if (element.querySelector("dialog[open]")) return true;
  const at = document.activeElement;
  return element.contains(at) && at.matches("input, textarea, select");
}

// replace puts the fetched element in place of the old one and keeps the focus, what was unfolded and the scroll.
function replace(old, fresh) {
  const plain = (e) => e.outerHTML.replace(/name="nonce" value="[^"]*"/g, ""); // each form has its own mark
  if (plain(old) === plain(fresh)) return;
  const focus = old.contains(document.activeElement) ? document.activeElement : null;
  const id = focus?.id;
  const address = focus?.getAttribute("href");
  for (const d of old.querySelectorAll("details[id]")) {
    fresh.querySelector(`#${CSS.escape(d.id)}`)?.toggleAttribute("open", d.open);
  }
  const scrolls = [...old.querySelectorAll(".scroll")].map((s) => s.scrollLeft);
  const taken = document.importNode(fresh, true);
  old.replaceWith(taken);
  taken.querySelectorAll(".scroll").forEach((s, i) => { s.scrollLeft = scrolls[i] || 0; });
  const unfolds = focus?.matches("summary") && focus.parentElement.id;
  if (id) document.getElementById(id)?.focus({ preventScroll: true });
  else if (unfolds) taken.querySelector(`#${CSS.escape(unfolds)} > summary`)?.focus({ preventScroll: true });
  else if (address) taken.querySelector(`a[href="${CSS.escape(address)}"]`)?.focus({ preventScroll: true });
}

// --- Forms that refresh one element while they are filled in ------------------------------------------------------
// <form method="get" data-swap="#list">: the list follows the filters and the address follows the list.
// <form method="post" data-swap="#quote" data-swap-action="…/quote">: the answer to the typed form; sending it is real.

const waiting = new WeakMap();

function swapSoon(form, delay) {
  const last = waiting.get(form);
  clearTimeout(last?.timer);
  waiting.set(form, { ...last, timer: setTimeout(() => swap(form), delay) });
}

async function swap(form) {
  const last = waiting.get(form) || {};
  last.abort?.abort();
  const abort = new AbortController();
  waiting.set(form, { abort });
  const target = document.querySelector(form.dataset.swap);
  if (!target) return;
  const data = new FormData(form);
  const get = form.method !== "post";
  const url = new URL(form.dataset.swapAction || form.action, location.href);
  const init = { signal: abort.signal };
  if (get) {
    url.search = new URLSearchParams([...data].filter(([, value]) => value !== "")).toString();
  } else {
    init.method = "POST";
    init.body = new URLSearchParams(data);
  }
  target.setAttribute("aria-busy", "true");
  try {
    const { doc } = await fetchPage(url, init);
    const fresh = doc.querySelector(form.dataset.swap);
    if (fresh) replace(target, fresh);
    if (get) history.replaceState(null, "", url);
  } catch (error) {
    if (error.name !== "AbortError") target.dataset.old = "true";
  } finally {
    target.removeAttribute("aria-busy");
  }
}

document.addEventListener("input", (e) => {
  const form = e.target.form?.closest("form[data-swap]");
  if (form && (form.method !== "post" || form.dataset.swapAction)) swapSoon(form, 250);
});

document.addEventListener("submit", (e) => {
  const form = e.target;
  if (form.matches("form[data-swap]") && form.method !== "post") {
    e.preventDefault();
    swapSoon(form, 0);
  } else if (form.method === "post") {
    // Sent twice is done once (the nonce sees to it); this only shows that the first click was heard.
    if (form.dataset.sent) e.preventDefault();
    form.dataset.sent = "true";
    e.submitter?.setAttribute("aria-busy", "true");
  }
});

window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) {
    delete form.dataset.sent;
    form.querySelectorAll("[aria-busy]").forEach((b) => b.removeAttribute("aria-busy"));
  }
});

// --- <live-feed src>: regions with data-bind follow the server ------------------------------------------------------

class LiveFeed extends HTMLElement {
  connectedCallback() {
    this.topics = new Set();
    this.open();
    this.onHide = () => this.source?.close();
    this.onShow = (e) => { if (e.persisted) this.open(true); };
    this.onVisible = () => { if (!document.hidden) this.soon(); };
    window.addEventListener("pagehide", this.onHide);
    window.addEventListener("pageshow", this.onShow);
    document.addEventListener("visibilitychange", this.onVisible);
  }

  disconnectedCallback() {
    this.source?.close();
    clearTimeout(this.timer);
    window.removeEventListener("pagehide", this.onHide);
    window.removeEventListener("pageshow", this.onShow);
    document.removeEventListener("visibilitychange", this.onVisible);
  }

  open(late = false) {
    this.source?.close();
    let lost = late;
    this.source = new EventSource(this.getAttribute("src"));
    this.source.onopen = () => {
      if (lost) this.want("*"); // what happened while we were away is not known
      lost = false;
      this.say("live", this.dataset.live);
    };
    this.source.onmessage = (e) => this.want(...e.data.split(/\s+/));
    this.source.onerror = () => {
      lost = true;
      this.say("lost", this.dataset.lost);
      if (this.source.readyState === EventSource.CLOSED) {
        clearTimeout(this.again);
        this.again = setTimeout(() => this.isConnected && this.open(true), 5000);
      }
    };
  }

  want(...topics) {
    topics.forEach((t) => t && this.topics.add(t));
    this.soon();
  }

  // At most one fetch a second, none in a hidden tab, one at a time.
  soon() {
    if (!this.topics.size || this.timer || this.fetching || document.hidden) return;
    const rest = Math.max(150, (this.last || 0) + 1000 - Date.now());
    this.timer = setTimeout(() => this.refresh(), rest);
  }

  async refresh() {
    this.timer = null;
    const topics = this.topics;
    this.topics = new Set();
    const regions = () => [...document.querySelectorAll("[data-bind][id]")]
      .filter((r) => topics.has("*") || r.dataset.bind.split(/\s+/).some((t) => topics.has(t)));
    if (!regions().length) return;
    this.fetching = true;
    try {
      const { answer, doc } = await fetchPage(location.href);
      if (answer.redirected && new URL(answer.url).pathname !== location.pathname) return location.reload();
      for (const region of regions()) {
        const fresh = doc.getElementById(region.id);
        if (!fresh || !region.isConnected) continue;
        if (busy(region)) topics.forEach((t) => this.later(t));
        else replace(region, fresh);
      }
      const stamp = doc.querySelector("live-feed local-time");
      if (stamp) this.querySelector("local-time")?.replaceWith(document.importNode(stamp, true));
    } catch {
      topics.forEach((t) => this.topics.add(t));
      this.say("lost", this.dataset.lost);
    } finally {
      this.fetching = false;
      this.last = Date.now();
      this.soon();
    }
  }

  later(topic) {
    setTimeout(() => this.want(topic), 4000);
  }

  say(state, words) {
    const line = this.querySelector("[data-state]");
    const text = this.querySelector("[data-words]");
    if (line.dataset.state === state) return;
    line.dataset.state = state;
    text.textContent = words;
    page().dataset.feed = state;
  }
}

// --- <local-time>: the text stays in the page's zone, so that all times of a page agree; hovering tells the browser's --

class LocalTime extends HTMLElement {
  connectedCallback() {
    const time = this.querySelector("time");
    const at = new Date(time?.dateTime || "");
    if (Number.isNaN(at.getTime())) return;
    const here = new Intl.DateTimeFormat(page().lang, {
      year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZoneName: "short",
    }).format(at);
    time.title = `${time.dateTime} · ${here}`;
  }
}

// --- <log-tail src>: the output of a run as it comes ------------------------------------------------------------------

class LogTail extends HTMLElement {
  connectedCallback() {
    const src = this.getAttribute("src");
    const box = this.querySelector("pre");
    const state = this.querySelector("[data-state]");
    if (!box) return;
    box.scrollTop = box.scrollHeight;
    if (!src) return;
    const limit = 400_000; // characters: a log may be long, a tab should not grow without end
    this.source = new EventSource(src);
    this.source.onopen = () => { state.textContent = ""; };
    this.source.onerror = () => { state.textContent = this.dataset.lost; };
    this.source.onmessage = (e) => {
      const follow = box.scrollHeight - box.scrollTop - box.clientHeight < 24;
      box.append(`${e.data}\n`);
      while (box.textContent.length > limit && box.firstChild !== box.lastChild) box.firstChild.remove();
      if (follow) box.scrollTop = box.scrollHeight;
    };
    this.source.addEventListener("reset", () => { box.textContent = ""; });
    this.source.addEventListener("end", () => {
      this.source.close();
      state.textContent = this.dataset.end;
    });
  }

  disconnectedCallback() { this.source?.close(); }
}

// --- <copy-button>: copies the text inside it ---------------------------------------------------------------------------

class CopyButton extends HTMLElement {
  connectedCallback() {
    if (this.querySelector("button") || !navigator.clipboard) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button small";
    button.textContent = this.dataset.label;
    const said = document.createElement("span");
    said.setAttribute("role", "status");
    said.className = "visually-hidden";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(this.querySelector("pre").textContent);
      button.textContent = said.textContent = this.dataset.done;
      setTimeout(() => {
        button.textContent = this.dataset.label;
        said.textContent = "";
      }, 2000);
    });
    this.append(button, said);
  }
}

// --- <confirm-dialog>: the unfolding question becomes a dialog -------------------------------------------------------------

class ConfirmDialog extends HTMLElement {
  connectedCallback() {
    const details = this.querySelector("details");
    const summary = details?.querySelector("summary");
    summary?.addEventListener("click", (e) => {
      if (details.open) return; // a refused one comes unfolded, with its error
      e.preventDefault();
      this.ask(details);
    });
  }

  ask(details) {
    const form = details.querySelector("form");
    const dialog = document.createElement("dialog");
    dialog.className = "confirm";
    dialog.setAttribute("aria-labelledby", form.getAttribute("aria-labelledby"));
    const keep = form.querySelector("[data-close]");
    keep.hidden = false;
    const close = () => dialog.close();
    keep.addEventListener("click", close, { once: true });
    dialog.append(form);
    this.append(dialog);
    dialog.addEventListener("close", () => {
      details.append(form);
      dialog.remove();
      details.querySelector("summary").focus();
    });
    dialog.showModal();
    (form.querySelector("input:not([type=hidden])") || keep).focus();
  }
}

customElements.define("live-feed", LiveFeed);
customElements.define("local-time", LocalTime);
customElements.define("log-tail", LogTail);
customElements.define("copy-button", CopyButton);
customElements.define("confirm-dialog", ConfirmDialog);

// --- Menus close when something else is clicked ---------------------------------------------------------------------------

document.addEventListener("click", (e) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(e.target)) menu.open = false;
});

// --- Keys: / search, ? help, g + letter go; a switch turns them off -----------------------------------------------------------

const keys = {
  get on() { return localStorage.getItem("keys") !== "off"; },
  set on(yes) { localStorage.setItem("keys", yes ? "on" : "off"); },
};
const help = document.getElementById("shortcuts");
const keySwitch = help?.querySelector("[data-shortcuts]");
if (keySwitch) {
  keySwitch.checked = keys.on;
  keySwitch.addEventListener("change", () => { keys.on = keySwitch.checked; });
}
for (const opener of document.querySelectorAll("[data-help]")) {
  opener.hidden = false;
  opener.addEventListener("click", () => help?.showModal());
}

let going = 0;
document.addEventListener("keydown", (e) => {
  if (e.key === "Escape") {
    const menu = document.querySelector("details.menu[open]");
    if (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  }
  const typing = e.target.matches("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
  if (typing || e.ctrlKey || e.metaKey || e.altKey || !keys.on || document.querySelector("dialog[open]")) return;
  if (e.key === "/") {
    const box = document.querySelector("[data-search]");
    if (box) {
      e.preventDefault();
      box.focus();
      box.select();
    }
  } else if (e.key === "?") {
    help?.showModal();
  } else if (e.key === "g") {
    going = Date.now();
  } else if (going && Date.now() - going < 1200) {
    going = 0;
    document.querySelector(`a[data-key="${CSS.escape(e.key)}"]`)?.click();
  }
});

// On a narrow screen the navigation is one scrolling line: show where we are.
const here = document.querySelector(".side [aria-current]");
const strip = here?.closest(".side");
if (strip && strip.scrollWidth > strip.clientWidth) strip.scrollLeft = here.offsetLeft - strip.clientWidth / 3;

// A refused form comes back: its summary is what to read first.
document.getElementById("errors")?.focus();
