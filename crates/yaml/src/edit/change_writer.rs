//! Translates the changes of a tree into edits of its text.

use serde_json::Value;

use super::change::{Additions, Change, CollectionChange, apply_to_value};
use super::layout::{
    block_items, column, content_end, is_first_on_line, line_after, line_start, part_end, skip_blanks,
};
use super::render::{self, FlowNotation, RenderedBlock, push_indented};
use super::{EditStyle, Placement, TextEdit, ValueStyle};
use crate::token_position::after_colon;
use crate::{MappingEntry, Node, Span, Value as Read};

/// The position of a node in its parent, which decides how it is rewritten.
#[derive(Clone, Copy)]
enum NodePosition<'n, 't> {
    /// The root of a document that ends at `end`.
    Root { end: usize },
    /// The value of an entry of a block-style mapping.
    Entry { mapping: &'n Node<'t>, key: Span },
    /// An item of a block-style sequence.
    Item { dash: usize },
    /// The value of an entry of a flow mapping.
    FlowEntry { key: Span, notation: FlowNotation },
    /// An item of a flow sequence.
    FlowItem { notation: FlowNotation },
}

impl NodePosition<'_, '_> {
    /// Returns the notation of the flow collection that holds the node, if one does.
    fn notation(self) -> Option<FlowNotation> {
        match self {
            Self::FlowEntry { notation, .. } | Self::FlowItem { notation } => Some(notation),
            Self::Root { .. } | Self::Entry { .. } | Self::Item { .. } => None,
        }
    }
}

/// An edit that is not yet ordered among the others. A replacement that `is_lines` consists of whole lines and must
/// start at the beginning of a line.
struct PendingEdit {
    edit: TextEdit,
    is_lines: bool,
}

/// Collects the edits for one [`Change`].
pub(super) struct ChangeWriter<'t> {
    text: &'t str,
    line_break: &'static str,
    style: EditStyle,
    /// Whether blank lines after a part always belong to it.
    takes_blank_lines: bool,
    pending: Vec<PendingEdit>,
}

impl<'t> ChangeWriter<'t> {
    pub(super) fn new(text: &'t str, style: EditStyle, takes_blank_lines: bool) -> Self {
        let line_break = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Self { text, line_break, style, takes_blank_lines, pending: Vec::new() }
    }

