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

async function updateWorker() {
  const registration = await navigator.serviceWorker?.getRegistration().catch(() => null);
  await registration?.update().catch(() => {}); // the bridge is away again
}

// The bridge has told the version of the page that it serves: if that is another one, a button loads it. The game is kept.
// If it is this one, the service worker should keep it, too; by itself a browser asks for a new worker now and then only.
export function heardVersion(served) {
  byId("update")?.remove();
  if (served === version) {
    updateWorker();
    return;
  }
  const reload = () => {
    window.plyd.autosave.now();
    location.reload();
  };
  byId("notice").after(el("p", { id: "update", role: "status" }, t("update.there"), " ", el("button", { type: "button", onclick: reload }, t("update.load"))));
}
