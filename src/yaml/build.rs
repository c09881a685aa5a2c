//! The parser's events of one document to a tree, with an explicit stack.

use std::borrow::Cow;
use std::collections::BTreeMap;

use granit_parser::{Event, ScalarStyle, Span as Place, StructureStyle, Tag};

use super::mapping::{Key, MappingFrame};
use super::parse::{bytes, passed};
use super::place::{after_colon, token_start};
use super::scalar::{self, Scalar};
use super::{Failure, FailureKind, Limits, Node, Span, Value};

/// Whether to go on with the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    GoOn,
    Stop,
}

/// At most so many problems are kept for one document.
const MAX_PROBLEMS: usize = 1000;

/// A finished node with what its parent must know about it.
#[derive(Debug, Clone)]
pub(super) struct Done<'t> {
    pub(super) node: Node<'t>,
    /// What a scalar resolved to, which decides how it looks as a key.
    pub(super) scalar: Option<Scalar>,
    pub(super) is_alias: bool,
    pub(super) is_merge: bool,
    weight: Weight,
}

/// How much a subtree holds.
#[derive(Debug, Clone, Copy, Default)]
struct Weight {
    nodes: usize,
    bytes: usize,
    height: usize,
}

enum Contents<'t> {
    Sequence(Vec<Node<'t>>),
    Mapping(MappingFrame<'t>),
}

struct Frame<'t> {
    contents: Contents<'t>,
    start: usize,
    flow: bool,
    anchor: usize,
    weight: Weight,
}

pub(super) struct Builder<'t> {
    text: &'t str,
    limits: Limits,
    start: usize,
    /// The end of the last token.
    cursor: usize,
    stack: Vec<Frame<'t>>,
    root: Option<Done<'t>>,
    empty: bool,
    /// Finished nodes by anchor; none for those that are not finished or were left out.
    anchors: BTreeMap<usize, Option<Done<'t>>>,
    anchored_nodes: usize,
    nodes: usize,
    alias_weight: Weight,
    /// Open collections below the one that is too deep, itself included.
    skipping: usize,
    problems: Vec<Failure>,
}

impl<'t> Builder<'t> {
    pub(super) fn new(text: &'t str, limits: Limits, start: usize, cursor: usize) -> Self {
        Self {
            text,
            limits,
            start,
            cursor,
            stack: Vec::new(),
            root: None,
            empty: false,
            anchors: BTreeMap::new(),
            anchored_nodes: 0,
            nodes: 0,
            alias_weight: Weight::default(),
            skipping: 0,
            problems: Vec::new(),
        }
    }

