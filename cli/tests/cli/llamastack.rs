//! `llamastack merge-config` and `validate-provider`, on files.

use std::fs;

use crate::sandbox::{Ran, Sandbox};
use crate::wheels::{archive, provider_wheel, wheel};

const MERGE: [&str; 12] = [
    "llamastack",
    "merge-config",
    "--metadata-dir",
    "metadata",
    "--base",
    "base/run.yaml",
    "--output",
    "run.yaml",
    "--extra-providers-output",
    "extra-providers.yaml",
    "--log",
    "merge-log.txt",
];

const BASE: &str = "version: '2'\nproviders:\n  inference:\n  - {provider_id: vllm, provider_type: remote::vllm}\n";

fn metadata(api: &str) -> String {
    format!(
        "apiVersion: llamastack.io/v1alpha1
kind: ProviderPackage
metadata: {{name: acme-vllm, version: 1.0.0, vendor: Acme}}
spec:
  packageName: acme.vllm
  providerType: remote::acme-vllm
  api: {api}
  wheelPath: packages/acme_vllm-1.0.0-py3-none-any.whl
"
    )
}

fn installed() -> Sandbox {
    Sandbox::new()
        .with("base/run.yaml", BASE)
        .with("metadata/vllm/lls-provider-spec.yaml", metadata("inference"))
        .with("metadata/vllm/crd-config.yaml", "{providerId: vllm, api: inference, order: 0, image: acme/vllm:1}")
}

/// That a merge failed with these words, and left nothing behind.
#[track_caller]
fn refused(sandbox: &Sandbox, arguments: &[&str], expected: &str) -> Ran {
    let before = sandbox.files(".");
    let ran = sandbox.run(arguments).exits(1);
    assert!(ran.err.contains(expected), "{}", ran.err);
    assert_eq!(ran.out, "");
    assert_eq!(sandbox.files("."), before);
    ran
}

/// Three files, readable by everyone whatever the umask; the warning on standard error; nothing on standard output.
#[test]
fn merging_writes_three_files() {
    let sandbox = installed();
    for command in ["merge-config", "merge-run-yaml"] {
        let mut arguments = MERGE;
        arguments[1] = command;
        let ran = sandbox.run(&arguments).exits(0);
        let warning = "External provider 'vllm' overrides base provider in API 'inference'\n  Base type: remote::vllm\n  \
                       External type: remote::acme-vllm\n";
        assert_eq!(
            (ran.out.as_str(), ran.err),
            ("", format!("{warning}Merged external providers: 1 (into run.yaml)\n"))
        );
        assert!(sandbox.read("merge-log.txt").contains(warning));
    }
    let entry = "  inference:\n  - provider_id: vllm\n    provider_type: remote::acme-vllm\n    module: acme.vllm\n";
    assert_eq!(sandbox.read("run.yaml"), format!("version: '2'\nproviders:\n{entry}"));
    let head = "apiVersion: llamastack.io/v1alpha1\nkind: ExternalProviders\nproviders:\n";
    assert_eq!(sandbox.read("extra-providers.yaml"), format!("{head}{entry}"));
    #[cfg(unix)]
    for file in ["run.yaml", "extra-providers.yaml", "merge-log.txt"] {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(sandbox.path(file)).unwrap().permissions().mode() & 0o777, 0o644, "{file}");
    }
}

/// A user's ConfigMap is mounted as a directory, with the key that the operator of today reads, or with another one.
#[test]
fn the_base_may_be_called_config_yaml() {
    let sandbox = installed().with("other/config.yaml", "version: other\n");
    for base in ["other", "other/run.yaml"] {
        let mut arguments = MERGE;
        arguments[5] = base;
        sandbox.run(&arguments).exits(0);
        assert!(sandbox.read("run.yaml").starts_with("version: other\n"));
    }
    let mut arguments = MERGE;
    arguments[5] = "metadata";
    let expected = "ERROR: Missing base configuration: metadata/run.yaml and metadata/config.yaml not found\n";
    refused(&sandbox, &arguments, expected);
    arguments[5] = "base/other.yaml";
    refused(&sandbox, &arguments, "ERROR: Missing base configuration: base/other.yaml not found\n");
}

