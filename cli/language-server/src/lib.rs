//! The language server of `kubefoundry lsp`, on standard input and output.
//!
//! ```text
//! stdin ─ transport ─► server ─┬─ workspace (documents, folder, project) ─► diagnostics, actions, rendered, definition
//!                              └─ kubefoundry_editor (the field at the cursor) ─► hover, completion
//! ```
//! The server has no state but texts: those of open documents, and those of the files in the workspace folders. Nothing
//! outside of these folders is read.

mod actions;
mod client;
mod completion;
mod definition;
mod diagnostics;
mod documents;
mod folder;
mod hover;
mod position;
mod project;
mod rendered;
mod server;
mod transport;
mod uri;
mod workspace;

use std::io::{self, BufReader, IsTerminal as _};
use std::sync::mpsc::{TryRecvError, sync_channel};
use std::thread;

use server::Server;

/// How many messages are read ahead.
const MAX_PENDING: usize = 256;

/// Standard input is a terminal, where no editor is.
#[derive(Debug, thiserror::Error)]
#[error("standard input is a terminal; an editor starts this command: see docs/editors.md")]
pub struct TerminalError;

/// Serves an editor until it ends the session. Returns whether it did so as the protocol demands: after `shutdown`.
///
/// # Errors
/// Fails if standard input is a terminal.
pub fn serve() -> Result<bool, TerminalError> {
    if io::stdin().is_terminal() {
        return Err(TerminalError);
    }
    let (sender, receiver) = sync_channel(MAX_PENDING);
    thread::spawn(move || {
        let mut input = BufReader::new(io::stdin());
        while let Ok(Some(incoming)) = transport::read(&mut input) {
            if sender.send(incoming).is_err() {
                break;
            }
        }
    });
    let mut server = Server::new(io::stdout());
    while !server.has_lost_client() {
        let incoming = match receiver.try_recv() {
            Ok(incoming) => incoming,
            // Nothing else is waiting, so the user has stopped typing for a moment.
            Err(TryRecvError::Empty) => {
                server.publish_findings();
                match receiver.recv() {
                    Ok(incoming) => incoming,
                    Err(_) => break,
                }
            }
            Err(TryRecvError::Disconnected) => break,
        };
        if !server.handle(incoming) {
            break;
        }
    }
    Ok(server.is_shut_down())
}
