//! Reads documents in plain block style directly from the text, without the events of the parser.
//!
//! Most manifests are mappings and lists in block style with scalars on one line. This reader handles exactly these,
//! line by line, in about a tenth of the time. It builds the same tree with the same spans as the event parser, or it
//! refuses the document: it reports no error and guesses nothing. The caller then reads the document with the event
//! parser. Tests hold both readers to the same result.

use std::borrow::Cow;

use super::scalar::{self, Scalar};
use super::{Limits, MappingEntry, Node, Span, Value};

/// Maximum number of entries in a mapping. Larger ones are left to the event parser, which has an index of the keys.
const MAX_ENTRIES: usize = 256;

/// Maximum length of a key in bytes. YAML limits keys without `?` to 1024 characters.
const MAX_KEY_BYTES: usize = 512;

/// Maximum nesting of flow collections, which are read recursively.
const MAX_FLOW_DEPTH: usize = 64;

/// A document that the block reader has read.
#[derive(Debug)]
pub(super) enum BlockDocument<'t> {
    /// Nothing but blank lines and comments.
    Empty,
    /// A tree without problems.
    Tree(Node<'t>),
}

/// Reads the document in `text[content.start..content.end]`, the bytes between two markers. Returns `None` if this
/// reader refuses the document.
pub(super) fn read_block_document<'t>(text: &'t str, content: Span, limits: &Limits) -> Option<BlockDocument<'t>> {
    let region = text.get(content.start..content.end)?;
    // A line that starts with three dots ends a document, even inside a scalar or a flow collection.
    let has_end_marker = region.starts_with("...") || memchr::memmem::find(region.as_bytes(), b"\n...").is_some();
    if region.len() > limits.document_bytes || has_end_marker || !is_printable(region) {
        return None;
    }
    let is_cut = content.end == text.len() && !text.ends_with('\n');
    let reader = BlockReader {
        text,
        bytes: text.as_bytes().get(..content.end)?,
        at: content.start,
        is_cut,
        limits,
        nodes: 0,
        stack: Vec::with_capacity(8),
        root: None,
    };
    reader.read()
}

/// Returns whether a text consists of line feeds and characters that YAML 1.1 and 1.2 readers treat alike. Excluded
/// are tabs, carriage returns, control characters, line separators of YAML 1.1 and byte order marks.
pub(super) fn is_printable(text: &str) -> bool {
    let is_plain_ascii = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n');
    let is_plain_chunk = |chunk: &[u8]| chunk.iter().fold(true, |all, byte| all & is_plain_ascii(byte));
    // Whole chunks without an early exit can be compared with vector instructions.
    text.as_bytes().chunks(64).all(is_plain_chunk)
        || text.chars().all(|c| {
            matches!(c, ' '..='~' | '\n' | '\u{a0}'..='\u{2027}' | '\u{202a}'..='\u{d7ff}' | '\u{e000}'..='\u{fdff}')
                || ('\u{fe00}'..='\u{fffd}').contains(&c) && c != '\u{feff}'
                || c >= '\u{10000}'
        })
}

/// Appends what a line break in a scalar stands for: one line feed is a space, and of several the first one is dropped.
fn push_folded_break(text: &mut String, line_feeds: usize) {
    match line_feeds {
        1 => text.push(' '),
        count => text.extend(std::iter::repeat_n('\n', count - 1)),
    }
}

/// A collection whose end has not been reached.
struct Frame<'t> {
    /// Column of the first key or of the dashes.
    indent: usize,
    start: usize,
    contents: OpenCollection<'t>,
}

