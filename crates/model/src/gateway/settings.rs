//! The section `gateway` of a `Render` document: the Gateway and the endpoint picker of the cluster.

use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::names::dns_1123_label;
use kubefoundry_kubernetes::wire::Syntax;
use kubefoundry_kubernetes::wire_object;
use kubefoundry_transform::TransformSettings;
use kubefoundry_transform::codes::INVALID_OPTION;
use kubefoundry_yaml::field_path::FieldPath;

wire_object! {
    /// The Gateway for models with `spec.gateway`, and what chooses a pod for each request.
    pub struct GatewayOptions {
        /// The name of the Gateway to which HTTPRoutes attach.
        name: String = "name" [syntax(Syntax::DnsSubdomain)],
        /// The namespace of the Gateway. The default is the namespace of each deployment.
        namespace: String = "namespace" [syntax(Syntax::DnsLabel)],
        /// The listener of the Gateway. The default is every listener that accepts the route.
        section_name: String = "sectionName" [syntax(Syntax::DnsSubdomain)],
        /// The endpoint picker, which chooses a pod of an InferencePool for each request.
        endpoint_picker: EndpointPickerOptions = "endpointPicker",
    }
}

wire_object! {
    /// The Service of an endpoint picker, in the namespace of the deployment.
    pub struct EndpointPickerOptions {
        /// The name of the Service. `{name}` stands for the name of the deployment, because a picker serves one pool:
        /// `"{name}-epp"`.
        name: String = "name" [required(), max_length(253)],
        /// The port of the Service.
        port: i32 = "port" [minimum(1), maximum(65535), default("9002")],
    }
}

/// What stands for the name of the deployment in the name of a picker.
const PLACEHOLDER: &str = "{name}";

/// The port of a picker's Service in the chart of the Gateway API Inference Extension (config/charts/inferencepool).
const DEFAULT_PICKER_PORT: u16 = 9002;

/// The Gateway and the endpoint picker that the options name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GatewaySettings {
    name: Option<String>,
    namespace: Option<String>,
    section_name: Option<String>,
    /// The name of the Service, with the placeholder, and its port.
    picker: Option<(String, u16)>,
}

/// The Gateway of a route.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parent<'s> {
    pub(super) name: &'s str,
    pub(super) namespace: Option<&'s str>,
    pub(super) section_name: Option<&'s str>,
}

impl GatewaySettings {
    /// Returns the Gateway, if the options name one.
    pub(super) fn parent(&self) -> Option<Parent<'_>> {
        let Self { name, namespace, section_name, .. } = self;
        Some(Parent { name: name.as_deref()?, namespace: namespace.as_deref(), section_name: section_name.as_deref() })
    }

    /// Returns the name and the port of the picker's Service for a deployment.
    pub(super) fn picker(&self, deployment: &str) -> Option<(String, u16)> {
        self.picker.as_ref().map(|(name, port)| (name.replace(PLACEHOLDER, deployment), *port))
    }
}

impl TransformSettings for GatewaySettings {
    type Section = GatewayOptions;

    const KEY: &'static str = "gateway";

    const DOC: &'static str = "The Gateway and the endpoint picker for models with `spec.gateway`.\n";

    fn apply(&mut self, section: GatewayOptions, findings: &mut Findings<'_>) {
        let GatewayOptions { name, namespace, section_name, endpoint_picker } = section;
        let set = |option: &mut Option<String>, value: Option<String>| {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                *option = Some(value);
            }
        };
        set(&mut self.name, name);
        set(&mut self.namespace, namespace);
        set(&mut self.section_name, section_name);
        let Some(EndpointPickerOptions { name: Some(name), port }) = endpoint_picker else { return };
        // The shortest name of a deployment shows whether the rest of the name is valid.
        if let Err(expected) = dns_1123_label(&name.replace(PLACEHOLDER, "a")) {
            let path = FieldPath::root().key(Self::KEY).key("endpointPicker").key("name");
            let message = format!("{path} is {name:?}, expected {expected}, which may contain {PLACEHOLDER}");
            findings.report(&INVALID_OPTION, &path, message);
            return;
        }
        let port = port.and_then(|port| u16::try_from(port).ok()).unwrap_or(DEFAULT_PICKER_PORT);
        self.picker = Some((name, port));
    }
}
