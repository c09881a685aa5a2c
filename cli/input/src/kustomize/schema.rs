//! The fields of a kustomization and of the configurations of kustomize's own plugins, with what their values name.
//!
//! Source: `Kustomization` in api/types/kustomization.go and the structs of api/internal/builtins in
//! kubernetes-sigs/kustomize (kustomize 5.8.2). Kustomize reads keys without regard to case and takes the last of equal
//! ones; what is not written here, exactly, is refused.

/// What a value may be.
#[derive(Debug)]
pub(super) enum Shape {
    /// Data that names nothing: a scalar, or a collection whose keys are the user's.
    Data,
    /// A mapping with these fields and no others.
    Fields(&'static [Field]),
    /// A mapping with the fields of several lists.
    AllFields(&'static [&'static [Field]]),
    List(&'static Shape),
    /// A string that names a file or a directory.
    Reference(Reference),
}

/// A key and the shape of its value.
pub(super) type Field = (&'static str, Shape);

/// What a string names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reference {
    /// A file with objects, or the directory of a kustomization.
    Resource,
    /// The directory of a component.
    Component,
    /// A file with a patch.
    Patch,
    /// A file with a patch, or the patch itself.
    PatchOrText,
    /// Any other file.
    File,
    /// A file with a `key=value` in each line.
    EnvironmentFile,
    /// A file after an optional `key=`.
    KeyedFile,
    /// A file or a directory that helm reads, and that may be missing.
    HelmPath,
    /// The name of a chart, which is a directory below `chartHome`.
    Chart,
    /// A file with the configuration of a plugin, or the configuration itself.
    Plugin,
}

impl Shape {
    /// Returns the fields of a mapping.
    pub(super) fn fields(&'static self) -> impl Iterator<Item = &'static Field> {
        let (fields, lists): (&[Field], &[&[Field]]) = match self {
            Self::Fields(fields) => (fields, &[]),
            Self::AllFields(lists) => (&[], lists),
            Self::Data | Self::List(_) | Self::Reference(_) => (&[], &[]),
        };
        fields.iter().chain(lists.iter().copied().flatten())
    }
}

use Reference::{Chart, Component, EnvironmentFile, File, HelmPath, KeyedFile, Patch, PatchOrText, Plugin, Resource};
use Shape::{AllFields, Data, Fields, List};

/// The fields of a kustomization and of a component.
pub(super) const KUSTOMIZATION: Shape = Fields(&[
    ("apiVersion", Data),
    ("kind", Data),
    ("metadata", METADATA),
    ("openapi", Fields(&[("path", Shape::Reference(File)), ("version", Data)])),
    ("namePrefix", Data),
    ("nameSuffix", Data),
    ("namespace", Data),
    ("commonLabels", Data),
    (
        "labels",
        List(&Fields(&[
            ("pairs", Data),
            ("includeSelectors", Data),
            ("includeTemplates", Data),
            ("includeVolumeClaimTemplates", Data),
            ("fields", FIELD_SPECS),
        ])),
    ),
    ("commonAnnotations", Data),
    ("patchesStrategicMerge", List(&Shape::Reference(PatchOrText))),
    ("patchesJson6902", List(&Fields(PATCH))),
    ("patches", List(&Fields(PATCH))),
    ("images", List(&IMAGE)),
    ("imageTags", List(&IMAGE)),
    ("replacements", REPLACEMENTS),
    ("replicas", List(&REPLICA)),
    (
        "vars",
        List(&Fields(&[
            ("name", Data),
            ("objref", AllFields(&[GVK, &[("apiVersion", Data), ("name", Data), ("namespace", Data)]])),
            // The documentation of kustomize has both spellings.
            ("fieldref", Fields(&[("fieldPath", Data), ("fieldpath", Data)])),
        ])),
    ),
    ("sortOptions", SORT_OPTIONS),
    ("resources", List(&Shape::Reference(Resource))),
    ("components", List(&Shape::Reference(Component))),
    ("crds", List(&Shape::Reference(File))),
    ("bases", List(&Shape::Reference(Resource))),
    ("configMapGenerator", List(&Fields(GENERATOR))),
    ("secretGenerator", List(&AllFields(&[GENERATOR, &[("type", Data)]]))),
    ("helmGlobals", Fields(HELM_GLOBALS)),
    ("helmCharts", List(&Fields(HELM_CHART))),
    (
        "helmChartInflationGenerator",
        List(&Fields(&[
            ("chartName", Shape::Reference(Chart)),
            ("chartVersion", Data),
            ("chartRepoUrl", Data),
            ("chartHome", Shape::Reference(HelmPath)),
            ("chartRepoName", Data),
            ("helmBin", Data),
            ("helmHome", Shape::Reference(HelmPath)),
            ("values", Shape::Reference(HelmPath)),
            ("valuesLocal", Data),
            ("valuesMerge", Data),
            ("releaseName", Data),
            ("releaseNamespace", Data),
            ("extraArgs", Data),
        ])),
    ),
    ("generatorOptions", GENERATOR_OPTIONS),
    ("configurations", List(&Shape::Reference(File))),
    ("generators", List(&Shape::Reference(Plugin))),
    ("transformers", List(&Shape::Reference(Plugin))),
    ("validators", List(&Shape::Reference(Plugin))),
    ("buildMetadata", Data),
]);

/// The configurations of the plugins that are part of kustomize, by kind.
const PLUGINS: &[Field] = &[
    ("AnnotationsTransformer", AllFields(&[HEADER, &[("annotations", Data)], FIELD_SPECS_FIELD])),
    ("ConfigMapGenerator", AllFields(&[HEADER, GENERATOR])),
    ("HashTransformer", Fields(HEADER)),
    (HELM_GENERATOR, AllFields(&[HEADER, HELM_GLOBALS, HELM_CHART])),
    (
        "IAMPolicyGenerator",
        AllFields(&[HEADER, &[("cloud", Data), ("kubernetesService", Data), ("serviceAccount", Data)]]),
    ),
    ("ImageTagTransformer", AllFields(&[HEADER, &[("imageTag", IMAGE)], FIELD_SPECS_FIELD])),
    ("LabelTransformer", AllFields(&[HEADER, &[("labels", Data)], FIELD_SPECS_FIELD])),
    ("LegacyOrderTransformer", Fields(HEADER)),
    (
        "NamespaceTransformer",
        AllFields(&[HEADER, &[("unsetOnly", Data), ("setRoleBindingSubjects", Data)], FIELD_SPECS_FIELD]),
    ),
    (
        "PatchJson6902Transformer",
        AllFields(&[HEADER, &[("target", SELECTOR), ("path", Shape::Reference(Patch)), ("jsonOp", Data)]]),
    ),
    (
        "PatchStrategicMergeTransformer",
        AllFields(&[HEADER, &[("paths", List(&Shape::Reference(PatchOrText))), ("patches", Data)]]),
    ),
    ("PatchTransformer", AllFields(&[HEADER, PATCH])),
    ("PrefixSuffixTransformer", AllFields(&[HEADER, &[("prefix", Data), ("suffix", Data)], FIELD_SPECS_FIELD])),
    ("PrefixTransformer", AllFields(&[HEADER, &[("prefix", Data)], FIELD_SPECS_FIELD])),
    ("ReplacementTransformer", AllFields(&[HEADER, &[("replacements", REPLACEMENTS)]])),
    ("ReplicaCountTransformer", AllFields(&[HEADER, &[("replica", REPLICA)], FIELD_SPECS_FIELD])),
    ("SecretGenerator", AllFields(&[HEADER, GENERATOR, &[("type", Data)]])),
    ("SortOrderTransformer", AllFields(&[HEADER, &[("sortOptions", SORT_OPTIONS)]])),
    ("SuffixTransformer", AllFields(&[HEADER, &[("suffix", Data)], FIELD_SPECS_FIELD])),
    (
        "ValueAddTransformer",
        AllFields(&[HEADER, &[("value", Data), ("targets", Data), ("targetFilePath", Shape::Reference(File))]]),
    ),
];

/// The plugin of kustomize that runs helm.
pub(super) const HELM_GENERATOR: &str = "HelmChartInflationGenerator";

/// Returns the shape of the configuration of a plugin that is part of kustomize.
pub(super) fn plugin(kind: &str) -> Option<&'static Shape> {
    PLUGINS.iter().find(|(name, _)| *name == kind).map(|(_, shape)| shape)
}

/// The fields of every configuration of a plugin.
const HEADER: &[Field] = &[("apiVersion", Data), ("kind", Data), ("metadata", METADATA)];

const METADATA: Shape = Fields(&[("name", Data), ("namespace", Data), ("labels", Data), ("annotations", Data)]);

const GVK: &[Field] = &[("group", Data), ("version", Data), ("kind", Data)];

const ID: &[Field] = &[("name", Data), ("namespace", Data)];

const SELECTOR: Shape = AllFields(&[GVK, ID, &[("annotationSelector", Data), ("labelSelector", Data)]]);

const FIELD_SPECS: Shape = List(&AllFields(&[GVK, &[("path", Data), ("create", Data)]]));

const FIELD_SPECS_FIELD: &[Field] = &[("fieldSpecs", FIELD_SPECS)];

const PATCH: &[Field] = &[
    ("path", Shape::Reference(Patch)),
    ("patch", Data),
    ("target", SELECTOR),
    ("options", Fields(&[("allowNameChange", Data), ("allowKindChange", Data)])),
];

const IMAGE: Shape =
    Fields(&[("name", Data), ("newName", Data), ("tagSuffix", Data), ("newTag", Data), ("digest", Data)]);

const REPLICA: Shape = Fields(&[("name", Data), ("count", Data)]);

const REPLACEMENT_OPTIONS: Shape =
    Fields(&[("delimiter", Data), ("index", Data), ("encoding", Data), ("create", Data)]);

const REPLACEMENTS: Shape = List(&Fields(&[
    ("path", Shape::Reference(File)),
    ("sourceValue", Data),
    ("source", AllFields(&[GVK, ID, &[("fieldPath", Data), ("options", REPLACEMENT_OPTIONS)]])),
    (
        "targets",
        List(&Fields(&[
            ("select", SELECTOR),
            ("reject", List(&SELECTOR)),
            ("fieldPaths", Data),
            ("options", REPLACEMENT_OPTIONS),
        ])),
    ),
]));

const SORT_OPTIONS: Shape =
    Fields(&[("order", Data), ("legacySortOptions", Fields(&[("orderFirst", Data), ("orderLast", Data)]))]);

const GENERATOR_OPTIONS: Shape =
    Fields(&[("labels", Data), ("annotations", Data), ("disableNameSuffixHash", Data), ("immutable", Data)]);

const GENERATOR: &[Field] = &[
    ("namespace", Data),
    ("name", Data),
    ("behavior", Data),
    ("literals", Data),
    ("files", List(&Shape::Reference(KeyedFile))),
    ("envs", List(&Shape::Reference(EnvironmentFile))),
    ("env", Shape::Reference(EnvironmentFile)),
    ("options", GENERATOR_OPTIONS),
];

const HELM_GLOBALS: &[Field] = &[("chartHome", Shape::Reference(HelmPath)), ("configHome", Shape::Reference(HelmPath))];

const HELM_CHART: &[Field] = &[
    ("name", Shape::Reference(Chart)),
    ("version", Data),
    ("repo", Data),
    ("releaseName", Data),
    ("namespace", Data),
    ("additionalValuesFiles", List(&Shape::Reference(HelmPath))),
    ("valuesFile", Shape::Reference(HelmPath)),
    ("valuesInline", Data),
    ("valuesMerge", Data),
    ("includeCRDs", Data),
    ("skipHooks", Data),
    ("apiVersions", Data),
    ("kubeVersion", Data),
    ("nameTemplate", Data),
    ("skipTests", Data),
    ("debug", Data),
    ("devel", Data),
];

/// Returns how a message names a field of a kustomization, or the kustomization itself.
pub(super) fn describe(field: &str) -> &str {
    if field.is_empty() { "a kustomization" } else { field }
}
