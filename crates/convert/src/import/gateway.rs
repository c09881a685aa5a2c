//! The InferencePools and HTTPRoutes that lead to an imported object. They become `spec.gateway` if that renders them
//! again, and are residue otherwise. An HTTPRoute of the user's own to a pool that is rendered again stays as it is.

use serde_json::{Value, json};

use super::compare::differences;
use super::importer::{Importer, RenderedDeployment};
use super::input::ParsedObject;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_model::gateway;
use kubefoundry_provider::draft::{Draft, items_at, string_at, string_entries_at};
use kubefoundry_yaml::field_path::FieldPath;

/// Returns the InferencePools that select pods of an object, and the HTTPRoutes to these pools, to a pool that upstream
/// makes for the object, or to the Service of the model.
pub(super) fn find_routes<'o>(
    object: &ParsedObject<'_>,
    siblings: &[&'o ParsedObject<'o>],
    service: Option<&str>,
) -> Vec<&'o ParsedObject<'o>> {
    let Some(name) = string_at(&object.value, "/metadata/name") else { return Vec::new() };
    // Dynamo's label has the namespace in front of the name.
    let with_namespace = object.namespace().map(|namespace| format!("{namespace}-{name}"));
    let is_kind = |object: &ParsedObject<'_>, kind: &str| {
        let group = string_at(&object.value, "/apiVersion").and_then(|version| version.split('/').next());
        string_at(&object.value, "/kind") == Some(kind)
            && gateway::KINDS.iter().any(|known| known.kind == kind && Some(known.group) == group)
    };
    let selects = |pool: &ParsedObject<'_>| {
        string_entries_at(&pool.value, "/spec/selector/matchLabels")
            .values()
            .any(|value| value.as_str() == Some(name) || value.as_str() == with_namespace.as_deref())
    };
    let mut routes: Vec<&ParsedObject<'_>> =
        siblings.iter().copied().filter(|it| is_kind(it, gateway::INFERENCE_POOL) && selects(it)).collect();
    let mut pools: Vec<String> =
        routes.iter().filter_map(|pool| string_at(&pool.value, "/metadata/name")).map(str::to_owned).collect();
    // The names that the operators of Dynamo and KAITO give their pools.
    pools.extend(["pool", "inferencepool"].map(|suffix| format!("{name}-{suffix}")));
    let leads_here = |route: &ParsedObject<'_>| {
        let rules = items_at(&route.value, "/spec/rules").iter();
        rules.flat_map(|rule| items_at(rule, "/backendRefs")).any(|backend| {
            let Some(to) = string_at(backend, "/name") else { return false };
            match string_at(backend, "/kind").unwrap_or("Service") {
                "Service" => Some(to) == service,
                kind => kind == gateway::INFERENCE_POOL && pools.iter().any(|pool| pool == to),
            }
        })
    };
    routes.extend(siblings.iter().copied().filter(|it| is_kind(it, gateway::HTTP_ROUTE) && leads_here(it)));
    routes
}

/// A deployment with `spec.gateway`, which renders an imported object and what leads to it.
pub(super) struct WithGateway<'o> {
    pub(super) deployment: Value,
    pub(super) rendering: RenderedDeployment,
    /// The routes and pools that are rendered.
    pub(super) parts: Vec<&'o ParsedObject<'o>>,
    /// The field with the name of a route that is not in the input.
    pub(super) assumption: Option<(FieldPath, &'static str)>,
}

impl Importer<'_> {
    /// Returns the deployment with a `spec.gateway` that renders these pools and routes again, or only the pools for an
    /// HTTPRoute of the user.
    pub(super) fn add_gateway<'o>(
        &self,
        name: &str,
        deployment: &Value,
        routes: &[&'o ParsedObject<'o>],
        draft: &Draft,
    ) -> Option<WithGateway<'o>> {
        let of_kind = |kind: &'static str| {
            routes.iter().copied().filter(move |route| string_at(&route.value, "/kind") == Some(kind))
        };
        of_kind(gateway::INFERENCE_POOL).next()?;
        let route = of_kind(gateway::HTTP_ROUTE).next();
        if let Some(route) = route {
            let header = items_at(&route.value, "/spec/rules").first();
            let model_name = header.and_then(|rule| string_at(rule, "/matches/0/headers/0/value"));
            // The name is written only if it is not the default.
            let written = model_name.map(|name| json!({"enabled": true, "modelName": name}));
            for gateway in std::iter::once(json!({"enabled": true})).chain(written) {
                if let Some((deployment, rendering)) = self.render_with_gateway(deployment, gateway, routes, draft) {
                    return Some(WithGateway { deployment, rendering, parts: routes.to_vec(), assumption: None });
                }
            }
        }
        let parts: Vec<&ParsedObject<'_>> = of_kind(gateway::INFERENCE_POOL).collect();
        let route_name = route.and_then(|route| string_at(&route.value, "/metadata/name"));
        let gateway = json!({"enabled": true, "httpRouteRef": route_name.unwrap_or(name)});
        let (deployment, rendering) = self.render_with_gateway(deployment, gateway, &parts, draft)?;
        let assumption = route.is_none().then(|| {
            let field = ModelDeployment::path().spec().gateway().http_route_ref();
            (field.into(), "no HTTPRoute in the input leads to the InferencePool")
        });
        Some(WithGateway { deployment, rendering, parts, assumption })
    }

    /// Returns the deployment with this `spec.gateway` and its rendering, if exactly these objects are rendered for it.
    fn render_with_gateway(
        &self,
        deployment: &Value,
        gateway: Value,
        routes: &[&ParsedObject<'_>],
        draft: &Draft,
    ) -> Option<(Value, RenderedDeployment)> {
        let mut deployment = deployment.clone();
        deployment.get_mut("spec")?.as_object_mut()?.insert("gateway".to_owned(), gateway);
        let rendering = self.render(&deployment).ok()?;
        let is_rendered = |route: &&ParsedObject<'_>| {
            let is_it = |other: &&Value| {
                ["/kind", "/metadata/name"].iter().all(|at| string_at(other, at) == string_at(&route.value, at))
            };
            let rendered = rendering.objects.iter().find(is_it);
            rendered
                .is_some_and(|other| differences(self.composition, &route.value, other, &draft.equivalents).is_empty())
        };
        let is_of_gateway =
            |object: &&Value| gateway::KINDS.iter().any(|kind| Some(kind.kind) == string_at(object, "/kind"));
        let count = rendering.objects.iter().filter(is_of_gateway).count();
        (count == routes.len() && routes.iter().all(is_rendered)).then_some((deployment, rendering))
    }
}
