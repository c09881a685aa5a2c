//! The verdicts about the deployments that were decided last: the controllers of a process that see the same deployment
//! share one evaluation.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock};

use kubefoundry_compiler::verdict::{AllowList, Outcome, Verdict};
use kubefoundry_model::select::PriorChoice;
use kubefoundry_reconcile::decision::{Decision, Rendering};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use kubefoundry_controller_runtime::mutex::lock;
use kubefoundry_reconcile::cached_object::CompressedJson;

/// Number of verdicts that are kept. Each takes tens of kilobytes.
const MAX_VERDICTS: usize = 128;
/// Maximum size of the compressed objects that are kept, in bytes: those of some thousands of deployments. Only the provider
/// reads them: after the deployment was decided, and again after each of its own writes. A busy apiserver delivers the
/// watches seconds late, in which several hundred others are decided.
const MAX_RENDERED_BYTES: usize = 1 << 20;
/// Number of choices that are kept; then all are dropped. One takes some 30 bytes.
const MAX_CHOICES: usize = 1 << 16;

/// Verdicts with the options, provider configurations and CRDs of one snapshot.
#[derive(Default)]
pub(crate) struct Verdicts {
    recent: Mutex<VecDeque<Recent>>,
    /// What is left of verdicts that are no longer in `recent`.
    rendered: Mutex<RenderedDeployments>,
    choices: Mutex<Choices>,
}

/// The hash of what an evaluation reads. The generation would not do: it does not count changes of labels and annotations.
type Hash = [u8; 32];

struct Recent {
    hash: Hash,
    /// The choice that was made before.
    prior: Option<PriorChoice>,
    verdict: Arc<OnceLock<Arc<Verdict>>>,
}

/// The objects of a deployment that runs.
struct Rendered {
    hash: Hash,
    choice: PriorChoice,
    objects: CompressedJson,
}

impl Rendered {
    fn new(recent: &Recent) -> Option<Self> {
        // A verdict that is still evaluated is known to those who wait for it alone.
        let verdict = recent.verdict.get().filter(|verdict| verdict.outcome == Outcome::Runs)?;
        let objects = CompressedJson::from_values(&verdict.evaluation.objects);
        Some(Self { hash: recent.hash, choice: verdict.choice.clone()?, objects })
    }

    /// Returns the size in bytes.
    fn size(&self) -> usize {
        size_of::<Self>() + self.objects.size() + self.choice.provider.len() + self.choice.reason.len()
    }
}

/// The objects of the deployments that were decided last, the oldest first.
#[derive(Default)]
struct RenderedDeployments {
    all: VecDeque<Rendered>,
    bytes: usize,
}

impl RenderedDeployments {
    fn push(&mut self, rendered: Rendered) {
        self.bytes += rendered.size();
        self.all.push_back(rendered);
        while self.bytes > MAX_RENDERED_BYTES
            && let Some(oldest) = self.all.pop_front()
        {
            self.bytes -= oldest.size();
        }
    }

    fn find(&self, hash: Hash, choice: &PriorChoice) -> Option<CompressedJson> {
        // The newest ones are the most likely.
        let mut all = self.all.iter().rev();
        all.find(|known| known.hash == hash && known.choice == *choice).map(|known| known.objects.clone())
    }
}

/// The choices of the deployments that run.
#[derive(Default)]
struct Choices {
    /// By the first half of the hash.
    by_hash: BTreeMap<u128, Arc<PriorChoice>>,
    /// Each choice once: few providers are chosen for few reasons.
    distinct: Vec<Arc<PriorChoice>>,
}

impl Choices {
    fn get(&self, hash: Hash) -> Option<Arc<PriorChoice>> {
        self.by_hash.get(&half(hash)).cloned()
    }

