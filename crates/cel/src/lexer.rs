//! The lexer: converts text to tokens.

use super::error::{CompileError, CompileErrorKind, Span, brief};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Name,
    Int(u64),
    Double(f64),
    Text(String),
    Uint(u64),
    Bytes(Vec<u8>),
    Symbol(&'static str),
    End,
}

/// Operators and punctuation. A symbol must precede its prefixes, so that `<=` is not read as `<`.
const SYMBOLS: [&str; 25] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "+", "-", "*", "/", "%", "?", ":", ".", ",", "(", ")", "[", "]",
    "{", "}", "`",
];

pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Returns the next token and its span.
    pub(super) fn next(&mut self) -> Result<(Token, Span), CompileError> {
        self.skip_space_and_comments();
        let start = self.at;
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return Ok((Token::End, Span { start, end: start }));
        };
        let token = if let Some((prefix, raw, bytes)) = string_prefix(rest) {
            self.read_string(start, prefix, raw, bytes)?
        } else if first == '_' || first.is_ascii_alphabetic() {
            let length = rest.bytes().take_while(|byte| *byte == b'_' || byte.is_ascii_alphanumeric()).count();
            self.at += length;
            if rest.get(..length) == Some("in") { Token::Symbol("in") } else { Token::Name }
        } else if first.is_ascii_digit() || first == '.' && rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit) {
            self.read_number(start)?
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            self.at += symbol.len();
            Token::Symbol(symbol)
        } else {
            let hint = match first {
                '=' => "; comparison is `==`",
                '&' => "; logical and is `&&`",
                '|' => "; logical or is `||`",
                _ => "",
            };
            let message = format!("unexpected character `{}`{hint}", brief(first.encode_utf8(&mut [0; 4])));
            return Err(parse_error(start, start + first.len_utf8(), message));
        };
        Ok((token, Span { start, end: self.at }))
    }

    fn skip_space_and_comments(&mut self) {
        loop {
            let rest = self.rest();
            let space = rest.bytes().take_while(|byte| b" \t\r\n\x0c".contains(byte)).count();
            self.at += space;
            if !self.rest().starts_with("//") {
                return;
            }
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    /// Reads a number. The letters that follow it are part of the token, so that `12abc` is one error.
    fn read_number(&mut self, start: usize) -> Result<Token, CompileError> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let digits = |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
        let is_hexadecimal = rest.starts_with("0x") || rest.starts_with("0X");
        let mut length;
        let mut is_double = false;
        if is_hexadecimal {
            length = 2 + bytes.iter().skip(2).take_while(|byte| byte.is_ascii_hexdigit()).count();
        } else {
            length = digits(0);
            if bytes.get(length) == Some(&b'.') && digits(length + 1) > 0 {
                length += 1 + digits(length + 1);
                is_double = true;
            }
            if matches!(bytes.get(length), Some(b'e' | b'E')) {
                let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
                if digits(length + 1 + sign) > 0 {
                    length += 1 + sign + digits(length + 1 + sign);
                    is_double = true;
                }
            }
        }
        let number = rest.get(..length).unwrap_or_default();
        let suffix_length =
            bytes.iter().skip(length).take_while(|byte| **byte == b'_' || byte.is_ascii_alphanumeric()).count();
        self.at += length + suffix_length;
        let suffix = rest.get(length..length + suffix_length).unwrap_or_default();
        let quote = brief(rest.get(..length + suffix_length).unwrap_or_default());
        let is_unsigned = matches!(suffix, "u" | "U") && !is_double;
        if !suffix.is_empty() && !is_unsigned {
            return Err(parse_error(start, self.at, format!("`{quote}` is not a number")));
        }
        if is_double {
            let value = number.parse::<f64>().ok().filter(|value| value.is_finite());
            return value
                .map(Token::Double)
                .ok_or_else(|| parse_error(start, self.at, format!("`{quote}` is too large")));
        }
        let parsed = match number.strip_prefix('0').and_then(|rest| rest.strip_prefix(['x', 'X'])) {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => number.parse::<u64>(),
        };
        parsed
            .map(if is_unsigned { Token::Uint } else { Token::Int })
            .map_err(|_| parse_error(start, self.at, format!("`{quote}` is not a 64-bit integer")))
    }

    /// Reads a string literal whose prefix, such as `r`, has this length.
    fn read_string(&mut self, start: usize, prefix: usize, raw: bool, bytes: bool) -> Result<Token, CompileError> {
        self.at += prefix;
        let rest = self.rest();
        let quote = ["'''", "\"\"\"", "'", "\""].into_iter().find(|quote| rest.starts_with(quote)).unwrap_or("'");
        self.at += quote.len();
        let mut value = Vec::new();
        loop {
            let rest = self.rest();
            let Some(character) = rest.chars().next() else {
                return Err(parse_error(
                    start,
                    self.at,
                    format!("the string that starts here does not end; expected {quote}"),
                ));
            };
            if rest.starts_with(quote) {
                self.at += quote.len();
                break;
            }
            if quote.len() == 1 && (character == '\n' || character == '\r') {
                return Err(parse_error(
                    start,
                    self.at,
                    format!("the string does not end on its line; expected {quote}"),
                ));
            }
            if character == '\\' && !raw {
                let escaped = self.read_escape(bytes)?;
                match u8::try_from(escaped) {
                    Ok(byte) if bytes => value.push(byte),
                    _ => value.extend_from_slice(escaped.encode_utf8(&mut [0; 4]).as_bytes()),
                }
            } else {
                value.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                self.at += character.len_utf8();
            }
        }
        if bytes {
            return Ok(Token::Bytes(value));
        }
        String::from_utf8(value).map(Token::Text).map_err(|_| parse_error(start, self.at, "not text".to_owned()))
    }

    /// Reads an escape sequence and returns its character. In byte strings, `\u` and `\U` are invalid.
    fn read_escape(&mut self, bytes: bool) -> Result<char, CompileError> {
        let start = self.at;
        let rest = self.rest();
        let second = rest.chars().nth(1).unwrap_or('\0');
        self.at += 1 + second.len_utf8().min(rest.len() - 1);
        let (skip, length, radix) = match second {
            'a' => return Ok('\x07'),
            'b' => return Ok('\x08'),
            'f' => return Ok('\x0c'),
            'n' => return Ok('\n'),
            'r' => return Ok('\r'),
            't' => return Ok('\t'),
            'v' => return Ok('\x0b'),
            '\\' | '?' | '"' | '\'' | '`' => return Ok(second),
            'x' | 'X' => (2, 2, 16),
            'u' if !bytes => (2, 4, 16),
            'U' if !bytes => (2, 8, 16),
            '0'..='3' => (1, 3, 8),
            _ => {
                let quote = Span { start, end: self.at }.quote(self.text);
                return Err(parse_error(start, self.at, format!("`{quote}` is not an escape sequence")));
            }
        };
        let digits = rest.get(skip..skip + length).filter(|digits| digits.chars().all(|digit| digit.is_digit(radix)));
        let value = digits.and_then(|digits| u32::from_str_radix(digits, radix).ok()).and_then(char::from_u32);
        if value.is_some() {
            self.at = start + skip + length;
        }
        value.ok_or_else(|| {
            let quote = Span { start, end: self.at }.quote(self.text);
            parse_error(start, self.at, format!("`{quote}` needs {length} digits that name a character"))
        })
    }
}

/// Returns the length of the prefix before an opening quote, whether the string is raw, and whether it is a byte
/// string. Returns `None` if no string begins here.
fn string_prefix(rest: &str) -> Option<(usize, bool, bool)> {
    let prefix = rest.bytes().take(3).position(|byte| byte == b'\'' || byte == b'"')?;
    Some(match rest.get(..prefix)? {
        "" => (0, false, false),
        "r" | "R" => (1, true, false),
        "b" | "B" => (1, false, true),
        "rb" | "rB" | "Rb" | "RB" | "br" | "bR" | "Br" | "BR" => (2, true, true),
        _ => return None,
    })
}

fn parse_error(start: usize, end: usize, message: String) -> CompileError {
    CompileError::new(CompileErrorKind::Parse, Span { start, end }, message)
}
