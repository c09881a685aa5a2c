//! Assembles the input: options, the files of the listing, what is built from them, and the other texts of the arguments.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use kubefoundry_compiler::codes::input as codes;
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::source::{Purpose, SourceId};
use kubefoundry_diagnostics::{Diagnostic, Location, Severity};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::FieldPath;
use serde_json::{Map, Value};

use super::args::InputArgs;
use super::environments::{Environments, OptionFiles};
use super::error::InputError;
use super::files::Files;
use super::flags::{COMMAND_LINE, flags_to_render};
use super::found_options::OptionsFinder;
use super::kustomize::{BuiltSource, BuiltText, Outcome, Place};
use super::listing::{Charts, Entry, LeftOut, ListedFile, ListedRoot, Listing, NamedOptions, RelevantChart};
use super::model_config::ModelConfig;
use super::paths::{lexical, strip_current_dir};
use super::program::TimeBudget;
use super::reader::Reader;
use super::{kustomize, model_config, templates};

impl Reader {
    /// Reads everything that the arguments name, with `paths` as input.
    pub(crate) fn read_all(
        &mut self,
        args: &InputArgs,
        paths: &[PathBuf],
        options: Map<String, Value>,
    ) -> Result<(), InputError> {
        let named = NamedOptions::read(args, self.config_base.as_deref())?;
        let mut finder = OptionsFinder::new(args.isolated, self.base.clone());
        let listing = Listing::of(paths, &self.files, &mut finder, &named)?;
        let roots = listing.build_kustomizations(&self.files, &mut finder, &named, self.builds.as_mut())?;
        let mut environments = Environments::default();
        for file in
            listing.option_files().chain(roots.iter().flat_map(|root| &root.options.files)).collect::<OptionFiles>()
        {
            let id = if let Some(id) = self.read_from_base(Purpose::Options, &file, self.base.clone())? {
                id
            } else {
                let id = self.read_input_file(Purpose::Options, &file)?;
                if self.base.is_some() {
                    self.input.sources.set_added(id);
                    let note = format!("{}: the change adds it, so it lowers no severity in this run", file.display());
                    self.input.notes.push(note);
                }
                id
            };
            self.input.sources.set_found(id, true);
            environments.options.insert(file, id);
        }
        for (file, left_out) in &listing.left_out {
            if let Some(id) = environments.options.get(file) {
                let is_of_base = finder.is_of_base(file);
                self.report_left_out(*id, *left_out, is_of_base);
            }
        }
        for root in &roots {
            for (file, text) in root.root.function_options() {
                let id = self.input.sources.add_for(Purpose::Options, file.display().to_string(), text);
                self.input.sources.set_found(id, true);
                environments.functions.push((root.environment.clone(), id));
            }
        }
        if let Some(file) = &args.config {
            // The user may name a file that was found, too, which is trusted then. It applies everywhere.
            let id = if let Some(id) = self.read_from_base(Purpose::Options, file, self.config_base.clone())? {
                id
            } else {
                let id = self.read_file(Purpose::Options, file)?;
                self.report_config(id, file, paths);
                id
            };
            self.input.sources.set_found(id, false);
            environments.options.retain(|_, found| *found != id);
        }
        if let Some(render) = flags_to_render(args, options) {
            self.input.sources.add_for(Purpose::Options, COMMAND_LINE, render);
        }
        self.read_named_model_configs()?;
        for directory in &args.model_config {
            for ModelConfig { model, file } in model_config::find_configs(directory)? {
                let text = self.read_regular_file(Purpose::ModelConfig, &file)?;
                self.input.sources.set_found(text, false);
                self.input.sources.set_subject(text, model);
            }
        }
        if paths.is_empty() {
            self.read_stdin_unless_terminal(Purpose::Input)?;
        }
        self.read_listing(listing, roots, &named, &mut environments)?;
        environments.apply(&mut self.input.sources, &self.model_configs);
        for path in &args.providers {
            let texts = self.read_path(Purpose::Providers, path)?;
            self.input.providers.push((path.clone(), texts));
        }
        for path in &args.cluster {
            self.read_path_or_stdin(Purpose::ClusterNodes, path)?;
        }
        for path in &args.crds {
            if path.is_dir() {
                self.read_crd_directory(path)?;
            } else {
                self.read_path_or_stdin(Purpose::Crds, path)?;
            }
        }
        Ok(())
    }

