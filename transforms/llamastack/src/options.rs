//! The section `llamaStack` of the options, and its resolved form.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::image::apply_mirrors;
use kubefoundry_kubernetes::image::image_reference;
use kubefoundry_kubernetes::syntax_result::SyntaxResult;
use kubefoundry_kubernetes::wire::{
    Describe, HasPath, IntegerOrString, Map, Read, Reader, Shape, Syntax, ValuePath, report_wrong_type,
};
use kubefoundry_kubernetes::{labels, names, quantity};
use kubefoundry_kubernetes::{string_enum, wire_object};
use kubefoundry_transform::codes;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::{one_of, shorten};
use kubefoundry_yaml::{Node, Value};

/// Names and images of known distributions. Source: `distributions.json` of the upstream operator, which has the tag
/// `latest`. llama-stack 0.3 dropped two of them, so they have the last release here that is known to have them.
const DISTRIBUTIONS: &[(&str, &str)] = &[
    ("meta-reference-gpu", "docker.io/llamastack/distribution-meta-reference-gpu:0.2.12"),
    ("postgres-demo", "docker.io/llamastack/distribution-postgres-demo:0.5.0"),
    ("remote-vllm", "docker.io/llamastack/distribution-remote-vllm:0.2.12"),
    ("starter", "docker.io/llamastack/distribution-starter:0.5.0"),
];

/// The default image of this program. `docs/llama-stack.md` describes how to build it.
const IMAGE: &str = concat!("kubefoundry:", env!("CARGO_PKG_VERSION"));

wire_object! {
    /// Options for rendering LlamaStackDistributions.
    pub struct LlamaStackSettings {
        /// The image of kubefoundry that merges configurations in the pod; `kubefoundry:<version>` by default.
        image: String = "image" [syntax(Syntax::Image), checked_by(&codes::INVALID_OPTION)],
        /// Images of additional distributions, by name: `starter: registry.example.com/starter:1`.
        distributions: Map<String> = "distributions",
        /// Images that replace those of known distributions, by name.
        image_overrides: Map<String> = "imageOverrides",
        /// The namespace of the llama-stack operator, which the NetworkPolicy admits;
        /// `llama-stack-k8s-operator-system` by default.
        operator_namespace: String = "operatorNamespace" [syntax(Syntax::DnsLabel), checked_by(&codes::INVALID_OPTION)],
        /// Whether to create a NetworkPolicy; `false` by default.
        network_policy: bool = "networkPolicy",
        /// Whether to run `llama-stack preflight` before the server; `auto` by default.
        preflight: PreflightLevel = "preflight",
        /// The size limit of the volume for installed providers; `2Gi` by default.
        volume_size_limit: IntegerOrString = "volumeSizeLimit" [syntax(Syntax::Quantity), checked_by(&codes::INVALID_OPTION)],
        /// Additional paths of run.yaml in a distribution's image, which are tried after the known ones.
        base_config_paths: Vec<String> = "baseConfigPaths",
        /// Where to merge configurations; `init` by default.
        merge_mode: MergeMode = "mergeMode",
        /// Whether the server merges external providers itself (`llama stack run --extra-providers`); `false` by
        /// default.
        native_extra_providers: bool = "nativeExtraProviders",
        /// Resources of the init containers; requests of 100m CPU and 256Mi memory by default.
        init_resources: InitResources = "initResources",
        /// A ClusterRole to bind to the server's ServiceAccount, such as `system:openshift:scc:anyuid`.
        cluster_role: String = "clusterRole",
    }
}
wire_object! {
    /// Resources of the init containers.
    pub struct InitResources {
        /// Reserved amounts by resource.
        requests: Map<IntegerOrString> = "requests",
        /// Upper bounds by resource.
        limits: Map<IntegerOrString> = "limits",
    }
}
string_enum! {
    /// Whether to run `llama-stack preflight` before the server.
    pub enum Preflight {
        /// Run it if the distribution has it. Otherwise log that it was skipped.
        Auto = "auto",
        /// Run it. If the distribution does not have it, the server does not start.
        Required = "required",
        /// Do not run it.
        Off = "off",
    }
}
string_enum! {
    /// Where to merge the distribution's configuration and external providers.
    pub enum MergeMode {
        /// In the pod, in an init container.
        Init = "init",
        /// During rendering. The input must contain the configuration and the metadata of every provider.
        Static = "static",
    }
}

/// The option `preflight` in YAML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreflightLevel(pub Preflight);

impl Read for PreflightLevel {
    const EXPECTED: &'static str = "one of auto, required, off";

