//! The scripts of the init containers, run for real: `sh`, `pip`, wheels.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;

use kubefoundry_llamastack::merge::{Entry, merge};
use kubefoundry_llamastack::package;
use kubefoundry_llamastack::wire::Api;
use serde_json::{Value, json};

use crate::provider::{Pod, Start, has_pip, metadata, mode, open};
use crate::sandbox::skipped;

const VLLM: &str = "packages/acme_vllm-1.0.0-py3-none-any.whl";
const GUARD: &str = "/lls-provider/packages/acme_guard-2.0-py3-none-any.whl";
const BASE: &str = "# The distribution's own.
version: '2'
apis: [inference]
providers:
  inference:
  - provider_id: vllm   # goes
    provider_type: remote::vllm
    config: {url: \"${env.VLLM_URL:=}\"}
";

fn vllm() -> Start<'static> {
    let config = json!({"url": "${env.URL:=http://x}", "note": "a\n'b' \"c\" $(id) `id` $$ \\ \u{85}", "n": 1.0});
    Start { id: "vllm", image: "quay.io/acme/vllm:1.0", api: Api::Inference, order: 0, config: Some(config) }
}

fn guard() -> Start<'static> {
    Start { id: "guard", image: "quay.io/acme/guard@sha256:00", api: Api::Safety, order: 1, config: None }
}

fn vllm_metadata() -> String {
    metadata("acme-vllm", "remote::acme-vllm", "acme.vllm", "inference", VLLM)
}

fn vllm_image(pod: &Pod) {
    let provider = ("acme_vllm-1.0.0-py3-none-any.whl", "Some.Dep>=1", &["acme/vllm.py=x = 1"][..]);
    pod.image(&vllm_metadata(), &[provider, ("Some_Dep-1.5-py3-none-any.whl", "", &["some_dep/__init__.py=v = 1"])]);
}

