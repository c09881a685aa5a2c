//! The nodes of a cluster, from the output of `kubectl get nodes`.

use std::sync::Arc;

use super::ClusterSnapshot;
use crate::codes;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Location};
use kubefoundry_kubernetes::cluster_node::ClusterNode;
use kubefoundry_model::composition::Composition;

/// Reads the nodes of the cluster. Returns `None` if no text has that purpose, or if one of them cannot be used, which
/// is reported.
pub(crate) fn read_nodes(
    composition: &'static Composition,
    sources: &SourceSet,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Arc<[ClusterNode]>> {
    let (first, _) = sources.iter().find(|(_, source)| source.purpose == Purpose::ClusterNodes)?;
    let mut snapshot = ClusterSnapshot::read(composition, sources, Purpose::ClusterNodes);
    let is_readable = snapshot.diagnostics.is_empty();
    diagnostics.append(&mut snapshot.diagnostics);
    let mut nodes = Vec::new();
    let mut is_valid = true;
    for live in &snapshot.objects {
        if &*live.object.kind != "Node" || &*live.object.api_version != "v1" {
            continue;
        }
        match ClusterNode::from_json(&live.value) {
            Ok(node) => nodes.push(node),
            Err((path, expected)) => {
                is_valid = false;
                let message = format!("{} of {} is not {expected}", path.join("."), live.object);
                let mut finding = Diagnostic::new(&codes::UNUSABLE_NODES, message);
                finding.location = Some(live.location.clone());
                diagnostics.push(finding);
            }
        }
    }
    if nodes.is_empty() && is_readable && is_valid {
        let mut finding = Diagnostic::new(&codes::UNUSABLE_NODES, "the dump of the cluster has no nodes".to_owned())
            .help("pass the output of kubectl get nodes -o yaml");
        finding.location = Some(Location::from_source(first));
        diagnostics.push(finding);
        return None;
    }
    (is_readable && is_valid).then(|| nodes.into())
}
