//! The models about which facts are known: those of `kubefoundry`, and those that the options describe.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use super::fact_cache::FactCache;
use super::ir::{Deployment, EngineType, ModelSource};
use super::model_config::model_from_config;
use super::wire::ModelDeployment;
use crate::codes;
use kubefoundry_diagnostics::Findings;
use kubefoundry_facts::fit::{Interval, Settings, weights};
use kubefoundry_facts::{Model, kaito_preset_model};
use kubefoundry_kubernetes::wire::Map;
use kubefoundry_kubernetes::wire_object;
use kubefoundry_transform::codes::INVALID_OPTION;
use kubefoundry_transform::{TransformSettings, Trust, refuse_found};
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;

wire_object! {
    /// Facts about a model of your own. Checks of its deployments then need no download.
    pub struct ModelFacts {
        /// The id of a known model with the same facts, such as the base of a fine-tuned model. The other fields
        /// override it.
        like: String = "like",
        /// The model's `config.json`, as a path relative to the file of these options and below its directory. The other
        /// fields override it.
        config: String = "config",
        /// Attention heads: `num_attention_heads` in `config.json`.
        heads: i32 = "heads" [minimum(1)],
        /// Key and value heads: `num_key_value_heads` in `config.json`.
        kv_heads: i32 = "kvHeads" [minimum(1)],
        /// The dimension of a head: `head_dim` in `config.json`.
        head_dim: i32 = "headDim" [minimum(1)],
        /// Layers: `num_hidden_layers` in `config.json`.
        layers: i32 = "layers" [minimum(1)],
        /// The hidden size: `hidden_size` in `config.json`.
        hidden: i32 = "hidden" [minimum(1)],
        /// The size of the vocabulary: `vocab_size` in `config.json`.
        vocab: i32 = "vocab" [minimum(1)],
        /// Positions: `max_position_embeddings` in `config.json`.
        max_position: i32 = "maxPosition" [minimum(1)],
        /// Whether the model can only be downloaded with a token.
        gated: bool = "gated",
    }
}

/// The sources of facts that users state.
pub const DESCRIBED_BY_USERS: &[&str] = &["options", "config.json"];

/// The models that users describe, by id in lower case.
#[derive(Debug, Clone, Default)]
pub struct KnownModels {
    /// Those of the section `models`.
    described: BTreeMap<String, Arc<Model>>,
    /// Those whose `config.json` the user named.
    configured: BTreeMap<String, Arc<Model>>,
    /// Those whose `config.json` is named by a file beside the input.
    found_configs: BTreeMap<String, Arc<Model>>,
}

impl TransformSettings for KnownModels {
    type Section = Map<ModelFacts>;

    const KEY: &'static str = "models";

    const DOC: &'static str =
        "Facts about models of your own, by `spec.model.id`. Models of Hugging Face that are known need none.\n";

    const USES_MODEL_CONFIGS: bool = true;

    fn apply_model_config(&mut self, id: &str, config: &Node<'_>, trust: Trust, findings: &mut Findings<'_>) {
        let model = model_from_config(id, config, findings);
        let configs = match trust {
            Trust::Named => &mut self.configured,
            Trust::Found | Trust::Added => &mut self.found_configs,
        };
        configs.insert(id.to_lowercase(), Arc::new(model));
    }

    fn apply(&mut self, section: Map<ModelFacts>, findings: &mut Findings<'_>) {
        self.apply_facts(section, Trust::Named, findings);
    }

    fn apply_found(&mut self, section: Map<ModelFacts>, findings: &mut Findings<'_>) {
        self.apply_facts(section, Trust::Found, findings);
    }
}