/// For a llama-stack that reads external providers itself.
#[test]
fn extra_providers_alone_need_no_base() {
    let sandbox = installed();
    let arguments = ["--metadata-dir", "metadata", "--extra-providers-output", "e.yaml", "--log", "l.txt"];
    let arguments = [&["llamastack", "merge-config", "--extra-providers-only"], &arguments[..]].concat();
    let ran = sandbox.run(&arguments).exits(0);
    assert_eq!(ran.err, "Merged external providers: 1 (into e.yaml)\n");
    assert!(!sandbox.path("run.yaml").exists());
}

/// Without providers the base is the result, byte for byte.
#[test]
fn no_providers_change_nothing() {
    let sandbox = Sandbox::new()
        .with("base/run.yaml", "# odd\r\na:   1")
        .with("metadata/.hidden/x", "")
        .with("metadata/file", "");
    sandbox.run(&MERGE).exits(0);
    assert_eq!(sandbox.read("run.yaml"), "# odd\r\na:   1");
}

/// Every problem of the installation is reported at once, and nothing is written.
#[test]
fn what_was_installed_wrongly_is_told() {
    let sandbox = installed()
        .with("metadata/a/lls-provider-spec.yaml", metadata("inference"))
        .with("metadata/b/crd-config.yaml", "{providerId: b, api: safety, image: acme/b:1}")
        .with("metadata/c/lls-provider-spec.yaml", "kind: [")
        .with("metadata/c/crd-config.yaml", "{providerId: c, api: vectorIo, config: 1, order: x}")
        .with("metadata/e/lls-provider-spec.yaml", metadata("safety"))
        .with("metadata/e/crd-config.yaml", "{providerId: e, api: safety, config: {seed: 18446744073709551616}}")
        .with("metadata/d/lls-provider-spec.yaml", metadata("safety"))
        .with("metadata/d/crd-config.yaml", "{providerId: vllm, api: safety, image: \"acme/d\\u001b[31m\"}");
    let ran =
        refused(&sandbox, &MERGE, "ERROR: Missing crd-config.yaml in metadata/a\n\nProvider: a\nImage: (unknown)\n");
    for expected in [
        "\n\nERROR: Missing lls-provider-spec.yaml in metadata/b\n\nProvider: b\nImage: acme/b:1\n\nResolution: ",
        "ERROR: Invalid lls-provider-spec.yaml of provider 'c'\n\nProvider: c\nImage: (unknown)\n\nfailed to parse metadata \
         YAML: line 1, column 7: found `[` that is never closed, expected its closing bracket\n",
        "api is \"vectorIo\", expected one of inference, safety, agents, vector_io, datasetio, scoring, eval, tool_runtime, \
         post_training (did you mean vector_io?)\nconfig is an integer, expected a mapping\norder is not a number from 0",
        "ERROR: metadata/d holds another provider\n\nProvider: d\nImage: acme/d\\u{1b}[31m\n\ncrd-config.yaml says providerId \
         'vllm'\n",
        "config.seed is 18446744073709551616, which 64 bits cannot hold: write it as a string\n",
    ] {
        assert!(ran.err.contains(expected), "{expected}\n\nis not in\n{}", ran.err);
    }
}

/// In a pod, an error of the merge names its container (FR-030).
#[test]
fn errors_in_a_pod_name_the_container() {
    let sandbox = Sandbox::new().with("base.yaml", "version: '2'\n");
    let folder = "/opt/llama-stack/external-providers/no-such-folder";
    let arguments =
        ["llamastack", "merge-config", "--metadata-dir", folder, "--base", "base.yaml", "--output", "run.yaml"];
    let ran = refused(&sandbox, &arguments, "\n\nInit Container: merge-config\n");
    assert!(ran.err.starts_with("ERROR: "), "{}", ran.err);
}

/// The API under which a provider is listed is not the one that its package provides: the block of the specification.
#[test]
fn a_provider_under_another_api_is_refused() {
    let sandbox = installed().with("metadata/vllm/lls-provider-spec.yaml", metadata("vector_io"));
    let expected = "ERROR: Provider API type mismatch

Provider 'vllm' (image: acme/vllm:1)
declares api=vector_io in lls-provider-spec.yaml
but is placed under externalProviders.inference

Resolution: Move the provider to externalProviders.vectorIo section in the LLSD spec.
";
    assert_eq!(refused(&sandbox, &MERGE, expected).err, expected);
}