    /// Takes the next event of the document.
    pub(super) fn event(&mut self, event: Event<'t>, place: Place) -> Step {
        let span = bytes(place);
        let opens = matches!(event, Event::SequenceStart(..) | Event::MappingStart(..));
        let closes = matches!(event, Event::SequenceEnd | Event::MappingEnd);
        if span.end.saturating_sub(self.start) > self.limits.document_bytes {
            let at = Span { start: self.start, end: self.start };
            self.limit(FailureKind::TooLarge, at, "a document of more bytes than are read", self.limits.document_bytes);
            return Step::Stop;
        }
        if self.skipping > 0 {
            self.skipping = self.skipping + usize::from(opens) - usize::from(closes);
            self.cursor = self.cursor.max(span.end);
            return Step::GoOn;
        }
        if !closes {
            self.nodes += 1;
            if self.nodes > self.limits.nodes {
                self.limit(FailureKind::TooManyNodes, span, "a document of more nodes than are read", self.limits.nodes);
                return Step::Stop;
            }
        }
        if opens && self.stack.len() >= self.limits.depth {
            self.too_deep(span);
            self.skipping = 1;
            let node = Node { value: Value::Null, span };
            self.complete(Done { node, scalar: None, is_alias: false, is_merge: false, weight: Weight::default() }, 0);
            return Step::GoOn;
        }
        match event {
            Event::Scalar(text, style, anchor, tag) => self.scalar(text, style, anchor, tag.as_deref(), span),
            Event::SequenceStart(style, anchor, _) => {
                self.open(Contents::Sequence(Vec::new()), style, anchor, span);
            }
            Event::MappingStart(style, anchor, _) => {
                self.open(Contents::Mapping(MappingFrame::default()), style, anchor, span);
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(Some(span)),
            Event::Alias(id) => return self.alias(id, span),
            Event::UnresolvedAlias(name) => {
                self.unknown_alias(span, format!("the alias `*{name}` without an anchor; expected `&{name}` before it"));
            }
            _ => {}
        }
        Step::GoOn
    }

    /// Notes that the document is nested too deeply at `span`.
    pub(super) fn too_deep(&mut self, span: Span) {
        if !self.problems.iter().any(|problem| problem.kind == FailureKind::TooDeep) {
            self.limit(FailureKind::TooDeep, span, "collections nested deeper than are read", self.limits.depth);
        }
    }

    /// The tree and its problems, unless the document is empty. Collections that are still open are closed.
    pub(super) fn finish(mut self, end: usize) -> Option<(Node<'t>, Vec<Failure>)> {
        while !self.stack.is_empty() {
            self.close(None);
        }
        if self.empty && self.problems.is_empty() {
            return None;
        }
        let at = Span { start: self.start.min(end), end: self.start.min(end) };
        let root = self.root.map_or(Node { value: Value::Null, span: at }, |done| done.node);
        Some((root, self.problems))
    }

    fn problem(&mut self, failure: Failure) {
        if self.problems.len() < MAX_PROBLEMS || failure.kind.is_limit() {
            self.problems.push(failure);
        }
    }

    fn limit(&mut self, kind: FailureKind, span: Span, what: &str, limit: usize) {
        self.problem(passed(kind, span, what, limit));
    }

    fn scalar(&mut self, text: Cow<'t, str>, style: ScalarStyle, anchor: usize, tag: Option<&Tag>, span: Span) {
        let absent = style == ScalarStyle::Plain && span.start == span.end;
        let text = match text {
            _ if absent => Cow::Borrowed(""),
            // Like go-yaml, add no line break that the text does not have.
            text if is_block(style) && span.end == self.text.len() && !self.text.ends_with(['\n', '\r']) => without_last_break(text),
            text => text,
        };
        let span = self.scalar_span(style, span, absent);
        self.cursor = self.cursor.max(span.end);
        self.empty = absent && anchor == 0 && tag.is_none() && self.stack.is_empty();
        let is_merge = text == "<<"
            && match tag {
                None => style == ScalarStyle::Plain,
                Some(tag) => tag.suffix_in_namespace(scalar::OWN_TAGS).as_deref() == Some("merge"),
            };
        let (meaning, text) = match tag.map(|tag| tag.suffix_in_namespace(scalar::OWN_TAGS)) {
            None if style == ScalarStyle::Plain => (scalar::resolve_plain(&text), text),
            None | Some(None) => (Scalar::Text, text),
            Some(Some(kind)) => match scalar::resolve_tagged(&kind, text) {
                Ok(resolved) => resolved,
                Err(message) => {
                    self.problem(Failure::new(FailureKind::BadTag, span, message));
                    (Scalar::Null, Cow::Borrowed(""))
                }
            },
        };
        let weight = Weight { nodes: 1, bytes: text.len(), height: 0 };
        let value = self.value(meaning, text, span);
        let node = Node { value, span };
        self.complete(Done { node, scalar: Some(meaning), is_alias: false, is_merge, weight }, anchor);
    }

    fn value(&mut self, meaning: Scalar, text: Cow<'t, str>, span: Span) -> Value<'t> {
        match meaning {
            Scalar::Null => Value::Null,
            Scalar::Bool(value) => Value::Bool(value),
            Scalar::Integer(value) => Value::Integer(value),
            Scalar::Float(value) if value.is_finite() => scalar::integral(value).map_or(Value::Float(value), Value::Integer),
            Scalar::Float(_) if self.awaits_key() => Value::Null,
            Scalar::Float(_) => {
                let message = format!("`{text}`, which JSON has no number for; expected a finite number, or quotes");
                self.problem(Failure::new(FailureKind::NotJson, span, message));
                Value::Null
            }
            Scalar::Text => Value::String(text),
        }
    }

    fn awaits_key(&self) -> bool {
        matches!(self.stack.last(), Some(Frame { contents: Contents::Mapping(frame), .. }) if frame.awaits_key())
    }

    /// The parser places block scalars behind their header, and absent values before their colon.
    fn scalar_span(&self, style: ScalarStyle, span: Span, absent: bool) -> Span {
        if absent {
            let key_end = match self.stack.last() {
                Some(Frame { contents: Contents::Mapping(frame), .. }) => frame.key_end(),
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

    fn alias(&mut self, id: usize, span: Span) -> Step {
        self.cursor = self.cursor.max(span.end);
        let Some(Some(done)) = self.anchors.get(&id) else {
            if self.anchors.contains_key(&id) {
                self.unknown_alias(span, "an alias inside the collection that it names; expected one outside");
            } else {
                self.leaf(span);
            }
            return Step::GoOn;
        };
        let weight = done.weight;
        if self.stack.len() + weight.height > self.limits.depth {
            self.too_deep(span);
            self.leaf(span);
            return Step::GoOn;
        }
        self.alias_weight.nodes = self.alias_weight.nodes.saturating_add(weight.nodes);
        self.alias_weight.bytes = self.alias_weight.bytes.saturating_add(weight.bytes);
        self.nodes = self.nodes.saturating_add(weight.nodes);
        let (what, limit) = if self.alias_weight.nodes > self.limits.alias_nodes {
            ("aliases that stand for more nodes than are read", self.limits.alias_nodes)
        } else if self.alias_weight.bytes > self.limits.document_bytes {
            ("aliases that stand for more bytes than are read", self.limits.document_bytes)
        } else {
            let mut copy = done.clone();
            copy.node.span = span;
            copy.is_alias = true;
            copy.is_merge = false;
            self.complete(copy, 0);
            return Step::GoOn;
        };
        self.limit(FailureKind::TooManyAliases, span, what, limit);
        Step::Stop
    }

    fn unknown_alias(&mut self, span: Span, message: impl Into<String>) {
        self.cursor = self.cursor.max(span.end);
        self.problem(Failure::new(FailureKind::UnknownAlias, span, message));
        self.leaf(span);
    }

    /// A null in place of what could not be read.
    fn leaf(&mut self, span: Span) {
        let node = Node { value: Value::Null, span };
        let weight = Weight { nodes: 1, ..Weight::default() };
        self.complete(Done { node, scalar: None, is_alias: true, is_merge: false, weight }, 0);
    }

    fn open(&mut self, contents: Contents<'t>, style: StructureStyle, anchor: usize, span: Span) {
        let flow = style == StructureStyle::Flow;
        let in_mapping = matches!(self.stack.last(), Some(Frame { contents: Contents::Mapping(_), .. }));
        let mut start = span.start;
        if !flow && in_mapping && matches!(contents, Contents::Sequence(_)) {
            // For a list at its key's own indentation the parser gives the place behind the first dash.
            start = token_start(self.text, self.cursor, true).min(start);
        }
        self.cursor = self.cursor.max(if flow { span.end } else { start });
        if anchor != 0 {
            self.anchors.insert(anchor, None);
        }
        self.stack.push(Frame { contents, start, flow, anchor, weight: Weight { nodes: 1, bytes: 0, height: 1 } });
    }

    /// Closes the innermost collection, at its closing token or because reading stopped.
    fn close(&mut self, span: Option<Span>) {
        let Some(frame) = self.stack.pop() else { return };
        if let (true, Some(span)) = (frame.flow, span) {
            self.cursor = self.cursor.max(span.end);
        }
        let (value, first, last) = match frame.contents {
            Contents::Sequence(items) => {
                let last = items.last().map(|item| item.span.end);
                (Value::Sequence(items), None, last)
            }
            Contents::Mapping(mapping) => {
                let (start, end) = (mapping.first_start(), mapping.last_end());
                (Value::Mapping(mapping.into_entries()), start, end)
            }
        };
        let span = if frame.flow {
            Span { start: frame.start, end: self.cursor.max(frame.start) }
        } else {
            let start = first.map_or(frame.start, |first| first.max(frame.start));
            Span { start, end: last.unwrap_or(start).max(start) }
        };
        let node = Node { value, span };
        self.complete(Done { node, scalar: None, is_alias: false, is_merge: false, weight: frame.weight }, frame.anchor);
    }

    /// Hands a finished node to its parent.
    fn complete(&mut self, done: Done<'t>, anchor: usize) {
        if anchor != 0 {
            self.remember(&done, anchor);
        }
        let Some(frame) = self.stack.last_mut() else {
            self.root = Some(done);
            return;
        };
        frame.weight.nodes += done.weight.nodes;
        frame.weight.bytes += done.weight.bytes;
        frame.weight.height = frame.weight.height.max(done.weight.height + 1);
        let mut found = Vec::new();
        match &mut frame.contents {
            Contents::Sequence(items) => items.push(done.node),
            Contents::Mapping(mapping) if mapping.awaits_key() => mapping.key(Key::new(done, &mut found)),
            Contents::Mapping(mapping) => mapping.value(done, &mut found),
        }
        for failure in found {
            self.problem(failure);
        }
    }

    /// Keeps a copy for the aliases to come. Copies inside copies are bounded like the document itself.
    fn remember(&mut self, done: &Done<'t>, anchor: usize) {
        self.anchored_nodes = self.anchored_nodes.saturating_add(done.weight.nodes);
        if self.anchored_nodes <= self.limits.nodes {
            self.anchors.insert(anchor, Some(done.clone()));
            return;
        }
        self.anchors.remove(&anchor);
        if !self.problems.iter().any(|problem| problem.kind == FailureKind::TooManyNodes) {
            let what = "anchors on more nodes than are read, nested ones counted again";
            self.limit(FailureKind::TooManyNodes, done.node.span, what, self.limits.nodes);
        }
    }
}

fn is_block(style: ScalarStyle) -> bool {
    matches!(style, ScalarStyle::Literal | ScalarStyle::Folded)
}

fn without_last_break(text: Cow<'_, str>) -> Cow<'_, str> {
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
