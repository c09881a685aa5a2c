//! Converts items to sources of the compiler, and locations in sources to lines in the files of the user.

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

/// The part of the `ResourceList` that a source comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceOrigin {
    /// The item with this index.
    Item(usize),
    FunctionConfig,
    /// The default options of every run.
    Defaults,
}

/// The sources of a run.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    pub(crate) set: SourceSet,
    /// By source.
    origins: Vec<SourceOrigin>,
    /// By source: the offset of its text in the list. Added indentation replaces text of the same length, so it is not
    /// negative.
    offsets: Vec<usize>,
    /// By item: the first line of its document in its file, if it can be determined.
    first_lines: BTreeMap<usize, usize>,
}

impl Sources {
    /// Collects the items that may matter to the compiler, and functionConfig.
    pub(crate) fn new(envelope: &Envelope<'_>, config: &FunctionConfig) -> Self {
        let mut sources = Self::default();
        // Clients run the function on packages without models, too.
        let defaults = format!("apiVersion: {}\nkind: Render\nallowEmpty: true\n", render::API_VERSION);
        sources.add(Purpose::Options, SourceOrigin::Defaults, "defaults", (defaults, 0));
        let config_name = envelope
            .function_config()
            .and_then(Origin::from_annotations)
            .map_or("functionConfig".to_owned(), |it| it.path);
        if let Some(options) = &config.options {
            sources.add(Purpose::Options, SourceOrigin::FunctionConfig, &config_name, (options.clone(), 0));
        }
        let extents = block::find_items(envelope);
        let top_package = outermost_package(envelope);
        let mut documents: BTreeMap<(Option<String>, String), BTreeMap<usize, usize>> = BTreeMap::new();
        for (position, object) in envelope.items().iter().enumerate() {
            let text = extents.get(position).map_or_else(
                || envelope.extract_text(object),
                |extent| (block::item_text(envelope.text, extent), extent.range.start),
            );
            let origin = Origin::from_annotations(object);
            if let Some(Origin { package, path, index }) = &origin {
                documents.entry((package.clone(), path.clone())).or_default().insert(*index, position);
            }
            // A `Render` among the items configures another function; this one is configured by functionConfig.
            if item::type_of(object).0 != render::API_VERSION {
                let name =
                    origin.map_or_else(|| format!("items[{position}]"), |it| display_name(&it, top_package.as_deref()));
                sources.add(Purpose::Input, SourceOrigin::Item(position), &name, text);
            }
        }
        for positions in documents.values() {
            sources.compute_first_lines(envelope, &extents, positions);
        }
        if config.is_deployment
            && let Some(object) = envelope.function_config()
            && !envelope.items().iter().any(|item| item::identity(item) == item::identity(object))
        {
            sources.add(Purpose::Input, SourceOrigin::FunctionConfig, &config_name, envelope.extract_text(object));
        }
        sources
    }

    fn add(&mut self, purpose: Purpose, origin: SourceOrigin, name: &str, (text, offset): (String, usize)) {
        let id = self.set.add_for(purpose, name, text);
        self.set.set_rewritten(id);
        self.origins.push(origin);
        self.offsets.push(offset);
    }

    pub(crate) fn origin(&self, source: SourceId) -> SourceOrigin {
        self.origins.get(source.0).copied().unwrap_or(SourceOrigin::Defaults)
    }

    /// Computes the first line of each document of a file from the lengths of the documents before it and the `---`
    /// between them. It stops at the first document that is missing in the list, because later lines are then unknown.
    fn compute_first_lines(
        &mut self,
        envelope: &Envelope<'_>,
        extents: &[BlockItem],
        positions: &BTreeMap<usize, usize>,
    ) {
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
            first_line += lines - item::count_bookkeeping_lines(object, envelope.text, extent.range.end).min(lines) + 1;
        }
    }

    /// Returns the line of a location in the file as the client writes it, that is, without blank lines.
    pub(crate) fn line_in_file(&self, envelope: &Envelope<'_>, location: &Location) -> Option<usize> {
        let SourceOrigin::Item(position) = self.origin(location.source) else { return None };
        let first = self.first_lines.get(&position)?;
        let text = &self.set.get(location.source).text;
        let line = LineIndex::new(text).position(location.span.start).line;
        let before = self.span_in_list(location.source, location.span).start;
        let added = item::count_bookkeeping_lines(envelope.items().get(position)?, envelope.text, before);
        Some(first + line.saturating_sub(1 + added))
    }

    /// Converts a span in a source to a span in the text of the list.
    pub(crate) fn span_in_list(&self, source: SourceId, span: Span) -> Span {
        let offset = self.offsets.get(source.0).copied().unwrap_or_default();
        Span { start: offset + span.start, end: offset + span.end }
    }

    /// Returns the object that a source comes from.
    pub(crate) fn object<'e, 't>(&self, envelope: &'e Envelope<'t>, source: SourceId) -> Option<&'e Node<'t>> {
        match self.origin(source) {
            SourceOrigin::Item(position) => envelope.items().get(position),
            SourceOrigin::FunctionConfig => envelope.function_config(),
            SourceOrigin::Defaults => None,
        }
    }
}

/// Returns the outermost package, which contains all others, so that its path is the shortest.
fn outermost_package(envelope: &Envelope<'_>) -> Option<String> {
    let packages = envelope.items().iter().filter_map(|object| item::annotation(object, item::PACKAGE));
    packages.min_by_key(|package| package.len()).map(str::to_owned)
}

/// Returns the path of a file relative to the outermost package.
pub(crate) fn display_name(origin: &Origin, top: Option<&str>) -> String {
    let below = origin.package.as_deref().zip(top).and_then(|(package, top)| package.strip_prefix(top));
    match below.map(|below| below.trim_matches('/')).filter(|below| !below.is_empty()) {
        Some(below) => format!("{below}/{}", origin.path),
        None => origin.path.clone(),
    }
}