fn guard_image(pod: &Pod, dependency: &str, requires: &str) {
    let text = metadata("acme-guard", "inline::acme-guard", "acme.guard", "safety", &format!("\"{GUARD}\""));
    let provider = ("acme_guard-2.0-py3-none-any.whl", requires, &["acme/guard.py=x = 2"][..]);
    pod.image(&text, &[provider, (dependency, "", &["some_dep/__init__.py=v = 1"])]);
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// A pod, unless there is no pip to install with.
fn pod_with_pip() -> Option<Pod> {
    has_pip().then(Pod::new)
}

/// A pod in which the provider `vllm` is installed.
fn pod_with_vllm() -> Option<Pod> {
    let pod = pod_with_pip()?;
    vllm_image(&pod);
    pod.install(&vllm()).exits(0);
    Some(pod)
}

/// Two providers, the distribution's run.yaml, the merge: the server's configuration is the one that a renderer which
/// knows everything beforehand writes, byte for byte. Both share a dependency and a namespace.
#[test]
fn a_pod_starts_with_what_static_mode_writes() {
    if !has_pip() {
        return;
    }
    // What `sh` is differs between images.
    for shell in ["/bin/sh", "dash", "bash", "busybox"] {
        let has = std::process::Command::new(shell).args(["-c", "true"]).output().is_ok();
        if has {
            start_a_pod(&Pod::with_shell(shell));
        }
    }
}

fn start_a_pod(pod: &Pod) {
    vllm_image(pod);
    let first = pod.install(&vllm()).exits(0);
    assert!(first.out.starts_with("Installing external provider: vllm\n"), "{}", first.out);
    assert!(first.out.ends_with("Successfully installed provider: vllm\n"), "{}", first.out);
    guard_image(pod, "some_dep-1.5.0-py3-none-any.whl", "some-dep");
    pod.install(&guard()).exits(0);

    for file in ["acme/vllm.py", "acme/guard.py", "some_dep/__init__.py", "acme_guard-2.0.dist-info/METADATA"] {
        assert_eq!(mode(&pod.shared("python-packages").join(file)), 0o664, "{file}");
    }
    assert_eq!(mode(&pod.shared("python-packages/acme")), 0o775);
    assert_eq!(
        pod.read("installed-packages.txt"),
        "# Provider: 'vllm' (image: quay.io/acme/vllm:1.0)\nSome_Dep==1.5\nacme_vllm==1.0.0\n\
         # Provider: 'guard' (image: quay.io/acme/guard@sha256:00)\nacme_guard==2.0\nsome_dep==1.5.0\n"
    );
    assert_eq!(pod.read("metadata/vllm/lls-provider-spec.yaml"), vllm_metadata());
    let crd_config: Value = serde_json::from_str(&pod.read("metadata/vllm/crd-config.yaml")).unwrap();
    let (vllm, guard) = (vllm(), guard());
    assert_eq!(
        crd_config,
        json!({"providerId": "vllm", "api": "inference", "config": vllm.config, "order": 0, "image": vllm.image})
    );
    assert_eq!(mode(&pod.shared("metadata/vllm/crd-config.yaml")), 0o664);
    assert!(!pod.read("metadata/guard/crd-config.yaml").contains("config"));
    let left: Vec<_> = fs::read_dir(pod.shared("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");

    fs::create_dir_all(pod.path("etc/llama-stack")).unwrap();
    fs::write(pod.path("etc/llama-stack/run.yaml"), BASE).unwrap();
    assert_eq!(pod.extract(None, &[]).exits(0).out, "Found run.yaml at /etc/llama-stack/run.yaml\n");
    let stack = "opt/llama-stack";
    let merged = pod.sandbox.run(&[
        "llamastack",
        "merge-config",
        "--metadata-dir",
        &format!("{stack}/external-providers/metadata"),
        "--base",
        &format!("{stack}/base-config/run.yaml"),
        "--output",
        &format!("{stack}/config/run.yaml"),
        "--extra-providers-output",
        &format!("{stack}/config/extra-providers.yaml"),
        "--log",
        &format!("{stack}/config/merge-log.txt"),
    ]);
    assert_eq!(
        merged.exits(0).err,
        "External provider 'vllm' overrides base provider in API 'inference'\n  Base type: remote::vllm\n  \
         External type: remote::acme-vllm\nMerged external providers: 2 (into opt/llama-stack/config/run.yaml)\n"
    );
    let entry = |start: Start<'_>| Entry {
        provider_id: start.id.to_owned(),
        api: start.api,
        order: start.order as u64,
        image: start.image.to_owned(),
        config: start.config,
        metadata: package::read(&pod.read(&format!("metadata/{}/lls-provider-spec.yaml", start.id))).unwrap().package,
    };
    let statically = merge(Some(BASE), &[entry(vllm), entry(guard)]).unwrap();
    let written = |file: &str| pod.sandbox.read(&format!("{stack}/config/{file}"));
    assert_eq!(Some(written("run.yaml")), statically.run_yaml);
    assert_eq!(written("extra-providers.yaml"), statically.extra_providers_yaml);
    assert_eq!(written("merge-log.txt"), statically.log);
    assert!(written("run.yaml").starts_with("# The distribution's own.\nversion: '2'\napis: [inference, safety]\n"));
}

/// A container that starts again finds what it left, and leaves the same.
#[test]
fn installing_again_changes_nothing() {
    let Some(pod) = pod_with_vllm() else { return };
    let before = (pod.read("installed-packages.txt"), pod.read("metadata/vllm/crd-config.yaml"));
    let again = pod.install(&vllm()).exits(0);
    assert_eq!((pod.read("installed-packages.txt"), pod.read("metadata/vllm/crd-config.yaml")), before);
    assert_eq!(again.err, "");
}

/// A provider whose image now has another user replaces what it installed as the one before, whose files it cannot
/// change.
#[test]
fn another_user_replaces_what_one_user_installed() {
    if !is_root() {
        skipped("not root: a container has one user");
        return;
    }
    let Some(pod) = pod_with_pip() else { return };
    vllm_image(&pod);
    open(&pod.path("."));
    let shared_mode = fs::Permissions::from_mode(0o2777);
    fs::set_permissions(pod.shared(""), shared_mode).unwrap();
    std::os::unix::fs::chown(pod.shared(""), None, Some(1001)).unwrap();
    let install = |uid: u32, image: &'static str| {
        let start = Start { image, ..vllm() };
        // `fsGroup` makes the group one of every container.
        pod.install_with(&start, |command| {
            command.uid(uid).gid(1001);
        })
    };
    install(12345, "quay.io/acme/vllm:1.0").exits(0);
    let again = install(23456, "quay.io/acme/vllm:1.1").exits(0);
    assert_eq!(again.err, "");
    let config: Value = serde_json::from_str(&pod.read("metadata/vllm/crd-config.yaml")).unwrap();
    assert_eq!(config["image"], "quay.io/acme/vllm:1.1");
    assert!(pod.read("installed-packages.txt").contains("(image: quay.io/acme/vllm:1.1)"));
    for file in ["lls-provider-spec.yaml", "crd-config.yaml", "python.json"] {
        assert_eq!(fs::metadata(pod.shared("metadata/vllm").join(file)).unwrap().uid(), 23456, "{file}");
    }
}

