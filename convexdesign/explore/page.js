// The page that the program serves: the explorer on what the address asks for, with the server in the widget's place.

import explorer from "./explorer.js";

const STOPPED =
  '<p class="message trouble"><strong>Stopped:</strong> The explorer does not answer any more. Start it again with ' +
  "<code>convexdesign explore</code>, and open this address under its new port: nothing of what is set is lost.</p>";

async function ask(path, question) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(question),
  });
  if (!answer.ok) throw new Error(`the explorer answers with ${answer.status}`);
  return answer.json();
}

// What a widget's model would be: values by name, and word of each answer.
class Remote {
  constructor(values) {
    this.values = values;
    this.listeners = new Set();
  }

  get(name) {
    return this.values[name];
  }

  set(name, value) {
    this.values[name] = value;
  }

  on(event, listener) {
    this.listeners.add(listener);
  }

  off(event, listener) {
    this.listeners.delete(listener);
  }

  async save_changes() {
    const { sent } = this.values;
    try {
      this.values.shown = await ask("answer", sent);
    } catch {
      this.values.shown = { serial: sent.serial, messages: STOPPED };
    }
    for (const listener of this.listeners) listener();
  }
}

const place = document.getElementById("explorer");
ask("start", { query: location.search.slice(1) }).then(
  (values) => {
    place.replaceChildren();
    explorer.render({ model: new Remote({ ...values, linked: true }), el: place });
  },
  () => (place.innerHTML = STOPPED),
);