/// A base that is not YAML: file and line.
#[test]
fn a_broken_base_is_told_with_its_place() {
    let sandbox = installed().with("base/run.yaml", "version: '2'\nproviders: [\n");
    refused(&sandbox, &MERGE, "\nbase/run.yaml:2:12: found `[` that is never closed, expected its closing bracket\n");
    let sandbox = installed().with("base/run.yaml", b"\xff\xfe");
    refused(&sandbox, &MERGE, "ERROR: Cannot read base configuration base/run.yaml: ");
}

/// Every file is written or none: the last of three places does not exist, or is another one's.
#[test]
fn nothing_partial_is_written() {
    for place in ["missing/run.yaml", "merge-log.txt", "base"] {
        let mut arguments = MERGE;
        arguments[7] = place;
        refused(&installed(), &arguments, &format!("ERROR: Cannot write {place}: "));
    }
}

/// A pod knows 0 and 1: wrong usage is 1 here, and 2 everywhere else.
#[test]
fn the_merge_exits_with_0_or_1() {
    let sandbox = Sandbox::new();
    assert!(sandbox.run(&["llamastack", "merge-config", "--nonsense"]).exits(1).err.contains("--nonsense"));
    sandbox.run(&["llamastack", "merge-run-yaml", "extra"]).exits(1);
    assert!(
        sandbox.run(&["llamastack", "merge-config"]).exits(1).err.contains("/opt/llama-stack/base-config/run.yaml")
    );
    sandbox.run(&["llamastack", "merge-config", "--help"]).exits(0);
    sandbox.run(&["llamastack", "validate-provider"]).exits(2);
    sandbox.run(&["llamastack", "validate-provider", "merge-config", "--nonsense"]).exits(2);
    sandbox.run(&["llamastack", "nonsense"]).exits(2);
}

fn package() -> Sandbox {
    Sandbox::new()
        .with("vllm/lls-provider-spec.yaml", metadata("inference"))
        .with("vllm/packages/acme_vllm-1.0.0-py3-none-any.whl", provider_wheel("acme_vllm", "1.0.0", &["numpy>=1"]))
        .with("vllm/packages/numpy-2.0.0-cp311-cp311-manylinux_2_17_x86_64.whl", wheel("numpy", "2.0.0"))
}

/// A valid package is summarized, given as a directory or as a file.
#[test]
fn a_good_package_is_fine() {
    let ran = package().run(&["llamastack", "validate-provider", "vllm", "vllm/lls-provider-spec.yaml"]).exits(0);
    assert_eq!(
        ran.out,
        "vllm: ok: acme-vllm 1.0.0, remote::acme-vllm for inference, 2 wheels\n\
         vllm/lls-provider-spec.yaml: ok: acme-vllm 1.0.0, remote::acme-vllm for inference\n"
    );
}

/// The words of the specification, in its order, one a line.
#[test]
fn metadata_is_checked_in_the_specified_order() {
    let place = "p/lls-provider-spec.yaml: error: ";
    for (text, expected) in [
        (
            "",
            &[
                "invalid apiVersion: expected llamastack.io/v1alpha1, got ",
                "invalid kind: expected ProviderPackage, got ",
                "metadata.name is required",
                "metadata.version is required",
                "metadata.vendor is required",
                "spec.packageName is required",
                "spec.providerType is required",
                "spec.api is required",
                "spec.wheelPath is required",
            ][..],
        ),
        (
            "{apiVersion: v1, kind: Provider, metadata: {name: '', version: 1.0, vendor: v}, \
             spec: {packageName: a-b, providerType: 'xremote::a', api: vectorIo, wheelPath: a, dependencyWheels: a}}",
            &[
                "invalid apiVersion: expected llamastack.io/v1alpha1, got v1",
                "invalid kind: expected ProviderPackage, got Provider",
                "metadata.name is required",
                "invalid spec.api: vectorIo",
                "invalid spec.packageName: a-b",
                "invalid spec.providerType: xremote::a",
                "invalid metadata.version: 1.0",
                "invalid spec.dependencyWheels: expected a list of paths",
            ],
        ),
    ] {
        let ran = Sandbox::new()
            .with("p/lls-provider-spec.yaml", text)
            .run(&["llamastack", "validate-provider", "p"])
            .exits(1);
        let lines: Vec<&str> = ran.out.lines().filter_map(|line| line.strip_prefix(place)).collect();
        let expected: Vec<String> = expected.iter().map(|text| format!("metadata validation failed: {text}")).collect();
        assert_eq!(lines, expected, "{}", ran.out);
    }
    let ran =
        Sandbox::new().with("p/lls-provider-spec.yaml", "a: 1\nb: [").run(&["llamastack", "validate-provider", "p"]);
    let expected = format!("{place}failed to parse metadata YAML: line 2, column ");
    assert!(ran.exits(1).out.starts_with(&expected));
    let ran = Sandbox::new().with("p/packages/x", "").run(&["llamastack", "validate-provider", "p"]).exits(1);
    assert!(ran.out.starts_with(&format!("{place}failed to read metadata file: ")), "{}", ran.out);
}

