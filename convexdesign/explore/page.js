// The page that the program serves: the explorer on what the address asks for, with the server in the widget's place.

import { STOPPED, ask } from "./asking.js";
import explorer from "./explorer.js";

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