    /// Returns the edits that apply the change to the document at `span`, in text order, or `None` if the text does not
    /// allow one of them.
    pub(super) fn into_edits(mut self, root: &Node<'_>, span: Span, change: &Change) -> Option<Vec<TextEdit>> {
        self.write_change(NodePosition::Root { end: span.end }, root, change)?;
        self.pending.sort_by_key(|piece| piece.edit.range);
        let mut edits: Vec<TextEdit> = Vec::new();
        let (mut done, mut ends_inside_line) = (0, false);
        for PendingEdit { mut edit, is_lines } in self.pending {
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

    fn write_change(&mut self, place: NodePosition<'_, '_>, node: &Node<'_>, change: &Change) -> Option<()> {
        let inside = match change {
            Change::Replace(value) => return self.replace_node(place, node, value),
            // The parent collection handles the removal of its children.
            Change::Remove => return None,
            Change::Within(inside) => inside,
        };
        let placement = self.style.placement;
        let whole = || apply_to_value(node, Some(change), placement);
        let node_text = self.text.get(node.span.start..)?;
        let count = node.entries().len() + node.items().len();
        if node_text.starts_with('*') || !matches!(node.value, Read::Mapping(_) | Read::Sequence(_)) {
            return self.replace_node(place, node, &whole());
        }
        let is_flow = node_text.starts_with(['{', '[']);
        if !inside.keeps_any_child(count) {
            // New items replace all old ones. Removing the old ones one by one keeps the comments above them.
            if !is_flow && count > 0 && matches!(node.value, Read::Sequence(_)) && !inside.added.is_empty() {
                let before = self.pending.len();
                if self.write_block_sequence(node, inside).is_some() {
                    return Some(());
                }
                self.pending.truncate(before);
            }
            let stays_flow = place.notation().is_some() || self.style.values == ValueStyle::Flow || count > 0;
            if is_flow && stays_flow && !inside.added.is_empty() {
                let text = render::render_flow_collection(&whole(), self.notation(place, node));
                self.push_edit(node.span.start, node.span.end, text);
                return Some(());
            }
            return self.replace_node(place, node, &whole());
        }
        match &node.value {
            Read::Mapping(entries) if is_flow => self.write_flow_mapping(self.notation(place, node), entries, inside),
            Read::Sequence(items) if is_flow => self.write_flow_sequence(self.notation(place, node), items, inside),
            Read::Mapping(entries) => self.write_block_mapping(place, node, entries, inside),
            _ => self.write_block_sequence(node, inside),
        }
    }

    fn end_of(&self, node: &Node<'_>, end: usize, indent: usize) -> usize {
        if self.takes_blank_lines {
            content_end(self.text, end, indent)
        } else {
            part_end(self.text, node, end, indent)
        }
    }

    fn push_edit(&mut self, start: usize, end: usize, replacement: impl Into<String>) {
        self.pending.push(PendingEdit { edit: TextEdit::replace(start, end, replacement), is_lines: false });
    }

    fn insert_lines(&mut self, at: usize, lines: &str, indent: usize) {
        let mut replacement = String::new();
        push_indented(&mut replacement, lines, indent, self.line_break);
        self.pending.push(PendingEdit { edit: TextEdit::replace(at, at, replacement), is_lines: true });
    }

    fn write_block_mapping(
        &mut self,
        place: NodePosition<'_, '_>,
        node: &Node<'_>,
        entries: &[MappingEntry<'_>],
        inside: &CollectionChange,
    ) -> Option<()> {
        let indent = column(self.text, node.span.start);
        let mut removed_until = 0;
        for (position, child) in &inside.children {
            let entry = entries.get(*position)?;
            let start = entry.key_span.start;
            if inside.removes_child(*position) {
                if is_first_on_line(self.text, start) {
                    let end = self.end_of(&entry.node, entry_end(entry), column(self.text, start) + 1);
                    self.push_edit(line_start(self.text, start).max(removed_until), end.max(removed_until), "");
                } else if start >= removed_until {
                    // The key follows a dash, so the next entry that stays moves up to the dash.
                    let mut later = entries.iter().enumerate().skip(*position);
                    removed_until = later.find(|(position, _)| !inside.removes_child(*position))?.1.key_span.start;
                    self.push_edit(start, removed_until, "");
                }
                continue;
            }
            self.rename_key(entry, child.key.as_deref(), None)?;
            if let Some(change) = &child.change {
                self.write_change(NodePosition::Entry { mapping: node, key: entry.key_span }, &entry.node, change)?;
            }
        }
        let Additions::Entries(added) = &inside.added else { return None };
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
            NodePosition::Entry { key, .. } => after_colon(self.text, key.end)?,
            NodePosition::Item { dash } => dash + 1,
            _ => node.span.start,
        };
        let below = line_after(self.text, header);
        if below <= node.span.start && header < node.span.start {
            // Insert above the comments that belong to the first entry.
            self.insert_lines(below, &lines, indent);
        } else {
            let mut text = String::new();
            push_indented(&mut text, &lines, indent, self.line_break);
            let text = text.trim_start_matches(' ').to_owned() + &" ".repeat(indent);
            self.push_edit(node.span.start, node.span.start, text);
        }
        Some(())
    }

    /// Appends the lines of a new block-style mapping entry at column 0.
    fn push_entry(&self, lines: &mut String, mapping: &Node<'_>, key: &str, value: &Value) {
        if self.style.values == ValueStyle::Flow {
            lines.extend([&render::render_key(key), ": ", &render::render_flow(value, FlowNotation::Plain), "\n"]);
        } else {
            render::push_entry(lines, key, value, self.child_indent(mapping, value));
        }
    }

    /// Returns the indentation of a value relative to its key: that of the first value of its kind in the same mapping,
    /// or else that of canonical YAML.
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

    fn write_block_sequence(&mut self, node: &Node<'_>, inside: &CollectionChange) -> Option<()> {
        let items = node.items();
        let extents = block_items(self.text, node, node.span.start);
        if extents.len() != items.len() {
            return None;
        }
        let mut removed_until = 0;
        for (position, child) in &inside.children {
            let (item, dash) = (items.get(*position)?, extents.get(*position)?.dash);
            if !inside.removes_child(*position) {
                if let Some(change) = &child.change {
                    self.write_change(NodePosition::Item { dash }, item, change)?;
                }
            } else if is_first_on_line(self.text, dash) {
                let end = self.end_of(item, item.span.end.max(dash + 1), column(self.text, dash) + 1);
                self.push_edit(line_start(self.text, dash).max(removed_until), end.max(removed_until), "");
            } else if dash >= removed_until {
                // Another dash precedes this one (`- - 1`), so the next item that stays moves up to it.
                let mut later = extents.iter().enumerate().skip(*position);
                removed_until = later.find(|(position, _)| !inside.removes_child(*position))?.1.dash;
                self.push_edit(dash, removed_until, "");
            }
        }
        if let Additions::Items(added) = &inside.added
            && !added.is_empty()
        {
            let indent = column(self.text, node.span.start);
            let (last, dash) = (items.last()?, extents.last()?.dash);
            let at = self.end_of(last, last.span.end.max(dash + 1), indent + 1);
            let mut lines = String::new();
            for item in added {
                match self.style.values {
                    ValueStyle::Block => render::push_item(&mut lines, item),
                    ValueStyle::Flow => lines.extend(["- ", &render::render_flow(item, FlowNotation::Plain), "\n"]),
                }
            }
            self.insert_lines(at, &lines, indent);
        }
        Some(())
    }

    fn write_flow_mapping(
        &mut self,
        notation: FlowNotation,
        entries: &[MappingEntry<'_>],
        inside: &CollectionChange,
    ) -> Option<()> {
        let spans: Vec<Span> =
            entries.iter().map(|entry| Span { start: entry.key_span.start, end: entry_end(entry) }).collect();
        self.remove_flow_children(&spans, inside)?;
        for (position, child) in inside.children.iter().filter(|(position, _)| !inside.removes_child(**position)) {
            let entry = entries.get(*position)?;
            self.rename_key(entry, child.key.as_deref(), Some(notation))?;
            if let Some(change) = &child.change {
                self.write_change(NodePosition::FlowEntry { key: entry.key_span, notation }, &entry.node, change)?;
            }
        }
        let Additions::Entries(added) = &inside.added else { return None };
        let added: Vec<String> =
            added.iter().map(|(key, value)| render::render_flow_entry(key, value, notation)).collect();
        self.add_flow_children(&spans, &added, self.style.placement)
    }

    fn write_flow_sequence(
        &mut self,
        notation: FlowNotation,
        items: &[Node<'_>],
        inside: &CollectionChange,
    ) -> Option<()> {
        let spans: Vec<Span> = items.iter().map(|item| item.span).collect();
        self.remove_flow_children(&spans, inside)?;
        for (position, child) in inside.children.iter().filter(|(position, _)| !inside.removes_child(**position)) {
            if let Some(change) = &child.change {
                self.write_change(NodePosition::FlowItem { notation }, items.get(*position)?, change)?;
            }
        }
        let Additions::Items(added) = &inside.added else { return Some(()) };
        let last = spans.last().map_or("", |span| span.of(self.text));
        let added: Vec<String> = added.iter().map(|item| render_like_sibling(last, item, notation)).collect();
        self.add_flow_children(&spans, &added, Placement::Last)
    }

    /// Removes children with the comma after them, or with the one before them at the end of the collection.
    fn remove_flow_children(&mut self, spans: &[Span], inside: &CollectionChange) -> Option<()> {
        let mut position = 0;
        while position < spans.len() {
            let first = position;
            while position < spans.len() && inside.removes_child(position) {
                position += 1;
            }
            if first < position {
                let (start, end) = match spans.get(position) {
                    Some(next) => (spans.get(first)?.start, next.start),
                    None => (spans.get(first.checked_sub(1)?)?.end, spans.get(position - 1)?.end),
                };
                self.push_edit(start, end, "");
            }
            position += 1;
        }
        Some(())
    }

    fn add_flow_children(&mut self, spans: &[Span], added: &[String], placement: Placement) -> Option<()> {
        if added.is_empty() {
            return Some(());
        }
        let text = added.join(", ");
        match placement {
            Placement::First => {
                let first = spans.first()?;
                self.push_edit(first.start, first.start, format!("{text}, "));
            }
            Placement::Last => {
                let last = spans.last()?;
                self.push_edit(last.end, last.end, format!(", {text}"));
            }
        }
        Some(())
    }

    fn rename_key(&mut self, entry: &MappingEntry<'_>, key: Option<&str>, flow: Option<FlowNotation>) -> Option<()> {
        let Some(key) = key else { return Some(()) };
        let old = self.text.get(entry.key_span.start..entry.key_span.end)?;
        let new = render::quote_like(old, key).unwrap_or_else(|| match flow {
            Some(notation) => render::render_flow(&Value::from(key), notation),
            None => render::render_key(key),
        });
        self.push_edit(entry.key_span.start, entry.key_span.end, new);
        Some(())
    }

    /// Replaces the value of a node.
    fn replace_node(&mut self, place: NodePosition<'_, '_>, node: &Node<'_>, value: &Value) -> Option<()> {
        let span = node.span;
        if let Some(notation) = place.notation() {
            let text = self.quoted_like_old(span, value).unwrap_or_else(|| render::render_flow(value, notation));
            match place {
                NodePosition::FlowEntry { key, .. } => match after_colon(self.text, key.end) {
                    Some(colon) if span.start < span.end => {
                        self.push_edit(self.value_start(colon, span), span.end, text);
                    }
                    Some(colon) => self.push_edit(colon, skip_blanks(self.text, colon), format!(" {text}")),
                    None => self.push_edit(key.end, key.end, format!(": {text}")),
                },
                _ => self.push_edit(span.start, span.end, text),
            }
            return Some(());
        }
        let rendered = match (self.style.values, self.quoted_like_old(span, value)) {
            (_, Some(text)) => RenderedBlock::Inline(text),
            (ValueStyle::Flow, None) => RenderedBlock::Inline(render::render_flow(value, FlowNotation::Plain)),
            (ValueStyle::Block, None) => render::render_block(value),
        };
        match place {
            NodePosition::Root { end } => self.replace_root(node, end, rendered),
            NodePosition::Entry { mapping, key } => {
                let indent = column(self.text, key.start);
                let indent =
                    indent + if render::is_nonempty_collection(value) { self.child_indent(mapping, value) } else { 0 };
                self.replace_after(after_colon(self.text, key.end)?, node, rendered, indent);
            }
            NodePosition::Item { dash } => {
                let is_below = self.text.get(dash + 1..span.start).is_some_and(|between| between.contains('\n'));
                match rendered {
                    RenderedBlock::Lines { head, body } if head.is_empty() && !is_below && span.start < span.end => {
                        let mut text = String::new();
                        let start = self.value_start(dash + 1, span);
                        push_indented(&mut text, &body, column(self.text, start), self.line_break);
                        // A comment after the old value must not become part of the new one.
                        let end = self.text.get(span.end..)?.find(['\r', '\n']);
                        let end = end.map_or(self.text.len(), |length| span.end + length);
                        self.push_edit(start, end, text.trim_start_matches(' ').trim_end_matches(self.line_break));
                    }
                    rendered => {
                        let is_text = matches!(&rendered, RenderedBlock::Lines { head, .. } if !head.is_empty());
                        let indent = column(self.text, dash) + if is_text { 0 } else { 2 };
                        self.replace_after(dash + 1, node, rendered, indent);
                    }
                }
            }
            NodePosition::FlowEntry { .. } | NodePosition::FlowItem { .. } => return None,
        }
        Some(())
    }

    fn replace_root(&mut self, node: &Node<'_>, end: usize, rendered: RenderedBlock) {
        let mut lines = match rendered {
            RenderedBlock::Inline(text) => text + "\n",
            RenderedBlock::Lines { head, body } if head.is_empty() => body,
            RenderedBlock::Lines { head, body } => head + "\n" + &body,
        };
        if node.span.start == node.span.end {
            self.insert_lines(end, &lines, 0);
        } else {
            lines.truncate(lines.len().saturating_sub(1));
            self.push_edit(node.span.start, node.span.end, lines.replace('\n', self.line_break));
        }
    }

    /// Replaces the value after a colon or dash that ends at `header`. A comment on that line stays.
    fn replace_after(&mut self, header: usize, node: &Node<'_>, rendered: RenderedBlock, indent: usize) {
        let span = node.span;
        let is_absent = span.start == span.end;
        let is_below = !is_absent && self.text.get(header..span.start).is_some_and(|between| between.contains('\n'));
        let (head, body) = match rendered {
            RenderedBlock::Inline(text) => (text, String::new()),
            RenderedBlock::Lines { head, body } => (head, body),
        };
        let below = if is_absent { line_after(self.text, header) } else { line_after(self.text, span.end) };
        if is_below {
            self.push_edit(line_after(self.text, header), below, "");
        } else if !is_absent && !head.is_empty() {
            self.push_edit(self.value_start(header, span), span.end, head.clone());
        } else if !is_absent {
            self.push_edit(header, span.end, "");
        }
        if (is_below || is_absent) && !head.is_empty() {
            self.push_edit(header, header, format!(" {head}"));
        }
        if !body.is_empty() {
            self.insert_lines(below, &body, indent);
        }
    }

    /// Returns the start of a value, including the anchor and the tag before it on its line.
    fn value_start(&self, header: usize, span: Span) -> usize {
        let at = skip_blanks(self.text, header);
        let has_property = self.text.get(at..span.start).is_some_and(|between| between.starts_with(['&', '!']));
        if has_property { at } else { span.start }
    }

    /// Renders a string in the quotes of the one that it replaces.
    fn quoted_like_old(&self, span: Span, value: &Value) -> Option<String> {
        render::quote_like(self.text.get(span.start..span.end)?, value.as_str()?)
    }

    /// Returns the notation of new values inside a flow collection.
    fn notation(&self, place: NodePosition<'_, '_>, node: &Node<'_>) -> FlowNotation {
        let key = node.entries().first().and_then(|entry| self.text.get(entry.key_span.start..));
        let is_json = self.style.values == ValueStyle::Block
            || place.notation() == Some(FlowNotation::Json)
            || key.is_some_and(|key| key.starts_with('"'));
        if is_json { FlowNotation::Json } else { FlowNotation::Plain }
    }
}

fn entry_end(entry: &MappingEntry<'_>) -> usize {
    entry.node.span.end.max(entry.key_span.end)
}

/// Renders an item of a flow sequence; a string gets the quotes of the item before it.
fn render_like_sibling(last: &str, item: &Value, notation: FlowNotation) -> String {
    match item.as_str() {
        Some(text) if !last.starts_with('"') => {
            render::quote_like(last, text).unwrap_or_else(|| render::render_flow(item, FlowNotation::Plain))
        }
        _ => render::render_flow(item, notation),
    }
}