/// A package that both providers bring stays in the version of the first, if that is enough for the second.
#[test]
fn providers_share_a_package_in_one_version() {
    let Some(pod) = pod_with_vllm() else { return };
    guard_image(&pod, "some_dep-2.0-py3-none-any.whl", "some-dep>=1");
    for _ in 0..2 {
        let ran = pod.install(&guard()).exits(0);
        let kept = "Kept Some_Dep==1.5 of provider 'vllm' (image: quay.io/acme/vllm:1.0) instead of some_dep==2.0\n";
        assert!(ran.out.contains(kept), "{}", ran.out);
        let record = "# Provider: 'guard' (image: quay.io/acme/guard@sha256:00)\nacme_guard==2.0\n\
                      # kept Some_Dep==1.5 instead of 2.0\n";
        assert!(pod.read("installed-packages.txt").ends_with(record), "{}", pod.read("installed-packages.txt"));
    }
    let packages = pod.shared("python-packages");
    assert!(packages.join("acme/guard.py").exists() && packages.join("Some_Dep-1.5.dist-info").exists());
    assert!(!packages.join("some_dep-2.0.dist-info").exists());
}

/// The version of Python and the wheels with native code are recorded, for the start of the server.
#[test]
fn native_wheels_are_recorded() {
    let Some(pod) = pod_with_pip() else { return };
    // A wheel that any Python accepts, with a file name that says otherwise than its tag would.
    let provider = ("acme_vllm-1.0.0-py3-none-linux_x86_64.whl", "", &["acme/vllm.py=x = 1"][..]);
    if std::env::consts::ARCH != "x86_64" {
        skipped("the wheel of this test is for x86_64");
        return;
    }
    pod.image(
        &metadata("a", "remote::a", "a", "inference", "packages/acme_vllm-1.0.0-py3-none-linux_x86_64.whl"),
        &[provider],
    );
    pod.install(&vllm()).exits(0);
    let found: Value = serde_json::from_str(&pod.read("metadata/vllm/python.json")).unwrap();
    assert_eq!(found["native"], json!(["acme_vllm-1.0.0-py3-none-linux_x86_64.whl"]));
    assert!(found["python"].as_str().unwrap().starts_with("3."));
}

/// Settings of pip in the image are for its own packages.
#[test]
fn settings_of_pip_are_ignored() {
    let Some(pod) = pod_with_pip() else { return };
    vllm_image(&pod);
    pod.install_with(&vllm(), |command| {
        command.env("PIP_USER", "1").env("PIP_PREFIX", "/tmp/x").env("PIP_INDEX_URL", "http://127.0.0.1:1/");
    })
    .exits(0);
}

