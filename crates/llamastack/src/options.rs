//! What `llamaStack` in a `Render` document says, and what it means.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::check::SyntaxResult;
use kubefoundry_kubernetes::image::apply_mirrors;
use kubefoundry_kubernetes::image::image_reference;
use kubefoundry_kubernetes::wire::{
    Describe, HasPath, IntegerOrString, Map, Read, Reader, Shape, Syntax, ValuePath, report_wrong_type,
};
use kubefoundry_kubernetes::{labels, names, quantity};
use kubefoundry_kubernetes::{string_enum, wire_object};
use kubefoundry_transform::codes;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::shorten;
use kubefoundry_yaml::{Node, Value};

/// The distributions that are known by name, and their images: `distributions.json` of the operator.
const DISTRIBUTIONS: &[(&str, &str)] = &[
    ("meta-reference-gpu", "docker.io/llamastack/distribution-meta-reference-gpu:0.5.0"),
    ("postgres-demo", "docker.io/llamastack/distribution-postgres-demo:0.5.0"),
    ("remote-vllm", "docker.io/llamastack/distribution-remote-vllm:0.5.0"),
    ("starter", "docker.io/llamastack/distribution-starter:0.5.0"),
];

/// The image of this program, as `docs/llama-stack.md` says how to build it.
const IMAGE: &str = concat!("kubefoundry:", env!("CARGO_PKG_VERSION"));

wire_object! {
    /// How LlamaStackDistributions are rendered.
    pub struct LlamaStackSettings {
        /// The image of kubefoundry that merges configurations in the pod; `kubefoundry:<version>` by default.
        image: String = "image" [syntax(Syntax::Image), checked_by(&codes::INVALID_OPTION)],
        /// Images of distributions by name, beside the known ones: `starter: registry.example.com/starter:1`.
        distributions: Map<String> = "distributions",
        /// Images that take the place of those of known distributions, by name.
        image_overrides: Map<String> = "imageOverrides",
        /// The namespace of the llama-stack operator, which a NetworkPolicy lets in;
        /// `llama-stack-k8s-operator-system` by default.
        operator_namespace: String = "operatorNamespace" [syntax(Syntax::DnsLabel), checked_by(&codes::INVALID_OPTION)],
        /// Whether a NetworkPolicy is made; `false` by default.
        network_policy: bool = "networkPolicy",
        /// Whether `llama-stack preflight` runs before the server; `auto` by default.
        preflight: PreflightLevel = "preflight",
        /// The size limit of the volume that providers are installed on; `2Gi` by default.
        volume_size_limit: IntegerOrString = "volumeSizeLimit" [syntax(Syntax::Quantity), checked_by(&codes::INVALID_OPTION)],
        /// Where else a distribution's image may have its run.yaml, after the known places.
        base_config_paths: Vec<String> = "baseConfigPaths",
        /// Where configurations are merged; `init` by default.
        merge_mode: MergeMode = "mergeMode",
        /// Whether the server merges external providers itself (`llama stack run --extra-providers`); `false` by default.
        native_extra_providers: bool = "nativeExtraProviders",
        /// What the init containers need; requests of 100m CPU and 256Mi memory by default.
        init_resources: InitResources = "initResources",
        /// A ClusterRole that the server's ServiceAccount is bound to, such as `system:openshift:scc:anyuid`.
        cluster_role: String = "clusterRole",
    }
}
wire_object! {
    /// What the init containers need.
    pub struct InitResources {
        /// At least this.
        requests: Map<IntegerOrString> = "requests",
        /// At most this.
        limits: Map<IntegerOrString> = "limits",
    }
}
string_enum! {
    /// Whether `llama-stack preflight` runs before the server.
    pub enum Preflight {
        /// It runs where the distribution has it; otherwise a line in the log says that it was left out.
        Auto = "auto",
        /// It runs, and where the distribution does not have it, the server does not start.
        Required = "required",
        /// It does not run.
        Off = "off",
    }
}
string_enum! {
    /// Where the distribution's configuration and external providers are merged.
    pub enum MergeMode {
        /// In the pod, by an init container.
        Init = "init",
        /// Here: the input has the configuration and the metadata of every provider.
        Static = "static",
    }
}

/// The preflight as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreflightLevel(pub Preflight);

impl Read for PreflightLevel {
    const EXPECTED: &'static str = "one of auto, required, off";

    /// `off` without quotes is false to a YAML 1.1 reader. There is nothing else that it could mean here.
    fn read(node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match node.value {
            Value::Bool(false) => Some(Self(Preflight::Off)),
            Value::String(_) => Preflight::read(node, path, reader).map(Self),
            _ => {
                report_wrong_type(node, path, Self::EXPECTED, reader);
                None
            }
        }
    }
}

impl HasPath for PreflightLevel {
    type Path = ValuePath;
}

impl Describe for PreflightLevel {
    const SHAPE: Shape = Shape::OneOf(&[Preflight::SHAPE, Shape::Literal("false")]);
}

