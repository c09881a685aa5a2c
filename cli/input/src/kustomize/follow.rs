//! Follows a kustomization to every file that kustomize reads for it, and rewrites it for kustomize.
//!
//! Kustomize reads more spellings than it documents and has no switch that keeps it off the network or inside of a
//! directory. So it never sees a kustomization itself, but what was understood of it: known fields in their exact spelling,
//! with references that name files of the copy. What is not understood is a [`Refusal`]; what needs a permission is an
//! [`Obstacle`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kubefoundry_composition::BUILTIN;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::text::{closest, is_same_word};
use kubefoundry_yaml::{Node, Span};
use serde_json::Value;

use super::closure::{Closure, FunctionInput, Kustomization, Obstacle, OwnFunction, Place, Refusal};
use super::entry::{function_input, has_scheme, inline_documents, is_of_another_group, is_remote, relative};
use super::expansion::Expansion;
use super::schema::{self, HELM_GENERATOR, Reference, Shape, describe};
use crate::error::InputError;
use crate::files::Files;
use crate::paths::{KUSTOMIZATION_NAMES, absolute, lexical};

/// The annotation with which kustomize recognizes the configuration of a function.
const FUNCTION: &str = "config.kubernetes.io/function";

/// The program of our own function in that annotation.
const OWN_FUNCTION: &str = "kubefoundry-fn";

/// The API version of the plugins that are part of kustomize.
const BUILTIN_API_VERSION: &str = "builtin";

/// The maximum number of kustomizations that include each other in a chain.
const MAX_DEPTH: usize = 100;

/// The directory of charts, if `chartHome` does not name another.
const CHARTS: &str = "charts";

/// Follows the kustomization in a directory. Nothing outside of `boundary` is read.
pub(super) fn follow(directory: &Path, boundary: &Path, files: &Files) -> Result<Closure, InputError> {
    let mut closure = Closure::default();
    let boundary = absolute(boundary);
    let mut walker = Walker { files, boundary, closure: &mut closure, expansions: BTreeMap::new(), open: Vec::new() };
    let expansion = walker.visit(&lexical(directory), None)?;
    closure.expansion.add(expansion);
    if !closure.refusals.is_empty() && !closure.has_models {
        // What was refused may lead to the models beside it.
        let folder = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        for file in files.list(folder).into_iter().flatten() {
            let text = files.read(&file)?;
            closure.has_models |= text.is_some_and(|text| BUILTIN.may_hold_input(&String::from_utf8_lossy(&text)));
        }
    }
    Ok(closure)
}

struct Walker<'w> {
    files: &'w Files,
    /// The absolute path of the directory that nothing may lead out of.
    boundary: PathBuf,
    closure: &'w mut Closure,
    /// What kustomize makes of each kustomization that was followed.
    expansions: BTreeMap<PathBuf, Expansion>,
    /// The kustomizations that are being followed, each including the next.
    open: Vec<PathBuf>,
}

/// Where a value is written.
struct Position<'p> {
    /// The directory that references are relative to.
    directory: &'p Path,
    file: &'p Path,
    document: usize,
    /// The place of the text, if it is written in a string of the file.
    text: Option<Span>,
}

impl Position<'_> {
    fn place(&self, span: Span) -> Place {
        Place { file: self.file.to_owned(), document: self.document, span: self.text.unwrap_or(span) }
    }
}