impl KnownModels {
    fn apply_facts(&mut self, section: Map<ModelFacts>, trust: Trust, findings: &mut Findings<'_>) {
        for (id, facts) in section.0 {
            let path = FieldPath::root().key(Self::KEY).key(id.clone());
            let key = id.to_lowercase();
            let configured = self.configured.get(&key).or_else(|| self.found_configs.get(&key)).cloned();
            if let (Some(file), None) = (&facts.config, &configured) {
                let path = path.key("config");
                let message = format!("{path} is {file:?}, but that file was not read");
                findings
                    .report(&INVALID_OPTION, &path, message)
                    .help("write the facts themselves: only the command line reads the files that options name");
            }
            let like = match facts.like.as_deref() {
                None => configured,
                Some(like) => {
                    let base = self.find(like);
                    if base.is_none() {
                        let path = path.key("like");
                        let message = format!("{path} is {like:?}, but no facts about that model are known");
                        findings
                            .report(&INVALID_OPTION, &path, message)
                            .help("name a model of docs/fit.md, or write the facts of its config.json");
                    }
                    base
                }
            };
            let model = describe(id.clone(), &facts, like.map(|like| (*like).clone()).unwrap_or_default());
            let known = self.configured.get(&key).cloned().or_else(|| find_public_model(&id));
            match known.filter(|_| trust != Trust::Named) {
                None => drop(self.described.insert(key, Arc::new(model))),
                Some(known) => {
                    if let Some(filled) = fill_unknown(&known, &model, &facts, &path, findings) {
                        self.described.insert(key, Arc::new(filled));
                    }
                }
            }
        }
    }
}

/// Fills what is not known about a model from a file beside the input, and reports facts that contradict what is known.
/// Returns `None` if there is nothing to fill.
fn fill_unknown(
    known: &Model,
    stated: &Model,
    written: &ModelFacts,
    path: &FieldPath,
    findings: &mut Findings<'_>,
) -> Option<Model> {
    let mut filled = known.clone();
    let mut contradicted = Vec::new();
    fill("heads", &mut filled.heads, stated.heads, &mut contradicted);
    fill("kvHeads", &mut filled.kv_heads, stated.kv_heads, &mut contradicted);
    fill("headDim", &mut filled.head_dim, stated.head_dim, &mut contradicted);
    fill("layers", &mut filled.layers, stated.layers, &mut contradicted);
    fill("hidden", &mut filled.hidden, stated.hidden, &mut contradicted);
    fill("vocab", &mut filled.vocab, stated.vocab, &mut contradicted);
    fill("maxPosition", &mut filled.max_position, stated.max_position, &mut contradicted);
    fill("gated", &mut filled.is_gated, stated.is_gated, &mut contradicted);
    for (field, known, stated) in &contradicted {
        let is_written = match *field {
            "heads" => written.heads.is_some(),
            "kvHeads" => written.kv_heads.is_some(),
            "headDim" => written.head_dim.is_some(),
            "layers" => written.layers.is_some(),
            "hidden" => written.hidden.is_some(),
            "vocab" => written.vocab.is_some(),
            "maxPosition" => written.max_position.is_some(),
            _ => true,
        };
        let source = if written.like.is_some() { "like" } else { "config" };
        let place = path.key(if is_written { field } else { source });
        refuse_found(&place, &format!("makes {field} of a known model {stated} instead of {known}"), findings);
    }
    if !contradicted.is_empty() || filled == *known {
        return None;
    }
    filled.source = Cow::Borrowed("options");
    Some(filled)
}