/// How LlamaStackDistributions are rendered. The default is what a run without options does.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The image of this program, when it was given.
    image: Option<String>,
    /// Images of distributions that were given, by name.
    distributions: BTreeMap<String, String>,
    /// Images that take the place of those of known distributions.
    image_overrides: BTreeMap<String, String>,
    /// The namespace of the operator.
    pub operator_namespace: String,
    /// Whether a NetworkPolicy is made.
    pub network_policy: bool,
    /// Whether the preflight runs.
    pub preflight: Preflight,
    /// The size limit of the volume that providers are installed on.
    pub volume_size_limit: String,
    /// Where else a distribution's image may have its run.yaml.
    pub base_config_paths: Vec<String>,
    /// Where configurations are merged.
    pub merge_mode: MergeMode,
    /// Whether the server merges external providers itself.
    pub native_extra_providers: bool,
    /// What init containers request.
    pub init_requests: Vec<(String, String)>,
    /// What init containers are limited to.
    pub init_limits: Vec<(String, String)>,
    /// A ClusterRole that the ServiceAccount is bound to.
    pub cluster_role: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Self {
            image: None,
            distributions: BTreeMap::new(),
            image_overrides: BTreeMap::new(),
            operator_namespace: "llama-stack-k8s-operator-system".to_owned(),
            network_policy: false,
            preflight: Preflight::Auto,
            volume_size_limit: "2Gi".to_owned(),
            base_config_paths: Vec::new(),
            merge_mode: MergeMode::Init,
            native_extra_providers: false,
            init_requests: [("cpu", "100m"), ("memory", "256Mi")].map(pair).to_vec(),
            init_limits: Vec::new(),
            cluster_role: None,
        }
    }
}

/// An image, and whether it follows the version of this program because nobody said which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The image.
    pub image: String,
    /// Whether it is a default one.
    pub is_default: bool,
}

impl kubefoundry_transform::TransformSettings for Settings {
    type Section = LlamaStackSettings;

    const KEY: &'static str = "llamaStack";

    const DOC: &'static str = "How LlamaStackDistributions are rendered.\n";

    fn apply(&mut self, wire: LlamaStackSettings, findings: &mut Findings<'_>) {
        let path = FieldPath::parse("llamaStack");
        let mut check = Check { findings };
        let LlamaStackSettings {
            image,
            distributions,
            image_overrides,
            operator_namespace,
            network_policy,
            preflight,
            volume_size_limit,
            base_config_paths,
            merge_mode,
            native_extra_providers,
            init_resources,
            cluster_role,
        } = wire;
        if let Some(image) = image
            && check.fits(&path.join("image"), &image, image_reference(&image))
        {
            self.image = Some(image);
        }
        let mut names: Vec<String> = self.distributions().into_iter().map(str::to_owned).collect();
        names.extend(distributions.iter().flat_map(|given| given.0.iter().map(|(name, _)| name.clone())));
        names.sort_unstable();
        names.dedup();
        let known = [
            ("distributions", distributions, &mut self.distributions),
            ("imageOverrides", image_overrides, &mut self.image_overrides),
        ];
        for (field, given, images) in known {
            for (name, image) in given.unwrap_or_default().0 {
                if field == "imageOverrides" && !names.contains(&name) {
                    check.unknown_override(&path.join(field).key(name), &names);
                } else if check.fits(&path.join(field).key(name.clone()), &image, image_reference(&image)) {
                    images.insert(name, image);
                }
            }
        }
        if let Some(namespace) = operator_namespace
            && check.fits(&path.join("operatorNamespace"), &namespace, names::dns_1123_label(&namespace))
        {
            self.operator_namespace = namespace;
        }
        if let Some(IntegerOrString(size)) = volume_size_limit
            && check.fits(&path.join("volumeSizeLimit"), &size, quantity::positive_quantity(&size))
        {
            self.volume_size_limit = size;
        }
        for (index, given) in base_config_paths.unwrap_or_default().into_iter().enumerate() {
            if check.fits(&path.join("baseConfigPaths").index(index), &given, absolute_path(&given))
                && !self.base_config_paths.contains(&given)
            {
                self.base_config_paths.push(given);
            }
        }
        if let Some(InitResources { requests, limits }) = init_resources {
            let path = path.join("initResources");
            let is_default = requests.is_none();
            check.resources(&path.join("requests"), requests, &mut self.init_requests);
            check.resources(&path.join("limits"), limits, &mut self.init_limits);
            // Kubernetes refuses a request above the limit. A default one gives way.
            for (name, request) in &mut self.init_requests {
                let limit = self.init_limits.iter().find(|(limited, _)| limited == name).map(|(_, limit)| limit);
                let Some(limit) = limit.filter(|it| quantity::compare(request, it) == Some(Ordering::Greater)) else {
                    continue;
                };
                if is_default {
                    request.clone_from(limit);
                } else {
                    let path = path.join("requests").key(name.clone());
                    let message = format!("{path} is {request:?}, expected at most its limit, {limit}");
                    check.findings.report(&codes::INVALID_OPTION, &path, message);
                }
            }
        }
        if let Some(role) = cluster_role
            && check.fits(&path.join("clusterRole"), &role, path_segment(&role))
        {
            self.cluster_role = Some(role);
        }
        self.network_policy = network_policy.unwrap_or(self.network_policy);
        self.preflight = preflight.map_or(self.preflight, |PreflightLevel(preflight)| preflight);
        self.merge_mode = merge_mode.unwrap_or(self.merge_mode);
        self.native_extra_providers = native_extra_providers.unwrap_or(self.native_extra_providers);
        if self.native_extra_providers && self.merge_mode == MergeMode::Static {
            let path = path.join("nativeExtraProviders");
            let message =
                format!("{path} cannot be true with mergeMode: static, which leaves nothing for the server to merge");
            check.findings.report(&codes::INVALID_OPTION, &path, message);
        }
    }
}

