//! What a transformation is: objects of some kinds in, the objects that stand for them out.
//!
//! Reading, options, ownership, collisions, order and output are the same for all transformations and belong to the
//! pipeline above; a transformation says which kinds are its own, which others it has to see, and what one object
//! becomes. Transformations do not know each other.

pub mod codes;
mod endpoint;
mod erased;
mod settings;

pub use endpoint::Endpoint;
pub use erased::AnyTransform;
pub use settings::{AllSettings, Section, Settings, SettingsSection};

use serde_json::Value;

use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::{Code, Findings, Scope};
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::manifest::{Identity, Manifest};
use kubefoundry_yaml::{Failure, Node};

/// A transformation that needs to see the set of objects.
pub trait Transform: Sync {
    /// What a `Render` document may set for it.
    type Settings: Settings;

    /// Its name, in documentation and messages: `actor`.
    fn name(&self) -> &'static str;

    /// The kind it transforms, as `apiVersion` and `kind`.
    fn kind(&self) -> (&'static str, &'static str);

    /// The annotation of a generated object that names the one it was generated from, without its prefix:
    /// `async-actor`.
    fn owner_annotation(&self) -> &'static str;

    /// The annotation by which an object of the input that it changes names what changed it, if it changes any.
    fn change_annotation(&self) -> Option<&'static str> {
        None
    }

    /// A text that has something in it for this transformation holds one of these, word for word.
    fn marks(&self) -> &'static [&'static str];

    /// Whether it has to see an object of the input beside its own kind: a target, a ConfigMap that is named.
    fn looks_at(&self, header: &Header) -> bool;

    /// Whether an object of its own kind is transformed, or left to the controller in the cluster.
    fn takes(&self, root: &Node<'_>, settings: &Self::Settings) -> bool;

    /// What makes it take an object, for the help of a run that found nothing to do.
    fn takes_what(&self) -> &'static str;

    /// Says what is wrong with an object that was probably meant for it and is not of its kind, such as a wrong group.
    fn misnamed(&self, _header: &Header, _settings: &Self::Settings, _findings: &mut Findings<'_>) {}

    /// The kinds that it makes or changes and that CRDs define, as group and kind, beside those of providers.
    fn kinds(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The diagnostic codes that only it uses.
    fn codes(&self) -> &'static [&'static Code];

    /// Turns an object of its own kind into what stands for it. After an error in `out.findings` nothing of it is used.
    fn run(&self, object: &Object<'_>, set: &Set<'_, '_, Self::Settings>, out: &mut Sink<'_>);

    /// Looks at an object of the input that is not its own, after all of its own were transformed: to take back what one
    /// that is gone had changed. `position` is that of the object in [`Set::inputs`].
    fn revisit(&self, _position: usize, _set: &Set<'_, '_, Self::Settings>, _out: &mut Sink<'_>) {}
}

/// What transformations see: objects of the input that one of them asked for, and what was generated from models.
#[derive(Debug)]
pub struct Set<'s, 't, S> {
    /// Objects of the input, in order.
    pub inputs: &'s [Object<'t>],
    /// Objects that were generated, in order.
    pub generated: &'s [Generated],
    /// Image prefixes and their replacements.
    pub images: &'s [(String, String)],
    /// The settings of the transformation.
    pub settings: &'s S,
}

/// An object of the input, with its places in the text.
#[derive(Debug)]
pub struct Object<'t> {
    /// Which text.
    pub source: SourceId,
    /// Its text, whole.
    pub text: &'t str,
    /// Which document of it.
    pub document: usize,
    /// What it is.
    pub header: Header,
    /// Its tree.
    pub root: Node<'t>,
    /// What strict reading refused in it.
    pub problems: Vec<Failure>,
}

/// An object that was generated in this run.
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    /// `group/version`.
    pub api_version: String,
    /// What tells it from others.
    pub identity: Identity,
    /// The object.
    pub object: Value,
}

/// What an object becomes.
#[derive(Debug)]
pub struct Sink<'d> {
    /// What was found, in the object that is transformed.
    pub findings: Findings<'d>,
    /// New objects, in the order in which they are applied. Namespace and ownership are added by the caller.
    pub manifests: Vec<Manifest>,
    /// New objects that several may share: made once when they are equal, an error when they are not. They are nobody's
    /// own.
    pub shared: Vec<Manifest>,
    /// Objects of the set as they are to be, changed.
    pub changed: Vec<Changed>,
    /// Where it answers once it runs.
    pub endpoint: Option<Endpoint>,
}

/// An object of the set with changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Changed {
    /// Which object.
    pub target: Target,
    /// The whole object as it is to be.
    pub object: Value,
}

/// An object of a [`Set`], by its position there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// One of [`Set::inputs`].
    Input(usize),
    /// One of [`Set::generated`].
    Generated(usize),
}

impl Object<'_> {
    /// The scope for findings in this object.
    pub fn scope(&self) -> Scope<'_> {
        let object = Some(self.header.object());
        Scope { source: self.source, text: self.text, document: self.document, root: &self.root, object }
    }
}

impl<'d> Sink<'d> {
    /// An empty one.
    pub fn new(findings: Findings<'d>) -> Self {
        let (manifests, shared, changed) = (Vec::new(), Vec::new(), Vec::new());
        Self { findings, manifests, shared, changed, endpoint: None }
    }
}

impl<'s, 't, S> Set<'s, 't, S> {
    /// The same objects beside other settings.
    pub fn with_settings<'n, N>(&self, settings: &'n N) -> Set<'n, 't, N>
    where
        's: 'n,
    {
        Set { inputs: self.inputs, generated: self.generated, images: self.images, settings }
    }

    /// The object of the input with this group, kind, namespace and name. A namespace that is absent on either side is
    /// another one than any that is stated.
    pub fn input(
        &self,
        group: &str,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Option<(usize, &'s Object<'t>)> {
        self.inputs.iter().enumerate().find(|(_, object)| {
            let header = &object.header;
            header.group() == group
                && &*header.kind == kind
                && header.namespace.as_deref() == namespace
                && &*header.name == name
        })
    }

    /// The generated object with this group, kind, namespace and name.
    pub fn generated(
        &self,
        group: &str,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Option<(usize, &'s Generated)> {
        let wanted = Identity::new(&format!("{group}/"), kind, namespace, name);
        self.generated.iter().enumerate().find(|(_, object)| object.identity == wanted)
    }
}
