//! Joins provider objects with the ModelDeployments that they run: by the ownership annotation, by the owner reference,
//! or by name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{JoinKey, provider_of};
use kubefoundry_compiler::cluster_snapshot::{ControllerReference, LiveObject};
use kubefoundry_deployment::wire;
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_kubernetes::manifest::{Identity, owner_name};
use kubefoundry_model::composition::Composition;
use kubefoundry_provider::Provider;
use kubefoundry_provider::status::text_or_empty;

/// A ModelDeployment and the provider object that runs it. One of the two may be missing.
#[derive(Clone)]
pub(super) struct JoinedObjects<'l> {
    pub(super) deployment: Option<&'l LiveObject>,
    /// The deployment that the object names, if the dump does not contain it.
    pub(super) named: Option<ObjectRef>,
    pub(super) resource: Option<(&'static dyn Provider, &'l LiveObject)>,
    /// The reference or name that connects the two.
    pub(super) joined_by: Option<JoinKey>,
    /// The provider objects that this one created.
    pub(super) children: Vec<(&'static dyn Provider, &'l LiveObject)>,
    /// Contradictions between the references of the two, as sentences.
    pub(super) inconsistencies: Vec<String>,
}

type Resource<'l> = (&'static dyn Provider, &'l LiveObject);

/// Objects by identity, whatever their version.
type IdentityIndex<'l> = BTreeMap<Identity, &'l LiveObject>;

/// Joins the objects of a snapshot. Objects with a reference are joined first, so that a name never takes a deployment
/// that another object refers to.
pub(super) fn join<'l>(composition: &Composition, objects: &'l [LiveObject]) -> Vec<JoinedObjects<'l>> {
    let deployments: Vec<&LiveObject> = objects.iter().filter(|object| object.is_deployment()).collect();
    let by_name: IdentityIndex<'_> = deployments.iter().map(|deployment| (identity(deployment), *deployment)).collect();
    let resources = resources(composition, objects);
    let by_identity: IdentityIndex<'_> = resources.iter().map(|(_, object)| (identity(object), *object)).collect();
    let mut joined: Vec<JoinedObjects<'_>> = Vec::new();
    let mut children: BTreeMap<Identity, Vec<Resource<'_>>> = BTreeMap::new();
    for resource in resources {
        match find_parent(resource.1, &by_identity) {
            Some(parent) => children.entry(identity(parent)).or_default().push(resource),
            None => joined.push(join_by_reference(resource, &by_name)),
        }
    }
    let mut taken: BTreeSet<Identity> = joined.iter().filter_map(|joined| joined.deployment).map(identity).collect();
    let by_resource: BTreeMap<Identity, &LiveObject> =
        deployments.iter().map(|deployment| (named_resource(deployment), *deployment)).collect();
    for joined in &mut joined {
        let Some((_, resource)) = joined.resource else { continue };
        joined.children = children.remove(&identity(resource)).unwrap_or_default();
        // Never join by name an object that refers to a deployment or has another controller.
        if joined.deployment.is_some() || joined.named.is_some() || resource.controller().is_some() {
            continue;
        }
        // A status names the kind too, and such a deployment takes precedence over one that only has the same name.
        let keys = [named_as(resource, &resource.object.kind), named_as(resource, "")];
        let mut candidates = keys.iter().filter_map(|key| by_resource.get(key));
        if let Some(deployment) = candidates.find(|deployment| !taken.contains(&identity(deployment))) {
            taken.insert(identity(deployment));
            joined.deployment = Some(deployment);
            joined.joined_by = Some(JoinKey::Name);
        }
    }
    let unjoined = deployments.iter().filter(|deployment| !taken.contains(&identity(deployment)));
    joined.extend(unjoined.map(|deployment| JoinedObjects {
        deployment: Some(deployment),
        named: None,
        resource: None,
        joined_by: None,
        children: Vec::new(),
        inconsistencies: Vec::new(),
    }));
    joined
}

fn identity(object: &LiveObject) -> Identity {
    let ObjectRef { api_version, kind, namespace, name } = &object.object;
    Identity::new(api_version, kind, namespace.as_deref(), name)
}

/// Returns the resource in a deployment's status, or a resource of the deployment's own name if the status names none.
fn named_resource(deployment: &LiveObject) -> Identity {
    let text = |field: &str| text_or_empty(&deployment.value, field);
    let (kind, name) = (text("/status/provider/resourceKind"), text("/status/provider/resourceName"));
    let (kind, name) = if name.is_empty() { ("", &*deployment.object.name) } else { (kind, name) };
    Identity::new("", kind, deployment.object.namespace.as_deref(), name)
}

/// Returns the identity by which a deployment may name a resource; an empty `kind` matches any kind.
fn named_as(resource: &LiveObject, kind: &str) -> Identity {
    Identity::new("", kind, resource.object.namespace.as_deref(), &resource.object.name)
}