impl Settings {
    /// The image of a distribution by its name.
    pub fn distribution(&self, name: &str) -> Option<Chosen> {
        let known = DISTRIBUTIONS.iter().find(|(known, _)| *known == name).map(|(_, image)| *image);
        let given = self.distributions.get(name).map(String::as_str);
        let image = given.or(known)?;
        let chosen = self.image_overrides.get(name).map(String::as_str);
        Some(Chosen { image: chosen.unwrap_or(image).to_owned(), is_default: chosen.or(given).is_none() })
    }

    /// The names of the distributions that there are an image of.
    pub fn distributions(&self) -> Vec<&str> {
        let mut names: Vec<&str> = DISTRIBUTIONS.iter().map(|(name, _)| *name).collect();
        names.extend(self.distributions.keys().map(String::as_str));
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The image of this program.
    pub fn renderer(&self) -> Chosen {
        Chosen { image: self.image.clone().unwrap_or_else(|| IMAGE.to_owned()), is_default: self.image.is_none() }
    }
}

/// What a distribution is rendered with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options<'s> {
    /// Image prefixes and their replacements.
    pub(crate) images: &'s [(String, String)],
    /// What the section `llamaStack` says.
    pub(crate) settings: &'s Settings,
}

impl<'s> Options<'s> {
    /// The options of a run.
    pub(crate) fn of(set: &crate::ObjectSet<'s, '_>) -> Self {
        Self { images: set.context.images, settings: set.settings }
    }
}

/// An image as it is pulled: with its prefix replaced, where options say so.
pub(super) fn pulled(options: &Options<'_>, image: &str) -> String {
    apply_mirrors(options.images, image)
}

/// Where what does not fit is reported.
struct Check<'f, 'd> {
    findings: &'f mut Findings<'d>,
}

impl Check<'_, '_> {
    fn fits(&mut self, path: &FieldPath, value: &str, checked: SyntaxResult) -> bool {
        if let Err(expected) = checked {
            let message = format!("{path} is {:?}, expected {expected}", shorten(value));
            self.findings.report(&codes::INVALID_OPTION, path, message);
        }
        checked.is_ok()
    }

    /// An image of a distribution that there is none of.
    fn unknown_override(&mut self, path: &FieldPath, names: &[String]) {
        let message = format!("{path} is not an image that can be replaced, expected one of {}", names.join(", "));
        let reported = self.findings.report(&codes::INVALID_OPTION, FieldRef::key(path), message);
        let _ = reported.help("set the image of your own distribution under llamaStack.distributions");
    }

    /// Resources by name; what is given takes the place of what was there.
    fn resources(
        &mut self,
        path: &FieldPath,
        given: Option<Map<IntegerOrString>>,
        resources: &mut Vec<(String, String)>,
    ) {
        let Some(Map(given)) = given else { return };
        let fitting = given.into_iter().filter(|(name, IntegerOrString(amount))| {
            let at = path.key(name.clone());
            self.fits(&at, name, labels::label_key(name)) && self.fits(&at, amount, quantity::quantity(amount))
        });
        *resources = fitting.map(|(name, IntegerOrString(amount))| (name, amount)).collect();
    }
}

/// A path that a script may be told, one a line.
fn absolute_path(path: &str) -> SyntaxResult {
    let fits = path.starts_with('/') && !path.chars().any(char::is_control) && path.split('/').all(|part| part != "..");
    if fits { Ok(()) } else { Err("an absolute path in one line, without \"..\"") }
}

/// The name of a ClusterRole: `ValidatePathSegmentName` in `k8s.io/apimachinery`.
fn path_segment(name: &str) -> SyntaxResult {
    let fits = !matches!(name, "" | "." | "..") && !name.contains(['/', '%']) && !name.chars().any(char::is_control);
    if fits { Ok(()) } else { Err("the name of a ClusterRole, without '/' and '%'") }
}
