//! The documents that `init` writes: a ModelDeployment and the options.

use kubefoundry_compiler::options::render::{API_VERSION, Render};
use kubefoundry_composition::PROVIDERS;
use kubefoundry_deployment::wire::{EngineType, KIND, ModelDeployment};
use kubefoundry_kubernetes::api_group;
use kubefoundry_provider::Provider;
use kubefoundry_provider::starter::{Starter, StarterField, StarterRequest};
use kubefoundry_yaml::field_path::{FieldPath, Segment};

use super::commented_document::CommentedDocument;
use super::gpu_suggestion::REFERENCE;

/// The name of the Secret with the token for gated models.
pub(super) const TOKEN_SECRET: &str = "hf-token";

/// What a first deployment is made of.
#[derive(Clone)]
pub(super) struct Deployment {
    pub(super) model: String,
    pub(super) engine: EngineType,
    pub(super) gpus: u32,
    /// The provider that the user names.
    pub(super) provider: Option<&'static str>,
    /// The provider that runs the deployment, if it is known.
    pub(super) selected: Option<&'static dyn Provider>,
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    /// Whether the model can only be downloaded with a token.
    pub(super) is_gated: bool,
    /// The GPUs on which the model fits, as a sentence.
    pub(super) fit: Option<String>,
}

impl Deployment {
    fn starter(&self) -> Starter {
        let request = StarterRequest { engine: self.engine, gpus: self.gpus };
        self.selected.map(|provider| provider.starter(request)).unwrap_or_default()
    }

    /// Writes the ModelDeployment.
    pub(super) fn model_deployment(&self) -> String {
        let mut document = CommentedDocument::new();
        let path = ModelDeployment::path;
        let spec = || path().spec();
        document.set(path().api_version(), api_group::DEFAULT.api_version());
        document.describe(
            path().api_version(),
            "A model to serve. `kubefoundry explain spec.engine` describes the fields below a field, and `kubefoundry explain` \
             with the name of this file shows which provider runs the model, and why.",
        );
        document.set(path().kind(), KIND);
        document.set(path().metadata().name(), self.name.as_str());
        match &self.namespace {
            Some(namespace) => document.set(path().metadata().namespace(), namespace.as_str()),
            None => document.suggest(path().metadata().name(), "", "namespace: models"),
        }
        document.set(spec().model().id(), self.model.as_str());
        document.describe(spec().model().id(), "The model on HuggingFace, or its path on a volume of `storage`.");
        if let Some(provider) = self.provider {
            document.set(spec().provider().name(), provider);
        } else {
            let names: Vec<&str> = PROVIDERS.iter().map(|provider| provider.name()).collect();
            let rule = format!("Without a name, rules select the provider: {}.", names.join(", "));
            document.suggest(spec().model(), rule, format!("provider:\n  name: {}", self.provider_example()));
        }
        document.set(spec().engine().engine_type(), self.engine.as_str());
        document.suggest(
            spec().engine().engine_type(),
            "The longest context in tokens, by default that of the model. A shorter one needs less memory.",
            "contextLength: 8192",
        );
        if self.gpus > 0 {
            let count = spec().resources().gpu().count();
            document.set(count.clone(), self.gpus);
            let fit = self.fit.as_deref().unwrap_or(
                "Nothing is known about the memory that this model needs. Describe it in the option `models`, and lint checks \
                 whether it fits.",
            );
            document.describe(count, format!("The GPUs of one replica. {fit}"));
        } else {
            let (cpu, memory) = (spec().resources().cpu(), spec().resources().memory());
            document.set(cpu.clone(), "4");
            document.set(memory, "16Gi");
            document.describe(cpu, "The model runs on CPUs. Its weights and its context must fit the memory.");
        }
        for StarterField { path, value, comment } in self.starter().deployment {
            document.set(path.clone(), value);
            document.describe(path, comment);
        }
        if self.is_gated {
            let secret = spec().secrets().hugging_face_token();
            document.set(secret.clone(), TOKEN_SECRET);
            document.describe(
                secret,
                "A Secret with the key HF_TOKEN: the token of an account that has accepted the license of the model.",
            );
        }
        document.to_text()
    }

    /// The provider in the comment about providers.
    fn provider_example(&self) -> &'static str {
        self.selected.unwrap_or(PROVIDERS[0]).name()
    }

    /// Writes the options.
    pub(super) fn options(&self) -> String {
        let mut document = CommentedDocument::new();
        let path = Render::path;
        document.set(path().api_version(), API_VERSION);
        document.describe(
            path().api_version(),
            "Options of kubefoundry for this directory. `kubefoundry explain render` lists all of them; flags override them.",
        );
        document.set(path().kind(), "Render");
        let mut last = FieldPath::from(path().kind());
        for provider in PROVIDERS {
            if let Some(newest) = provider.info().runtimes.first() {
                document.set(path().runtimes().key(provider.name()), *newest);
                last = path().runtimes().into();
            }
        }
        document.describe(
            path().runtimes(),
            "The versions of the providers' runtimes, which decide default images and the flags that are checked. Write those \
             of your cluster. Without this pin, an upgrade of kubefoundry would change what runs.",
        );
        for StarterField { path, value, comment } in self.starter().options {
            document.set(path.clone(), value);
            document.describe(path.clone(), comment);
            if let Some(key) = path.segments().first().and_then(Segment::as_key) {
                last = FieldPath::root().with_key(key.to_owned());
            }
        }
        document.suggest(
            last,
            "The GPU of your nodes. With it, lint checks whether models fit, and `kubefoundry fit` shows with how much context.",
            format!("gpus:\n  default: {REFERENCE}"),
        );
        document.to_text()
    }
}