/// Unknown keys are odd, and no more.
#[test]
fn unknown_keys_are_warned_about() {
    let text = metadata("inference").replace("spec:", "spec:\n  moduel: a") + "status: {}\n";
    let ran =
        package().with("vllm/lls-provider-spec.yaml", text).run(&["llamastack", "validate-provider", "vllm"]).exits(0);
    assert!(ran.out.starts_with("vllm/lls-provider-spec.yaml: warning: unknown field status\n"), "{}", ran.out);
    assert!(ran.out.contains(": warning: unknown field spec.moduel\n"), "{}", ran.out);
}

/// What lies beside the metadata is looked at, too.
#[test]
fn wheels_are_checked() {
    let check = |sandbox: Sandbox| sandbox.run(&["llamastack", "validate-provider", "vllm"]).exits(1).out;
    let only = Sandbox::new().with("vllm/lls-provider-spec.yaml", metadata("inference"));
    let missing = "vllm: error: spec.wheelPath: no file packages/acme_vllm-1.0.0-py3-none-any.whl\n";
    assert_eq!(check(only), format!("vllm: error: Missing packages/ directory\n{missing}"));
    let empty =
        Sandbox::new().with("vllm/lls-provider-spec.yaml", metadata("inference")).with("vllm/packages/a.txt", "");
    assert_eq!(check(empty), format!("vllm: error: No wheel (*.whl) in packages/\n{missing}"));
    let odd = package().with("vllm/packages/odd.whl", "");
    let expected = "vllm: error: odd.whl is not named as a wheel, expected NAME-VERSION-PYTHON-ABI-PLATFORM.whl\n";
    assert_eq!(check(odd), expected);
    let text = metadata("inference") + "  dependencyWheels: [packages/left-out-1-py3-none-any.whl]\n";
    let expected = "vllm: error: spec.dependencyWheels[0]: no file packages/left-out-1-py3-none-any.whl\n";
    assert_eq!(check(package().with("vllm/lls-provider-spec.yaml", text)), expected);
    // A path outside the package is in no image, or is not installed.
    for (path, expected) in [
        ("../acme_vllm-1.0.0-py3-none-any.whl", "no file ../acme_vllm-1.0.0-py3-none-any.whl"),
        ("/etc/passwd", "no file /etc/passwd"),
        (
            "acme_vllm-1.0.0-py3-none-any.whl",
            "acme_vllm-1.0.0-py3-none-any.whl is not in packages/, whose wheels are installed",
        ),
        ("packages/a.txt", "a.txt is not named as a wheel, expected NAME-VERSION-PYTHON-ABI-PLATFORM.whl"),
    ] {
        let text = metadata("inference").replace("packages/acme_vllm-1.0.0-py3-none-any.whl", path);
        let sandbox = package()
            .with("vllm/lls-provider-spec.yaml", text)
            .with("acme_vllm-1.0.0-py3-none-any.whl", "")
            .with("vllm/acme_vllm-1.0.0-py3-none-any.whl", "")
            .with("vllm/packages/a.txt", "");
        assert_eq!(check(sandbox), format!("vllm: error: spec.wheelPath: {expected}\n"));
    }
}

