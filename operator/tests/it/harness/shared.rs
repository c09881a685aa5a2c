//! A cluster and an operator that the tests of a group share. Each test has its own namespace.

use std::ops::Deref;
use std::sync::Arc;

use super::ControlPlane;
use super::cluster::Namespace;
use super::operator::Operator;
use super::turn::{self, Turn};

struct SharedCluster {
    // Fields drop in this order: the operator ends before its control plane.
    operator: Operator,
    plane: ControlPlane,
}

/// A namespace of the shared cluster. The cluster runs as long as a test has one.
pub struct SharedNamespace {
    namespace: Namespace,
    cluster: Arc<SharedCluster>,
    _turn: Turn,
}

impl Deref for SharedNamespace {
    type Target = Namespace;

    fn deref(&self) -> &Namespace {
        &self.namespace
    }
}

impl SharedNamespace {
    /// Creates a namespace in the cluster of a group. The first test of the group starts the operator by `start`.
    pub async fn create(
        group: &'static str,
        name: &str,
        start: impl AsyncFnOnce(&ControlPlane) -> Operator,
    ) -> Option<Self> {
        let turn = turn::in_group(group).await;
        let start = async {
            let plane = ControlPlane::launch().await?;
            let operator = start(&plane).await;
            Some(SharedCluster { operator, plane })
        };
        let cluster = turn::shared(Box::pin(start)).await?;
        let namespace = Namespace::create(&cluster.plane.admin().await, name).await;
        Some(Self { namespace, cluster, _turn: turn })
    }

    /// The operator of the group.
    pub fn operator(&self) -> &Operator {
        &self.cluster.operator
    }
}
