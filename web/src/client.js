// Calls of the engine in its worker.

const failure = (message) => Object.assign(new Error(message), { isFailure: true });

/** How often the engine is started again without an answer since. */
const MAX_RESTARTS = 8;

/** Starts the engine, and again after it failed. Calls wait until it is ready. */
export class Client {
  #worker;
  #waiting = new Map();
  #number = 0;
  #pending;
  #isBusy = false;
  #restarts = 0;
  /** Why the engine is not started again. */
  #end;
  /** The state of the last `update`, and what the engine failed at, as text: a state, and the request of any call. */
  #sent;
  #failed;
  #failedRequest;

  /** Failures before the page listens, in order. */
  #unreported = [];
  #onFailure = (...failure) => this.#unreported.push(failure);

  /** Starts a worker with the program `source`. */
  constructor(source) {
    this.address = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
    this.#start();
  }

  /** Hands over the module. The worker compiles it while the page is still being read. */
  load(packed) {
    this.packed = packed;
    this.#load();
  }

  /**
   * Calls `onFailure` with what failed, and with whether that is the end: the engine cannot be started, or fails whatever it
   * is asked.
   */
  listen(onFailure) {
    this.#onFailure = onFailure;
    for (const failed of this.#unreported.splice(0)) onFailure(...failed);
  }

  #start() {
    try {
      this.#worker = new Worker(this.address);
    } catch (error) {
      this.#stop(error.message);
      return;
    }
    this.#worker.onmessage = ({ data }) => this.#receive(data);
    this.#worker.onerror = ({ message }) => this.#restart(message ?? 'the worker does not start');
  }

  #load() {
    this.ready = this.call('start', this.packed);
    // A failure that is not reported as one of the running engine is one of its start, which would happen again.
    this.ready.catch((error) => !error.isFailure && this.#stop(error.message));
  }

  #receive({ id, value, error, isTrap }) {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) {
      if (waiting?.name !== 'start') this.#restarts = 0;
      waiting?.resolve(value);
      return;
    }
    if (isTrap) {
      if (waiting?.name === 'update') this.#failed = this.#sent;
      this.#failedRequest = waiting?.request && JSON.stringify(waiting.request);
      waiting?.reject(failure(error));
      this.#restart(error);
    } else {
      waiting?.reject(new Error(error));
    }
  }

  #clear(message) {
    this.#worker?.terminate();
    for (const { reject } of this.#waiting.values()) reject(failure(message));
    this.#waiting.clear();
  }

  /** A failure leaves the memory of the module in an unknown state, so a new one replaces it. */
  #restart(message) {
    if (this.#end !== undefined) return;
    this.#restarts += 1;
    if (this.#restarts > MAX_RESTARTS) {
      this.#stop(message);
      return;
    }
    this.#clear(message);
    this.#start();
    if (this.packed !== undefined) this.#load();
    this.#onFailure(message, false);
  }

  #stop(message) {
    if (this.#end !== undefined) return;
    this.#end = message;
    this.#clear(message);
    this.#onFailure(message, true);
  }

  call(name, argument) {
    if (this.#end !== undefined) return Promise.reject(failure(this.#end));
    this.#number += 1;
    const id = this.#number;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, name, request: argument.request });
      this.#worker.postMessage({ id, name, argument });
    });
  }

  /** Calls the engine about a place in a text; not again about texts at which it failed. */
  async ask(name, argument) {
    const isFailed = this.#failedRequest !== undefined && JSON.stringify(argument.request) === this.#failedRequest;
    return isFailed ? undefined : this.call(name, argument);
  }

  /**
   * Asks for the state that `read` returns, and hands the answer to `show`. While an answer is awaited, only the last state is
   * kept. A state at which the engine failed is not asked for again before another one was answered.
   */
  async update(read, show) {
    if (this.#isBusy) {
      this.#pending = [read, show];
      return;
    }
    this.#isBusy = true;
    try {
      const { asked, ...state } = read();
      this.#sent = JSON.stringify(asked);
      if (this.#sent !== this.#failed) {
        const answer = await this.call('update', asked);
        this.#failed = undefined;
        this.#failedRequest = undefined;
        show(answer, { ...asked, ...state });
      }
    } catch (error) {
      // A failure of the engine was reported when it happened.
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