/// A wheel that `pip` would refuse in the init container is found before it is built into an image.
#[test]
fn wheels_are_opened() {
    const FILE: &str = "acme_vllm-1.0.0-py3-none-any.whl";
    let check = |content: &[u8]| {
        let sandbox = Sandbox::new()
            .with("vllm/lls-provider-spec.yaml", metadata("inference"))
            .with(&format!("vllm/packages/{FILE}"), content);
        sandbox.run(&["llamastack", "validate-provider", "vllm"])
    };
    let whole = provider_wheel("acme_vllm", "1.0.0", &[]);
    check(&whole).exits(0);
    let info = "acme_vllm-1.0.0.dist-info";
    let metadata_of = |text: &str| {
        let files = [("METADATA", text), ("WHEEL", ""), ("RECORD", "")];
        let mut files: Vec<(String, &str)> = files.map(|(file, text)| (format!("{info}/{file}"), text)).into();
        files.push(("acme/vllm/provider.py".to_owned(), "from .spec import *"));
        archive(&files.iter().map(|(file, text)| (file.as_str(), *text)).collect::<Vec<_>>())
    };
    let right = "Name: acme.vllm\nVersion: 1.0\n";
    check(&metadata_of(right)).exits(0);
    let long = format!("{right}Summary: {}\n", "a".repeat(2 << 20));
    for (content, expected) in [
        (Vec::new(), "is empty, expected a ZIP archive"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n".to_vec(),
            "is a pointer of Git LFS, expected the wheel itself: run git lfs pull",
        ),
        (vec![0; 100], "is not a ZIP archive: Missing end of central directory"),
        (whole[..whole.len() / 2].to_vec(), "is not a ZIP archive: Missing end of central directory"),
        (archive(&[("acme.py", "")]), "has no folder acme_vllm-1.0.0.dist-info"),
        (
            archive(&[("a-1.dist-info/METADATA", ""), ("b-1.dist-info/METADATA", "")]),
            "has the folders a-1.dist-info and b-1.dist-info, expected one",
        ),
        (archive(&[(&format!("{info}/METADATA"), right)]), "has no file acme_vllm-1.0.0.dist-info/RECORD"),
        (
            metadata_of("Name: acme-vllm\nVersion: 9.9.9\n"),
            "acme_vllm-1.0.0.dist-info/METADATA is of acme-vllm 9.9.9, expected acme_vllm 1.0.0",
        ),
        (
            metadata_of("Name: other\nVersion: 1.0.0\n"),
            "acme_vllm-1.0.0.dist-info/METADATA is of other 1.0.0, expected acme_vllm 1.0.0",
        ),
        // Only the header counts.
        (
            metadata_of("Summary: a\n\nName: acme-vllm\nVersion: 1.0.0\n"),
            "acme_vllm-1.0.0.dist-info/METADATA has no Name and Version",
        ),
        (metadata_of(&long), "acme_vllm-1.0.0.dist-info/METADATA cannot be read: it has more than 1048576 bytes"),
        (archive(&[("../../etc/passwd", "")]), "has the member \"../../etc/passwd\", expected a path below the root"),
        (archive(&[("/etc/passwd", "")]), "has the member \"/etc/passwd\", expected a path below the root"),
        (archive(&[("a\\..\\b", "")]), "has the member \"a\\\\..\\\\b\", expected a path below the root"),
    ] {
        assert_eq!(check(&content).exits(1).out, format!("vllm: error: {FILE}: {expected}\n"));
    }
}

