// GIF files: frames of indexed colours, packed by LZW. Of each frame only the rectangle that changed is written.

const CODE_SIZE = 8, MAX_CODE = 4095;
const bytesOf16 = (value) => [value & 255, value >> 8];

// A palette of at most 256 colours for images, the most frequent ones; and the index of the nearest one to a pixel.
export function makePalette(images) {
  const counts = new Map();
  for (const { data } of images) for (let i = 0; i < data.length; i += 4) {
    const key = ((data[i] >> 2) << 12) | ((data[i + 1] >> 2) << 6) | (data[i + 2] >> 2);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const keys = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 256).map(([key]) => key);
  const colours = keys.map((key) => [key >> 12, (key >> 6) & 63, key & 63].map((part) => Math.round((part * 255) / 63)));
  const nearest = new Map();
  const indexOf = (red, green, blue) => {
    const key = ((red >> 2) << 12) | ((green >> 2) << 6) | (blue >> 2);
    if (!nearest.has(key)) {
      const distances = colours.map(([r, g, b]) => (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2);
      nearest.set(key, distances.indexOf(Math.min(...distances)));
    }
    return nearest.get(key);
  };
  return { colours, indexOf };
}

export function indexed({ data }, indexOf) {
  const pixels = new Uint8Array(data.length / 4);
  for (let i = 0; i < pixels.length; i++) pixels[i] = indexOf(data[4 * i], data[4 * i + 1], data[4 * i + 2]);
  return pixels;
}

export class Gif {
  constructor(width, height, colours) {
    Object.assign(this, { width, height, before: null, parts: [] });
    const table = new Uint8Array(256 * 3);
    colours.forEach((colour, i) => {
      table.set(colour, 3 * i);
    });
    const text = (letters) => Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    this.parts.push(text("GIF89a"), Uint8Array.from([...bytesOf16(width), ...bytesOf16(height), 0xf7, 0, 0]), table);
    this.parts.push(Uint8Array.from([0x21, 0xff, 11]), text("NETSCAPE2.0"), Uint8Array.from([3, 1, 0, 0, 0])); // again and again
  }

  // Adds a frame of pixels, shown for so many hundredths of a second.
  add(pixels, hundredths) {
    const { left, top, width, height } = this.changed(pixels);
    const part = new Uint8Array(width * height);
    for (let row = 0; row < height; row++) part.set(pixels.subarray((top + row) * this.width + left, (top + row) * this.width + left + width), row * width);
    this.parts.push(Uint8Array.from([0x21, 0xf9, 4, 4, ...bytesOf16(hundredths), 0, 0]));
    this.parts.push(Uint8Array.from([0x2c, ...[left, top, width, height].flatMap(bytesOf16), 0, CODE_SIZE]), lzw(part));
    this.before = pixels;
  }

  // The rectangle in which pixels differ from the frame before.
  changed(pixels) {
    const { width, height, before } = this;
    if (!before) return { left: 0, top: 0, width, height };
    let left = width, right = 0, top = height, bottom = 0;
    for (let i = 0; i < pixels.length; i++) {
      if (pixels[i] === before[i]) continue;
      const x = i % width, y = (i - x) / width;
      left = Math.min(left, x);
      right = Math.max(right, x);
      top = Math.min(top, y);
      bottom = y;
    }
    return left > right ? { left: 0, top: 0, width: 1, height: 1 } : { left, top, width: right - left + 1, height: bottom - top + 1 };
  }

  blob() {
    return new Blob([...this.parts, Uint8Array.from([0x3b])], { type: "image/gif" });
  }
}

// Pixels packed by LZW, in blocks of at most 255 bytes.
function lzw(pixels) {
  const bytes = [], clear = 1 << CODE_SIZE, end = clear + 1;
  let codes = new Map(), next = end + 1, size = CODE_SIZE + 1, bits = 0, count = 0;
  const write = (code) => {
    bits |= code << count;
    for (count += size; count >= 8; count -= 8) {
      bytes.push(bits & 255);
      bits >>>= 8;
    }
  };
  write(clear);
  let prefix = pixels[0];
  for (let i = 1; i < pixels.length; i++) {
    const key = (prefix << 8) | pixels[i], known = codes.get(key);
    if (known !== undefined) {
      prefix = known;
      continue;
    }
    write(prefix);
    prefix = pixels[i];
    if (next > MAX_CODE) {
      write(clear);
      [codes, next, size] = [new Map(), end + 1, CODE_SIZE + 1];
    } else {
      codes.set(key, next);
      if (next++ === 1 << size) size++;
    }
  }
  write(prefix);
  write(end);
  if (count > 0) bytes.push(bits & 255);
  const blocks = [];
  for (let i = 0; i < bytes.length; i += 255) blocks.push(Math.min(255, bytes.length - i), ...bytes.slice(i, i + 255));
  return Uint8Array.from([...blocks, 0]);
}
