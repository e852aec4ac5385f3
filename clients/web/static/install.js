// The page as an app: the service worker that keeps it, and word of an update.

import { byId, el } from "./dom.js";
import { t } from "./language.js";

const { version } = document.documentElement.dataset; // of this page, set by the bridge

// Registers the service worker once the page is loaded. Browsers allow it on this machine and over HTTPS; elsewhere, and where
// it fails, the page works without.
export function keepPage() {
  const register = () => navigator.serviceWorker.register("/service-worker.js", { updateViaCache: "none" }).catch(() => {});
  if (!("serviceWorker" in navigator)) return;
  if (document.readyState === "complete") register();
  else addEventListener("load", register, { once: true });
}

// The bridge has told the version of the page that it serves: if that is another one, a button loads it. The game is kept.
export function heardVersion(served) {
  byId("update")?.remove();
  if (served === version) return;
  const reload = () => {
    window.plyd.autosave.now();
    location.reload();
  };
  byId("notice").after(el("p", { id: "update", role: "status" }, t("update.there"), " ", el("button", { type: "button", onclick: reload }, t("update.load"))));
}
