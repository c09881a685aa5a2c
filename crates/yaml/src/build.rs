//! The parser's events of one document to a tree, with an explicit stack.

mod leaf;

use std::collections::BTreeMap;

use granit_parser::{Event, Span as Place, StructureStyle};

use super::mapping::{Key, MappingFrame};
use super::parse::{bytes, passed};
use super::place::token_start;
use super::scalar::Scalar;
use super::strict::{self, Before};
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
    /// Whether gaps and scalars must be looked at for what YAML 1.1 refuses.
    suspicious: bool,
    /// Whether the last token was a plain scalar.
    after_plain: bool,
    /// Open collections below the one that is too deep, itself included.
    skipping: usize,
    problems: Vec<Failure>,
}

impl<'t> Builder<'t> {
    pub(super) fn new(text: &'t str, limits: Limits, start: usize, cursor: usize, suspicious: bool) -> Self {
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
            suspicious,
            after_plain: false,
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
            self.limit(FailureKind::TooLarge, at, "a document of too many bytes", self.limits.document_bytes);
            return Step::Stop;
        }
        if self.skipping > 0 {
            self.skipping = self.skipping + usize::from(opens) - usize::from(closes);
            self.cursor = self.cursor.max(span.end);
            return Step::GoOn;
        }
        if let Event::Anchor(_, name) = &event {
            if !strict::is_anchor_name(name) {
                let message = format!("the anchor `&{name}`; expected a name of letters, digits, `-` and `_`");
                self.problem(Failure::new(FailureKind::Syntax, span, message));
            }
            return Step::GoOn;
        }
        if !closes {
            self.nodes += 1;
            if self.nodes > self.limits.nodes {
                self.limit(FailureKind::TooManyNodes, span, "a document of too many nodes", self.limits.nodes);
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
                self.unknown_alias(
                    span,
                    format!("the alias `*{name}` without an anchor; expected `&{name}` before it"),
                );
            }
            _ => {}
        }
        Step::GoOn
    }

    /// Notes that the document is nested too deeply at `span`.
    pub(super) fn too_deep(&mut self, span: Span) {
        if !self.problems.iter().any(|problem| problem.kind == FailureKind::TooDeep) {
            self.limit(FailureKind::TooDeep, span, "collections that are nested too deeply", self.limits.depth);
        }
    }

    /// The tree and its problems, unless the document is empty. Collections that are still open are closed.
    pub(super) fn finish(mut self, end: usize) -> Option<(Node<'t>, Vec<Failure>)> {
        if !self.problems.iter().any(|problem| problem.kind.is_limit()) {
            self.token(Span { start: end, end }, false);
        }
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

    /// Goes on to a token, past the gap before it.
    fn token(&mut self, span: Span, plain: bool) {
        if self.suspicious && span.start > self.cursor {
            let gap = Span { start: self.cursor, end: span.start };
            let before = Before {
                flow: self.stack.last().is_some_and(|frame| frame.flow),
                line_start: gap.start == 0 || matches!(self.text.as_bytes().get(gap.start - 1), Some(b'\n' | b'\r')),
                plain_in: self.stack.last().filter(|_| self.after_plain).map(|frame| frame.start),
            };
            self.refuse(strict::in_gap(self.text, gap, before));
        }
        self.after_plain = plain;
        self.cursor = self.cursor.max(span.end);
    }

    fn refuse(&mut self, found: Option<(Span, &'static str)>) {
        if let Some((span, message)) = found {
            self.problem(Failure::new(FailureKind::Syntax, span, message));
        }
    }

    fn open(&mut self, contents: Contents<'t>, style: StructureStyle, anchor: usize, span: Span) {
        let flow = style == StructureStyle::Flow;
        let in_mapping = matches!(self.stack.last(), Some(Frame { contents: Contents::Mapping(_), .. }));
        let mut start = span.start;
        if !flow && in_mapping && matches!(contents, Contents::Sequence(_)) {
            // For a list at its key's own indentation the parser gives the place behind the first dash.
            start = token_start(self.text, self.cursor, true).min(start);
        }
        if flow {
            self.token(span, false);
        } else if start > self.cursor {
            self.token(Span { start, end: start }, false);
        }
        if anchor != 0 {
            self.anchors.insert(anchor, None);
        }
        self.stack.push(Frame { contents, start, flow, anchor, weight: Weight { nodes: 1, bytes: 0, height: 1 } });
    }

    /// Closes the innermost collection, at its closing token or because reading stopped.
    fn close(&mut self, span: Option<Span>) {
        let Some(frame) = self.stack.pop() else { return };
        if let (true, Some(span)) = (frame.flow, span) {
            self.after_plain = false;
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
        self.complete(
            Done { node, scalar: None, is_alias: false, is_merge: false, weight: frame.weight },
            frame.anchor,
        );
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
}
