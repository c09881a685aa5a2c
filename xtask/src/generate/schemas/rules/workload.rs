//! Rules on serving mode, replicas and GPUs (docs/specification.md, MD-2).
//!
//! None of them is about a provider: a CRD is not upgraded with the configuration of a provider, which says what the
//! provider can run. `lint`, the webhook and the condition `ProviderCompatible` report that (docs/specification.md, MD-7).

use kubefoundry_deployment::ir::GPU_RESOURCES;

use super::Rule;

const DISAGGREGATED: &str = "has(self.serving) && has(self.serving.mode) && self.serving.mode == 'disaggregated'";
/// What a provider reads from its overrides may count the GPUs, such as an instance type.
const HAS_OVERRIDES: &str = "has(self.provider) && has(self.provider.overrides)";
const ROLES: [&str; 2] = ["prefill", "decode"];

/// Returns the rules of the serving modes, on `spec`.
pub(super) fn rules() -> Vec<Rule> {
    let mut rules = vec![
        engine_requires_gpu("vllm", "vLLM"),
        engine_requires_gpu("sglang", "SGLang"),
        engine_requires_gpu("trtllm", "TensorRT-LLM"),
        disaggregated(
            "!has(self.resources) || !has(self.resources.gpu)",
            "Cannot specify both resources.gpu and scaling.prefill/decode",
        ),
    ];
    for (field, empty) in
        [("memory", " || self.resources.memory == ''"), ("cpu", " || self.resources.cpu == ''"), ("nodes", "")]
    {
        rules.push(disaggregated(
            &format!("!has(self.resources) || !has(self.resources.{field}){empty}"),
            &format!("Cannot specify resources.{field} in disaggregated mode (set scaling.prefill and scaling.decode)"),
        ));
    }
    rules.push(disaggregated(
        "has(self.scaling) && has(self.scaling.prefill) && has(self.scaling.decode)",
        "Disaggregated mode requires scaling.prefill and scaling.decode",
    ));
    for role in ROLES {
        let no_role = format!("!has(self.scaling) || !has(self.scaling.{role})");
        let count = format!("has(self.scaling.{role}.gpu) && has(self.scaling.{role}.gpu.count)");
        let message = format!("Disaggregated mode requires scaling.{role}.gpu.count");
        rules.push(disaggregated(&format!("{no_role} || ({count}) || {}", role_gpus(role)), &message));
    }
    rules.push(one_vendor());
    rules
}

/// Returns the expression that the resources at a path have GPUs: by a limit of a known resource, or by claims.
fn has_gpus(path: &str) -> String {
    let known = GPU_RESOURCES.iter().map(|resource| format!("'{resource}'")).collect::<Vec<_>>().join(", ");
    format!(
        "(has({path}.limits) && {path}.limits.exists(name, name in [{known}] || name.startsWith('nvidia.com/mig-')) || \
         has({path}.claims) && {path}.claims.size() > 0)"
    )
}

/// Returns the expression that the common resources have GPUs in a field for all workers.
fn common_gpus() -> String {
    format!("(has(self.resources) && {})", has_gpus("self.resources"))
}

/// Returns the expression that a role, which exists, has GPUs in its resources or the common ones.
fn role_gpus(role: &str) -> String {
    let own = has_gpus(&format!("self.scaling.{role}.resources"));
    format!("(has(self.scaling.{role}.resources) && {own} || {})", common_gpus())
}

/// Returns the expression that aggregated workers have GPUs.
fn aggregated_gpus() -> String {
    let typed = "has(self.resources.limits) && has(self.resources.gpu) && has(self.resources.gpu.type) && \
                 self.resources.gpu.type in self.resources.limits";
    format!(
        "has(self.resources) && (has(self.resources.gpu) && has(self.resources.gpu.count) && \
         self.resources.gpu.count > 0 || {typed} || {})",
        has_gpus("self.resources")
    )
}

/// Returns a rule that applies in disaggregated mode only.
fn disaggregated(rule: &str, message: &str) -> Rule {
    Rule::new(format!("!({DISAGGREGATED}) || ({rule})"), message)
}

fn engine_is(engine: &str) -> String {
    format!("has(self.engine) && has(self.engine.type) && self.engine.type == '{engine}'")
}

fn engine_requires_gpu(engine: &str, display: &str) -> Rule {
    let without = ROLES.map(|role| {
        format!(
            "(has(self.scaling) && has(self.scaling.{role}) && has(self.scaling.{role}.gpu) && \
             has(self.scaling.{role}.gpu.count) && self.scaling.{role}.gpu.count == 0 && !{})",
            role_gpus(role)
        )
    });
    let [prefill, decode] = without;
    let is = engine_is(engine);
    // A rule cannot read `overrides`, which have no schema in a CRD; `lint` and the operator do.
    let other_count = format!("({}) || ({HAS_OVERRIDES})", aggregated_gpus());
    Rule::new(
        format!("!({is}) || ({DISAGGREGATED} ? !{prefill} && !{decode} : {other_count})"),
        format!("{display} engine requires GPU (set resources.gpu.count > 0)"),
    )
}

/// Returns the rule that prefill and decode use GPUs of one vendor: the KV cache cannot move between vendors.
fn one_vendor() -> Rule {
    let [prefill, decode] = ROLES.map(|role| {
        let given = format!(
            "has(self.scaling) && has(self.scaling.{role}) && has(self.scaling.{role}.gpu) && \
             has(self.scaling.{role}.gpu.type) && self.scaling.{role}.gpu.type != ''"
        );
        format!("({given} ? self.scaling.{role}.gpu.type : 'nvidia.com/gpu').split('/')[0]")
    });
    Rule {
        expression: Some(format!(
            "'prefill runs on GPUs of ' + {prefill} + ' and decode on GPUs of ' + {decode} + ', expected one vendor for \
             both'"
        )),
        ..disaggregated(
            &format!("{prefill} == {decode}"),
            "prefill and decode run on GPUs of different vendors, expected one vendor for both",
        )
    }
}