    /// YAML 1.1 reads `off` without quotes as false, so false is accepted too. It has no other meaning here.
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

/// The resolved options for rendering LlamaStackDistributions. The default applies to a run without options.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The configured image of this program. See [`Settings::renderer`] for the default.
    image: Option<String>,
    /// Images of additional distributions, by name.
    distributions: BTreeMap<String, String>,
    /// Images that replace those of known distributions, by name.
    image_overrides: BTreeMap<String, String>,
    /// The namespace of the operator.
    pub operator_namespace: String,
    /// Whether to create a NetworkPolicy.
    pub network_policy: bool,
    /// Whether to run the preflight.
    pub preflight: Preflight,
    /// The size limit of the volume for installed providers.
    pub volume_size_limit: String,
    /// Additional paths of run.yaml in a distribution's image.
    pub base_config_paths: Vec<String>,
    /// Where to merge configurations.
    pub merge_mode: MergeMode,
    /// Whether the server merges external providers itself.
    pub native_extra_providers: bool,
    /// Resource requests of init containers.
    pub init_requests: Vec<(String, String)>,
    /// Resource limits of init containers.
    pub init_limits: Vec<(String, String)>,
    /// A ClusterRole to bind to the ServiceAccount.
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

/// An image, and whether it is a default that changes with the version of this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageChoice {
    /// The image.
    pub image: String,
    /// Whether it is the default.
    pub is_default: bool,
}

impl kubefoundry_transform::TransformSettings for Settings {
    type Section = LlamaStackSettings;

    const KEY: &'static str = "llamaStack";

    const DOC: &'static str = "Options for rendering LlamaStackDistributions.\n";

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
                    check.report_unknown_override(&path.join(field).key(name), &names);
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
            // Kubernetes rejects a request above the limit, so lower a default request.
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
    /// Returns the image of a distribution by its name.
    pub fn distribution(&self, name: &str) -> Option<ImageChoice> {
        let known = DISTRIBUTIONS.iter().find(|(known, _)| *known == name).map(|(_, image)| *image);
        let given = self.distributions.get(name).map(String::as_str);
        let image = given.or(known)?;
        let chosen = self.image_overrides.get(name).map(String::as_str);
        Some(ImageChoice { image: chosen.unwrap_or(image).to_owned(), is_default: chosen.or(given).is_none() })
    }

    /// Returns the names of all distributions with an image.
    pub fn distributions(&self) -> Vec<&str> {
        let mut names: Vec<&str> = DISTRIBUTIONS.iter().map(|(name, _)| *name).collect();
        names.extend(self.distributions.keys().map(String::as_str));
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the image of this program.
    pub fn renderer(&self) -> ImageChoice {
        ImageChoice { image: self.image.clone().unwrap_or_else(|| IMAGE.to_owned()), is_default: self.image.is_none() }
    }
}

/// The options for rendering one distribution.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options<'s> {
    /// Image prefixes and their replacements.
    pub(crate) images: &'s [(String, String)],
    /// The section `llamaStack`.
    pub(crate) settings: &'s Settings,
}

impl<'s> Options<'s> {
    /// Returns the options of a run.
    pub(crate) fn from_set(set: &crate::ObjectSet<'s, '_>) -> Self {
        Self { images: set.context.images, settings: set.settings }
    }
}

/// Applies the configured mirrors to an image.
pub(super) fn mirrored_image(options: &Options<'_>, image: &str) -> String {
    apply_mirrors(options.images, image)
}

/// Checks of option values, with the findings they report to.
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

    /// Reports an override for a distribution that does not exist.
    fn report_unknown_override(&mut self, path: &FieldPath, names: &[String]) {
        let message = format!("{path} is not an image that can be replaced, expected {}", one_of(names));
        let reported = self.findings.report(&codes::INVALID_OPTION, FieldRef::key(path), message);
        reported.help("set the image of your own distribution under llamaStack.distributions");
    }

    /// Checks resources by name and returns them in place of the previous ones.
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

/// Checks an absolute path. It must be a single line, because scripts get one path per line.
fn absolute_path(path: &str) -> SyntaxResult {
    let fits = path.starts_with('/') && !path.chars().any(char::is_control) && path.split('/').all(|part| part != "..");
    if fits { Ok(()) } else { Err("an absolute path in one line, without \"..\"") }
}

/// Checks the name of a ClusterRole. Source: `ValidatePathSegmentName` in `k8s.io/apimachinery`.
fn path_segment(name: &str) -> SyntaxResult {
    let fits = !matches!(name, "" | "." | "..") && !name.contains(['/', '%']) && !name.chars().any(char::is_control);
    if fits { Ok(()) } else { Err("the name of a ClusterRole, without '/' and '%'") }
}