/// Returns every provider object once: of an object that the snapshot contains in two versions, the first.
fn resources<'l>(composition: &Composition, objects: &'l [LiveObject]) -> Vec<Resource<'l>> {
    let mut seen: BTreeSet<Identity> = BTreeSet::new();
    let mut resources = Vec::new();
    for object in objects {
        let Some(provider) = provider_of(composition, object) else { continue };
        if seen.insert(identity(object)) {
            resources.push((provider, object));
        }
    }
    resources
}

/// Returns the provider object that controls another one, such as the InferenceSet of a Workspace.
fn find_parent<'l>(child: &LiveObject, resources: &IdentityIndex<'l>) -> Option<&'l LiveObject> {
    let owner = child.controller()?;
    let api_version = format!("{}/", owner.group);
    let identity = Identity::new(&api_version, owner.kind, child.object.namespace.as_deref(), owner.name);
    let parent = resources.get(&identity)?;
    let uid = text_or_empty(&parent.value, "/metadata/uid");
    (uid.is_empty() || owner.uid.is_empty() || uid == owner.uid).then_some(*parent)
}

/// Joins an object with the deployment in its ownership annotation or owner reference.
fn join_by_reference<'l>(resource: Resource<'l>, deployments: &IdentityIndex<'l>) -> JoinedObjects<'l> {
    let (_, object) = resource;
    let mut joined = JoinedObjects {
        deployment: None,
        named: None,
        resource: Some(resource),
        joined_by: None,
        children: Vec::new(),
        inconsistencies: Vec::new(),
    };
    let namespace = &object.object.namespace;
    let owner = object.controller().filter(ControllerReference::is_deployment);
    let annotated = object.owner_annotation();
    let (group, name, join_key) = match (annotated, owner) {
        (Some((api_group, name)), _) => (api_group.name, name.to_owned(), JoinKey::Annotation),
        (None, Some(owner)) => (owner.group, owner_name(namespace.as_deref(), owner.name), JoinKey::OwnerReference),
        (None, None) => return joined,
    };
    // An annotation without a namespace was rendered without one and applied to the namespace of the object.
    let (named_namespace, short_name) = match name.split_once('/') {
        Some((namespace, short_name)) => (Some(Arc::from(namespace)), short_name),
        None => (namespace.clone(), name.as_str()),
    };
    let api_version = format!("{group}/");
    let find_deployment = |namespace| deployments.get(&Identity::new(&api_version, wire::KIND, namespace, short_name));
    joined.joined_by = Some(join_key);
    match find_deployment(named_namespace.as_deref()).or_else(|| find_deployment(None)) {
        Some(deployment) => joined.deployment = Some(deployment),
        None => joined.named = Some(absent_deployment(group, named_namespace.clone(), short_name)),
    }
    if let (JoinKey::Annotation, Some(owner)) = (join_key, owner)
        && owner.name != short_name
    {
        joined.inconsistencies.push(format!("its annotation names {name}, its owner reference {}", owner.name));
    }
    let uid = joined.deployment.map(|deployment| text_or_empty(&deployment.value, "/metadata/uid")).unwrap_or_default();
    if let Some(owner) = owner
        && !uid.is_empty()
        && owner.name == short_name
        && owner.uid != uid
    {
        let inconsistency =
            "its owner reference has another uid than the ModelDeployment: the garbage collector deletes it";
        joined.inconsistencies.push(inconsistency.to_owned());
    }
    if named_namespace.is_some() && namespace.is_some() && named_namespace != *namespace {
        joined.inconsistencies.push(format!("its annotation names {name}, which is in another namespace"));
    }
    joined
}

