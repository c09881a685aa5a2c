//! Messages on standard input and output: a header with their length, then JSON.
//!
//! `lsp-server` can read messages, too, but ends at the first malformed one and allocates whatever length a header names.

use std::io::{self, BufRead, Read as _};

use lsp_server::{ErrorCode, Message};
use serde_json::{Value, json};

/// The maximum size of a message in bytes, which is that of a file.
const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// The maximum length of a header line in bytes.
const MAX_HEADER_BYTES: u64 = 4096;

/// What was read.
#[derive(Debug)]
pub(crate) enum Incoming {
    Message(Message),
    /// A message that is not valid, with the response to it.
    Malformed(Value),
}

/// Reads the next message. Returns `None` at the end of the input.
///
/// # Errors
/// Returns the errors of the input itself. After a malformed message, the next one can be read.
pub(crate) fn read(input: &mut impl BufRead) -> io::Result<Option<Incoming>> {
    let Some(length) = read_header(input)? else { return Ok(None) };
    let length = match length {
        Ok(length) if length <= MAX_MESSAGE_BYTES => length,
        Ok(length) => {
            io::copy(&mut input.take(u64::try_from(length).unwrap_or(u64::MAX)), &mut io::sink())?;
            let limit = MAX_MESSAGE_BYTES / (1024 * 1024);
            return Ok(Some(malformed(&Value::Null, &format!("the message is larger than {limit} MiB"))));
        }
        Err(problem) => return Ok(Some(malformed(&Value::Null, &problem))),
    };
    let mut body = vec![0; length];
    match input.read_exact(&mut body) {
        Ok(()) => Ok(Some(parse(&body))),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads the lines up to the empty one. Returns the length of the message, or what is wrong.
fn read_header(input: &mut impl BufRead) -> io::Result<Option<Result<usize, String>>> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        if input.by_ref().take(MAX_HEADER_BYTES).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        if line.is_empty() {
            return Ok(Some(length.unwrap_or_else(|| Err("the header has no Content-Length".to_owned()))));
        }
        if let Some((name, value)) = line.split_once(':')
            && name.trim().eq_ignore_ascii_case("Content-Length")
        {
            let parsed = value.trim().parse();
            length = Some(parsed.map_err(|_| format!("Content-Length is {:?}, expected a number", value.trim())));
        }
    }
}

/// Parses the body of a message.
fn parse(body: &[u8]) -> Incoming {
    let value: Value = match serde_json::from_slice(body) {
        Ok(value) => value,
        Err(error) => return malformed(&Value::Null, &format!("the message is not JSON: {error}")),
    };
    let id = value.get("id").filter(|id| id.is_string() || id.is_number()).cloned().unwrap_or_default();
    if let Ok(message) = serde_json::from_value(value) {
        return Incoming::Message(message);
    }
    let problem = "the message is neither a request nor a response nor a notification of JSON-RPC 2.0";
    let error = json!({"code": ErrorCode::InvalidRequest as i32, "message": problem});
    Incoming::Malformed(json!({"jsonrpc": "2.0", "id": id, "error": error}))
}

/// Returns the response to something that is not JSON, or has no readable header.
fn malformed(id: &Value, problem: &str) -> Incoming {
    let error = json!({"code": ErrorCode::ParseError as i32, "message": problem});
    Incoming::Malformed(json!({"jsonrpc": "2.0", "id": id, "error": error}))
}

/// Writes a message.
pub(crate) fn write(output: &mut impl io::Write, message: &Value) -> io::Result<()> {
    let text = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(mut input: &[u8]) -> Vec<Incoming> {
        std::iter::from_fn(|| read(&mut input).unwrap()).collect()
    }

    fn framed(body: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    }

    /// A malformed message is answered, and the next one is read.
    #[test]
    fn reads_on_after_a_malformed_message() {
        let good = framed(r#"{"jsonrpc": "2.0", "method": "initialized", "params": {}}"#);
        for (bad, code) in [
            (framed("{"), -32700),
            (framed("[1]"), -32600),
            (framed(r#"{"id": 7, "params": 3}"#), -32600),
            ("Content-Length: many\r\n\r\n".to_owned(), -32700),
            ("Content-Type: x\r\n\r\n".to_owned(), -32700),
        ] {
            let read = read_all(format!("{bad}{good}").as_bytes());
            let [Incoming::Malformed(answer), Incoming::Message(Message::Notification(next))] = read.as_slice() else {
                panic!("{bad:?}: {read:?}");
            };
            assert_eq!(
                (answer["error"]["code"].as_i64(), next.method.as_str()),
                (Some(code), "initialized"),
                "{bad:?}"
            );
        }
    }

    /// The length of a message is not believed before it is checked.
    #[test]
    fn refuses_a_huge_message() {
        let read = read_all(b"Content-Length: 99999999999999\r\n\r\n{}");
        assert!(matches!(read.as_slice(), [Incoming::Malformed(_)]), "{read:?}");
    }

    #[test]
    fn a_message_that_ends_early_is_the_end() {
        assert!(read_all(b"Content-Length: 9\r\n\r\n{}").is_empty());
    }
}
