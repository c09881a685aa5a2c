// The first script of the page: it starts the worker of the engine while the rest of the page is read.

import { Client } from './client.js';

window.engine = new Client(BUILD.workerSource);