/// Returns the reference of a deployment that the snapshot does not contain.
fn absent_deployment(group: &str, namespace: Option<Arc<str>>, name: &str) -> ObjectRef {
    let version = kubefoundry_kubernetes::api_group::ApiGroup::find(group)
        .map_or_else(String::new, kubefoundry_kubernetes::api_group::ApiGroup::api_version);
    ObjectRef { api_version: version.into(), kind: wire::KIND.into(), namespace, name: name.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubefoundry_compiler::cluster_snapshot::ClusterSnapshot;
    use kubefoundry_composition::BUILTIN;
    use kubefoundry_diagnostics::source::{Purpose, SourceSet};

    const OBJECTS: &str = "
{apiVersion: kubefoundry.ai/v1alpha1, kind: ModelDeployment, metadata: {name: a, namespace: ml, uid: u}}
---
{apiVersion: kubeairunway.ai/v1alpha1, kind: ModelDeployment, metadata: {name: a, namespace: ml, uid: v}}
---
{apiVersion: kubefoundry.ai/v1alpha1, kind: ModelDeployment, metadata: {name: b, namespace: ml}}
---
";

    /// Returns the rows of the join, each as `deployment join-key`, after one more object is added.
    fn rows(object: &str) -> Vec<String> {
        let mut sources = SourceSet::default();
        sources.add_for(Purpose::ClusterSnapshot, "x.yaml", format!("{OBJECTS}{object}"));
        let snapshot = ClusterSnapshot::read(&BUILTIN, &sources, Purpose::ClusterSnapshot);
        assert!(snapshot.diagnostics.is_empty(), "{:?}", snapshot.diagnostics);
        let mut rows = BTreeMap::new();
        for joined in join(&BUILTIN, &snapshot.objects).iter().filter(|joined| joined.resource.is_some()) {
            let deployment = joined.deployment.map(|object| format!("{} {}", object.group(), object.object.name));
            let deployment = deployment.or_else(|| joined.named.as_ref().map(|named| format!("no {}", named.name)));
            let inconsistencies = if joined.inconsistencies.is_empty() { "" } else { " doubtful" };
            let key = joined.joined_by.map_or_else(|| "alone".to_owned(), |key| format!("{key:?}"));
            let resource = joined.resource.map(|(_, object)| object.object.name.to_string()).unwrap_or_default();
            let row = format!("{} {key}{inconsistencies} +{}", deployment.unwrap_or_default(), joined.children.len());
            rows.insert(resource, row);
        }
        rows.into_iter().map(|(resource, row)| format!("{resource}: {row}")).collect()
    }

    fn workspace(name: &str, metadata: &str) -> String {
        format!(
            "{{apiVersion: kaito.sh/v1beta1, kind: Workspace, metadata: {{name: {name}, namespace: ml{metadata}}}}}\n---\n"
        )
    }

    #[test]
    fn joins_by_the_most_reliable_key() {
        let owner = |group: &str, name: &str, uid: &str| {
            format!(
                ", ownerReferences: [{{apiVersion: {group}/v1alpha1, kind: ModelDeployment, name: {name}, uid: {uid}, \
                 controller: true}}]"
            )
        };
        for (metadata, expected) in [
            (", annotations: {kubefoundry.ai/model-deployment: ml/a}".to_owned(), "kubefoundry.ai a Annotation"),
            (", annotations: {kubeairunway.ai/model-deployment: ml/a}".to_owned(), "kubeairunway.ai a Annotation"),
            (", annotations: {kubefoundry.ai/model-deployment: b}".to_owned(), "kubefoundry.ai b Annotation"),
            (", annotations: {kubefoundry.ai/model-deployment: ml/gone}".to_owned(), "no gone Annotation"),
            (", annotations: {kubefoundry.ai/model-deployment: other/a}".to_owned(), "no a Annotation doubtful"),
            (owner("kubefoundry.ai", "a", "u"), "kubefoundry.ai a OwnerReference"),
            (owner("kubefoundry.ai", "a", "other"), "kubefoundry.ai a OwnerReference doubtful"),
            (owner("apps", "a", "u"), " alone"),
            (
                format!(
                    ", annotations: {{kubefoundry.ai/model-deployment: ml/b}}{}",
                    owner("kubefoundry.ai", "a", "u")
                ),
                "kubefoundry.ai b Annotation doubtful",
            ),
        ] {
            assert_eq!(rows(&workspace("x", &metadata)), [format!("x: {expected} +0")], "{metadata}");
        }
    }

    /// A name joins only an object without references and a deployment that no other object runs.
    #[test]
    fn joins_the_rest_by_name() {
        assert_eq!(rows(&workspace("b", "")), ["b: kubefoundry.ai b Name +0"]);
        assert_eq!(rows(&workspace("c", "")), ["c:  alone +0"]);
        let taken = workspace("x", ", annotations: {kubefoundry.ai/model-deployment: ml/b}");
        assert_eq!(rows(&(taken + &workspace("b", ""))), ["b:  alone +0", "x: kubefoundry.ai b Annotation +0"]);
    }

    /// The Workspaces of an InferenceSet are its replicas, and another version of an object is the same object.
    #[test]
    fn attaches_created_objects_to_their_parent() {
        let set = "{apiVersion: kaito.sh/v1beta1, kind: InferenceSet, metadata: {name: b, namespace: ml, uid: s}}\n---\n\
                   {apiVersion: kaito.sh/v1alpha1, kind: InferenceSet, metadata: {name: b, namespace: ml, uid: s}}\n---\n";
        let owner = ", ownerReferences: [{apiVersion: kaito.sh/v1beta1, kind: InferenceSet, name: b, uid: s, controller: true}]";
        let objects = format!("{set}{}{}", workspace("b-1", owner), workspace("b-2", owner));
        assert_eq!(rows(&objects), ["b: kubefoundry.ai b Name +2"]);
    }
}
