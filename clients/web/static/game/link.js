// Links: a position in plain text, and for sharing also the whole game with its variations and review, packed.

const MAX_PACKED = 16000; // characters of a link's packed part that browsers and messengers take
const MAX_NAME = 64; // characters of a player's name
const MAX_BYTES = 4 << 20; // of a game that is unpacked

// A link to a game with all that is known of it; if that is too long, to its position.
export async function shareLink(game) {
  const { game: _, variant: __, ...whole } = game.saved();
  const isPlain = !game.hasChance && game.ply === game.moves.length && Object.keys(whole.tree).every((key) => key === "moves" || key === "values");
  if (isPlain) return { link: game.link(), isWhole: true };
  const packed = await pack(JSON.stringify(whole));
  if (packed.length > MAX_PACKED) return { link: game.link(), isWhole: false };
  return { link: `${game.link()}&whole=${packed}`, isWhole: true };
}

// The record in a link; null if there is none.
export async function readLink(hash) {
  const record = parseLink(hash);
  const packed = new URLSearchParams(hash.replace(/^#/, "")).get("whole");
  if (!record || !packed) return record;
  try {
    const whole = JSON.parse(await unpack(packed));
    return isTree(whole?.tree) ? { ...record, ...fieldsOf(whole), isPaused: true } : record;
  } catch {
    return record; // a link that was cut off still has its position
  }
}

// The fields of a game in a link that are what they should be; anybody may have written it.
function fieldsOf({ tree, start, points, players, flag, at, end }) {
  const isNames = Array.isArray(players) && players.length === 2 && players.every((name) => typeof name === "string");
  return {
    tree,
    ...(typeof start === "string" ? { start } : {}),
    ...(Number.isFinite(points) ? { points } : {}),
    ...(isNames ? { players: players.map((name) => name.slice(0, MAX_NAME)) } : {}),
    ...(["one", "two"].includes(flag) ? { flag } : {}),
    ...(Number.isInteger(at) ? { at } : {}),
    ...(Number.isInteger(end) ? { end } : {}),
  };
}

const isList = (list, isItem) => list === undefined || (Array.isArray(list) && list.every((each) => each === null || isItem(each)));
const isText = (each) => typeof each === "string";

function isReview({ value, side, move, line, second, slides, points }) {
  const isMissing = (each, isThere) => each === undefined || isThere(each);
  const isValues = (each) => each !== null && typeof each === "object" && Object.values(each).every(Number.isFinite);
  return Number.isFinite(value) && ["one", "two"].includes(side) && [move, line].every((each) => isMissing(each, isText)) && [second, points].every((each) => isMissing(each, Number.isFinite)) && isMissing(slides, isValues);
}

function isTree(tree) {
  const { moves, parents = [], reviews, values, comments } = tree ?? {};
  const isParents = Array.isArray(parents) && [0, moves?.length].includes(parents.length) && parents.every((parent, i) => Number.isInteger(parent) && parent >= 0 && parent <= i);
  return Array.isArray(moves) && moves.every(isText) && isParents && isList(comments, isText) && isList(values, Number.isFinite) && isList(reviews, isReview);
}

async function pack(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts = [];
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return new Blob(parts).text();
    parts.push(value);
    size += value.length;
    if (size > MAX_BYTES) throw new RangeError();
  }
}

// The record in a link made by link(), or written by hand; null if there is none.
export function parseLink(hash) {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const game = fields.get("game");
  if (!game) return null;
  const points = Number(fields.get("points"));
  const moves = fields.get("moves");
  return {
    game,
    variant: fields.get("variant") ?? "",
    start: fields.get("start") ?? "",
    moves: moves?.split(/[.,\s]+/).filter(Boolean) ?? [],
    points: Number.isFinite(points) ? points : 0,
    ...(fields.get("room") ? { room: { name: fields.get("room"), side: fields.get("side") === "one" ? "one" : "two" } } : {}),
  };
}
