//! Items as the texts that are compiled, and the way back from a place in one to a place in the user's file.

use std::collections::BTreeMap;

use kubefoundry_compiler::options::render;
use kubefoundry_diagnostics::Location;
use kubefoundry_diagnostics::render::LineIndex;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_yaml::edit::BlockItem;
use kubefoundry_yaml::{Node, Span};

use crate::block;
use crate::envelope::Envelope;
use crate::function_config::FunctionConfig;
use crate::item::{self, Origin};

/// What a source was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Made {
    /// An item.
    Item(usize),
    /// The functionConfig.
    FunctionConfig,
    /// What every run begins with.
    Defaults,
}

/// The sources of a run.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    pub(crate) set: SourceSet,
    made: Vec<Made>,
    /// By source: where its text starts in the list's. A negative start cannot be: what is put before it is blanks.
    offsets: Vec<usize>,
    /// By item: the first line of its document in its file, where that can be told.
    first_lines: BTreeMap<usize, usize>,
}

impl Sources {
    /// Every item that may matter, and the functionConfig.
    pub(crate) fn new(envelope: &Envelope<'_>, config: &FunctionConfig) -> Self {
        let mut sources = Self::default();
        // A client calls us for every package, with models or without.
        let defaults = format!("apiVersion: {}\nkind: Render\nallowEmpty: true\n", render::API_VERSION);
        sources.add(Purpose::Options, Made::Defaults, "defaults", (defaults, 0));
        let config_name =
            envelope.function_config().and_then(Origin::of).map_or("functionConfig".to_owned(), |it| it.path);
        if let Some(options) = &config.options {
            sources.add(Purpose::Options, Made::FunctionConfig, &config_name, (options.clone(), 0));
        }
        let extents = block::items(envelope);
        let top = top_package(envelope);
        let mut documents: BTreeMap<(Option<String>, String), BTreeMap<usize, usize>> = BTreeMap::new();
        for (position, object) in envelope.items().iter().enumerate() {
            let text = extents.get(position).map_or_else(
                || envelope.alone(object),
                |extent| (block::item_text(envelope.text, extent), extent.range.start),
            );
            let origin = Origin::of(object);
            if let Some(Origin { package, path, index }) = &origin {
                documents.entry((package.clone(), path.clone())).or_default().insert(*index, position);
            }
            // Options in the tree are those of some function: ours are in the functionConfig.
            if item::type_of(object).0 != render::API_VERSION {
                let name = origin.map_or_else(|| format!("items[{position}]"), |it| display_name(&it, top.as_deref()));
                sources.add(Purpose::Input, Made::Item(position), &name, text);
            }
        }
        for positions in documents.values() {
            sources.count_lines(envelope, &extents, positions);
        }
        if config.is_deployment
            && let Some(object) = envelope.function_config()
            && !envelope.items().iter().any(|given| item::identity(given) == item::identity(object))
        {
            sources.add(Purpose::Input, Made::FunctionConfig, &config_name, envelope.alone(object));
        }
        sources
    }

    fn add(&mut self, purpose: Purpose, made: Made, name: &str, (text, offset): (String, usize)) {
        let id = self.set.add_for(purpose, name, text);
        self.set.set_rewritten(id);
        self.made.push(made);
        self.offsets.push(offset);
    }

    /// What a source was made from.
    pub(crate) fn made(&self, source: SourceId) -> Made {
        self.made.get(source.0).copied().unwrap_or(Made::Defaults)
    }

    /// The documents of one file stand below one another, with a `---` between them. A line is told only where all the
    /// documents before it are there.
    fn count_lines(&mut self, envelope: &Envelope<'_>, extents: &[BlockItem], positions: &BTreeMap<usize, usize>) {
        let mut first_line = 1;
        for (expected, (index, position)) in positions.iter().enumerate() {
            let (Some(extent), Some(object)) = (extents.get(*position), envelope.items().get(*position)) else {
                return;
            };
            if *index != expected {
                return;
            }
            self.first_lines.insert(*position, first_line);
            let lines = envelope.text.get(extent.range.clone()).map_or(0, |text| text.lines().count());
            first_line += lines - item::bookkeeping_lines(object, envelope.text, extent.range.end).min(lines) + 1;
        }
    }

    /// The line of a place, in the file as the client writes it: blank lines, which it drops, are not counted.
    pub(crate) fn line(&self, envelope: &Envelope<'_>, location: &Location) -> Option<usize> {
        let Made::Item(position) = self.made(location.source) else { return None };
        let first = self.first_lines.get(&position)?;
        let text = &self.set.get(location.source).text;
        let line = LineIndex::new(text).position(location.span.start).line;
        let before = self.in_list(location.source, location.span).start;
        let added = item::bookkeeping_lines(envelope.items().get(position)?, envelope.text, before);
        Some(first + line.saturating_sub(1 + added))
    }

    /// A place in a source as a place in the list's text.
    pub(crate) fn in_list(&self, source: SourceId, span: Span) -> Span {
        let offset = self.offsets.get(source.0).copied().unwrap_or_default();
        Span { start: offset + span.start, end: offset + span.end }
    }

    /// The object that a source was made from.
    pub(crate) fn object<'e, 't>(&self, envelope: &'e Envelope<'t>, source: SourceId) -> Option<&'e Node<'t>> {
        match self.made(source) {
            Made::Item(position) => envelope.items().get(position),
            Made::FunctionConfig => envelope.function_config(),
            Made::Defaults => None,
        }
    }
}

/// The outermost of the packages; the paths of all others lie below it.
fn top_package(envelope: &Envelope<'_>) -> Option<String> {
    let packages = envelope.items().iter().filter_map(|object| item::annotation(object, item::PACKAGE));
    packages.min_by_key(|package| package.len()).map(str::to_owned)
}

/// A file as seen from the outermost package.
pub(crate) fn display_name(origin: &Origin, top: Option<&str>) -> String {
    let below = origin.package.as_deref().zip(top).and_then(|(package, top)| package.strip_prefix(top));
    match below.map(|below| below.trim_matches('/')).filter(|below| !below.is_empty()) {
        Some(below) => format!("{below}/{}", origin.path),
        None => origin.path.clone(),
    }
}