/// Two providers with different versions of one package: pip says nothing, the script does, in the specified block.
#[test]
fn conflicting_dependencies_are_refused() {
    let Some(pod) = pod_with_vllm() else { return };
    let before = pod.read("installed-packages.txt");
    guard_image(&pod, "some_dep-2.0-py3-none-any.whl", "some-dep>=1.6");
    assert_eq!(
        pod.install(&guard()).exits(1).err,
        "ERROR: Cannot install provider 'guard' due to dependency conflict

Provider: guard
Image: quay.io/acme/guard@sha256:00
Init Container: external-provider-guard

Packages of another provider do not meet the requirements:
ERROR: Cannot install some_dep==2.0 of provider 'guard' (image: quay.io/acme/guard@sha256:00)
because provider 'vllm' (image: quay.io/acme/vllm:1.0) installed Some_Dep==1.5
and acme_guard==2.0 requires some-dep>=1.6

Previously installed packages can be found in: /opt/llama-stack/external-providers/installed-packages.txt

Resolution: Update provider images to use compatible dependency versions, or reorder providers in the CRD if one provider's dependencies are a superset of another's.
"
    );
    assert_eq!(pod.read("installed-packages.txt"), before);
    assert!(!pod.shared("metadata/guard").exists() && !pod.shared("python-packages/acme/guard.py").exists());
}

/// One image whose packages exclude each other: pip's own words, in the same block.
#[test]
fn a_conflict_within_an_image_is_told_in_the_words_of_pip() {
    let Some(pod) = pod_with_pip() else { return };
    let provider = ("acme_vllm-1.0.0-py3-none-any.whl", "dep==2", &[][..]);
    let (one, two) = (("dep-1-py3-none-any.whl", "", &[][..]), ("dep-2-py3-none-any.whl", "", &[][..]));
    // pip prints which requirements conflict to standard output (FR-031).
    for (wheels, line) in [
        (&[provider, one, two][..], "The user requested dep 2 "),
        (&[provider, one], "acme-vllm 1.0.0 depends on dep==2"),
    ] {
        pod.image(&vllm_metadata(), wheels);
        let ran = pod.install(&vllm()).exits(1);
        let start = "ERROR: Cannot install provider 'vllm' due to dependency conflict\n\nProvider: vllm\nImage: \
                     quay.io/acme/vllm:1.0\nInit Container: external-provider-vllm\n\nPip installation failed with:\n";
        assert!(ran.err.starts_with(start), "{}", ran.err);
        for expected in ["conflicting dependencies", line] {
            assert!(ran.err.contains(expected), "{expected} is not in\n{}", ran.err);
        }
        assert!(ran.err.ends_with("are a superset of another's.\n"), "{}", ran.err);
    }
}

/// A wheel for another system, a dependency that was left out, a file that is not a wheel inside: pip's words and what to
/// look at.
#[test]
fn wheels_that_cannot_be_installed_are_told() {
    let Some(pod) = pod_with_pip() else { return };
    let provider = |file: &'static str, requires: &'static str| [(file, requires, &[][..])];
    for (wheels, expected) in [
        (provider("acme_vllm-1.0.0-cp27-none-win_amd64.whl", ""), "is not a supported wheel on this platform"),
        (provider("acme_vllm-1.0.0-py3-none-any.whl", "left-out>=3"), "left-out>=3"),
    ] {
        let file = format!("packages/{}", wheels[0].0);
        pod.image(&metadata("a", "remote::a", "a", "inference", &file), &wheels);
        let ran = pod.install(&vllm()).exits(1);
        assert!(ran.err.starts_with("ERROR: Cannot install provider 'vllm'\n\nProvider: vllm\n"), "{}", ran.err);
        assert!(ran.err.contains(expected), "{}", ran.err);
        assert!(ran.err.contains("\nResolution: Check wheel compatibility: "), "{}", ran.err);
        assert!(!pod.shared("installed-packages.txt").exists());
    }
    pod.image(&vllm_metadata(), &[]);
    fs::write(pod.path("lls-provider").join(VLLM), "no zip").unwrap();
    let ran = pod.install(&vllm()).exits(1);
    assert!(ran.err.contains("Resolution: Check wheel compatibility"), "{}", ran.err);
    assert_eq!(fs::read_dir(pod.shared("python-packages")).unwrap().count(), 0);
}

