//! Builds the tree of one document from the parser's events, with an explicit stack instead of recursion.

mod leaf;

use std::collections::BTreeMap;

use granit_parser::{Event, StructureStyle};

use super::mapping::{MappingFrame, PendingKey};
use super::parse::limit_exceeded;
use super::scalar::Scalar;
use super::strict::{self, GapContext};
use super::token_position::token_start;
use super::{Failure, FailureKind, Limits, Node, Span, Value};

/// Tells the reader whether to pass on further events of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParseFlow {
    Continue,
    Stop,
}

/// Maximum number of problems kept per document. Exceeded limits are kept regardless.
const MAX_PROBLEMS: usize = 1000;

/// A finished node and what its parent needs to know about it.
#[derive(Debug, Clone)]
pub(super) struct FinishedNode<'t> {
    pub(super) node: Node<'t>,
    /// The resolved scalar, which decides the text of a key. `None` for a collection.
    pub(super) scalar: Option<Scalar>,
    pub(super) is_alias: bool,
    pub(super) is_merge: bool,
    weight: Weight,
}

/// Size of a subtree, charged again for each alias of it.
#[derive(Debug, Clone, Copy, Default)]
struct Weight {
    nodes: usize,
    bytes: usize,
    height: usize,
}

enum OpenCollection<'t> {
    Sequence(Vec<Node<'t>>),
    Mapping(MappingFrame<'t>),
}

struct Frame<'t> {
    contents: OpenCollection<'t>,
    start: usize,
    is_flow: bool,
    anchor: usize,
    weight: Weight,
}

