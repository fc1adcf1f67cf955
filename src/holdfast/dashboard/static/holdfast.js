// What only the browser knows: the viewer's zone, and whether light or dark was chosen here.
(() => {
  const ago = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
  const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

  const relative = (seconds) => {
    const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? units.at(-1);
    return ago.format(Math.round(seconds / size), unit);
  };

  const clock = (at) => {
    const today = at.toDateString() === new Date().toDateString();
    return at.toLocaleString(undefined, { timeStyle: "medium", ...(today ? {} : { dateStyle: "medium" }) });
  };

  const tell = () => {
    for (const time of document.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      const said = time.dataset.as === "clock" ? clock(at) : relative((at - Date.now()) / 1000);
      if (time.textContent !== said) time.textContent = said;
      const exact = at.toLocaleString(undefined, { dateStyle: "full", timeStyle: "long" });
      if (time.title !== exact) time.title = exact;
    }
  };

  const scheme = window.matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (localStorage.getItem("theme") ?? (scheme.matches ? "dark" : "light")) === "dark";
  const paint = () => {
    document.documentElement.classList.toggle("dark", dark());
    window.Quasar?.Dark.set(dark());
  };

  window.holdfast = {
    changeTheme() {
      localStorage.setItem("theme", dark() ? "light" : "dark");
      paint();
    },
  };

  // A panel that is drawn anew keeps what the viewer unfolded in it, and the place of their keyboard.
  const unfolded = new Set();
  let focused = null;
  document.addEventListener("toggle", (event) => {
    const { id, open, isConnected } = event.target;
    if (id && isConnected) unfolded[open ? "add" : "delete"](id);
  }, true);
  document.addEventListener("focusin", (event) => { focused = event.target; });
  const keep = () => {
    for (const id of unfolded) document.querySelector(`details#${CSS.escape(id)}:not([open])`)?.setAttribute("open", "");
    if (focused?.id && !focused.isConnected && document.activeElement === document.body) {
      document.getElementById(focused.id)?.focus({ preventScroll: true });
    }
  };

  // g then a letter goes to a page, / to the field that filters it; never while something is typed.
  const pages = { f: "/", j: "/jobs", x: "/failures", m: "/money", h: "/health", s: "/search" };
  let went = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, textarea, select")) return;
    if (event.key === "g") went = Date.now();
    else if (Date.now() - went < 1000 && pages[event.key]) location.href = pages[event.key];
    else if (event.key === "/") {
      event.preventDefault();
      document.querySelector("#content input")?.focus();
    }
  });

  paint();
  scheme.addEventListener("change", paint);
  new MutationObserver(() => { tell(); keep(); }).observe(document.documentElement, { childList: true, subtree: true });
  setInterval(tell, 1000);
  window.addEventListener("load", () => { paint(); tell(); });
})();
