//! Changes of a tree as edits of its text.

use serde_json::Value;

use super::change::{Added, Change, Inside, expected};
use super::layout::{block_items, column, content_end, end_of, is_first_on_line, line_after, line_start, skip_blanks};
use super::render::{self, Block, Notation, push_indented};
use super::{EditStyle, Placement, TextEdit, ValueStyle};
use crate::place::after_colon;
use crate::{MappingEntry, Node, Span, Value as Read};

/// Where a node stands.
#[derive(Clone, Copy)]
enum Place<'n, 't> {
    /// It is the document, whose bytes end here.
    Root { end: usize },
    /// It is the value of an entry of a block-style mapping.
    Entry { mapping: &'n Node<'t>, key: Span },
    /// It is an item of a block-style sequence.
    Item { dash: usize },
    /// It is the value of an entry of a mapping in braces.
    FlowEntry { key: Span, notation: Notation },
    /// It is an item of a list in brackets.
    FlowItem { notation: Notation },
}

impl Place<'_, '_> {
    /// How values are written around it, when that is in brackets.
    fn notation(self) -> Option<Notation> {
        match self {
            Self::FlowEntry { notation, .. } | Self::FlowItem { notation } => Some(notation),
            Self::Root { .. } | Self::Entry { .. } | Self::Item { .. } => None,
        }
    }
}

/// An edit, and whether its replacement is whole lines, which must not start in the middle of one.
struct Piece {
    edit: TextEdit,
    is_lines: bool,
}

pub(super) struct Writer<'t> {
    text: &'t str,
    line_break: &'static str,
    style: EditStyle,
    /// Whether blank lines behind a part always belong to it.
    takes_blank_lines: bool,
    pieces: Vec<Piece>,
}

impl<'t> Writer<'t> {
    pub(super) fn new(text: &'t str, style: EditStyle, takes_blank_lines: bool) -> Self {
        let line_break = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Self { text, line_break, style, takes_blank_lines, pieces: Vec::new() }
    }

    /// The edits that make the change in the document at `span`, in the order of the text. None where the text has no
    /// place for one.
    pub(super) fn edits(mut self, root: &Node<'_>, span: Span, change: &Change) -> Option<Vec<TextEdit>> {
        self.change(Place::Root { end: span.end }, root, change)?;
        self.pieces.sort_by_key(|piece| piece.edit.range);
        let mut edits: Vec<TextEdit> = Vec::new();
        let (mut done, mut ends_inside_line) = (0, false);
        for Piece { mut edit, is_lines } in self.pieces {
            let between = self.text.get(done..edit.range.start)?;
            if !between.is_empty() {
                ends_inside_line = !between.ends_with('\n');
            }
            if is_lines && ends_inside_line {
                edit.replacement.insert_str(0, self.line_break);
            }
            if !edit.replacement.is_empty() {
                ends_inside_line = !edit.replacement.ends_with('\n');
            }
            done = edit.range.end;
            edits.push(edit);
        }
        Some(edits)
    }

    fn change(&mut self, place: Place<'_, '_>, node: &Node<'_>, change: &Change) -> Option<()> {
        let inside = match change {
            Change::Replace(value) => return self.replace(place, node, value),
            // A collection removes its children itself.
            Change::Remove => return None,
            Change::Inside(inside) => inside,
        };
        let placement = self.style.placement;
        let whole = || expected(node, Some(change), placement);
        let own = self.text.get(node.span.start..)?;
        let count = node.entries().len() + node.items().len();
        if own.starts_with('*') || !matches!(node.value, Read::Mapping(_) | Read::Sequence(_)) {
            return self.replace(place, node, &whole());
        }
        let is_flow = own.starts_with(['{', '[']);
        if !inside.keeps_any_of(count) {
            // New items take the place of all the old ones: one by one, comments above the old ones stay.
            if !is_flow && count > 0 && matches!(node.value, Read::Sequence(_)) && !inside.added.is_empty() {
                let before = self.pieces.len();
                if self.block_sequence(node, inside).is_some() {
                    return Some(());
                }
                self.pieces.truncate(before);
            }
            let stays_flow = place.notation().is_some() || self.style.values == ValueStyle::Flow || count > 0;
            if is_flow && stays_flow && !inside.added.is_empty() {
                let text = render::flow_collection(&whole(), self.notation(place, node));
                self.push(node.span.start, node.span.end, text);
                return Some(());
            }
            return self.replace(place, node, &whole());
        }
        match &node.value {
            Read::Mapping(entries) if is_flow => self.flow_mapping(self.notation(place, node), entries, inside),
            Read::Sequence(items) if is_flow => self.flow_sequence(self.notation(place, node), items, inside),
            Read::Mapping(entries) => self.block_mapping(place, node, entries, inside),
            _ => self.block_sequence(node, inside),
        }
    }