enum OpenCollection<'t> {
    Sequence(Vec<Node<'t>>),
    Mapping(OpenMapping<'t>),
}

/// A mapping, and the key whose value comes next.
#[derive(Default)]
struct OpenMapping<'t> {
    entries: Vec<MappingEntry<'t>>,
    pending: Option<(Cow<'t, str>, Span)>,
    end: usize,
    /// One bit for each key, by its length and its first and last byte. Only a key whose bit is set can be a duplicate.
    filter: u64,
}

impl<'t> OpenMapping<'t> {
    /// Starts an entry. Returns `None` for a duplicate key, or if the mapping is too large.
    fn begin_entry(&mut self, key: Cow<'t, str>, span: Span) -> Option<()> {
        let (first, last) = (key.bytes().next().unwrap_or(0), key.bytes().next_back().unwrap_or(0));
        let bit = 1_u64 << ((key.len() * 31 + usize::from(first) * 7 + usize::from(last)) % 64);
        if self.entries.len() >= MAX_ENTRIES
            || (self.filter & bit != 0 && self.entries.iter().any(|entry| entry.key == key))
        {
            return None;
        }
        self.filter |= bit;
        self.pending = Some((key, span));
        Some(())
    }

    fn finish_entry(&mut self, node: Node<'t>) -> Option<()> {
        let (key, key_span) = self.pending.take()?;
        self.end = node.span.end.max(key_span.end);
        self.entries.push(MappingEntry { key, key_span, node });
        Some(())
    }
}

/// A scalar on one line, or a key.
struct Token<'t> {
    text: Cow<'t, str>,
    span: Span,
    is_plain: bool,
    /// Whether a colon follows, so that this is a key.
    is_key: bool,
}

impl<'t> Token<'t> {
    /// Converts the scalar to the string of a key. Refuses merge keys, and keys that JSON cannot represent.
    fn into_key(self) -> Option<Cow<'t, str>> {
        if self.span.end - self.span.start > MAX_KEY_BYTES {
            return None;
        }
        if !self.is_plain {
            return Some(self.text);
        }
        if self.text == "<<" {
            return None;
        }
        match scalar::resolve_plain(&self.text) {
            Scalar::Text => Some(self.text),
            resolved => scalar::scalar_to_key(resolved, self.text).ok(),
        }
    }
}

struct BlockReader<'t, 'l> {
    text: &'t str,
    /// The text up to the end of the document.
    bytes: &'t [u8],
    at: usize,
    /// Whether the document ends with the text, and the text ends without a line feed.
    is_cut: bool,
    limits: &'l Limits,
    nodes: usize,
    stack: Vec<Frame<'t>>,
    root: Option<Node<'t>>,
}