    /// Reads the files of a listing, and the texts that were built from them instead.
    pub(crate) fn read_listing(
        &mut self,
        listing: Listing,
        mut roots: Vec<ListedRoot>,
        named: &NamedOptions,
        environments: &mut Environments,
    ) -> Result<(), InputError> {
        let replaced: BTreeSet<PathBuf> = roots
            .iter()
            .filter(|root| !root.is_unbuilt())
            .flat_map(|root| root.root.closure.files().cloned())
            .collect();
        let mut unbuilt: BTreeMap<PathBuf, String> = BTreeMap::new();
        for root in roots.iter().filter(|root| root.is_unbuilt()) {
            let name = kustomize::name_of(&root.root.directory);
            unbuilt.extend(root.root.closure.resources.iter().map(|file| (file.clone(), name.clone())));
        }
        if let Files::Disk(_, walker) = &self.files
            && walker.left_out() > 0
        {
            let count = walker.left_out();
            let counted = if count == 1 {
                "1 file or directory is".to_owned()
            } else {
                format!("{count} files and directories are")
            };
            self.input
                .notes
                .push(format!("{counted} left out by .gitignore files, and git cannot tell which are tracked"));
        }
        let mut charts = Charts::default();
        let stdin_options = listing.stdin_options().to_vec();
        self.input.notes.extend(listing.notes);
        for entry in listing.entries {
            match entry {
                Entry::Stdin => {
                    self.read_stdin(Purpose::Input)?;
                    if let Some(id) = self.input.stdin {
                        environments.add("", &stdin_options, id);
                    }
                }
                Entry::Named(file) => {
                    let id = self.read_input_file(Purpose::Input, &file.path)?;
                    environments.add(&file.environment, &file.options.files, id);
                    if BUILTIN.may_hold_input(&self.input.sources.get(id).text) {
                        self.read_kustomizations_above(&file, environments)?;
                    }
                }
                Entry::Listed(file) => {
                    if let Some(position) = roots.iter().position(|root| root.root.file == file.path) {
                        let root = roots.remove(position);
                        self.read_root(root, environments)?;
                    }
                    if replaced.contains(&file.path) {
                        continue;
                    }
                    if let Some(file) = charts.claim(file, &self.files) {
                        self.read_listed(&file, &unbuilt, environments);
                    }
                }
                Entry::Unread(error) => self.record_unread(error),
            }
        }
        self.read_charts(charts, named, environments)
    }

    /// Reads a file of a directory. A file that cannot be read does not hide the others.
    pub(crate) fn read_listed(
        &mut self,
        file: &ListedFile,
        unbuilt: &BTreeMap<PathBuf, String>,
        environments: &mut Environments,
    ) {
        let id = match self.read_input_file(Purpose::Input, &file.path) {
            Ok(id) => id,
            Err(error) => return self.record_unread(error),
        };
        let text = &self.input.sources.get(id).text;
        if let Some(mark) = Some(text)
            .filter(|text| templates::has_mark(text) && BUILTIN.may_hold_input(text))
            .and_then(|text| templates::find_mark(text))
        {
            let mut finding = templates::skipped_template();
            finding.location = Some(Location::new(id, 0, mark, FieldPath::root()));
            self.input.sources.set_purpose(id, Purpose::Origin);
            self.input.findings.push((Some(file.environment.clone()), finding));
        }
        if let Some(kustomization) = unbuilt.get(&file.path) {
            self.input.sources.set_unbuilt(id, kustomization.as_str());
        }
        environments.add(&file.environment, &file.options.files, id);
    }

