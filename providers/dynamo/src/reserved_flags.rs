//! Flags of Dynamo's workers that users may not set: the operator or this provider sets them, or they must agree with
//! components that these flags do not reach (`dynamo/common/configuration/groups/runtime_args.py` of ai-dynamo 1.1.1,
//! 1.4.0 and 1.6.1).

use kubefoundry_deployment::codes;
use kubefoundry_engines::RefusedFlag;

/// Returns a flag that another field or the operator sets.
pub(super) const fn reserved(flag: &'static str, why: &'static str, help: &'static str) -> RefusedFlag {
    RefusedFlag { flag, code: &codes::RESERVED_ARGUMENT, why, help }
}

const PLACE: &str = "tells the frontend where the worker is, and Dynamo's operator sets it";
pub(super) const REMOVE: &str = "remove the flag";
const PLANE: &str = "must be the same for the frontend, whose flag is refused too";
const NODES: &str = "is a flag of workers on several nodes, to which Dynamo's operator adds it";
const SET_NODES: &str =
    "remove the flag, and set spec.resources.nodes, or the nodes of a role in spec.scaling, to the number of nodes";
const MODE: &str = "is already set from spec.serving.mode";
const ROLES: &str =
    "remove the flag, and set spec.serving.mode: disaggregated with spec.scaling.prefill and spec.scaling.decode";

/// The reserved flags of every engine.
pub(super) const RESERVED_FLAGS: &[RefusedFlag] = &[
    reserved("namespace", PLACE, REMOVE),
    reserved("endpoint", PLACE, REMOVE),
    reserved("discovery-backend", PLACE, REMOVE),
    reserved("request-plane", PLANE, REMOVE),
    reserved("response-plane", PLANE, REMOVE),
    reserved("event-plane", PLANE, REMOVE),
    reserved("headless", NODES, SET_NODES),
    reserved("nnodes", NODES, SET_NODES),
    reserved("node-rank", NODES, SET_NODES),
    reserved("master-addr", NODES, SET_NODES),
    reserved("dist-init-addr", NODES, SET_NODES),
    reserved("is-prefill-worker", MODE, ROLES),
    reserved("is-decode-worker", MODE, ROLES),
];

/// The refused flags of vLLM. Its worker raises a `ValueError` for any connector, even `none` (`_reject_connector_flag`
/// in `dynamo/vllm/args.py`, all three releases).
pub(super) const REFUSED_VLLM_FLAGS: &[RefusedFlag] = &[RefusedFlag {
    flag: "connector",
    code: &codes::FLAG_NOT_ACCEPTED,
    why: "is no longer accepted by Dynamo's vLLM worker, which does not start with it",
    help: "remove the flag, or replace it by kv-transfer-config; disaggregated mode uses NixlConnector by default",
}];
