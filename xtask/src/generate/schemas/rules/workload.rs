//! Rules on serving mode, replicas and GPUs (docs/specification.md, MD-2).
//!
//! None of them is about a provider: a CRD is not upgraded with the configuration of a provider, which says what the
//! provider can run. `lint`, the webhook and the condition `ProviderCompatible` report that (docs/specification.md, MD-7).

use kubefoundry_deployment::ir::GPU_RESOURCES;
use kubefoundry_deployment::wire::EngineType;
use kubefoundry_engines::{EngineProfile, profile};
use kubefoundry_kubernetes::wire::StringEnum as _;
use kubefoundry_model::validate::messages;

use super::Rule;

const DISAGGREGATED: &str = "has(self.serving) && has(self.serving.mode) && self.serving.mode == 'disaggregated'";
/// What a provider reads from its overrides may count the GPUs, such as an instance type.
const HAS_OVERRIDES: &str = "has(self.provider) && has(self.provider.overrides)";
const ROLES: [&str; 2] = ["prefill", "decode"];

/// Returns the rules of the serving modes, on `spec`.
pub(super) fn rules() -> Vec<Rule> {
    let mut rules = engines_require_gpus(EngineType::VARIANTS.iter().map(|(word, engine)| (*word, profile(*engine))));
    rules.push(disaggregated("!has(self.resources) || !has(self.resources.gpu)", messages::RESOURCES_AND_ROLES));
    for (field, empty) in
        [("memory", " || self.resources.memory == ''"), ("cpu", " || self.resources.cpu == ''"), ("nodes", "")]
    {
        rules.push(disaggregated(
            &format!("!has(self.resources) || !has(self.resources.{field}){empty}"),
            messages::resource_of_aggregated(field),
        ));
    }
    rules.push(disaggregated(
        "has(self.scaling) && has(self.scaling.prefill) && has(self.scaling.decode)",
        messages::ROLES_REQUIRED,
    ));
    for role in ROLES {
        let no_role = format!("!has(self.scaling) || !has(self.scaling.{role})");
        let count = format!("has(self.scaling.{role}.gpu) && has(self.scaling.{role}.gpu.count)");
        let message = messages::role_requires(role, "gpu.count");
        rules.push(disaggregated(&format!("{no_role} || ({count}) || {}", role_gpus(role)), message));
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
fn disaggregated(rule: &str, message: impl Into<String>) -> Rule {
    Rule::new(format!("!({DISAGGREGATED}) || ({rule})"), message)
}

fn engine_is(engine: &str) -> String {
    format!("has(self.engine) && has(self.engine.type) && self.engine.type == '{engine}'")
}

/// Returns the rule of each engine whose profile says that it needs GPUs.
fn engines_require_gpus<'p>(engines: impl Iterator<Item = (&'p str, &'p EngineProfile)>) -> Vec<Rule> {
    let with_gpus = engines.filter(|(_, profile)| profile.requires_gpu);
    with_gpus.map(|(word, profile)| engine_requires_gpu(word, profile.display_name)).collect()
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
        messages::requires_gpu(&format!("{display} engine")),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A further engine needs no line here: its profile says whether it needs GPUs.
    #[test]
    fn the_profile_of_an_engine_decides_whether_it_has_a_rule() {
        let engine =
            |requires_gpu| EngineProfile { display_name: "Fifth", requires_gpu, ..profile(EngineType::Vllm).clone() };
        let [with, without] = [engine(true), engine(false)];
        let rules = engines_require_gpus([("fifth", &with), ("sixth", &without)].into_iter());
        let [rule] = rules.as_slice() else { panic!("{} rules", rules.len()) };
        assert_eq!(rule.message, "Fifth engine requires GPU (set resources.gpu.count > 0)");
        assert!(rule.rule.contains("self.engine.type == 'fifth'"), "{}", rule.rule);
    }
}