impl<'t> BlockReader<'t, '_> {
    fn read(mut self) -> Option<BlockDocument<'t>> {
        while self.at < self.bytes.len() {
            let line = self.at;
            let content = self.skip_spaces(line);
            match self.byte(content) {
                None => self.at = content,
                Some(b'\n') => self.at = content + 1,
                Some(b'#') => self.at = self.next_line(content),
                Some(_) => self.read_line(content - line, content)?,
            }
        }
        while !self.stack.is_empty() {
            self.close()?;
        }
        Some(self.root.map_or(BlockDocument::Empty, BlockDocument::Tree))
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    fn skip_spaces(&self, at: usize) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        at + rest.iter().take_while(|byte| **byte == b' ').count()
    }

    /// Returns the position of the line feed that ends the line, or the end of the document.
    fn line_end(&self, at: usize) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        memchr::memchr(b'\n', rest).map_or(self.bytes.len(), |length| at + length)
    }

    fn next_line(&self, at: usize) -> usize {
        (self.line_end(at) + 1).min(self.bytes.len())
    }

    /// Returns whether a dash at this position starts an item.
    fn is_dash(&self, at: usize) -> bool {
        self.byte(at) == Some(b'-') && matches!(self.byte(at + 1), None | Some(b' ' | b'\n'))
    }

    /// Reads a line with content, and the following ones if a block scalar starts on it.
    fn read_line(&mut self, indent: usize, content: usize) -> Option<()> {
        let starts_with_dash = self.is_dash(content);
        while let Some(top) = self.stack.last() {
            let is_left_sequence =
                top.indent == indent && !starts_with_dash && matches!(top.contents, OpenCollection::Sequence(_));
            if top.indent <= indent && !is_left_sequence {
                break;
            }
            self.close()?;
        }
        let (mut column, mut at, mut after_dash) = (indent, content, false);
        while self.is_dash(at) {
            self.begin_item(column, at, after_dash)?;
            let next = self.skip_spaces(at + 1);
            if matches!(self.byte(next), None | Some(b'\n' | b'#')) {
                return None;
            }
            column += next - at;
            (at, after_dash) = (next, true);
        }
        let may_be_value = after_dash || self.awaits_value(column);
        if matches!(self.byte(at), Some(b'[' | b'{' | b'|' | b'>')) {
            return if may_be_value { self.read_value(at) } else { None };
        }
        let token = self.read_token(at)?;
        if !token.is_key {
            return if may_be_value { self.finish_scalar(token) } else { None };
        }
        let colon = token.span.end;
        self.begin_entry(column, token, after_dash)?;
        let value = self.skip_spaces(colon + 1);
        match self.byte(value) {
            None | Some(b'\n') => self.at = (value + 1).min(self.bytes.len()),
            Some(b'#') => self.at = self.next_line(value),
            Some(_) => self.read_value(value)?,
        }
        Some(())
    }

    /// Returns whether a scalar or flow collection on a line of its own, at this column, is the value of the pending key
    /// or the whole document.
    fn awaits_value(&self, column: usize) -> bool {
        match self.stack.last() {
            None => self.root.is_none() && matches!(self.byte(self.at + column), Some(b'[' | b'{')),
            Some(Frame { indent, contents: OpenCollection::Mapping(mapping), .. }) => {
                mapping.pending.is_some() && *indent < column
            }
            Some(_) => false,
        }
    }

    /// Returns the column that lines of a multi-line scalar or flow collection must at least have.
    fn min_column(&self) -> usize {
        self.stack.last().map_or(0, |frame| frame.indent + 1)
    }

    /// Reads the value that starts at this position: the rest of the line, and more lines for a block scalar.
    fn read_value(&mut self, at: usize) -> Option<()> {
        match self.byte(at)? {
            b'[' | b'{' => {
                let (node, end) = self.read_flow(at, 0)?;
                self.attach(node)?;
                self.finish_line(end)
            }
            b'|' | b'>' => self.read_block_scalar(at),
            _ => {
                let token = self.read_token(at)?;
                if token.is_key { None } else { self.finish_scalar(token) }
            }
        }
    }

    /// Attaches a scalar and moves to the next line. A plain scalar may continue on it.
    fn finish_scalar(&mut self, mut token: Token<'t>) -> Option<()> {
        if token.is_plain {
            self.continue_plain(&mut token)?;
        }
        let end = token.span.end;
        let node = self.scalar_node(token)?;
        self.attach(node)?;
        self.finish_line(end)
    }

    /// Appends the following lines that continue a plain scalar: those indented deeper than its collection. A line feed
    /// becomes a space, and each blank line a line feed.
    fn continue_plain(&self, token: &mut Token<'t>) -> Option<()> {
        let min_column = self.min_column();
        loop {
            let line_end = self.skip_spaces(token.span.end);
            if self.byte(line_end) != Some(b'\n') {
                return Some(());
            }
            let (content, line_feeds) = self.skip_blank_lines(line_end);
            let column = content - self.line_start(content);
            if column < min_column || matches!(self.byte(content), None | Some(b'#')) {
                return Some(());
            }
            let next = self.read_plain_line(content)?;
            // A comment would end the scalar, and a colon make it a key.
            if next.is_key || self.byte(self.skip_spaces(next.span.end)) == Some(b'#') {
                return None;
            }
            let text = token.text.to_mut();
            push_folded_break(text, line_feeds);
            text.push_str(&next.text);
            token.span.end = next.span.end;
        }
    }

    /// Skips the line feed at `at` and the blank lines after it. Returns the position of the next content and the number
    /// of line feeds before it.
    fn skip_blank_lines(&self, mut at: usize) -> (usize, usize) {
        let mut line_feeds = 0;
        while self.byte(at) == Some(b'\n') {
            line_feeds += 1;
            at = self.skip_spaces(at + 1);
        }
        (at, line_feeds)
    }

    fn line_start(&self, at: usize) -> usize {
        let before = self.bytes.get(..at).unwrap_or_default();
        memchr::memrchr(b'\n', before).map_or(0, |line_feed| line_feed + 1)
    }

    /// Moves to the next line. Refuses anything but blanks and a comment before it.
    fn finish_line(&mut self, end: usize) -> Option<()> {
        let rest = self.skip_spaces(end);
        match self.byte(rest) {
            None | Some(b'\n') => self.at = (rest + 1).min(self.bytes.len()),
            Some(b'#') if rest > end => self.at = self.next_line(rest),
            Some(_) => return None,
        }
        Some(())
    }

    fn count_node(&mut self) -> Option<()> {
        self.nodes += 1;
        (self.nodes <= self.limits.nodes).then_some(())
    }

    fn open(&mut self, indent: usize, start: usize, contents: OpenCollection<'t>) -> Option<()> {
        self.count_node()?;
        if self.stack.len() >= self.limits.depth {
            return None;
        }
        self.stack.push(Frame { indent, start, contents });
        Some(())
    }

    /// Prepares for the item after a dash: continues the innermost list, or opens one.
    fn begin_item(&mut self, column: usize, dash: usize, after_dash: bool) -> Option<()> {
        match self.stack.last() {
            None if self.root.is_some() => return None,
            None => {}
            Some(Frame { indent, contents, .. }) => match contents {
                OpenCollection::Sequence(_) if *indent == column && !after_dash => return Some(()),
                OpenCollection::Sequence(_) if after_dash => {}
                OpenCollection::Mapping(mapping) if mapping.pending.is_some() && !after_dash => {}
                _ => return None,
            },
        }
        self.open(column, dash, OpenCollection::Sequence(Vec::new()))
    }

    /// Starts an entry: continues the innermost mapping, or opens one.
    fn begin_entry(&mut self, column: usize, key: Token<'t>, after_dash: bool) -> Option<()> {
        let (start, key_span) = (key.span.start, key.span);
        let key = key.into_key()?;
        let continues = match self.stack.last() {
            None if self.root.is_some() => return None,
            None => false,
            Some(Frame { indent, contents, .. }) => match contents {
                OpenCollection::Sequence(_) if after_dash => false,
                OpenCollection::Mapping(_) if *indent == column => true,
                OpenCollection::Mapping(mapping) if mapping.pending.is_some() => false,
                _ => return None,
            },
        };
        if continues {
            self.finish_pending()?;
        } else {
            self.open(column, start, OpenCollection::Mapping(OpenMapping::default()))?;
        }
        self.count_node()?;
        match &mut self.stack.last_mut()?.contents {
            OpenCollection::Mapping(mapping) => mapping.begin_entry(key, key_span),
            OpenCollection::Sequence(_) => None,
        }
    }

    /// Gives the pending key of the innermost mapping a null value, if there is one. It stands right after the colon.
    fn finish_pending(&mut self) -> Option<()> {
        let Some(Frame { contents: OpenCollection::Mapping(mapping), .. }) = self.stack.last_mut() else {
            return Some(());
        };
        if let Some((_, key_span)) = &mapping.pending {
            let at = key_span.end + 1;
            mapping.finish_entry(Node { value: Value::Null, span: Span { start: at, end: at } })?;
            self.count_node()?;
        }
        Some(())
    }

    /// Closes the innermost collection and attaches it to the one that contains it.
    fn close(&mut self) -> Option<()> {
        self.finish_pending()?;
        let Frame { start, contents, .. } = self.stack.pop()?;
        let node = match contents {
            OpenCollection::Sequence(items) => {
                let end = items.last().map_or(start, |item| item.span.end);
                Node { value: Value::Sequence(items), span: Span { start, end } }
            }
            OpenCollection::Mapping(mapping) => {
                Node { value: Value::Mapping(mapping.entries), span: Span { start, end: mapping.end } }
            }
        };
        self.attach(node)
    }

    /// Attaches a node to the innermost collection, or makes it the root.
    fn attach(&mut self, node: Node<'t>) -> Option<()> {
        match self.stack.last_mut() {
            None => self.root = Some(node),
            Some(Frame { contents: OpenCollection::Sequence(items), .. }) => items.push(node),
            Some(Frame { contents: OpenCollection::Mapping(mapping), .. }) => mapping.finish_entry(node)?,
        }
        Some(())
    }

    /// Resolves a scalar. Refuses numbers that JSON does not have.
    fn scalar_node(&mut self, token: Token<'t>) -> Option<Node<'t>> {
        self.count_node()?;
        let meaning = if token.is_plain { scalar::resolve_plain(&token.text) } else { Scalar::Text };
        let value = match meaning {
            Scalar::Null => Value::Null,
            Scalar::Bool(value) => Value::Bool(value),
            Scalar::Integer(value) => Value::Integer(value),
            Scalar::Float(value) if value.is_finite() => {
                scalar::to_integer(value).map_or(Value::Float(value), Value::Integer)
            }
            Scalar::Float(_) => return None,
            Scalar::Text => Value::String(token.text),
        };
        Some(Node { value, span: token.span })
    }

    /// Reads a scalar on one line, up to its end or the colon after it.
    fn read_token(&self, at: usize) -> Option<Token<'t>> {
        match self.byte(at)? {
            quote @ (b'"' | b'\'') => {
                let (text, end) = self.read_quoted(at, quote)?;
                let is_key = self.is_key_colon(end);
                if is_key && memchr::memchr(b'\n', self.bytes.get(at..end)?).is_some() {
                    return None;
                }
                Some(Token { text, span: Span { start: at, end }, is_plain: false, is_key })
            }
            _ => self.read_plain(at),
        }
    }

    /// Returns whether a colon that ends a key is at this position.
    fn is_key_colon(&self, at: usize) -> bool {
        self.byte(at) == Some(b':') && matches!(self.byte(at + 1), None | Some(b' ' | b'\n'))
    }

    /// Reads a plain scalar in block context, up to the end of its line.
    fn read_plain(&self, start: usize) -> Option<Token<'t>> {
        let rest = self.bytes.get(start..)?;
        let starts = match rest {
            [b'-', b' ' | b'\n', ..] | [b'-'] | [] => false,
            // A question mark or colon may start a plain scalar if no blank follows, but few do.
            [first, ..] => !b"?:,[]{}#&*!|>'\"%@` \n".contains(first),
        };
        if starts { self.read_plain_line(start) } else { None }
    }

    /// Reads the part of a plain scalar that is on one line.
    fn read_plain_line(&self, start: usize) -> Option<Token<'t>> {
        let mut end = start;
        let mut is_key = false;
        let mut at = start;
        // Only these three bytes can end the scalar.
        while let Some(length) = self.bytes.get(at..).and_then(|rest| memchr::memchr3(b'\n', b':', b'#', rest)) {
            let found = at + length;
            match self.byte(found)? {
                b'\n' => {
                    end = found;
                    break;
                }
                b':' if self.is_key_colon(found) => {
                    (end, is_key) = (found, true);
                    break;
                }
                b'#' if self.byte(found - 1) == Some(b' ') => {
                    end = found;
                    break;
                }
                _ => at = found + 1,
            }
        }
        if end == start {
            end = self.bytes.len();
        }
        let written = self.text.get(start..end)?;
        let text = written.trim_end_matches(' ');
        if is_key && text.len() < written.len() {
            return None;
        }
        Some(Token { text: Cow::Borrowed(text), span: Span { start, end: start + text.len() }, is_plain: true, is_key })
    }

    /// Reads a quoted scalar. Returns its text and the position after the closing quote.
    fn read_quoted(&self, start: usize, quote: u8) -> Option<(Cow<'t, str>, usize)> {
        let mut owned: Option<String> = None;
        let mut from = start + 1;
        let mut at = from;
        loop {
            let rest = self.bytes.get(at..)?;
            let found = at + memchr::memchr3(quote, b'\\', b'\n', rest)?;
            match self.byte(found)? {
                b'\n' => {
                    let text = owned.get_or_insert_with(String::new);
                    text.push_str(self.text.get(from..found)?.trim_end_matches(' '));
                    let (content, line_feeds) = self.skip_blank_lines(found);
                    if content - self.line_start(content) < self.min_column() {
                        return None;
                    }
                    push_folded_break(text, line_feeds);
                    from = content;
                    at = from;
                }
                b'\\' if quote == b'\'' => at = found + 1,
                b'\\' => {
                    let mut length = 2;
                    let escaped = match self.byte(found + 1)? {
                        b'"' => '"',
                        b'\\' => '\\',
                        b'/' => '/',
                        b' ' => ' ',
                        b'\n' => {
                            // An escaped line break joins two lines. Blanks before it are content.
                            let (content, line_feeds) = self.skip_blank_lines(found + 1);
                            if line_feeds > 1 || content - self.line_start(content) < self.min_column() {
                                return None;
                            }
                            owned.get_or_insert_with(String::new).push_str(self.text.get(from..found)?);
                            (from, at) = (content, content);
                            continue;
                        }
                        b'n' => '\n',
                        b't' => '\t',
                        b'r' => '\r',
                        b'u' => {
                            let digits = self.text.get(found + 2..found + 6)?;
                            if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                                return None;
                            }
                            length = 6;
                            char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
                        }
                        _ => return None,
                    };
                    let text = owned.get_or_insert_with(String::new);
                    text.push_str(self.text.get(from..found)?);
                    text.push(escaped);
                    from = found + length;
                    at = from;
                }
                _ if quote == b'\'' && self.byte(found + 1) == Some(b'\'') => {
                    let text = owned.get_or_insert_with(String::new);
                    text.push_str(self.text.get(from..=found)?);
                    from = found + 2;
                    at = from;
                }
                _ => {
                    let last = self.text.get(from..found)?;
                    let text = match owned {
                        Some(mut text) => {
                            text.push_str(last);
                            Cow::Owned(text)
                        }
                        None => Cow::Borrowed(last),
                    };
                    return Some((text, found + 1));
                }
            }
        }
    }

    /// Reads a flow collection. Returns it with the position after its closing bracket.
    fn read_flow(&mut self, start: usize, depth: usize) -> Option<(Node<'t>, usize)> {
        self.count_node()?;
        if self.stack.len() + depth >= self.limits.depth || depth > MAX_FLOW_DEPTH {
            return None;
        }
        let is_mapping = self.byte(start)? == b'{';
        let close = if is_mapping { b'}' } else { b']' };
        let mut items = Vec::new();
        let mut mapping = OpenMapping::default();
        let mut at = self.skip_flow_space(start + 1)?;
        while self.byte(at)? != close {
            if is_mapping {
                let key = self.read_flow_token(at)?;
                let colon = key.span.end;
                let is_adjacent = !key.is_plain || matches!(self.byte(colon + 1)?, b' ');
                if self.byte(colon)? != b':' || !is_adjacent {
                    return None;
                }
                if memchr::memchr(b'\n', self.bytes.get(at..colon)?).is_some() {
                    return None;
                }
                self.count_node()?;
                let key_span = key.span;
                mapping.begin_entry(key.into_key()?, key_span)?;
                at = self.skip_flow_space(colon + 1)?;
            }
            let (node, end) = match self.byte(at)? {
                b'[' | b'{' => self.read_flow(at, depth + 1)?,
                _ => {
                    let token = self.read_flow_token(at)?;
                    let end = token.span.end;
                    (self.scalar_node(token)?, end)
                }
            };
            if is_mapping {
                mapping.finish_entry(node)?;
            } else {
                items.push(node);
            }
            at = self.skip_flow_space(end)?;
            match self.byte(at)? {
                b',' => {
                    at = self.skip_flow_space(at + 1)?;
                    // A comma before the closing bracket.
                    if self.byte(at)? == close {
                        return None;
                    }
                }
                byte if byte == close => {}
                _ => return None,
            }
        }
        let value = if is_mapping { Value::Mapping(mapping.entries) } else { Value::Sequence(items) };
        Some((Node { value, span: Span { start, end: at + 1 } }, at + 1))
    }

    /// Skips blanks and line feeds in a flow collection. Refuses comments, and lines that are not indented enough.
    fn skip_flow_space(&self, at: usize) -> Option<usize> {
        let at = self.skip_spaces(at);
        if self.byte(at)? != b'\n' {
            return Some(at);
        }
        let (content, _) = self.skip_blank_lines(at);
        let is_refused = self.byte(content)? == b'#' || content - self.line_start(content) < self.min_column();
        (!is_refused).then_some(content)
    }

    /// Reads a scalar or a key in a flow collection. Plain ones consist of characters that need no second look.
    fn read_flow_token(&self, start: usize) -> Option<Token<'t>> {
        let first = self.byte(start)?;
        if matches!(first, b'"' | b'\'') {
            let (text, end) = self.read_quoted(start, first)?;
            return Some(Token { text, span: Span { start, end }, is_plain: false, is_key: false });
        }
        let rest = self.bytes.get(start..)?;
        let starts = match rest {
            [b'-', second, ..] => second.is_ascii_alphanumeric() || *second == b'-',
            [first, ..] => first.is_ascii_alphanumeric() || matches!(first, b'_' | b'.' | b'/' | b'+' | b'$'),
            [] => false,
        };
        if !starts {
            return None;
        }
        let mut length = 0;
        for (at, byte) in rest.iter().enumerate() {
            match byte {
                b' ' => continue,
                b':' if rest.get(at + 1).is_some_and(|next| next.is_ascii_alphanumeric() || *next == b'/') => {}
                b'_' | b'-' | b'.' | b'/' | b'+' | b'=' | b'~' | b'$' | b'(' | b')' | b'<' | b'>' | b'*' | b'^'
                | b';' | b'%' | b'@' => {}
                byte if byte.is_ascii_alphanumeric() => {}
                _ => break,
            }
            length = at + 1;
        }
        let end = start + length;
        let text = Cow::Borrowed(self.text.get(start..end)?);
        Some(Token { text, span: Span { start, end }, is_plain: true, is_key: false })
    }

    /// Reads a literal or folded block scalar without an indentation indicator, whose first line has no comment.
    fn read_block_scalar(&mut self, start: usize) -> Option<()> {
        if self.is_cut {
            return None;
        }
        let parent_indent = self.stack.last()?.indent;
        let is_folded = self.byte(start)? == b'>';
        let (chomping, header_end) = match self.byte(start + 1) {
            Some(chomping @ (b'-' | b'+')) => (Some(chomping), start + 2),
            _ => (None, start + 1),
        };
        let mut at = self.skip_spaces(header_end);
        if self.byte(at) != Some(b'\n') {
            return None;
        }
        at += 1;
        let mut content_indent = None;
        let mut text = String::new();
        // Line feeds that are part of the text only if more text follows, or if all trailing ones are kept.
        let mut line_feeds = 0;
        let mut content_end = start;
        let mut longest_blank = 0;
        while at < self.bytes.len() {
            let first = self.skip_spaces(at);
            let indent = first - at;
            if matches!(self.byte(first), None | Some(b'\n')) {
                match content_indent {
                    None => longest_blank = longest_blank.max(indent),
                    Some(content_indent) if indent > content_indent => return None,
                    Some(_) => {}
                }
                line_feeds += 1;
                at = (first + 1).min(self.bytes.len());
                continue;
            }
            let content_indent = match content_indent {
                None if indent <= parent_indent => break,
                None if longest_blank > indent => return None,
                None => *content_indent.insert(indent),
                Some(content_indent) if indent >= content_indent => content_indent,
                Some(_) if indent > parent_indent => return None,
                Some(_) => break,
            };
            let end = self.line_end(first);
            let line = self.text.get(at + content_indent..end)?;
            if is_folded && line.starts_with(' ') {
                return None;
            }
            // The line feed after a line of folded text is a space, unless blank lines follow.
            match (is_folded && !text.is_empty(), line_feeds) {
                (true, 1) => text.push(' '),
                (true, count) => text.extend(std::iter::repeat_n('\n', count - 1)),
                (false, count) => text.extend(std::iter::repeat_n('\n', count)),
            }
            text.push_str(line);
            line_feeds = 1;
            content_end = end;
            at = (end + 1).min(self.bytes.len());
        }
        content_indent?;
        match chomping {
            Some(b'-') => {}
            Some(_) => text.extend(std::iter::repeat_n('\n', line_feeds)),
            None => text.push('\n'),
        }
        self.at = at;
        self.count_node()?;
        let length = self.text.get(start..content_end)?.trim_end().len();
        self.attach(Node { value: Value::String(Cow::Owned(text)), span: Span { start, end: start + length } })
    }
}

#[cfg(test)]
mod tests;