    fn set(&mut self, hash: Hash, choice: &PriorChoice) {
        if self.by_hash.len() == MAX_CHOICES {
            *self = Self::default();
        }
        let known = self.distinct.iter().find(|known| ***known == *choice).cloned();
        let choice = known.unwrap_or_else(|| {
            self.distinct.push(Arc::new(choice.clone()));
            Arc::clone(&self.distinct[self.distinct.len() - 1])
        });
        self.by_hash.insert(half(hash), choice);
    }
}

fn half(hash: Hash) -> u128 {
    u128::from_le_bytes(std::array::from_fn(|at| hash[at]))
}

impl Verdicts {
    /// Decides a deployment in a namespace that allows these providers, without regard to an earlier choice.
    pub(crate) fn decide(
        &self,
        deployment: &Value,
        allowed: &AllowList,
        evaluate: impl FnOnce(Option<&PriorChoice>) -> Verdict,
    ) -> Decision {
        let hash = hash(deployment, allowed);
        let known = lock(&self.choices).get(hash);
        known.map_or_else(|| Decision::new(self.evaluate(hash, None, evaluate)), Decision::Runs)
    }

    /// Renders a deployment with a choice that was made before.
    ///
    /// A verdict that comes to the same choice without it is that verdict too: what follows from a choice does not depend on
    /// when it was made. One with an error is not, because the error may be at a rule of another provider.
    pub(crate) fn render(
        &self,
        deployment: &Value,
        allowed: &AllowList,
        prior: &PriorChoice,
        evaluate: impl Fn(Option<&PriorChoice>) -> Verdict,
    ) -> Rendering {
        let hash = hash(deployment, allowed);
        let rendered = lock(&self.rendered).find(hash, prior);
        if let Some(objects) = rendered.and_then(|objects| objects.to_values()) {
            return Rendering::Objects(objects);
        }
        let known = lock(&self.choices).get(hash);
        if known.is_none_or(|known| *known == *prior) {
            let verdict = self.evaluate(hash, None, &evaluate);
            if verdict.outcome == Outcome::Runs && verdict.choice.as_ref() == Some(prior) {
                return Rendering::new(verdict);
            }
        }
        Rendering::new(self.evaluate(hash, Some(prior), evaluate))
    }

    /// Returns a verdict. It is evaluated if it is not known. A controller that asks during the evaluation waits for it.
    fn evaluate(
        &self,
        hash: Hash,
        prior: Option<&PriorChoice>,
        evaluate: impl FnOnce(Option<&PriorChoice>) -> Verdict,
    ) -> Arc<Verdict> {
        let place = self.find(hash, prior);
        let verdict = place.get_or_init(|| {
            let verdict = evaluate(prior);
            if prior.is_none()
                && verdict.outcome == Outcome::Runs
                && let Some(choice) = &verdict.choice
            {
                lock(&self.choices).set(hash, choice);
            }
            Arc::new(verdict)
        });
        Arc::clone(verdict)
    }

    fn find(&self, hash: Hash, prior: Option<&PriorChoice>) -> Arc<OnceLock<Arc<Verdict>>> {
        let mut recent = lock(&self.recent);
        // The newest ones are the most likely.
        let is_it = |known: &Recent| known.hash == hash && known.prior.as_ref() == prior;
        if let Some(at) = recent.iter().rposition(is_it)
            && let Some(known) = recent.remove(at)
        {
            let verdict = Arc::clone(&known.verdict);
            recent.push_back(known);
            return verdict;
        }
        let oldest = if recent.len() == MAX_VERDICTS { recent.pop_front() } else { None };
        let verdict = Arc::default();
        recent.push_back(Recent { hash, prior: prior.cloned(), verdict: Arc::clone(&verdict) });
        drop(recent);
        if let Some(oldest) = oldest.as_ref().and_then(Rendered::new) {
            lock(&self.rendered).push(oldest);
        }
        verdict
    }
}