    /// Adds what a kustomization became: a built text with the texts of its files, or a finding.
    pub(crate) fn read_root(&mut self, listed: ListedRoot, environments: &mut Environments) -> Result<(), InputError> {
        let ListedRoot { root, options, environment } = listed;
        let file = self.read_input_file(Purpose::Origin, &root.file)?;
        let location = Some(Location::from_source(file));
        match root.outcome {
            Outcome::Unbuilt(mut finding) => {
                finding.location = location;
                self.input.findings.push((Some(environment), finding));
            }
            Outcome::NotPermitted(mut finding) => {
                finding.location = location;
                // A change cannot make itself invisible by what its kustomization needs.
                if let Some(base) = self.base.clone().or_else(|| self.config_base.clone()) {
                    for file in root.closure.files() {
                        if self.files.differs_from(&base, file)? {
                            finding.severity = Severity::Error;
                            break;
                        }
                    }
                }
                self.input.findings.push((Some(environment), finding));
            }
            Outcome::Failed(findings) => {
                for (place, mut finding) in findings {
                    finding.location = match place {
                        Some(Place { file, document, span }) => {
                            let file = self.read_input_file(Purpose::Origin, &file)?;
                            Some(Location::new(file, document, span, FieldPath::root()))
                        }
                        None => location.clone(),
                    };
                    // Several roots may include the file.
                    if self.input.findings.iter().all(|(_, known)| *known != finding) {
                        self.input.findings.push((Some(environment.clone()), finding));
                    }
                }
            }
            Outcome::Exhausted(reason) => {
                self.input.unread.push(InputError::Unjudged(root.file.display().to_string(), reason));
            }
            Outcome::Built(built) => {
                let BuiltText { text, mut documents } = built;
                let name = format!("{} (built by kustomize)", kustomize::name_of(&root.directory));
                let id = self.input.sources.add(name, text);
                let mut texts = BTreeMap::from([(root.file.clone(), file)]);
                let kustomizations = root.closure.kustomizations.iter().map(|it| &it.file);
                let functions = root.closure.functions.iter().map(|function| &function.file);
                for path in kustomizations.chain(&root.closure.resources).chain(&root.closure.patches).chain(functions)
                {
                    texts.insert(path.clone(), self.read_input_file(Purpose::Origin, path)?);
                }
                environments.add(&environment, &options.files, id);
                for origin in documents.iter_mut().filter_map(|document| document.origin.as_mut()) {
                    *origin = lexical(&root.boundary.join(&*origin));
                }
                let source = BuiltSource { root: root.directory, closure: root.closure, documents, texts };
                self.input.origins.built.insert(id, source);
            }
        }
        Ok(())
    }

    /// Adds what helm renders from charts, or a finding about each chart whose templates are skipped.
    pub(crate) fn read_charts(
        &mut self,
        charts: Charts,
        named: &NamedOptions,
        environments: &mut Environments,
    ) -> Result<(), InputError> {
        let budget = TimeBudget::start();
        for RelevantChart { directory: chart, count, options } in charts.relevant(&self.files)? {
            let file = self.read_input_file(Purpose::Origin, &templates::chart_file(&chart))?;
            let mut finding = templates::skipped_chart(&chart, count);
            if named.permissions.helm {
                match templates::render_chart(&chart, &self.files, named.permissions, &budget)? {
                    Err(error) if error.is_exhaustion() => {
                        let reason = format!("helm {error}");
                        self.input.unread.push(InputError::Unjudged(chart.display().to_string(), reason));
                        continue;
                    }
                    Ok(text) => {
                        let name = format!("{} (rendered by helm)", kustomize::name_of(&chart));
                        let id = self.input.sources.add(name, text);
                        environments.add(&kustomize::name_of(&chart), &options.files, id);
                        continue;
                    }
                    Err(error) => finding = templates::failed_chart(&chart, &error),
                }
            }
            finding.location = Some(Location::from_source(file));
            self.input.findings.push((None, finding));
        }
        Ok(())
    }

    /// Reads the kustomizations in the directory of a file and in the one above. They tell whether the file is a patch,
    /// which matters if it was named alone, for example by a commit hook.
    pub(crate) fn read_kustomizations_above(
        &mut self,
        file: &ListedFile,
        environments: &mut Environments,
    ) -> Result<(), InputError> {
        for folder in file.path.ancestors().skip(1).take(2) {
            if let Some(kustomization) = self.files.kustomization_in(folder) {
                let id = self.read_input_file(Purpose::Input, &strip_current_dir(&kustomization))?;
                environments.add(&file.environment, &file.options.files, id);
            }
        }
        Ok(())
    }

