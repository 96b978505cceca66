// Talks to the service; asks for a key when the service wants one.

const KEY = "dowise-key";

/** An error with the service's own words. */
export class Refused extends Error {
  constructor(status, problem) {
    super(problem?.detail ?? problem?.title ?? `The service says ${status}.`);
    this.status = status;
  }
}

async function send(method, path, body) {
  const headers = { Accept: "application/json" };
  const key = sessionStorage.getItem(KEY);
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  if ((response.status === 401 || response.status === 403) && (await askKey())) return send(method, path, body);
  const text = await response.text();
  let value = null;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  if (!response.ok) throw new Refused(response.status, value);
  return value;
}

let asking = null;

function askKey() {
  asking ??= new Promise((resolve) => {
    const dialog = document.getElementById("key");
    const text = document.getElementById("key-text");
    text.value = "";
    dialog.addEventListener(
      "close",
      () => {
        asking = null;
        if (dialog.returnValue === "yes" && text.value) sessionStorage.setItem(KEY, text.value.trim());
        resolve(dialog.returnValue === "yes" && text.value !== "");
        dialog.returnValue = "";
      },
      { once: true },
    );
    dialog.showModal();
  });
  return asking;
}

export const get = (path) => send("GET", path);
export const post = (path, body) => send("POST", path, body);