/// Fills a fact that is not known, or adds its name with what is known and stated to the contradictions.
fn fill<T: PartialEq + Copy + Display>(
    field: &'static str,
    known: &mut Option<T>,
    stated: Option<T>,
    contradicted: &mut Vec<(&'static str, String, String)>,
) {
    match (*known, stated) {
        (Some(known), Some(stated)) if known != stated => {
            contradicted.push((field, known.to_string(), stated.to_string()));
        }
        (None, Some(_)) => *known = stated,
        _ => {}
    }
}

/// Returns the facts that the options state about a model, on top of those of a known one.
fn describe(id: String, facts: &ModelFacts, like: Model) -> Model {
    let ModelFacts { heads, kv_heads, head_dim, layers, hidden, vocab, max_position, gated, .. } = *facts;
    let count =
        |written: Option<i32>, known: Option<u32>| written.and_then(|count| u32::try_from(count).ok()).or(known);
    let mut model = like;
    model.id = Cow::Owned(id);
    model.heads = count(heads, model.heads);
    model.kv_heads = count(kv_heads, model.kv_heads);
    model.head_dim = count(head_dim, model.head_dim);
    model.layers = count(layers, model.layers);
    model.hidden = count(hidden, model.hidden);
    model.vocab = count(vocab, model.vocab);
    if let Some(positions) = max_position {
        model.max_position = u64::try_from(positions).ok();
        model.has_rope_scaling = false;
    }
    // The base may be gated; the fine-tuned model is where the user put it.
    model.is_gated = gated;
    // A fine-tuned model may have another chat template.
    model.tool_parser = None;
    model.reasoning_parser = None;
    model.source = Cow::Borrowed("options");
    model
}

impl KnownModels {
    /// Finds the facts about a model by its id, or by the name that KAITO has for it.
    fn find(&self, id: &str) -> Option<Arc<Model>> {
        if !self.described.is_empty() || !self.configured.is_empty() {
            let id = id.to_lowercase();
            if let Some(model) = self.described.get(&id).or_else(|| self.configured.get(&id)) {
                return Some(Arc::clone(model));
            }
        }
        find_public_model(id)
    }

    /// Adds what is known about the model of a deployment to it, and warns about what follows from it alone.
    pub fn describe_model(&self, deployment: &mut Deployment, findings: &mut Findings<'_>) {
        let model = &mut deployment.model;
        if model.source.value != ModelSource::HuggingFace {
            return;
        }
        model.facts = model.id.as_deref().and_then(|id| self.find(id));
        warn_about_gated_model(deployment, findings);
    }
}

/// Finds the facts about a public model by its id, or by the name that KAITO has for it.
pub fn find_public_model(id: &str) -> Option<Arc<Model>> {
    static MODELS: FactCache<String, Option<Arc<Model>>> = FactCache::new();
    MODELS.get_or_find(id, || kubefoundry_facts::model(kaito_preset_model(id).unwrap_or(id)).map(Arc::new))
}

/// Returns the bytes of a model's weights with the numbers of its checkpoint.
pub fn checkpoint_size(model: &Model) -> Interval {
    static SIZES: FactCache<String, Interval> = FactCache::new();
    let compute = || weights(model, &Settings::default());
    // Only the ids of public models always mean the same facts.
    if DESCRIBED_BY_USERS.contains(&&*model.source) { compute() } else { SIZES.get_or_find(&*model.id, compute) }
}

/// Variables that give a token for Hugging Face, or take models from elsewhere.
const DOWNLOAD_VARIABLES: &[&str] = &[
    "HF_ENDPOINT",
    "HF_HUB_OFFLINE",
    "HF_TOKEN",
    "HF_TOKEN_PATH",
    "HUGGING_FACE_HUB_TOKEN",
    "SGLANG_USE_MODELSCOPE",
    "VLLM_USE_MODELSCOPE",
];

/// Warns if a model can only be downloaded with a token, and the deployment has none. A volume may have the model already.
fn warn_about_gated_model(deployment: &Deployment, findings: &mut Findings<'_>) {
    let model = &deployment.model;
    let (Some(id), Some(facts)) = (&model.id, &model.facts) else { return };
    // Images of llama.cpp often contain their model.
    let may_have_model = !model.volumes.is_empty() || deployment.engine.kind == EngineType::Llamacpp;
    if facts.is_gated != Some(true) || deployment.hugging_face_token.is_some() || may_have_model {
        return;
    }
    let mut variables = deployment.env.iter().filter_map(|variable| variable.name.as_deref());
    if variables.any(|name| DOWNLOAD_VARIABLES.contains(&name)) {
        return;
    }
    let path = ModelDeployment::path().spec().model().id();
    let secret = ModelDeployment::path().spec().secrets().hugging_face_token();
    let message = format!("{id} can only be downloaded with a token, but {secret} is not set");
    findings.report(&codes::GATED_MODEL_WITHOUT_TOKEN, path, message).help(format!(
        "set {secret} to the name of a Secret with the key HF_TOKEN, of an account that accepted the license"
    ));
}
