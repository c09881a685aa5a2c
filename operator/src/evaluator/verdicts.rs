//! The verdicts about the deployments that were decided last: the controllers of a process that see the same deployment
//! share one evaluation.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock};

use kubefoundry_compiler::verdict::{AllowList, Outcome, Verdict};
use kubefoundry_model::select::PriorChoice;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::mutex::lock;

/// Number of verdicts that are kept. The controllers reconcile a change within moments of each other, and each of their own
/// writes brings them back. A verdict holds the rendered objects, so one for each of ten thousand deployments would take
/// too much memory.
const MAX_VERDICTS: usize = 256;

/// Verdicts with the options, provider configurations and CRDs of one snapshot.
#[derive(Default)]
pub(crate) struct Verdicts(Mutex<VecDeque<Kept>>);

struct Kept {
    /// The hash of what is evaluated. The generation would not do: it does not count changes of labels and annotations.
    hash: [u8; 32],
    allowed: AllowList,
    /// The choice that was made before.
    prior: Option<PriorChoice>,
    verdict: Arc<OnceLock<Arc<Verdict>>>,
}

impl Kept {
    /// Whether this is the verdict with a choice that was made before. A verdict that made the same choice is: what follows
    /// from a choice does not depend on when it was made. One that failed may have, at a rule of another provider.
    fn is_with(&self, prior: Option<&PriorChoice>) -> bool {
        let chooses = |verdict: &Verdict| verdict.outcome == Outcome::Runs && verdict.choice.as_ref() == prior;
        self.prior.as_ref() == prior
            || self.prior.is_none() && self.verdict.get().is_some_and(|verdict| chooses(verdict))
    }
}

impl Verdicts {
    /// Returns the verdict about a deployment in a namespace that allows these providers, with a choice that was made
    /// before. It is evaluated if it is not known. A controller that asks during the evaluation waits for it.
    pub(crate) fn decide(
        &self,
        deployment: &Value,
        allowed: &AllowList,
        prior: Option<&PriorChoice>,
        evaluate: impl FnOnce() -> Verdict,
    ) -> Arc<Verdict> {
        let verdict = self.find(hash(deployment), allowed, prior);
        Arc::clone(verdict.get_or_init(|| Arc::new(evaluate())))
    }

    fn find(&self, hash: [u8; 32], allowed: &AllowList, prior: Option<&PriorChoice>) -> Arc<OnceLock<Arc<Verdict>>> {
        let mut kept = lock(&self.0);
        // The newest ones are the most likely.
        let known = kept.iter().rev().find(|kept| kept.hash == hash && kept.allowed == *allowed && kept.is_with(prior));
        if let Some(known) = known {
            return Arc::clone(&known.verdict);
        }
        if kept.len() == MAX_VERDICTS {
            kept.pop_front();
        }
        let verdict = Arc::default();
        let (allowed, prior) = (allowed.clone(), prior.cloned());
        kept.push_back(Kept { hash, allowed, prior, verdict: Arc::clone(&verdict) });
        verdict
    }
}

/// Hashes the fields on which an evaluation depends: neither the status, nor what the apiserver records of each write, nor
/// the finalizers, which controllers add.
fn hash(deployment: &Value) -> [u8; 32] {
    let mut hash = Sha256::new();
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
    use std::cell::Cell;

    use kubefoundry_compiler::Thoroughness;
    use kubefoundry_compiler::session::{Providers, Session};
    use kubefoundry_compiler::verdict::Cluster;
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

    #[test]
    fn what_an_evaluation_does_not_read_leads_to_no_other_one() {
        let session = Session::new(&SourceSet::default(), Providers::All).unwrap();
        let (verdicts, evaluations) = (Verdicts::default(), Cell::new(0));
        let decide = |deployment: &Value, allowed: &str| {
            let allowed = AllowList::parse("ml", Some(allowed));
            verdicts.decide(deployment, &allowed, None, || {
                evaluations.set(evaluations.get() + 1);
                let restrict = |_: &[String]| session.clone();
                let thoroughness = Thoroughness::Needed;
                Cluster { session: &session, restrict: &restrict, allowed: &allowed, thoroughness }
                    .decide(deployment, None)
            })
        };
        let first = decide(&phi(1), "dynamo,kaito");
        assert!(Arc::ptr_eq(&first, &decide(&phi(2), "dynamo,kaito")));
        assert_eq!(evaluations.get(), 1);
        assert!(!Arc::ptr_eq(&first, &decide(&phi(2), "kaito")));
        for (path, value) in
            [("/metadata/labels", json!({"a": "b"})), ("/spec/resources", json!({"gpu": {"count": 2}}))]
        {
            let mut changed = phi(3);
            let (parent, name) = path.rsplit_once('/').unwrap();
            changed.pointer_mut(parent).unwrap()[name] = value;
            assert!(!Arc::ptr_eq(&first, &decide(&changed, "dynamo,kaito")), "{path}");
        }
        assert_eq!(evaluations.get(), 4);
        // The oldest ones are dropped.
        for number in 0..MAX_VERDICTS {
            let mut other = phi(1);
            other["metadata"]["name"] = json!(format!("phi-{number}"));
            decide(&other, "dynamo,kaito");
        }
        decide(&phi(1), "dynamo,kaito");
        assert_eq!(evaluations.get(), 5 + MAX_VERDICTS);
    }

    #[test]
    fn the_provider_takes_the_verdict_that_chose_it() {
        let session = Session::new(&SourceSet::default(), Providers::All).unwrap();
        let (verdicts, allowed) = (Verdicts::default(), AllowList::parse("ml", None));
        let decide = |deployment: &Value, prior: Option<&PriorChoice>| {
            let restrict = |_: &[String]| session.clone();
            let thoroughness = Thoroughness::Needed;
            let cluster = Cluster { session: &session, restrict: &restrict, allowed: &allowed, thoroughness };
            verdicts.decide(deployment, &allowed, prior, || cluster.decide(deployment, prior))
        };
        let chosen = decide(&phi(1), None);
        let choice = chosen.choice.clone().unwrap();
        assert!(Arc::ptr_eq(&chosen, &decide(&phi(2), Some(&choice))));
        // Another provider, or another reason, was chosen before.
        for other in [
            PriorChoice { provider: "kaito".to_owned(), ..choice.clone() },
            PriorChoice { reason: "selected before".to_owned(), ..choice.clone() },
        ] {
            assert!(!Arc::ptr_eq(&chosen, &decide(&phi(2), Some(&other))), "{other:?}");
        }
        // A verdict about a provider is none about the choice among all.
        let (phi, mut other) = (phi(1), phi(1));
        other["metadata"]["name"] = json!("other");
        assert!(!Arc::ptr_eq(&decide(&other, Some(&choice)), &decide(&other, None)));
        assert!(Arc::ptr_eq(&decide(&phi, None), &chosen));
    }

    #[test]
    fn controllers_that_ask_at_the_same_time_evaluate_once() {
        let session = Session::new(&SourceSet::default(), Providers::All).unwrap();
        let (verdicts, evaluations) = (Verdicts::default(), Mutex::new(0));
        let allowed = AllowList::parse("ml", None);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    verdicts.decide(&phi(1), &allowed, None, || {
                        *evaluations.lock().unwrap() += 1;
                        let restrict = |_: &[String]| session.clone();
                        let thoroughness = Thoroughness::Needed;
                        Cluster { session: &session, restrict: &restrict, allowed: &allowed, thoroughness }
                            .decide(&phi(1), None)
                    })
                });
            }
        });
        assert_eq!(*evaluations.lock().unwrap(), 1);
    }
}
