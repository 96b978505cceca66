// Numbers, times and names as people read them, and elements without markup in strings (nothing that a client sent is ever taken for HTML).

/** An element with properties and children; text is always text. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") element.className = value;
    else if (name in element && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** The same for SVG. */
export function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Three significant digits, without an exponent where none is needed. */
export function number(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  if (Number.isInteger(x)) return x.toLocaleString("en");
  const size = Math.abs(x);
  if (size >= 1e6 || (size > 0 && size < 1e-3)) return x.toExponential(2);
  const digits = Math.max(0, 2 - Math.floor(Math.log10(size || 1)));
  return x.toLocaleString("en", { minimumFractionDigits: Math.min(digits, 3), maximumFractionDigits: Math.min(digits, 3) });
}

/** A probability in per cent. */
export function percent(p) {
  if (p === null || p === undefined) return "–";
  const value = 100 * p;
  return `${value >= 99.95 || value < 0.05 ? value.toFixed(0) : value.toFixed(1)} %`;
}

/** How long ago, in one unit. */
export function ago(ms) {
  const seconds = Math.max(0, (Date.now() - ms) / 1000);
  for (const [name, size] of [["day", 86400], ["hour", 3600], ["minute", 60]]) {
    const count = Math.floor(seconds / size);
    if (count >= 1) return `${count} ${name}${count === 1 ? "" : "s"} ago`;
  }
  return `${Math.floor(seconds)} s ago`;
}

/** `{subject: "gift"}` as "subject = gift". */
export function pairs(object) {
  const parts = Object.entries(object ?? {}).map(([name, value]) => `${name} = ${value}`);
  return parts.length ? parts.join(", ") : "no lever set";
}

/** A rule on shares, such as "mail=yes:0.1..0.5", as a sentence. */
export function ruleWords(rule) {
  const parts = /^([^=]*)=(.*):([^:]*?)\.\.([^:]*)$/.exec(rule);
  if (!parts) return rule;
  const [lever, value, least, most] = parts.slice(1).map((part) => part.trim());
  const share = (text) => `${+(100 * Number(text)).toPrecision(4)} %`;
  const ends = [least && `at least ${share(least)}`, most && `at most ${share(most)}`].filter(Boolean);
  return `${lever} is set to ${value} in ${ends.join(" and ") || "any share"} of the decisions.`;
}

/** What each mode means. */
export const MODES = [
  ["online", "The learned policy decides, and explores where it pays."],
  ["frozen", "The learned policy decides as it is now; no exploring, no new policies."],
  ["shadow", "The baseline decides; what the policy would have done is kept beside it."],
  ["learn-only", "The baseline decides; dowise watches and learns."],
  ["stop", "The baseline decides, at once."],
];