/// Hashes the fields on which an evaluation depends: neither the status, nor what the apiserver records of each write, nor
/// the finalizers, which controllers add.
fn hash(deployment: &Value, allowed: &AllowList) -> Hash {
    let mut hash = Sha256::new();
    hash.update(format!("{:?}\n", allowed.providers()));
    for (name, value) in deployment.as_object().into_iter().flatten().filter(|(name, _)| *name != "status") {
        hash.update(name);
        match value.as_object().filter(|_| name == "metadata") {
            Some(metadata) => {
                let recorded = ["managedFields", "resourceVersion", "generation", "finalizers"];
                for (name, value) in metadata.iter().filter(|(name, _)| !recorded.contains(&name.as_str())) {
                    hash.update(format!("{name}={value}\n"));
                }
            }
            None => hash.update(format!("={value}\n")),
        }
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use kubefoundry_compiler::Thoroughness;
    use kubefoundry_compiler::session::{Providers, Session};
    use kubefoundry_compiler::verdict::Cluster;
    use kubefoundry_composition::BUILTIN;
    use kubefoundry_diagnostics::source::SourceSet;
    use serde_json::json;

    use super::*;

    fn phi(version: u32) -> Value {
        json!({
            "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment",
            "metadata": {"name": "phi", "namespace": "ml", "uid": "u", "resourceVersion": version.to_string()},
            "spec": {"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}},
            "status": {"message": format!("written {version} times")},
        })
    }

    /// The verdicts of one session, and how often it evaluated.
    struct Counted {
        session: Session,
        verdicts: Verdicts,
        evaluations: Mutex<usize>,
    }

    impl Counted {
        fn new() -> Self {
            let session = Session::new(&BUILTIN, &SourceSet::default(), Providers::All).unwrap();
            Self { session, verdicts: Verdicts::default(), evaluations: Mutex::default() }
        }

        fn evaluate(&self, deployment: &Value, allowed: &AllowList, prior: Option<&PriorChoice>) -> Verdict {
            *lock(&self.evaluations) += 1;
            let restrict = |_: &[String]| self.session.clone();
            let thoroughness = Thoroughness::Needed;
            Cluster { session: &self.session, restrict: &restrict, allowed, thoroughness }.decide(deployment, prior)
        }

        /// Decides as core and the selector do.
        fn decide(&self, deployment: &Value, allowed: Option<&str>) -> Decision {
            let allowed = AllowList::parse("ml", allowed);
            self.verdicts.decide(deployment, &allowed, |prior| self.evaluate(deployment, &allowed, prior))
        }

        /// Renders as a provider does.
        fn render(&self, deployment: &Value, prior: &PriorChoice) -> Vec<Value> {
            let allowed = AllowList::parse("ml", None);
            let evaluate = |prior: Option<&PriorChoice>| self.evaluate(deployment, &allowed, prior);
            match self.verdicts.render(deployment, &allowed, prior, evaluate) {
                Rendering::Objects(objects) => objects,
                Rendering::None(verdict) => panic!("{}", verdict.message),
            }
        }

        fn evaluations(&self) -> usize {
            *lock(&self.evaluations)
        }
    }

    fn renamed(name: &str) -> Value {
        let mut renamed = phi(1);
        renamed["metadata"]["name"] = json!(name);
        renamed
    }

    #[test]
    fn what_an_evaluation_does_not_read_leads_to_no_other_one() {
        let counted = Counted::new();
        let allowed = Some("dynamo,kaito");
        let first = counted.decide(&phi(1), allowed);
        assert_eq!(first.choice(), counted.decide(&phi(2), allowed).choice());
        assert_eq!(counted.evaluations(), 1);
        assert_eq!(counted.decide(&phi(2), Some("kuberay")).outcome(), Outcome::NotAllowed);
        assert_eq!(counted.evaluations(), 2);
        for (number, (path, value)) in
            [("/metadata/labels", json!({"a": "b"})), ("/spec/resources", json!({"gpu": {"count": 2}}))]
                .into_iter()
                .enumerate()
        {
            let mut changed = phi(3);
            let (parent, name) = path.rsplit_once('/').unwrap();
            changed.pointer_mut(parent).unwrap()[name] = value;
            counted.decide(&changed, allowed);
            assert_eq!(counted.evaluations(), 3 + number, "{path}");
        }
    }

    #[test]
    fn of_a_deployment_that_runs_the_choice_is_kept_longer_than_the_verdict() {
        let counted = Counted::new();
        let choice = counted.decide(&phi(1), None).choice().unwrap().clone();
        let mut invalid = renamed("invalid");
        invalid["spec"]["engine"]["args"] = json!({"tensor-parallel-size": "8"});
        assert_eq!(counted.decide(&invalid, None).outcome(), Outcome::Invalid);
        let rendered = counted.render(&phi(1), &choice);
        for number in 0..MAX_VERDICTS {
            counted.decide(&renamed(&format!("phi-{number}")), None);
        }
        assert_eq!(counted.evaluations(), 2 + MAX_VERDICTS);
        assert_eq!(counted.decide(&phi(1), None).choice(), Some(&choice));
        assert_eq!(counted.render(&phi(2), &choice), rendered);
        assert_eq!(counted.evaluations(), 2 + MAX_VERDICTS);
        // Core needs the errors.
        assert_eq!(counted.decide(&invalid, None).outcome(), Outcome::Invalid);
        assert_eq!(counted.evaluations(), 3 + MAX_VERDICTS);
        assert_eq!(lock(&counted.verdicts.choices).distinct.len(), 1);
    }

    #[test]
    fn after_many_others_a_deployment_is_rendered_again() {
        let counted = Counted::new();
        let choice = counted.decide(&phi(1), None).choice().unwrap().clone();
        let rendered = counted.render(&phi(1), &choice);
        let size = || lock(&counted.verdicts.rendered).bytes;
        let mut others = 0;
        let mut before = 0;
        // Until the oldest are dropped.
        while size() >= before {
            before = size();
            counted.decide(&renamed(&format!("phi-{others}")), None);
            others += 1;
        }
        assert!((1000..10_000).contains(&others) && size() <= MAX_RENDERED_BYTES, "{others} take {} bytes", size());
        let before = counted.evaluations();
        assert_eq!(counted.render(&phi(1), &choice), rendered);
        assert_eq!(counted.evaluations(), before + 1);
    }

    #[test]
    fn the_provider_takes_the_verdict_that_chose_it() {
        let counted = Counted::new();
        let choice = counted.decide(&phi(1), None).choice().unwrap().clone();
        let chosen = counted.render(&phi(2), &choice);
        assert_eq!(counted.evaluations(), 1);
        // Another provider, or another reason, was chosen before.
        let others = [
            PriorChoice { provider: "kaito".to_owned(), ..choice.clone() },
            PriorChoice { reason: "selected before".to_owned(), ..choice.clone() },
        ];
        for (number, other) in others.iter().enumerate() {
            let again = counted.render(&phi(2), other);
            assert_ne!(chosen, again, "{other:?}");
            assert_eq!(again, counted.render(&phi(3), other), "{other:?}");
            assert_eq!(counted.evaluations(), 2 + number);
        }
        // They are kept apart also when nothing else of them is kept.
        for number in 0..MAX_VERDICTS {
            counted.decide(&renamed(&format!("phi-{number}")), None);
        }
        let before = counted.evaluations();
        assert_eq!(counted.render(&phi(2), &choice), chosen);
        for other in &others {
            assert_ne!(counted.render(&phi(2), other), chosen, "{other:?}");
        }
        assert_eq!(counted.evaluations(), before);
        // The provider may also ask first.
        counted.render(&renamed("other"), &choice);
        assert_eq!(counted.decide(&renamed("other"), None).choice(), Some(&choice));
        assert_eq!(counted.evaluations(), before + 1);
    }

    #[test]
    fn controllers_that_ask_at_the_same_time_evaluate_once() {
        let counted = Counted::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| counted.decide(&phi(1), None));
            }
        });
        assert_eq!(counted.evaluations(), 1);
    }
}