/// If packages of two providers contain the same file, the first one stays, as with pip, and the log reports it.
#[test]
fn a_file_of_two_packages_is_told() {
    let Some(pod) = pod_with_pip() else { return };
    let both = |text| -> [&'static str; 1] { [text] };
    pod.image(&vllm_metadata(), &[("acme_vllm-1.0.0-py3-none-any.whl", "", &both("tests/__init__.py=one"))]);
    pod.install(&vllm()).exits(0);
    let text = metadata("acme-guard", "inline::acme-guard", "acme.guard", "safety", GUARD);
    pod.image(&text, &[("acme_guard-2.0-py3-none-any.whl", "", &both("tests/__init__.py=two"))]);
    let ran = pod.install(&guard()).exits(0);
    let expected = "WARNING: python-packages/tests/__init__.py is in packages of two providers with different content; \
                    the first one stays\n";
    assert_eq!(ran.err, expected);
    assert_eq!(pod.read("python-packages/tests/__init__.py"), "one");
}

/// Every mistake of an image, by the exact first line; who, where and what to do follow. None needs pip to be found.
#[test]
fn broken_images_are_told() {
    let pod = Pod::new();
    let bin = pod.path("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.join("pip"), "#!/bin/sh\nexit 3\n").unwrap();
    fs::set_permissions(bin.join("pip"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let image = "quay.io/acme/vllm:1.0";
    let told = |expected: String| {
        let ran = pod.install_with(&vllm(), |command| {
            command.env("PATH", &path);
        });
        let who =
            "\n\nProvider: vllm\nImage: quay.io/acme/vllm:1.0\nInit Container: external-provider-vllm\n\nResolution: ";
        assert!(ran.err.starts_with(&format!("ERROR: {expected}{who}")), "{}", ran.err);
        assert_eq!(ran.code, Some(1));
        assert!(!pod.shared("installed-packages.txt").exists() && !pod.shared("metadata/vllm").exists());
    };
    told(format!("Missing /lls-provider/lls-provider-spec.yaml in image {image}"));
    let package = pod.path("lls-provider");
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("lls-provider-spec.yaml"), vllm_metadata()).unwrap();
    told(format!("Missing /lls-provider/packages/ directory in image {image}"));
    fs::create_dir_all(package.join("packages")).unwrap();
    fs::write(package.join("packages/README.md"), "").unwrap();
    told(format!("No wheel (*.whl) in /lls-provider/packages/ of image {image}"));
    fs::write(package.join("packages/other-1-py3-none-any.whl"), "").unwrap();
    told(format!("spec.wheelPath is {VLLM}, and image {image} has no such file"));
    // Only YAML readers know what these say, and none is here: they are left to the merge.
    for odd in ["&wheel packages/a.whl", "!!str packages/a.whl", ">-\n    packages/a.whl", "# no value", "\"\\x70a\""] {
        let metadata = vllm_metadata().replace(VLLM, odd);
        fs::write(package.join("lls-provider-spec.yaml"), metadata).unwrap();
        let ran = pod.install_with(&vllm(), |command| {
            command.env("PATH", &path);
        });
        assert!(!ran.err.contains("spec.wheelPath"), "{odd}: {}", ran.err);
    }
    fs::write(package.join("lls-provider-spec.yaml"), vllm_metadata()).unwrap();
    fs::write(package.join(VLLM), "").unwrap();
    fs::write(package.join("packages/vllm.whl"), "").unwrap();
    told(format!("/lls-provider/packages/vllm.whl of image {image} is not named as a wheel"));
    fs::remove_file(package.join("packages/vllm.whl")).unwrap();
    fs::create_dir_all(pod.path("nothing")).unwrap();
    for tool in ["cat", "env", "mkdir", "rm", "sed"] {
        let folder = ["/usr/bin", "/bin"].into_iter().find(|folder| std::path::Path::new(folder).join(tool).exists());
        std::os::unix::fs::symlink(format!("{}/{tool}", folder.unwrap()), pod.path("nothing").join(tool)).unwrap();
    }
    let ran = pod.install_with(&vllm(), |command| {
        command.env("PATH", pod.path("nothing"));
    });
    assert!(ran.err.starts_with(&format!("ERROR: Missing pip in image {image}\n")), "{}", ran.err);
}

/// Another user than that of the image, or one without the group of the volume, gets a message about the cause.
#[test]
fn wrong_permissions_are_told() {
    let pod = Pod::new();
    let bin = pod.path("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.join("pip"), "#!/bin/sh\n").unwrap();
    fs::create_dir_all(pod.path("lls-provider/packages")).unwrap();
    fs::write(pod.path("lls-provider").join(VLLM), "").unwrap();
    fs::write(pod.path("lls-provider/lls-provider-spec.yaml"), vllm_metadata()).unwrap();
    open(&pod.path("."));
    fs::set_permissions(bin.join("pip"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let set = |name: &str, mode| fs::set_permissions(pod.path(name), fs::Permissions::from_mode(mode)).unwrap();
    // Root may do everything, so the test needs another user.
    let is_root = is_root();
    let told = |expected: &str| {
        let ran = pod.install_with(&vllm(), |command| {
            command.env("PATH", &path);
            if is_root {
                command.uid(65534).gid(65534);
            }
        });
        assert!(ran.err.starts_with(&format!("ERROR: {expected}")), "{expected}: {}", ran.err);
        assert_eq!(ran.code, Some(1));
    };
    if !is_root {
        skipped("not root: only files without any permission are tried");
    }
    for (file, closed, opened, expected) in [
        (
            "lls-provider/lls-provider-spec.yaml",
            0o000,
            0o644,
            "Cannot read /lls-provider/lls-provider-spec.yaml in image",
        ),
        ("lls-provider/packages", 0o000, 0o755, "Cannot read /lls-provider/packages/ in image"),
        (
            &format!("lls-provider/{VLLM}"),
            0o000,
            0o644,
            "Cannot read /lls-provider/packages/acme_vllm-1.0.0-py3-none-any.whl",
        ),
    ] {
        set(file, closed);
        told(expected);
        set(file, opened);
    }
    set("opt/llama-stack/external-providers", 0o555);
    told("Cannot write to /opt/llama-stack/external-providers\n\nProvider: vllm\n");
    set("opt/llama-stack/external-providers", 0o755);
}

/// Ids, images and settings are data: nothing in them is run, and all of it arrives. What no pod can have is refused.
#[test]
fn what_users_write_is_never_run() {
    let Some(pod) = pod_with_pip() else { return };
    vllm_image(&pod);
    let image = r#"x/$(touch pwned)`touch pwned`;touch pwned&"'\\ \n *${IFS}|"#;
    let nasty = || Start {
        id: "vllm",
        image,
        api: Api::Inference,
        order: 7,
        config: Some(json!({ image: [image, "\n\r\t\0", image] })),
    };
    pod.install(&nasty()).exits(0);
    let crd_config: Value = serde_json::from_str(&pod.read("metadata/vllm/crd-config.yaml")).unwrap();
    assert_eq!(crd_config["image"], json!(image));
    let read =
        kubefoundry_yaml::parse(&pod.read("metadata/vllm/crd-config.yaml"), &kubefoundry_yaml::Limits::default())
            .documents[0]
            .root
            .get("config")
            .unwrap()
            .to_json();
    // A NUL is not part of any environment; JSON escapes it.
    assert_eq!(Some(read), nasty().config);
    assert!(pod.read("installed-packages.txt").starts_with(&format!("# Provider: 'vllm' (image: {image})\n")));
    assert!(pod.sandbox.files(".").iter().all(|file| !file.contains("pwned")), "{:?}", pod.sandbox.files("."));

    for (name, value, expected) in [
        ("LLS_PROVIDER_ID", "../../etc", "LLS_PROVIDER_ID is not a provider id"),
        ("LLS_PROVIDER_ID", "a\nb", "LLS_PROVIDER_ID is not a provider id"),
        ("LLS_PROVIDER_ID", "$(touch pwned)", "LLS_PROVIDER_ID is not a provider id"),
        ("LLS_PROVIDER_ID", "", "LLS_PROVIDER_ID is not a provider id"),
        ("LLS_PROVIDER_API", "safety\", \"x\": \"", "LLS_PROVIDER_API is not an API name"),
        ("LLS_PROVIDER_ORDER", "1; touch pwned", "LLS_PROVIDER_ORDER is not a number"),
        ("LLS_PROVIDER_IMAGE", "a\n# Provider: 'b'", "LLS_PROVIDER_IMAGE is not an image reference"),
        ("LLS_PROVIDER_CONFIG", "{}\n}, {", "LLS_PROVIDER_CONFIG is not one line of JSON"),
    ] {
        let ran = pod.install_with(&nasty(), |command| {
            command.env(name, value);
        });
        assert!(ran.exits(1).err.starts_with(&format!("ERROR: {expected}\n")), "{name}={value}");
    }
    assert!(pod.sandbox.files(".").iter().all(|file| !file.contains("pwned")));
}

/// The paths are tried in order: those of the specification, further ones, those of official images; a star is a star.
#[test]
fn the_base_is_found_where_it_may_be() {
    let pod = Pod::new();
    let put = |path: &str, text: &str| {
        fs::create_dir_all(pod.path(path).parent().unwrap()).unwrap();
        fs::write(pod.path(path), text).unwrap();
    };
    let found = |path: &str, text: &str, extra: Option<&str>| {
        let ran = pod.extract(extra, &[("RUN_CONFIG_PATH", "/workspace/run.yaml")]).exits(0);
        assert_eq!(ran.out, format!("Found run.yaml at {path}\n"));
        assert_eq!(pod.sandbox.read("opt/llama-stack/base-config/run.yaml"), text);
    };
    put("app/run.yaml", "of 0.2");
    found("/app/run.yaml", "of 0.2", None);
    put("workspace/run.yaml", "built");
    found("/workspace/run.yaml", "built", None);
    put("srv/with space/*.yaml", "third");
    let extra = Some("/srv/missing.yaml\n/srv/with space/*.yaml");
    found("/srv/with space/*.yaml", "third", extra);
    put("etc/llama-stack/run.yaml", "second");
    found("/etc/llama-stack/run.yaml", "second", extra);
    put("opt/app-root/run.yaml", "first");
    found("/opt/app-root/run.yaml", "first", None);
    assert_eq!(mode(&pod.path("opt/llama-stack/base-config/run.yaml")), 0o664);
}

/// An official image of 0.3 or later has its configuration only in the Python package.
#[test]
fn the_base_is_found_in_the_python_package() {
    let Some(pod) = pod_with_pip() else { return };
    let package = pod.path("site/llama_stack");
    let site = pod.path("site").canonicalize().unwrap_or_else(|_| pod.path("site")).display().to_string();
    for (path, text) in [
        ("templates/starter/run.yaml", "of 0.2"),
        ("distributions/starter/run.yaml", "of 0.3"),
        ("distributions/starter/config.yaml", "of 0.5"),
    ] {
        fs::create_dir_all(package.join(path).parent().unwrap()).unwrap();
        fs::write(package.join(path), text).unwrap();
        fs::write(package.join("__init__.py"), "raise SystemExit('it is not imported')").unwrap();
        for name in ["DISTRO_NAME", "LLS_DISTRIBUTION"] {
            let ran = pod.extract(None, &[("PYTHONPATH", &site), (name, "starter")]).exits(0);
            assert_eq!(ran.out, format!("Found run.yaml at /site/llama_stack/{path}\n"));
            assert_eq!(pod.sandbox.read("opt/llama-stack/base-config/run.yaml"), text);
        }
    }
    let ran = pod.extract(None, &[("PYTHONPATH", &site), ("DISTRO_NAME", "other")]).exits(1);
    let last = format!("  - {}/templates/other/run.yaml (not found)\n\nResolution: ", package.display());
    assert!(ran.err.contains(&last), "{}", ran.err);
}

/// The block of the specification, with every path that was looked at.
#[test]
fn a_distribution_without_a_base_is_told() {
    let ran =
        Pod::new().extract(Some("/srv/run.yaml"), &[("LLS_DISTRIBUTION", "starter"), ("PATH", "/nothing")]).exits(1);
    assert_eq!(
        ran.err,
        "ERROR: No run.yaml found in distribution image
Checked paths:
  - /opt/app-root/run.yaml (not found)
  - /etc/llama-stack/run.yaml (not found)
  - /srv/run.yaml (not found)
  - /app/run.yaml (not found)
  - llama_stack/distributions/starter/config.yaml (no Python of the image has llama-stack)

Resolution: Either provide a user ConfigMap with run.yaml or use a distribution image that includes run.yaml
"
    );
}

/// Versions and requirements are compared by pip's own code in the script, and by the library; both must agree.
#[test]
fn the_script_and_the_library_agree_on_conflicts() {
    if !has_pip() {
        return;
    }
    let bundled = |file: &str, requires: &str| package::Bundled {
        wheel: package::Wheel::parse(file).unwrap(),
        requirements: requires.split_terminator(';').map(|line| package::Requirement::parse(line).unwrap()).collect(),
    };
    for (first, second, requires) in [
        ("My_Pkg-1.0-py3-none-any.whl", "my.pkg-1.0.0-py3-none-any.whl", "my-pkg==1"),
        ("a-1.0rc1-py3-none-any.whl", "a-1.0.0rc1-py3-none-any.whl", "a==1.0rc1"),
        ("a-1.0+cu12-py3-none-any.whl", "a-1.0-py3-none-any.whl", "a==1.0"),
        ("a-1.0.post0-py3-none-any.whl", "a-1.0-py3-none-any.whl", "a==1.0"),
        ("a-10-py3-none-any.whl", "a-1.0-py3-none-any.whl", "a<2"),
        ("a-2.0-py3-none-any.whl", "a-1.4-py3-none-any.whl", "a~=1.2"),
        ("a-1.9-py3-none-any.whl", "a-1.4-py3-none-any.whl", "a~=1.2"),
        ("main-1-py3-none-any.whl", "a-1-py3-none-any.whl", "a"),
    ] {
        let main = "main-2-py3-none-any.whl";
        let of = |name: &str, wheels: Vec<package::Bundled>| package::Package {
            name: name.to_owned(),
            main: wheels.first().map(|bundled| bundled.wheel.name().to_owned()),
            wheels,
        };
        let one = of("one", vec![bundled("one-1-py3-none-any.whl", ""), bundled(first, "")]);
        let other = of("other", vec![bundled(main, requires), bundled(second, "")]);
        let conflict = !package::conflicts(&[one, other]).is_empty();
        let pod = Pod::new();
        let text = |file: &str| metadata("a", "remote::a", "a", "inference", &format!("packages/{file}"));
        pod.image(&text("one-1-py3-none-any.whl"), &[("one-1-py3-none-any.whl", "", &[]), (first, "", &[])]);
        pod.install(&vllm()).exits(0);
        pod.image(&text(main), &[(main, requires, &[]), (second, "", &[])]);
        let ran = pod.install(&guard());
        assert_eq!(ran.code, Some(i32::from(conflict)), "{first} and {second}: {ran:#?}");
    }
}
