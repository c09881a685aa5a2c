//! Scalars and aliases, the nodes without children.

use std::borrow::Cow;

use granit_parser::{ScalarStyle, Tag};

use super::super::scalar::{self, Scalar};
use super::super::token_position::{after_colon, token_start};
use super::super::{Failure, FailureKind, Node, Span, Value, strict};
use super::{Builder, FinishedNode, Frame, OpenCollection, ParseFlow, Weight};

impl<'t> Builder<'t> {
    pub(super) fn add_scalar(
        &mut self,
        text: Cow<'t, str>,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        span: Span,
    ) {
        let absent = style == ScalarStyle::Plain && span.start == span.end;
        let text = match text {
            _ if absent => Cow::Borrowed(""),
            // Like go-yaml, do not add a line break that is missing at the end of the text.
            text if is_block(style) && span.end == self.text.len() && ends_inside_line(self.text) => {
                strip_last_line_break(text)
            }
            text => text,
        };
        let end = if is_block(style) { block_scalar_end(self.text, span.end) } else { span.end };
        let span = self.scalar_span(style, span, absent);
        if style == ScalarStyle::Plain && self.has_ambiguous_colon(span.end) {
            let at = Span { start: span.end, end: span.end + 1 };
            let message =
                "a `:` right before a bracket or comma, which YAML readers disagree on; expected a space after it";
            self.push_problem(Failure::new(FailureKind::Syntax, at, message));
        }
        if !absent {
            self.advance_to_token(span, style == ScalarStyle::Plain);
            self.cursor = self.cursor.max(end);
        }
        if self.is_suspicious {
            let quoted = matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted);
            let whole = Span { start: span.start, end: span.end.max(end) };
            self.push_syntax_problem(strict::find_refused_in_scalar(self.text, whole, quoted));
        }
        self.is_empty = absent && anchor == 0 && tag.is_none() && self.stack.is_empty();
        let is_merge = text == "<<"
            && match tag {
                None => style == ScalarStyle::Plain,
                Some(tag) => tag.suffix_in_namespace(scalar::CORE_TAG_PREFIX).as_deref() == Some("merge"),
            };
        let (meaning, text) = match tag.map(|tag| tag.suffix_in_namespace(scalar::CORE_TAG_PREFIX)) {
            None if style == ScalarStyle::Plain => (scalar::resolve_plain(&text), text),
            None | Some(None) => (Scalar::Text, text),
            Some(Some(kind)) => match scalar::resolve_tagged(&kind, text) {
                Ok(resolved) => resolved,
                Err(message) => {
                    self.push_problem(Failure::new(FailureKind::BadTag, span, message));
                    (Scalar::Null, Cow::Borrowed(""))
                }
            },
        };
        let weight = Weight { nodes: 1, bytes: text.len(), height: 0 };
        let value = self.scalar_value(meaning, text, span);
        let node = Node { value, span };
        self.attach_node(FinishedNode { node, scalar: Some(meaning), is_alias: false, is_merge, weight }, anchor);
    }

    fn scalar_value(&mut self, meaning: Scalar, text: Cow<'t, str>, span: Span) -> Value<'t> {
        match meaning {
            Scalar::Null => Value::Null,
            Scalar::Bool(value) => Value::Bool(value),
            Scalar::Integer(value) => Value::Integer(value),
            Scalar::Float(value) if value.is_finite() => {
                scalar::to_integer(value).map_or(Value::Float(value), Value::Integer)
            }
            Scalar::Float(_) if self.awaits_key() => Value::Null,
            Scalar::Float(_) => {
                let message = format!("`{text}`, which is not a JSON number; expected a finite number, or quotes");
                self.push_problem(Failure::new(FailureKind::NotJson, span, message));
                Value::Null
            }
            Scalar::Text => Value::String(text),
        }
    }

    fn awaits_key(&self) -> bool {
        matches!(self.stack.last(), Some(Frame { contents: OpenCollection::Mapping(frame), .. }) if frame.awaits_key())
    }

    /// Corrects a span from the parser, which starts block scalars after their header and puts absent values before the
    /// colon.
    fn scalar_span(&self, style: ScalarStyle, span: Span, absent: bool) -> Span {
        if absent {
            let key_end = match self.stack.last() {
                Some(Frame { contents: OpenCollection::Mapping(frame), .. }) => frame.key_end(),
                _ => None,
            };
            let at = key_end.and_then(|end| after_colon(self.text, end)).unwrap_or(span.start);
            return Span { start: at, end: at };
        }
        if !is_block(style) {
            return span;
        }
        let header = token_start(self.text, self.cursor, false);
        let start = if header < span.start { header } else { span.start };
        let length = self.text.get(start..span.end).map_or(0, |content| content.trim_end().len());
        Span { start, end: start + length }
    }

    /// Whether a plain scalar in a flow collection is followed by a colon that touches an indicator, as in `{a:[1]}`.
    fn has_ambiguous_colon(&self, end: usize) -> bool {
        self.stack.last().is_some_and(|frame| frame.is_flow)
            && matches!(self.text.as_bytes().get(end..), Some([b':', b',' | b'[' | b']' | b'{' | b'}', ..]))
    }

    /// Expands an alias into a copy of its anchor's node, within the limits on depth, nodes and bytes.
    pub(super) fn add_alias(&mut self, id: usize, span: Span) -> ParseFlow {
        self.advance_to_token(span, false);
        let Some(Some(done)) = self.anchors.get(&id) else {
            if self.anchors.contains_key(&id) {
                self.add_unknown_alias(span, "an alias inside the collection that it names; expected one outside");
            } else {
                self.add_null(span);
            }
            return ParseFlow::Continue;
        };
        let weight = done.weight;
        if self.stack.len() + weight.height > self.limits.depth {
            self.report_too_deep(span);
            self.add_null(span);
            return ParseFlow::Continue;
        }
        self.alias_weight.nodes = self.alias_weight.nodes.saturating_add(weight.nodes);
        self.alias_weight.bytes = self.alias_weight.bytes.saturating_add(weight.bytes);
        self.nodes = self.nodes.saturating_add(weight.nodes);
        let (what, limit) = if self.alias_weight.nodes > self.limits.alias_nodes {
            ("aliases that stand for too many nodes", self.limits.alias_nodes)
        } else if self.alias_weight.bytes > self.limits.document_bytes {
            ("aliases that stand for too many bytes", self.limits.document_bytes)
        } else {
            let mut copy = done.clone();
            copy.node.span = span;
            copy.is_alias = true;
            copy.is_merge = false;
            self.attach_node(copy, 0);
            return ParseFlow::Continue;
        };
        self.push_limit_problem(FailureKind::TooManyAliases, span, what, limit);
        ParseFlow::Stop
    }

    pub(super) fn add_unknown_alias(&mut self, span: Span, message: impl Into<String>) {
        self.advance_to_token(span, false);
        self.push_problem(Failure::new(FailureKind::UnknownAlias, span, message));
        self.add_null(span);
    }

    /// Adds a null in place of a node that could not be read.
    fn add_null(&mut self, span: Span) {
        let node = Node { value: Value::Null, span };
        let weight = Weight { nodes: 1, ..Weight::default() };
        self.attach_node(FinishedNode { node, scalar: None, is_alias: true, is_merge: false, weight }, 0);
    }

    /// Stores a copy for later aliases. Copies of nested anchors count again, so their sum is limited like the document
    /// itself.
    pub(super) fn store_anchor(&mut self, done: &FinishedNode<'t>, anchor: usize) {
        self.anchored_nodes = self.anchored_nodes.saturating_add(done.weight.nodes);
        if self.anchored_nodes <= self.limits.nodes {
            self.anchors.insert(anchor, Some(done.clone()));
            return;
        }
        self.anchors.remove(&anchor);
        if !self.problems.iter().any(|problem| problem.kind == FailureKind::TooManyNodes) {
            let what = "anchors on too many nodes, counting nested ones again";
            self.push_limit_problem(FailureKind::TooManyNodes, done.node.span, what, self.limits.nodes);
        }
    }
}

fn is_block(style: ScalarStyle) -> bool {
    matches!(style, ScalarStyle::Literal | ScalarStyle::Folded)
}

/// Returns the end of a block scalar, including blank lines and tabs, which are content. The parser's end includes the
/// indentation of the next line, which is not.
fn block_scalar_end(text: &str, end: usize) -> usize {
    if end == text.len() {
        return end;
    }
    text.get(..end).and_then(|before| before.rfind(['\n', '\r'])).map_or(0, |line_break| line_break + 1)
}

fn ends_inside_line(text: &str) -> bool {
    let line = text.rsplit_once(['\n', '\r']).map_or(text, |(_, line)| line);
    !line.trim_matches(' ').is_empty()
}

fn strip_last_line_break(text: Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.strip_suffix('\n').unwrap_or(text)),
        Cow::Owned(mut text) => {
            if text.ends_with('\n') {
                text.pop();
            }
            Cow::Owned(text)
        }
    }
}