impl Walker<'_> {
    /// Follows the kustomization in a directory that is named at a place. Returns what kustomize makes of it.
    fn visit(&mut self, directory: &Path, named_at: Option<Place>) -> Result<Expansion, InputError> {
        if let Some(known) = self.expansions.get(directory) {
            return Ok(*known);
        }
        let Some(file) = self.files.kustomization_in(directory) else {
            if let Some(place) = named_at {
                self.refuse(place, format!("{} has no kustomization.yaml", directory.display()), "");
            }
            return Ok(Expansion::default());
        };
        if self.open.iter().any(|open| open == directory) {
            let place = named_at.unwrap_or(Place { file, document: 0, span: Span::default() });
            self.refuse(place, "it includes itself".to_owned(), "remove one of the references that form the circle");
            return Ok(Expansion::default());
        }
        if self.open.len() >= MAX_DEPTH {
            let place = named_at.unwrap_or(Place { file, document: 0, span: Span::default() });
            self.refuse(place, format!("more than {MAX_DEPTH} kustomizations include each other"), "");
            return Ok(Expansion::default());
        }
        self.open.push(directory.to_owned());
        let expansion = self.follow(directory, &file, named_at.as_ref())?;
        self.open.pop();
        self.expansions.insert(directory.to_owned(), expansion);
        Ok(expansion)
    }

    fn follow(&mut self, directory: &Path, file: &Path, named_at: Option<&Place>) -> Result<Expansion, InputError> {
        let mut expansion = Expansion::default();
        let start = |span: Span| Place { file: file.to_owned(), document: 0, span };
        if KUSTOMIZATION_NAMES.iter().filter(|name| self.files.is_file(&directory.join(name))).count() > 1 {
            self.refuse(start(Span::default()), "the directory has several kustomizations".to_owned(), "keep one");
        }
        // The file may be a link. One that leads out is not opened, not even to show the place.
        match named_at {
            Some(place) if !self.check_inside("the kustomization", file, place) => return Ok(expansion),
            None if !self.is_inside(file) => {
                return Err(InputError::OutsideOf(file.display().to_string(), "the repository".to_owned()));
            }
            _ => {}
        }
        let Some(text) = self.read(file)? else { return Ok(expansion) };
        let parsed = yaml::parse(&text, &yaml::Limits::default());
        let first = parsed.documents.first();
        if named_at.is_none() && first.is_some_and(|document| is_of_another_group(&document.root)) {
            return Ok(expansion);
        }
        if let Some(second) = parsed.documents.get(1) {
            // Kustomize reads the first and says nothing about the others.
            self.refuse(start(second.root.span), "the kustomization has several documents".to_owned(), "keep one");
        }
        let failures = first.map(|document| document.problems.as_slice()).unwrap_or_default();
        let unread = parsed.failure.iter().filter(|failure| first.is_none_or(|it| failure.span.start <= it.span.end));
        for failure in unread.chain(failures) {
            self.refuse(start(failure.span), failure.sentence(), "");
        }
        let Some(document) = first else { return Ok(expansion) };
        let root = document.root.to_owned_node();
        let position = Position { directory, file, document: document.index, text: None };
        let handed = self.write(&root, &schema::KUSTOMIZATION, "", &position, &mut expansion)?;
        let charts = |field: &str| root.get(field).map(Node::items).unwrap_or_default();
        let home = root.get("helmGlobals").and_then(|globals| globals.get("chartHome"));
        for chart in charts("helmCharts").iter().chain(charts("helmChartInflationGenerator")) {
            self.add_chart(directory, chart, home);
        }
        expansion.close(&root);
        let (directory, file) = (directory.to_owned(), file.to_owned());
        self.closure.kustomizations.push(Kustomization { directory, file, root, handed });
        Ok(expansion)
    }

    /// Rewrites a value of a kustomization, and follows what it names. `field` is the field of the kustomization.
    fn write(
        &mut self,
        node: &Node<'_>,
        shape: &'static Shape,
        field: &'static str,
        position: &Position<'_>,
        expansion: &mut Expansion,
    ) -> Result<Value, InputError> {
        match (shape, &node.value) {
            (_, yaml::Value::Null) => return Ok(Value::Null),
            (Shape::Data, _) => return Ok(node.to_json()),
            (Shape::Fields(_) | Shape::AllFields(_), yaml::Value::Mapping(entries)) => {
                let mut written = serde_json::Map::new();
                for entry in entries {
                    let Some((name, shape)) = shape.fields().find(|(name, _)| *name == entry.key) else {
                        self.refuse_field(&entry.key, shape, field, position.place(entry.key_span));
                        continue;
                    };
                    let field = if field.is_empty() { name } else { field };
                    let value = self.write(&entry.node, shape, field, position, expansion)?;
                    written.insert((*name).to_owned(), value);
                }
                return Ok(Value::Object(written));
            }
            (Shape::List(Shape::Reference(Reference::Plugin)), yaml::Value::Sequence(items)) => {
                let numbered = items.iter().enumerate();
                let written =
                    numbered.map(|(number, item)| self.write_plugin(item, (field, number), position, expansion));
                return written.collect::<Result<Vec<Value>, _>>().map(Value::Array);
            }
            (Shape::List(item), yaml::Value::Sequence(items)) => {
                let written = items.iter().map(|node| self.write(node, item, field, position, expansion));
                return written.collect::<Result<Vec<Value>, _>>().map(Value::Array);
            }
            (Shape::Reference(reference), yaml::Value::String(text)) => {
                let place = position.place(node.span);
                let written = self.write_reference(text, *reference, position.directory, place, expansion)?;
                return Ok(written.map_or(Value::Null, Value::String));
            }
            _ => {}
        }
        let expected = match shape {
            Shape::List(_) => "a list",
            Shape::Reference(_) => "a string",
            _ => "a mapping",
        };
        let reason = format!("{} is {}, expected {expected}", describe(field), node.describe());
        self.refuse(position.place(node.span), reason, "");
        Ok(Value::Null)
    }

    fn refuse_field(&mut self, key: &str, shape: &'static Shape, field: &str, place: Place) {
        let names = || shape.fields().map(|(name, _)| *name);
        let same = names().find(|name| is_same_word(name, key));
        let meant = same.or_else(|| closest(key, names())).map(|name| format!("did you mean {name}?"));
        let reason = format!("{key:?} is not a field of {}", describe(field));
        self.refuse(place, reason, &meant.unwrap_or_default());
    }

    /// Follows a reference, and returns how kustomize is handed it. Without one, the reference was refused.
    fn write_reference(
        &mut self,
        text: &str,
        reference: Reference,
        directory: &Path,
        place: Place,
        expansion: &mut Expansion,
    ) -> Result<Option<String>, InputError> {
        match reference {
            Reference::Resource | Reference::Component => self.write_resource(text, directory, place, expansion),
            Reference::PatchOrText => match inline_documents(text) {
                Some(documents) => Ok(Some(documents)),
                None => Ok(self.write_file(text, text, directory, place, true, expansion)),
            },
            Reference::Patch => Ok(self.write_file(text, text, directory, place, true, expansion)),
            Reference::File => Ok(self.write_file(text, text, directory, place, false, expansion)),
            Reference::EnvironmentFile => {
                // A line has at least a few bytes.
                let size = self.files.size(&lexical(&directory.join(text))).unwrap_or_default();
                expansion.add_entries(size / 8);
                Ok(self.write_file(text, text, directory, place, false, expansion))
            }
            Reference::KeyedFile => match text.split_once('=') {
                Some((key, path)) if !key.is_empty() && !path.contains('=') => {
                    let written = self.write_file(path, text, directory, place, false, expansion);
                    Ok(written.map(|path| format!("{key}={path}")))
                }
                Some(_) => {
                    self.refuse(place, format!("{text:?} is not a file, expected PATH or KEY=PATH"), "");
                    Ok(None)
                }
                None => Ok(self.write_file(text, text, directory, place, false, expansion)),
            },
            Reference::HelmPath => {
                let path = lexical(&directory.join(text));
                if has_scheme(text) {
                    self.refuse_remote(text, place);
                    return Ok(Some(text.to_owned()));
                }
                Ok(self.check_inside(text, &path, &place).then(|| relative(text)))
            }
            Reference::Chart => {
                let is_name = Path::new(text).components().all(|part| matches!(part, std::path::Component::Normal(_)));
                if !is_name {
                    self.refuse(place, format!("{text:?} is not the name of a chart"), "");
                }
                Ok(is_name.then(|| text.to_owned()))
            }
            // Those of a list have their positions in it.
            Reference::Plugin => Ok(None),
        }
    }

    fn write_resource(
        &mut self,
        text: &str,
        directory: &Path,
        place: Place,
        expansion: &mut Expansion,
    ) -> Result<Option<String>, InputError> {
        let path = lexical(&directory.join(text));
        if has_scheme(text) {
            // Kustomize takes it as a URL, even if a file has that name.
            self.closure.obstacles.insert(Obstacle::Remote(text.to_owned()));
            return Ok(Some(text.to_owned()));
        }
        if self.files.is_file(&path) {
            if self.check_inside(text, &path, &place) {
                self.add_resource(&path, expansion)?;
            }
        } else if self.files.is_directory(&path) {
            if self.check_inside(text, &path, &place) {
                expansion.add(self.visit(&path, Some(place))?);
            }
        } else if is_remote(text) {
            self.closure.obstacles.insert(Obstacle::Remote(text.to_owned()));
            return Ok(Some(text.to_owned()));
        } else if self.check_inside(text, &path, &place) {
            self.refuse(place, format!("{text} does not exist"), "");
        }
        Ok(Some(relative(text)))
    }

    fn add_resource(&mut self, path: &Path, expansion: &mut Expansion) -> Result<(), InputError> {
        let Some(text) = self.read(path)? else { return Ok(()) };
        expansion.add_resources(&text);
        self.closure.has_models |= BUILTIN.may_hold_input(&text);
        self.closure.resources.insert(path.to_owned());
        Ok(())
    }

    /// Follows a reference to a file. `entry` is what is written, of which the file is all or the last part.
    fn write_file(
        &mut self,
        text: &str,
        entry: &str,
        directory: &Path,
        place: Place,
        is_patch: bool,
        expansion: &mut Expansion,
    ) -> Option<String> {
        let path = lexical(&directory.join(text));
        if has_scheme(text) || (is_remote(text) && !self.files.is_file(&path)) {
            self.refuse_remote(entry, place);
            return Some(text.to_owned());
        }
        if !self.check_inside(text, &path, &place) {
            return None;
        }
        let Some(size) = self.files.size(&path) else {
            self.refuse(place, format!("{text} is not a file"), "");
            return None;
        };
        expansion.add_bytes(size);
        self.closure.expansion.add_file();
        let files = if is_patch { &mut self.closure.patches } else { &mut self.closure.others };
        files.insert(path);
        Some(relative(text))
    }

    /// Rewrites a configuration of a plugin, which is a file or the text itself. Those of kustomize itself run as they
    /// are, our own function is recorded, and any other would run a program.
    fn write_plugin(
        &mut self,
        node: &Node<'_>,
        (field, number): (&'static str, usize),
        position: &Position<'_>,
        expansion: &mut Expansion,
    ) -> Result<Value, InputError> {
        let place = position.place(node.span);
        let Some(entry) = node.as_str() else {
            self.refuse(place, format!("{field}[{number}] is {}, expected a string", node.describe()), "");
            return Ok(Value::Null);
        };
        let directory = position.directory;
        if inline_documents(entry).is_some() {
            let position = Position { text: Some(place.span), ..*position };
            let text = self.write_configurations(entry, (field, number), &position, position.file, expansion)?;
            return Ok(Value::String(text));
        }
        let path = lexical(&directory.join(entry));
        if !has_scheme(entry) && self.files.is_directory(&path) {
            // What a kustomization builds could be any plugin.
            self.closure.obstacles.insert(Obstacle::Plugin(format!("what {entry} builds")));
            self.write_resource(entry, directory, place, expansion)?;
            return Ok(Value::String(relative(entry)));
        }
        let Some(written) = self.write_file(entry, entry, directory, place, false, expansion) else {
            return Ok(Value::Null);
        };
        self.closure.others.remove(&path);
        if let Some(text) = self.read(&path)?
            && !has_scheme(entry)
        {
            let inner = Position { directory, file: &path, document: 0, text: None };
            let text = self.write_configurations(&text, (field, number), &inner, position.file, expansion)?;
            self.closure.plugins.insert(path, text);
        }
        Ok(Value::String(written))
    }

    /// Rewrites the configurations in a text, as JSON documents.
    fn write_configurations(
        &mut self,
        text: &str,
        plugin: (&'static str, usize),
        position: &Position<'_>,
        kustomization: &Path,
        expansion: &mut Expansion,
    ) -> Result<String, InputError> {
        let parsed = yaml::parse(text, &yaml::Limits::default());
        let problems = parsed.documents.iter().flat_map(|document| &document.problems);
        for failure in parsed.failure.iter().chain(problems) {
            self.refuse(position.place(failure.span), failure.sentence(), "");
        }
        let mut written: Vec<String> = Vec::new();
        for document in &parsed.documents {
            let position = Position { document: document.index, ..*position };
            let config = self.write_configuration(text, plugin, &document.root, &position, kustomization, expansion)?;
            written.push(config.to_string());
        }
        Ok(written.join("\n---\n"))
    }

    fn write_configuration(
        &mut self,
        text: &str,
        (field, number): (&'static str, usize),
        config: &Node<'_>,
        position: &Position<'_>,
        kustomization: &Path,
        expansion: &mut Expansion,
    ) -> Result<Value, InputError> {
        let string = |key: &str| config.get(key).and_then(Node::as_str).unwrap_or_default();
        let (kind, version) = (string("kind"), string("apiVersion"));
        let metadata = config.get("metadata");
        let annotations = metadata.and_then(|metadata| metadata.get("annotations"));
        let function = annotations.and_then(|annotations| annotations.get(FUNCTION)).and_then(Node::as_str);
        if version == BUILTIN_API_VERSION {
            if metadata.and_then(|metadata| metadata.get("name")).and_then(Node::as_str).is_none_or(str::is_empty) {
                self.refuse(position.place(config.span), format!("the {kind} has no metadata.name"), "");
            }
            let Some(shape) = schema::plugin(kind) else {
                self.refuse(position.place(config.span), format!("kustomize has no plugin {kind:?}"), "");
                return Ok(Value::Null);
            };
            if kind == HELM_GENERATOR {
                self.add_chart(position.directory, config, config.get("chartHome"));
            }
            return self.write(config, shape, field, position, expansion);
        }
        if let Some(input) = function.filter(|it| it.contains(OWN_FUNCTION)).and_then(|_| function_input(text, config))
        {
            self.closure.has_models |= matches!(input, FunctionInput::Deployment(_));
            let (kustomization, file) = (kustomization.to_owned(), position.file.to_owned());
            self.closure.functions.push(OwnFunction { kustomization, field, position: number, file, input });
        } else {
            self.closure.obstacles.insert(Obstacle::Plugin(format!("{kind} of {version}")));
        }
        Ok(config.to_json())
    }

    /// Records what a chart needs: helm, and the network if the chart is not in the repository.
    fn add_chart(&mut self, directory: &Path, chart: &Node<'_>, home: Option<&Node<'_>>) {
        self.closure.obstacles.insert(Obstacle::Helm);
        let string = |keys: [&str; 2]| keys.iter().find_map(|key| chart.get(key)).and_then(Node::as_str);
        let home = home.or_else(|| chart.get("chartHome")).and_then(Node::as_str).unwrap_or(CHARTS);
        let home = directory.join(home);
        let name = string(["name", "chartName"]).unwrap_or_default();
        let version = string(["version", "chartVersion"]).unwrap_or_default();
        let places = [home.join(name), home.join(format!("{name}-{version}")).join(name)];
        if let Some(repository) = string(["repo", "chartRepoUrl"])
            && !places.iter().any(|place| self.files.is_directory(&lexical(place)))
        {
            self.closure.obstacles.insert(Obstacle::Remote(repository.to_owned()));
        }
    }

    fn read(&mut self, path: &Path) -> Result<Option<String>, InputError> {
        self.closure.expansion.add_file();
        if self.closure.expansion.has_too_many_files() {
            return Ok(None);
        }
        Ok(self.files.read(path)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Whether a path is relative and inside of the boundary, links included. If not, it is refused.
    fn check_inside(&mut self, text: &str, path: &Path, place: &Place) -> bool {
        let is_inside = Path::new(text).is_relative() && self.is_inside(path);
        if !is_inside {
            let reason = format!("{text} leads out of the repository");
            self.refuse(place.clone(), reason, "keep everything that it includes in the repository");
        }
        is_inside
    }

    /// Whether a path is inside of the boundary and not of git, links included.
    fn is_inside(&self, path: &Path) -> bool {
        let is_private = |path: &Path| path.components().any(|part| part.as_os_str() == ".git");
        !is_private(path)
            && !path.canonicalize().is_ok_and(|path| is_private(&path))
            && absolute(path).starts_with(&self.boundary)
            && self.files.is_below(path, &self.boundary)
    }

    fn refuse_remote(&mut self, text: &str, place: Place) {
        let help = "keep a copy in the repository, or use --allow-remote if you allow this".to_owned();
        let reason = format!("{text} is in the network");
        self.closure.refusals.push(Refusal { place, reason, help, is_remote: true });
    }

    fn refuse(&mut self, place: Place, reason: String, help: &str) {
        self.closure.refusals.push(Refusal { place, reason, help: help.to_owned(), is_remote: false });
    }
}
