// Short ways to find and make elements.

export const byId = (id) => document.getElementById(id);

// An HTML element. Attributes that begin with "on" are handlers; false, null and undefined leave an attribute out.
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element[name] = value;
    else if (name.startsWith("aria-") && value !== undefined) element.setAttribute(name, value); // needs "true" or "false" as text
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// An SVG element.
export function svg(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}
