// Calls of the engine in its worker.

const failure = (message) => Object.assign(new Error(message), { isFailure: true });

/** Starts the engine, and again after it failed. Calls wait until it is ready. */
export class Client {
  #worker;
  #waiting = new Map();
  #number = 0;
  #pending;
  #isBusy = false;

  /** `source` is the program of the worker, `packed` the module, and `onFailure` is called when the engine is restarted. */
  constructor(source, packed, onFailure) {
    this.address = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
    this.packed = packed;
    this.onFailure = onFailure;
    this.#start();
  }

  #start() {
    this.#worker = new Worker(this.address);
    this.#worker.onmessage = ({ data }) => this.#receive(data);
    this.#worker.onerror = ({ message }) => this.#restart(message);
    this.ready = this.call('start', this.packed);
  }

  #receive({ id, value, error, isTrap }) {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) {
      waiting?.resolve(value);
      return;
    }
    if (isTrap) {
      waiting?.reject(failure(error));
      this.#restart(error);
    } else {
      waiting?.reject(new Error(error));
    }
  }

  /** A failure leaves the memory of the module in an unknown state, so a new one replaces it. */
  #restart(message) {
    this.#worker.terminate();
    for (const { reject } of this.#waiting.values()) reject(failure(message));
    this.#waiting.clear();
    this.onFailure(message);
    this.#start();
  }

  call(name, argument) {
    this.#number += 1;
    const id = this.#number;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, name, argument });
    });
  }

  /** Asks for the state that `read` returns, and hands the answer to `show`. While an answer is awaited, only the last state is kept. */
  async update(read, show) {
    if (this.#isBusy) {
      this.#pending = [read, show];
      return;
    }
    this.#isBusy = true;
    try {
      const state = read();
      show(await this.call('update', state), state);
    } catch (error) {
      // A failure of the engine was reported when it was started again.
      if (!error.isFailure) reportError(error);
    }
    this.#isBusy = false;
    if (this.#pending) {
      const next = this.#pending;
      this.#pending = undefined;
      this.update(...next);
    }
  }
}