    fn end_of(&self, node: &Node<'_>, end: usize, indent: usize) -> usize {
        if self.takes_blank_lines { content_end(self.text, end, indent) } else { end_of(self.text, node, end, indent) }
    }

    fn push(&mut self, start: usize, end: usize, replacement: impl Into<String>) {
        self.pieces.push(Piece { edit: TextEdit::replace(start, end, replacement), is_lines: false });
    }

    fn insert_lines(&mut self, at: usize, lines: &str, indent: usize) {
        let mut replacement = String::new();
        push_indented(&mut replacement, lines, indent, self.line_break);
        self.pieces.push(Piece { edit: TextEdit::replace(at, at, replacement), is_lines: true });
    }

    fn block_mapping(
        &mut self,
        place: Place<'_, '_>,
        node: &Node<'_>,
        entries: &[MappingEntry<'_>],
        inside: &Inside,
    ) -> Option<()> {
        let indent = column(self.text, node.span.start);
        let mut removed_until = 0;
        for (position, child) in &inside.children {
            let entry = entries.get(*position)?;
            let start = entry.key_span.start;
            if inside.removes(*position) {
                if is_first_on_line(self.text, start) {
                    let end = self.end_of(&entry.node, entry_end(entry), column(self.text, start) + 1);
                    self.push(line_start(self.text, start).max(removed_until), end.max(removed_until), "");
                } else if start >= removed_until {
                    // A dash stands before the key: the next entry that stays moves up to it.
                    let mut later = entries.iter().enumerate().skip(*position);
                    removed_until = later.find(|(position, _)| !inside.removes(*position))?.1.key_span.start;
                    self.push(start, removed_until, "");
                }
                continue;
            }
            self.rename(entry, child.key.as_deref(), None)?;
            if let Some(change) = &child.change {
                self.change(Place::Entry { mapping: node, key: entry.key_span }, &entry.node, change)?;
            }
        }
        let Added::Entries(added) = &inside.added else { return None };
        if added.is_empty() {
            return Some(());
        }
        let mut lines = String::new();
        for (key, value) in added {
            self.push_entry(&mut lines, node, key, value);
        }
        if self.style.placement == Placement::Last {
            self.insert_lines(self.end_of(node, node.span.end, indent), &lines, indent);
            return Some(());
        }
        let header = match place {
            Place::Entry { key, .. } => after_colon(self.text, key.end)?,
            Place::Item { dash } => dash + 1,
            _ => node.span.start,
        };
        let below = line_after(self.text, header);
        if below <= node.span.start && header < node.span.start {
            // Above comments that belong to the first entry.
            self.insert_lines(below, &lines, indent);
        } else {
            let mut text = String::new();
            push_indented(&mut text, &lines, indent, self.line_break);
            let text = text.trim_start_matches(' ').to_owned() + &" ".repeat(indent);
            self.push(node.span.start, node.span.start, text);
        }
        Some(())
    }

    /// Adds the lines of a new entry of a block-style mapping, as at column 0.
    fn push_entry(&self, lines: &mut String, mapping: &Node<'_>, key: &str, value: &Value) {
        if self.style.values == ValueStyle::Flow {
            lines.extend([&render::key(key), ": ", &render::flow(value, Notation::Plain), "\n"]);
        } else {
            render::push_entry(lines, key, value, self.child_indent(mapping, value));
        }
    }

    /// How much deeper than its key a value stands: as much as values of its kind do in the same mapping; otherwise as
    /// much as in canonical YAML.
    fn child_indent(&self, mapping: &Node<'_>, value: &Value) -> usize {
        let is_alike = |node: &Node<'_>| match (&node.value, value) {
            (Read::Sequence(items), Value::Array(_)) => !items.is_empty(),
            (Read::Mapping(entries), Value::Object(_)) => !entries.is_empty(),
            _ => false,
        };
        let is_block =
            |node: &Node<'_>| self.text.get(node.span.start..).is_some_and(|own| !own.starts_with(['{', '[', '*']));
        let alike = mapping.entries().iter().find(|entry| is_alike(&entry.node) && is_block(&entry.node));
        let known = alike.and_then(|entry| {
            let own = column(self.text, entry.node.span.start);
            own.checked_sub(column(self.text, entry.key_span.start))
        });
        known.filter(|indent| *indent > 0 || value.is_array()).unwrap_or(render::child_indent(value))
    }

    fn block_sequence(&mut self, node: &Node<'_>, inside: &Inside) -> Option<()> {
        let items = node.items();
        let extents = block_items(self.text, node, node.span.start);
        if extents.len() != items.len() {
            return None;
        }
        let mut removed_until = 0;
        for (position, child) in &inside.children {
            let (item, dash) = (items.get(*position)?, extents.get(*position)?.dash);
            if !inside.removes(*position) {
                if let Some(change) = &child.change {
                    self.change(Place::Item { dash }, item, change)?;
                }
            } else if is_first_on_line(self.text, dash) {
                let end = self.end_of(item, item.span.end.max(dash + 1), column(self.text, dash) + 1);
                self.push(line_start(self.text, dash).max(removed_until), end.max(removed_until), "");
            } else if dash >= removed_until {
                // Another dash stands before this one: the next item that stays moves up to it.
                let mut later = extents.iter().enumerate().skip(*position);
                removed_until = later.find(|(position, _)| !inside.removes(*position))?.1.dash;
                self.push(dash, removed_until, "");
            }
        }
        if let Added::Items(added) = &inside.added
            && !added.is_empty()
        {
            let indent = column(self.text, node.span.start);
            let (last, dash) = (items.last()?, extents.last()?.dash);
            let at = self.end_of(last, last.span.end.max(dash + 1), indent + 1);
            let mut lines = String::new();
            for item in added {
                match self.style.values {
                    ValueStyle::Block => render::push_item(&mut lines, item),
                    ValueStyle::Flow => lines.extend(["- ", &render::flow(item, Notation::Plain), "\n"]),
                }
            }
            self.insert_lines(at, &lines, indent);
        }
        Some(())
    }

    fn flow_mapping(&mut self, notation: Notation, entries: &[MappingEntry<'_>], inside: &Inside) -> Option<()> {
        let spans: Vec<Span> =
            entries.iter().map(|entry| Span { start: entry.key_span.start, end: entry_end(entry) }).collect();
        self.flow_removals(&spans, inside)?;
        for (position, child) in inside.children.iter().filter(|(position, _)| !inside.removes(**position)) {
            let entry = entries.get(*position)?;
            self.rename(entry, child.key.as_deref(), Some(notation))?;
            if let Some(change) = &child.change {
                self.change(Place::FlowEntry { key: entry.key_span, notation }, &entry.node, change)?;
            }
        }
        let Added::Entries(added) = &inside.added else { return None };
        let added: Vec<String> = added.iter().map(|(key, value)| render::flow_entry(key, value, notation)).collect();
        self.flow_additions(&spans, &added, self.style.placement)
    }

    fn flow_sequence(&mut self, notation: Notation, items: &[Node<'_>], inside: &Inside) -> Option<()> {
        let spans: Vec<Span> = items.iter().map(|item| item.span).collect();
        self.flow_removals(&spans, inside)?;
        for (position, child) in inside.children.iter().filter(|(position, _)| !inside.removes(**position)) {
            if let Some(change) = &child.change {
                self.change(Place::FlowItem { notation }, items.get(*position)?, change)?;
            }
        }
        let Added::Items(added) = &inside.added else { return Some(()) };
        let last = spans.last().and_then(|span| self.text.get(span.start..span.end)).unwrap_or_default();
        let added: Vec<String> = added.iter().map(|item| in_style_of(last, item, notation)).collect();
        self.flow_additions(&spans, &added, Placement::Last)
    }

    /// Removes children with the comma behind them, or, at the end, with the one before them.
    fn flow_removals(&mut self, spans: &[Span], inside: &Inside) -> Option<()> {
        let mut position = 0;
        while position < spans.len() {
            let first = position;
            while position < spans.len() && inside.removes(position) {
                position += 1;
            }
            if first < position {
                let (start, end) = match spans.get(position) {
                    Some(next) => (spans.get(first)?.start, next.start),
                    None => (spans.get(first.checked_sub(1)?)?.end, spans.get(position - 1)?.end),
                };
                self.push(start, end, "");
            }
            position += 1;
        }
        Some(())
    }

    fn flow_additions(&mut self, spans: &[Span], added: &[String], placement: Placement) -> Option<()> {
        if added.is_empty() {
            return Some(());
        }
        let text = added.join(", ");
        match placement {
            Placement::First => {
                let first = spans.first()?;
                self.push(first.start, first.start, format!("{text}, "));
            }
            Placement::Last => {
                let last = spans.last()?;
                self.push(last.end, last.end, format!(", {text}"));
            }
        }
        Some(())
    }

    fn rename(&mut self, entry: &MappingEntry<'_>, key: Option<&str>, flow: Option<Notation>) -> Option<()> {
        let Some(key) = key else { return Some(()) };
        let old = self.text.get(entry.key_span.start..entry.key_span.end)?;
        let new = render::in_quotes_of(old, key).unwrap_or_else(|| match flow {
            Some(notation) => render::flow(&Value::from(key), notation),
            None => render::key(key),
        });
        self.push(entry.key_span.start, entry.key_span.end, new);
        Some(())
    }

    /// Puts another value in the place of a node.
    fn replace(&mut self, place: Place<'_, '_>, node: &Node<'_>, value: &Value) -> Option<()> {
        let span = node.span;
        if let Some(notation) = place.notation() {
            let text = self.scalar_like(span, value).unwrap_or_else(|| render::flow(value, notation));
            match place {
                Place::FlowEntry { key, .. } => match after_colon(self.text, key.end) {
                    Some(colon) if span.start < span.end => self.push(self.value_start(colon, span), span.end, text),
                    Some(colon) => self.push(colon, skip_blanks(self.text, colon), format!(" {text}")),
                    None => self.push(key.end, key.end, format!(": {text}")),
                },
                _ => self.push(span.start, span.end, text),
            }
            return Some(());
        }
        let rendered = match (self.style.values, self.scalar_like(span, value)) {
            (_, Some(text)) => Block::Inline(text),
            (ValueStyle::Flow, None) => Block::Inline(render::flow(value, Notation::Plain)),
            (ValueStyle::Block, None) => render::block(value),
        };
        match place {
            Place::Root { end } => self.replace_root(node, end, rendered),
            Place::Entry { mapping, key } => {
                let indent = column(self.text, key.start);
                let indent = indent + if render::is_filled(value) { self.child_indent(mapping, value) } else { 0 };
                self.replace_behind(after_colon(self.text, key.end)?, node, rendered, indent);
            }
            Place::Item { dash } => {
                let is_below = self.text.get(dash + 1..span.start).is_some_and(|between| between.contains('\n'));
                match rendered {
                    Block::Lines { head, body } if head.is_empty() && !is_below && span.start < span.end => {
                        let mut text = String::new();
                        let start = self.value_start(dash + 1, span);
                        push_indented(&mut text, &body, column(self.text, start), self.line_break);
                        // What is said behind the old value may not become a part of the new one.
                        let end = self.text.get(span.end..)?.find(['\r', '\n']);
                        let end = end.map_or(self.text.len(), |length| span.end + length);
                        self.push(start, end, text.trim_start_matches(' ').trim_end_matches(self.line_break));
                    }
                    rendered => {
                        let is_text = matches!(&rendered, Block::Lines { head, .. } if !head.is_empty());
                        let indent = column(self.text, dash) + if is_text { 0 } else { 2 };
                        self.replace_behind(dash + 1, node, rendered, indent);
                    }
                }
            }
            Place::FlowEntry { .. } | Place::FlowItem { .. } => return None,
        }
        Some(())
    }

    fn replace_root(&mut self, node: &Node<'_>, end: usize, rendered: Block) {
        let mut lines = match rendered {
            Block::Inline(text) => text + "\n",
            Block::Lines { head, body } if head.is_empty() => body,
            Block::Lines { head, body } => head + "\n" + &body,
        };
        if node.span.start == node.span.end {
            self.insert_lines(end, &lines, 0);
        } else {
            lines.truncate(lines.len().saturating_sub(1));
            self.push(node.span.start, node.span.end, lines.replace('\n', self.line_break));
        }
    }

    /// Puts another value behind a colon or a dash that ends at `header`. A comment on that line stays there.
    fn replace_behind(&mut self, header: usize, node: &Node<'_>, rendered: Block, indent: usize) {
        let span = node.span;
        let is_absent = span.start == span.end;
        let is_below = !is_absent && self.text.get(header..span.start).is_some_and(|between| between.contains('\n'));
        let (head, body) = match rendered {
            Block::Inline(text) => (text, String::new()),
            Block::Lines { head, body } => (head, body),
        };
        let below = if is_absent { line_after(self.text, header) } else { line_after(self.text, span.end) };
        if is_below {
            self.push(line_after(self.text, header), below, "");
        } else if !is_absent && !head.is_empty() {
            self.push(self.value_start(header, span), span.end, head.clone());
        } else if !is_absent {
            self.push(header, span.end, "");
        }
        if (is_below || is_absent) && !head.is_empty() {
            self.push(header, header, format!(" {head}"));
        }
        if !body.is_empty() {
            self.insert_lines(below, &body, indent);
        }
    }

    /// Where a value starts, with the anchor and the tag that stand before it on its line.
    fn value_start(&self, header: usize, span: Span) -> usize {
        let at = skip_blanks(self.text, header);
        let has_property = self.text.get(at..span.start).is_some_and(|between| between.starts_with(['&', '!']));
        if has_property { at } else { span.start }
    }

    /// A string in the quotes of the one that it replaces.
    fn scalar_like(&self, span: Span, value: &Value) -> Option<String> {
        render::in_quotes_of(self.text.get(span.start..span.end)?, value.as_str()?)
    }

    /// How new values are written in a collection in brackets.
    fn notation(&self, place: Place<'_, '_>, node: &Node<'_>) -> Notation {
        let key = node.entries().first().and_then(|entry| self.text.get(entry.key_span.start..));
        let is_json = self.style.values == ValueStyle::Block
            || place.notation() == Some(Notation::Json)
            || key.is_some_and(|key| key.starts_with('"'));
        if is_json { Notation::Json } else { Notation::Plain }
    }
}

fn entry_end(entry: &MappingEntry<'_>) -> usize {
    entry.node.span.end.max(entry.key_span.end)
}

/// An item of a list in brackets; a string has the quotes of the item before it, if any.
fn in_style_of(last: &str, item: &Value, notation: Notation) -> String {
    match item.as_str() {
        Some(text) if !last.starts_with('"') => {
            render::in_quotes_of(last, text).unwrap_or_else(|| render::flow(item, Notation::Plain))
        }
        _ => render::flow(item, notation),
    }
}