pub(super) struct Builder<'t> {
    text: &'t str,
    limits: Limits,
    start: usize,
    /// End of the last token; the gap up to the next one is checked when it arrives.
    cursor: usize,
    stack: Vec<Frame<'t>>,
    root: Option<FinishedNode<'t>>,
    is_empty: bool,
    /// Finished nodes by anchor id. `None` while the collection that bears the anchor is still open.
    anchors: BTreeMap<usize, Option<FinishedNode<'t>>>,
    anchored_nodes: usize,
    nodes: usize,
    alias_weight: Weight,
    /// Whether gaps and scalars must be checked for characters that YAML 1.1 refuses.
    is_suspicious: bool,
    /// Whether the last token was a plain scalar.
    after_plain: bool,
    /// Number of open collections at and below the first one that is too deep; 0 when nothing is skipped.
    skipped_depth: usize,
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
            is_empty: false,
            anchors: BTreeMap::new(),
            anchored_nodes: 0,
            nodes: 0,
            alias_weight: Weight::default(),
            is_suspicious: suspicious,
            after_plain: false,
            skipped_depth: 0,
            problems: Vec::new(),
        }
    }

    /// Handles the next event of the document.
    pub(super) fn handle_event(&mut self, event: Event<'t>, span: Span) -> ParseFlow {
        let opens = matches!(event, Event::SequenceStart(..) | Event::MappingStart(..));
        let closes = matches!(event, Event::SequenceEnd | Event::MappingEnd);
        if span.end.saturating_sub(self.start) > self.limits.document_bytes {
            let at = Span { start: self.start, end: self.start };
            self.push_limit_problem(
                FailureKind::TooLarge,
                at,
                "a document with too many bytes",
                self.limits.document_bytes,
            );
            return ParseFlow::Stop;
        }
        if self.skipped_depth > 0 {
            self.skipped_depth = self.skipped_depth + usize::from(opens) - usize::from(closes);
            self.cursor = self.cursor.max(span.end);
            return ParseFlow::Continue;
        }
        if let Event::Anchor(_, name) = &event {
            if !strict::is_anchor_name(name) {
                let message = format!("the anchor `&{name}`; expected a name of letters, digits, `-` and `_`");
                self.push_problem(Failure::new(FailureKind::Syntax, span, message));
            }
            return ParseFlow::Continue;
        }
        if !closes {
            // Anchors and collection ends are not nodes of their own, so only the other events count.
            self.nodes += 1;
            if self.nodes > self.limits.nodes {
                self.push_limit_problem(
                    FailureKind::TooManyNodes,
                    span,
                    "a document with too many nodes",
                    self.limits.nodes,
                );
                return ParseFlow::Stop;
            }
        }
        if opens && self.stack.len() >= self.limits.depth {
            self.report_too_deep(span);
            self.skipped_depth = 1;
            let node = Node { value: Value::Null, span };
            self.attach_node(
                FinishedNode { node, scalar: None, is_alias: false, is_merge: false, weight: Weight::default() },
                0,
            );
            return ParseFlow::Continue;
        }
        match event {
            Event::Scalar(text, style, anchor, tag) => self.add_scalar(text, style, anchor, tag.as_deref(), span),
            Event::SequenceStart(style, anchor, _) => {
                self.open_collection(OpenCollection::Sequence(Vec::new()), style, anchor, span);
            }
            Event::MappingStart(style, anchor, _) => {
                self.open_collection(OpenCollection::Mapping(MappingFrame::default()), style, anchor, span);
            }
            Event::SequenceEnd | Event::MappingEnd => self.close_collection(Some(span)),
            Event::Alias(id) => return self.add_alias(id, span),
            Event::UnresolvedAlias(name) => {
                self.add_unknown_alias(
                    span,
                    format!("the alias `*{name}` without an anchor; expected `&{name}` before it"),
                );
            }
            _ => {}
        }
        ParseFlow::Continue
    }

    /// Reports once per document that it is nested too deeply.
    pub(super) fn report_too_deep(&mut self, span: Span) {
        if !self.problems.iter().any(|problem| problem.kind == FailureKind::TooDeep) {
            self.push_limit_problem(
                FailureKind::TooDeep,
                span,
                "collections that are nested too deeply",
                self.limits.depth,
            );
        }
    }

    /// Returns the tree and its problems, or `None` for an empty document. Closes collections that are still open,
    /// because reading may have stopped at a limit.
    pub(super) fn finish(mut self, end: usize) -> Option<(Node<'t>, Vec<Failure>)> {
        if !self.problems.iter().any(|problem| problem.kind.is_limit()) {
            self.advance_to_token(Span { start: end, end }, false);
        }
        while !self.stack.is_empty() {
            self.close_collection(None);
        }
        if self.is_empty && self.problems.is_empty() {
            return None;
        }
        let at = Span { start: self.start.min(end), end: self.start.min(end) };
        let root = self.root.map_or(Node { value: Value::Null, span: at }, |done| done.node);
        Some((root, self.problems))
    }

    fn push_problem(&mut self, failure: Failure) {
        if self.problems.len() < MAX_PROBLEMS || failure.kind.is_limit() {
            self.problems.push(failure);
        }
    }

    fn push_limit_problem(&mut self, kind: FailureKind, span: Span, what: &str, limit: usize) {
        self.push_problem(limit_exceeded(kind, span, what, limit));
    }

    /// Moves the cursor past a token and checks the gap before it.
    fn advance_to_token(&mut self, span: Span, plain: bool) {
        if self.is_suspicious && span.start > self.cursor {
            let gap = Span { start: self.cursor, end: span.start };
            let before = GapContext {
                in_flow: self.stack.last().is_some_and(|frame| frame.is_flow),
                at_line_start: gap.start == 0 || matches!(self.text.as_bytes().get(gap.start - 1), Some(b'\n' | b'\r')),
                plain_scalar_start: self.stack.last().filter(|_| self.after_plain).map(|frame| frame.start),
            };
            self.push_syntax_problem(strict::find_refused_in_gap(self.text, gap, before));
        }
        self.after_plain = plain;
        self.cursor = self.cursor.max(span.end);
    }

    fn push_syntax_problem(&mut self, refusal: Option<(Span, &'static str)>) {
        if let Some((span, message)) = refusal {
            self.push_problem(Failure::new(FailureKind::Syntax, span, message));
        }
    }

    fn open_collection(&mut self, contents: OpenCollection<'t>, style: StructureStyle, anchor: usize, span: Span) {
        let flow = style == StructureStyle::Flow;
        let in_mapping = matches!(self.stack.last(), Some(Frame { contents: OpenCollection::Mapping(_), .. }));
        let mut start = span.start;
        if !flow && in_mapping && matches!(contents, OpenCollection::Sequence(_)) {
            // For a list at its key's own indentation the parser reports the position after the first dash.
            start = token_start(self.text, self.cursor, true).min(start);
        }
        if flow {
            self.advance_to_token(span, false);
        } else if start > self.cursor {
            self.advance_to_token(Span { start, end: start }, false);
        }
        if anchor != 0 {
            self.anchors.insert(anchor, None);
        }
        self.stack.push(Frame {
            contents,
            start,
            is_flow: flow,
            anchor,
            weight: Weight { nodes: 1, bytes: 0, height: 1 },
        });
    }

    /// Closes the innermost collection, at its closing token or because reading stopped.
    fn close_collection(&mut self, span: Option<Span>) {
        let Some(frame) = self.stack.pop() else { return };
        if let (true, Some(span)) = (frame.is_flow, span) {
            self.after_plain = false;
            self.cursor = self.cursor.max(span.end);
        }
        let (value, first, last) = match frame.contents {
            OpenCollection::Sequence(items) => {
                let last = items.last().map(|item| item.span.end);
                (Value::Sequence(items), None, last)
            }
            OpenCollection::Mapping(mapping) => {
                let (start, end) = (mapping.first_start(), mapping.last_end());
                (Value::Mapping(mapping.into_entries()), start, end)
            }
        };
        let span = if frame.is_flow {
            Span { start: frame.start, end: self.cursor.max(frame.start) }
        } else {
            let start = first.map_or(frame.start, |first| first.max(frame.start));
            Span { start, end: last.unwrap_or(start).max(start) }
        };
        let node = Node { value, span };
        self.attach_node(
            FinishedNode { node, scalar: None, is_alias: false, is_merge: false, weight: frame.weight },
            frame.anchor,
        );
    }

    /// Attaches a finished node to the innermost open collection, or makes it the root.
    fn attach_node(&mut self, done: FinishedNode<'t>, anchor: usize) {
        if anchor != 0 {
            self.store_anchor(&done, anchor);
        }
        let Some(frame) = self.stack.last_mut() else {
            self.root = Some(done);
            return;
        };
        frame.weight.nodes += done.weight.nodes;
        frame.weight.bytes += done.weight.bytes;
        frame.weight.height = frame.weight.height.max(done.weight.height + 1);
        let mut failures = Vec::new();
        match &mut frame.contents {
            OpenCollection::Sequence(items) => items.push(done.node),
            OpenCollection::Mapping(mapping) if mapping.awaits_key() => {
                mapping.begin_entry(PendingKey::new(done, &mut failures));
            }
            OpenCollection::Mapping(mapping) => mapping.finish_entry(done, &mut failures),
        }
        for failure in failures {
            self.push_problem(failure);
        }
    }
}
