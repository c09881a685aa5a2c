//! A TCP proxy on loopback between a client and the apiserver. Tests cut, refuse and delay its connections.
//!
//! TLS passes through: the server's certificate holds for 127.0.0.1, whatever the port.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fs, thread};

/// A running proxy; it ends with its value.
pub struct Proxy {
    port: u16,
    state: Arc<State>,
}

struct State {
    server_port: u16,
    /// New connections are closed at once.
    refusing: AtomicBool,
    /// The delay before each piece of data from a client.
    delay_ms: AtomicU64,
    /// Connections of an earlier generation are dead without an error.
    generation: AtomicUsize,
    accepted: AtomicUsize,
    closed: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    /// Listens on a free port, and forwards to the port of a server.
    pub fn start(server_port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            server_port,
            refusing: AtomicBool::new(false),
            delay_ms: AtomicU64::new(0),
            generation: AtomicUsize::new(0),
            accepted: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            open: Mutex::default(),
        });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming() {
                if shared.closed.load(Ordering::SeqCst) {
                    return;
                }
                if let Ok(client) = client
                    && !shared.refusing.load(Ordering::SeqCst)
                {
                    shared.accepted.fetch_add(1, Ordering::SeqCst);
                    // If the server does not run, the client's connection ends, as it would without the proxy.
                    let _ = shared.forward(client);
                }
            }
        });
        Self { port, state }
    }

    /// A copy of a kubeconfig whose server is this proxy.
    pub fn kubeconfig(&self, original: &Path) -> PathBuf {
        let text = fs::read_to_string(original).unwrap();
        let server = format!("https://127.0.0.1:{}", self.state.server_port);
        assert!(text.contains(&server), "{text}");
        let path = original.with_file_name(format!("kubeconfig-{}", self.port));
        fs::write(&path, text.replace(&server, &format!("https://127.0.0.1:{}", self.port))).unwrap();
        path
    }

    /// Closes every open connection.
    pub fn cut(&self) {
        for stream in self.state.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Refuses new connections and closes the open ones, or accepts connections again.
    pub fn refuse(&self, refuse: bool) {
        self.state.refusing.store(refuse, Ordering::SeqCst);
        if refuse {
            self.cut();
        }
    }

    /// Sets a delay before each piece of data from a client.
    pub fn delay(&self, time: Duration) {
        self.state.delay_ms.store(u64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
    }

    /// Stops copying what the open connections carry, and leaves them open, as a firewall that forgot them does. New
    /// connections work.
    pub fn black_hole(&self) {
        self.state.generation.fetch_add(1, Ordering::SeqCst);
    }

    /// The number of connections that were accepted so far.
    pub fn accepted(&self) -> usize {
        self.state.accepted.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.closed.store(true, Ordering::SeqCst);
        self.cut();
        // Wakes the thread that listens.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl State {
    fn forward(self: &Arc<Self>, client: TcpStream) -> std::io::Result<()> {
        let server = TcpStream::connect(("127.0.0.1", self.server_port))?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        {
            let mut open = self.open.lock().unwrap();
            open.push(client.try_clone()?);
            open.push(server.try_clone()?);
        }
        let (from_client, to_client) = (client.try_clone()?, client);
        let (from_server, to_server) = (server.try_clone()?, server);
        let generation = self.generation.load(Ordering::SeqCst);
        for (from, to, delays) in [(from_client, to_server, true), (from_server, to_client, false)] {
            let shared = Arc::clone(self);
            thread::spawn(move || {
                let delay = || if delays { shared.delay_ms.load(Ordering::SeqCst) } else { 0 };
                copy(from, to, delay, || shared.generation.load(Ordering::SeqCst) == generation);
            });
        }
        Ok(())
    }
}

/// Copies data until one side closes, then closes both. Data that arrives once the connection is dead is dropped.
fn copy(mut from: TcpStream, mut to: TcpStream, delay_ms: impl Fn() -> u64, is_alive: impl Fn() -> bool) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        let delay = delay_ms();
        if delay > 0 {
            thread::sleep(Duration::from_millis(delay));
        }
        if is_alive() && to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
