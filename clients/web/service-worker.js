// The service worker: it keeps the page's files, and nothing else, so that the page opens while the bridge is away. The bridge
// writes before this script what to keep: self.SHELL = { version, files: { path: hash } }. While the bridge is there, every file
// comes from it; what is kept only stands in. Another version of any file is another script, which browsers install at once.

const { version, files } = self.SHELL;
const CACHE = `plyd ${version}`;
const keptPages = new Set(); // clients whose page was a kept one: their other files are, too, since versions must not mix

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(activate()));
self.addEventListener("fetch", (event) => {
  const { origin, pathname } = new URL(event.request.url);
  const isOurs = event.request.method === "GET" && origin === self.location.origin && Object.hasOwn(files, pathname);
  if (isOurs) event.respondWith(answer(event, pathname));
});

// Keeps all files, or fails: a file that is not of this version does not have the hash.
async function install() {
  const cache = await caches.open(CACHE);
  await cache.addAll(Object.entries(files).map(([path, integrity]) => new Request(path, { integrity, cache: "no-cache" })));
  await self.skipWaiting();
}

async function activate() {
  const others = (await caches.keys()).filter((name) => name !== CACHE);
  await Promise.all(others.map((name) => caches.delete(name)));
  await self.clients.claim();
}

async function answer(event, path) {
  const isPage = event.request.mode === "navigate";
  if (isPage || !keptPages.has(event.clientId)) {
    const response = await fetch(event.request).catch(() => null);
    if (response && response.status < 500) return response; // 502 and the like come from a proxy
    if (isPage) keptPages.add(event.resultingClientId);
  }
  const kept = await caches.match(path, { cacheName: CACHE });
  return kept ?? fetch(event.request);
}
