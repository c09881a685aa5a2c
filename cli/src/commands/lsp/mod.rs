//! `kubefoundry lsp`: a language server on standard input and output.
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

use super::CommandError;
use crate::exit::ExitStatus;
use server::Server;

/// How many messages are read ahead.
const MAX_PENDING: usize = 256;

/// Reasons why the server cannot run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LspError {
    #[error("standard input is a terminal; an editor starts this command: see docs/editors.md")]
    Terminal,
}

pub(super) fn run() -> Result<ExitStatus, CommandError> {
    if io::stdin().is_terminal() {
        return Err(LspError::Terminal.into());
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
        if let Some(status) = server.handle(incoming) {
            return Ok(status);
        }
    }
    Ok(server.exit_status())
}