    /// Says how many files an options file that was found leaves out. Those of the revision that judges are trusted, and
    /// what they leave out is only counted.
    fn report_left_out(&mut self, options: SourceId, left_out: LeftOut, is_trusted: bool) {
        let LeftOut { files, relevant } = left_out;
        let source = self.input.sources.get(options);
        let counted = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
        if relevant == 0 || is_trusted {
            self.input.notes.push(format!("{}: its include and exclude leave out {counted}", source.name));
            return;
        }
        let relevant = if relevant == files { "all" } else { &relevant.to_string() };
        let message = format!(
            "include and exclude leave out {counted}, {relevant} of which may hold objects of kubefoundry or decide how \
             they are built"
        );
        let parsed = yaml::parse(&source.text, &yaml::Limits::default());
        let key = ["exclude", "include"].map(FieldPath::parse).into_iter().find_map(|path| {
            let (number, document) =
                parsed.documents.iter().enumerate().find(|(_, document)| document.root.at(&path).is_some())?;
            let span = document.root.locate(&path, yaml::FieldPart::Key);
            Some(Location::new(options, number, span, path))
        });
        let mut finding = Diagnostic::new(&codes::EXCLUDED_FILES, message).help(
            "use --exclude, or pass the file with --config if you allow this; with lint --git, what the change touches \
             is never left out",
        );
        finding.location = key.or_else(|| Some(Location::from_source(options)));
        self.input.findings.push((None, finding));
    }

    /// Tells a user who judges the work of others that they can change the options of `--config`.
    fn report_config(&mut self, config: SourceId, file: &Path, paths: &[PathBuf]) {
        let canonical = |path: &Path| path.canonicalize().ok();
        let is_inside = |config: PathBuf| {
            paths
                .iter()
                .filter(|path| path.is_dir())
                .any(|path| canonical(path).is_some_and(|it| config.starts_with(it)))
        };
        if !self.notes_config || !canonical(file).is_some_and(is_inside) {
            return;
        }
        let message =
            "the file of --config is in a directory that is judged, so that a change can loosen what judges it";
        let mut finding = Diagnostic::new(&codes::CONFIG_BESIDE_INPUT, message)
            .help("use --git, with which the file of the old revision applies, or keep the file elsewhere");
        finding.location = Some(Location::from_source(config));
        self.input.findings.push((None, finding));
    }

    /// Reads the `config.json` files that the options name.
    pub(crate) fn read_named_model_configs(&mut self) -> Result<(), InputError> {
        let options: Vec<(SourceId, String, String, bool)> = self
            .input
            .sources
            .iter()
            .filter(|(_, source)| source.purpose == Purpose::Options)
            .map(|(id, source)| (id, source.name.clone(), source.text.clone(), source.is_found))
            .collect();
        for (id, name, text, is_found) in options {
            let folder = Path::new(&name).parent().unwrap_or(Path::new(""));
            for ModelConfig { model, file } in model_config::named_configs(&text, folder)? {
                let is_of_base = !self.input.files.contains_key(&id);
                let base = self.base.clone().or_else(|| self.config_base.clone()).filter(|_| is_of_base);
                let text = if let Some(text) = self.read_from_base(Purpose::ModelConfig, &file, base)? {
                    text
                } else if self.input.files.contains_key(&id) {
                    model_config::check_is_below(&file, folder)?;
                    self.read_regular_file(Purpose::ModelConfig, &file)?
                } else if self.files.revision().is_some_and(|tree| tree.is_file(&file)) {
                    self.read_input_file(Purpose::ModelConfig, &file)?
                } else {
                    // The options of flags and parameters name no files.
                    continue;
                };
                self.input.sources.set_found(text, is_found);
                self.input.sources.set_subject(text, model);
                self.model_configs.push((id, text));
            }
        }
        Ok(())
    }
}