/// What the pod would refuse after the installation: no module for llama-stack, no function in it, a missing dependency,
/// two versions of one package. A directory with such an error is not called ok.
#[test]
fn packages_are_what_llama_stack_imports() {
    let check = |files: &[(&str, Vec<u8>)]| {
        let mut sandbox = Sandbox::new().with("p/lls-provider-spec.yaml", metadata("inference"));
        for (file, content) in files {
            sandbox = sandbox.with(&format!("p/packages/{file}-py3-none-any.whl"), content);
        }
        sandbox.run(&["llamastack", "validate-provider", "p"])
    };
    let main = |requirements: &[&str]| ("acme_vllm-1.0.0", provider_wheel("acme_vllm", "1.0.0", requirements));
    let lib = |version: &'static str| wheel("lib", version);
    check(&[main(&["lib<2", "other; sys_platform == 'win32'"]), ("lib-1.0", lib("1.0"))]).exits(0);
    let info = "acme_vllm-1.0.0.dist-info";
    let with_module = |module: (&str, &str)| {
        let metadata = "Name: acme-vllm\nVersion: 1.0.0\n";
        let files =
            [(format!("{info}/METADATA"), metadata), (format!("{info}/WHEEL"), ""), (format!("{info}/RECORD"), "")];
        let files: Vec<(&str, &str)> =
            files.iter().map(|(file, text)| (file.as_str(), *text)).chain([module]).collect();
        [("acme_vllm-1.0.0", archive(&files))]
    };
    check(&with_module(("acme/vllm/provider/__init__.py", "from x import get_provider_spec"))).exits(0);
    check(&with_module(("acme/vllm/provider.cpython-312-x86_64-linux-gnu.so", ""))).exits(0);
    for (ran, expected) in [
        (
            check(&with_module(("acme/vllm.py", "def get_provider_spec(): ..."))),
            "spec.packageName: no wheel has acme/vllm/provider.py: llama-stack calls get_provider_spec() in acme.vllm.provider",
        ),
        (
            check(&with_module(("acme/vllm/provider.py", "spec = 1"))),
            "spec.packageName: acme/vllm/provider.py has no get_provider_spec: llama-stack calls get_provider_spec() in \
             acme.vllm.provider",
        ),
        (check(&[main(&["lib>=1"])]), "acme_vllm==1.0.0 requires lib>=1, but no wheel in packages/ is of lib"),
        (
            check(&[main(&["Lib[a] (>=2)"]), ("lib-1.0", lib("1.0"))]),
            "acme_vllm==1.0.0 requires Lib[a] (>=2), but packages/ has lib==1.0",
        ),
        (
            check(&[main(&[]), ("lib-1.0", lib("1.0")), ("lib-2.0", lib("2.0"))]),
            "dependency conflict: Cannot install lib==2.0 because it also brings lib==1.0",
        ),
        (
            check(&[main(&["lib >= one"])]),
            "acme_vllm-1.0.0-py3-none-any.whl: acme_vllm-1.0.0.dist-info/METADATA has the invalid requirement",
        ),
    ] {
        let ran = ran.exits(1);
        assert!(ran.out.starts_with(&format!("p: error: {expected}")), "{}", ran.out);
        assert!(!ran.out.contains(": ok: "), "{}", ran.out);
    }
}

/// A wheel of 40 GiB that is all holes is read no further than its end.
#[test]
fn a_huge_wheel_costs_nothing() {
    let sandbox = package();
    let path = sandbox.path("vllm/packages/acme_vllm-1.0.0-py3-none-any.whl");
    fs::File::create(path).unwrap().set_len(40 << 30).unwrap();
    let ran = sandbox.run(&["llamastack", "validate-provider", "vllm"]).exits(1);
    assert!(ran.out.contains("is not a ZIP archive"), "{}", ran.out);
}

/// Machine code for another architecture is found before a pod is.
#[test]
fn wheels_are_compared_with_the_platform() {
    let sandbox = package();
    sandbox.run(&["llamastack", "validate-provider", "vllm", "--platform", "linux/amd64"]).exits(0);
    let ran = sandbox.run(&["llamastack", "validate-provider", "vllm", "--platform", "linux/arm64"]).exits(1);
    assert_eq!(
        ran.out,
        "vllm: error: numpy-2.0.0-cp311-cp311-manylinux_2_17_x86_64.whl: native code for another architecture\n  Expected: \
         linux_aarch64\n  Found: manylinux_2_17_x86_64\n"
    );
    let ran = sandbox.run(&["llamastack", "validate-provider", "vllm", "--platform", "linux/z80"]).exits(2);
    assert!(
        ran.err.contains("--platform: unknown platform \"linux/z80\", expected one of linux/amd64, "),
        "{}",
        ran.err
    );
}

