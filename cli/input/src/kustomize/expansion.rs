//! Counts what kustomize makes of a kustomization before it runs, so that no result depends on how fast a machine is.

use kubefoundry_yaml::Node;

/// The maximum number of files that one kustomization may lead to.
const MAX_FILES: u64 = 20_000;

/// The maximum number of bytes that kustomize may read for one kustomization. A file counts each time it is included.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The maximum number of steps for one kustomization: 4,000 resources in one list are 16 million, for which kustomize
/// takes about 15 s.
const MAX_STEPS: u64 = 20_000_000;

/// The maximum numbers of one run.
const MAX_RUN: Spent = Spent { files: 100_000, bytes: 256 * 1024 * 1024, steps: 100_000_000 };

/// The lists of a kustomization whose entries kustomize applies to every resource.
const OPERATIONS: [&str; 13] = [
    "patches",
    "patchesJson6902",
    "patchesStrategicMerge",
    "replacements",
    "replicas",
    "images",
    "imageTags",
    "labels",
    "vars",
    "generators",
    "transformers",
    "validators",
    "configurations",
];

/// What kustomize makes of a kustomization.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Expansion {
    /// The references to files.
    files: u64,
    /// The resources after every inclusion, at least; a resource that is included twice counts twice.
    resources: u64,
    bytes: u64,
    /// Kustomize compares each resource with every other one on each level, and applies each patch to each.
    steps: u64,
}

impl Expansion {
    /// Adds what a kustomization includes.
    pub(super) fn add(&mut self, included: Self) {
        self.resources = self.resources.saturating_add(included.resources);
        self.bytes = self.bytes.saturating_add(included.bytes);
        self.steps = self.steps.saturating_add(included.steps);
    }

    /// Counts a file once, however often it is included.
    pub(super) fn add_file(&mut self) {
        self.files = self.files.saturating_add(1);
    }

    pub(super) fn has_too_many_files(&self) -> bool {
        self.files > MAX_FILES
    }

    /// Adds the resources of a file. Every object has a version, also in a list.
    pub(super) fn add_resources(&mut self, text: &str) {
        let count = memchr::memmem::find_iter(text.as_bytes(), "apiVersion").count();
        self.resources = self.resources.saturating_add(u64::try_from(count.max(1)).unwrap_or(u64::MAX));
        self.add_bytes(u64::try_from(text.len()).unwrap_or(u64::MAX));
    }

    /// Adds a file that is not a resource.
    pub(super) fn add_bytes(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Adds the entries of a ConfigMap or Secret. Kustomize compares each with every other one, in a fiftieth of the time of
    /// a step.
    pub(super) fn add_entries(&mut self, entries: u64) {
        self.steps = self.steps.saturating_add(entries.saturating_mul(entries) / 50);
    }

    /// Adds what the kustomization itself does with all of its resources.
    pub(super) fn close(&mut self, root: &Node<'_>) {
        let count = |field: &str| root.get(field).map_or(0, |list| list.items().len());
        let generators = ["configMapGenerator", "secretGenerator"].iter().filter_map(|field| root.get(field));
        for generator in generators.flat_map(Node::items) {
            let entries = ["literals", "files"].iter().filter_map(|field| generator.get(field));
            self.add_entries(u64::try_from(entries.map(|list| list.items().len()).sum::<usize>()).unwrap_or(u64::MAX));
        }
        let generated = count("configMapGenerator") + count("secretGenerator");
        self.resources = self.resources.saturating_add(u64::try_from(generated).unwrap_or(u64::MAX));
        let operations = u64::try_from(OPERATIONS.iter().map(|field| count(field)).sum::<usize>()).unwrap_or(u64::MAX);
        let steps = self.resources.saturating_mul(self.resources.saturating_add(operations));
        self.steps = self.steps.saturating_add(steps);
    }
}

/// What the kustomizations of a run have used up.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spent {
    files: u64,
    bytes: u64,
    steps: u64,
}

impl Spent {
    /// Adds a kustomization. If it is too large, alone or after those before it, returns why, and adds nothing.
    pub(super) fn spend(&mut self, expansion: Expansion) -> Result<(), String> {
        let Expansion { files, bytes, steps, .. } = expansion;
        let limits = [
            ("files", files, MAX_FILES, self.files, MAX_RUN.files),
            ("bytes to read", bytes, MAX_BYTES, self.bytes, MAX_RUN.bytes),
            ("steps to build", steps, MAX_STEPS, self.steps, MAX_RUN.steps),
        ];
        for (unit, amount, limit, spent, run_limit) in limits {
            if amount > limit {
                return Err(format!("it has {amount} {unit}, expected at most {limit}"));
            }
            if spent.saturating_add(amount) > run_limit {
                return Err(format!("all kustomizations together have more than {run_limit} {unit}"));
            }
        }
        self.files += files;
        self.bytes += bytes;
        self.steps += steps;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubefoundry_yaml as yaml;

    fn close(mut expansion: Expansion, text: &str) -> Expansion {
        expansion.close(&yaml::parse(text, &yaml::Limits::default()).documents[0].root);
        expansion
    }

    /// A base that is included twice on each of 30 levels is counted without being built.
    #[test]
    fn inclusions_multiply() {
        let mut expansion = Expansion::default();
        expansion.add_resources("apiVersion: v1\n");
        for _ in 0..30 {
            let mut next = Expansion::default();
            next.add(expansion);
            next.add(expansion);
            expansion = close(next, "namePrefix: a-\n");
        }
        assert_eq!(expansion.resources, 1 << 30);
        assert!(Spent::default().spend(expansion).unwrap_err().contains("expected at most"));
    }

    #[test]
    fn the_roots_of_a_run_share_its_budget() {
        let mut spent = Spent::default();
        let expansion = Expansion { files: 10, resources: 4000, bytes: 1 << 20, steps: 16_000_000 };
        for _ in 0..6 {
            spent.spend(expansion).unwrap();
        }
        assert_eq!(
            spent.spend(expansion).unwrap_err(),
            "all kustomizations together have more than 100000000 steps to build"
        );
        // A small one still has its place.
        spent.spend(Expansion { steps: 100, ..Expansion::default() }).unwrap();
    }

    #[test]
    fn patches_count_for_each_resource() {
        let resources = Expansion { resources: 100, ..Expansion::default() };
        assert_eq!(close(resources, "patches: [{}, {}]\nreplicas: [{}]\n").steps, 100 * 103);
    }
}