/// Providers that exclude each other are found before they are in one pod.
#[test]
fn wheels_of_providers_are_compared() {
    let guard = |requirement| {
        package()
            .with("guard/lls-provider-spec.yaml", metadata("safety").replace("acme_vllm", "acme_guard"))
            .with(
                "guard/packages/acme_guard-1.0.0-py3-none-any.whl",
                provider_wheel("acme_guard", "1.0.0", &[requirement]),
            )
            .with("guard/packages/NumPy-1.26.4-py3-none-any.whl", wheel("NumPy", "1.26.4"))
    };
    let validate = |sandbox: &Sandbox| sandbox.run(&["llamastack", "validate-provider", "vllm", "guard"]);
    validate(&guard("numpy>=1.26")).exits(0);
    let sandbox = guard("numpy<2");
    let ran = validate(&sandbox).exits(1);
    let conflict = "error: dependency conflict: Cannot install NumPy==1.26.4 of guard because vllm brings numpy==2.0.0, and \
                    acme_guard==1.0.0 requires numpy<2\n";
    assert!(ran.out.ends_with(conflict), "{}", ran.out);
    let ran = sandbox.run(&["llamastack", "validate-provider", "nothing"]).exits(2);
    assert!(ran.err.starts_with("kubefoundry: nothing: "), "{}", ran.err);
}

/// What the page of packages shows of the merge is what happens in the example, and the metadata that it shows is the
/// example's own.
#[test]
fn the_page_of_packages_is_true() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = fs::read_to_string(root.join("docs/llama-stack-packages.md")).unwrap();
    let block = |before: &str, language: &str| {
        let rest = page.split_once(before).unwrap().1.split_once(&format!("```{language}\n")).unwrap().1;
        rest.split_once("```").unwrap().0
    };
    let example = root.join("examples/llama-stack-packages");
    let file = |name: &str| fs::read_to_string(example.join(name)).unwrap();
    assert_eq!(block("says what the packages provide:", "yaml"), file("acme-vllm/lls-provider-spec.yaml"));
    assert!(file("Containerfile").ends_with(block("needs three lines:", "dockerfile")));

    let sandbox = Sandbox::new();
    for name in [
        "merge/run.yaml",
        "merge/metadata/vllm/lls-provider-spec.yaml",
        "merge/metadata/vllm/crd-config.yaml",
        "merge/metadata/acme-guard/lls-provider-spec.yaml",
        "merge/metadata/acme-guard/crd-config.yaml",
    ] {
        let path = sandbox.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, file(name)).unwrap();
    }
    let command: Vec<&str> = block("runs anywhere else, too:", "sh").split_whitespace().skip(1).collect();
    let ran = sandbox.run(&command).exits(0);
    assert_eq!(ran.err, block("it says", "text"));
    assert_eq!(sandbox.read("run.yaml"), block("and writes `run.yaml`:", "yaml"));
}

/// The example is what an init container would find: two packages that `pip` installs, listed as the distribution lists
/// them.
#[cfg(unix)]
#[test]
fn the_example_is_installed() {
    use crate::provider::{Pod, Start, has_pip};
    use kubefoundry_llamastack::wire::Api;
    if !has_pip() {
        return;
    }
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let example = root.join("examples/llama-stack-packages");
    let pod = Pod::new();
    for (order, (id, package, api)) in
        [("vllm", "acme-vllm", Api::Inference), ("acme-guard", "acme-guard", Api::Safety)].into_iter().enumerate()
    {
        pod.image("", &[]);
        fs::copy(example.join(package).join("lls-provider-spec.yaml"), pod.path("lls-provider/lls-provider-spec.yaml"))
            .unwrap();
        for wheel in fs::read_dir(example.join(package).join("packages")).unwrap() {
            let wheel = wheel.unwrap();
            fs::copy(wheel.path(), pod.path("lls-provider/packages").join(wheel.file_name())).unwrap();
        }
        pod.install(&Start { id, image: "x", api, order, config: None }).exits(0);
    }
    for file in ["acme/vllm/provider.py", "acme/guard/provider.py", "acme_client/__init__.py"] {
        assert!(pod.shared("python-packages").join(file).exists(), "{file}");
    }
}
