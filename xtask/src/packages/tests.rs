use std::fs;

use serde_json::Value;

use super::description::Description;
use super::{describe, labels, nfpm, pair, provenance::Origin};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn description() -> Description {
    Description {
        name: "kubefoundry".to_owned(),
        version: "1.2.3".to_owned(),
        summary: "Writes \"manifests\" #1".to_owned(),
        text: "All of them.".to_owned(),
        license: "Apache-2.0".to_owned(),
        repository: "https://git.example.com/kubefoundry".to_owned(),
        maintainer: "The maintainers".to_owned(),
    }
}

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn described(folder: &tempfile::TempDir) -> Result<String, crate::Failure> {
    described_as(folder, None)
}

fn described_as(folder: &tempfile::TempDir, tag: Option<&str>) -> Result<String, crate::Failure> {
    let parameters = vec![pair("profile=release").unwrap()];
    let (commit, builder) = (COMMIT.to_owned(), "urn:here".to_owned());
    let origin = Origin { commit, tag: tag.map(str::to_owned), builder, parameters };
    describe(&description(), folder.path(), &origin)
}

fn read(folder: &tempfile::TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap()
}

fn yaml(text: &str) -> Value {
    kubefoundry_yaml::parse(text, &kubefoundry_yaml::Limits::default()).documents[0].root.to_json()
}

const LINUX: &str = "kubefoundry-1.2.3-x86_64-unknown-linux-gnu.tar.gz";
const MAC: &str = "kubefoundry-1.2.3-aarch64-apple-darwin.tar.gz";
const WINDOWS: &str = "kubefoundry-1.2.3-x86_64-pc-windows-msvc.zip";
/// The digest of the text "linux".
const SHA256_OF_LINUX: &str = "caf90169eefa5f807d577486b9f795ab86ae2983c5c20806cff959117e90af18";

#[test]
fn krew_gets_every_platform_with_the_digest_of_its_archive() {
    let folder = folder(&[(LINUX, "linux"), (MAC, "mac"), (WINDOWS, "windows"), ("notes.txt", "")]);
    described(&folder).unwrap();
    let manifest = yaml(&read(&folder, "kubefoundry.krew.yaml"));
    let platforms = manifest["spec"]["platforms"].as_array().unwrap();
    let labels: Vec<String> = platforms.iter().map(|it| it["selector"]["matchLabels"].to_string()).collect();
    assert_eq!(
        labels,
        [r#"{"os":"linux","arch":"amd64"}"#, r#"{"os":"darwin","arch":"arm64"}"#, r#"{"os":"windows","arch":"amd64"}"#]
    );
    assert_eq!(platforms[0]["sha256"], SHA256_OF_LINUX);
    assert_eq!(platforms[0]["uri"], format!("https://git.example.com/kubefoundry/releases/download/v1.2.3/{LINUX}"));
    assert_eq!(platforms[0]["files"][0]["from"], "kubefoundry-1.2.3-x86_64-unknown-linux-gnu/kubefoundry");
    assert_eq!(platforms[2]["bin"], "kubefoundry.exe");
    assert_eq!(manifest["spec"]["version"], "v1.2.3");
}

#[test]
fn homebrew_gets_no_windows_and_no_text_that_is_code() {
    let folder = folder(&[(LINUX, "linux"), (WINDOWS, "windows")]);
    described(&folder).unwrap();
    let formula = read(&folder, "kubefoundry.rb");
    assert!(formula.contains(r#"desc "Writes \"manifests\" \#1""#), "{formula}");
    assert!(formula.contains(&format!("on_intel do\n      url \"https://git.example.com/kubefoundry/releases/download/v1.2.3/{LINUX}\"\n      sha256 \"{SHA256_OF_LINUX}\"\n")), "{formula}");
    assert!(!formula.contains("windows") && !formula.contains("on_macos"), "{formula}");
}

#[test]
fn the_sums_and_the_provenance_have_every_file_and_image() {
    let index = r#"{"manifests": [{"digest": "sha256:abc"}]}"#;
    let folder =
        folder(&[(LINUX, "linux"), ("images/kubefoundry/index.json", index), ("images/kubefoundry/blobs/a", "")]);
    described(&folder).unwrap();
    let first = read(&folder, "SHA256SUMS");
    let names: Vec<&str> = first.lines().map(|line| line.split_once("  ").unwrap().1).collect();
    assert_eq!(names, [LINUX, "kubefoundry-1.2.3.intoto.json", "kubefoundry.krew.yaml", "kubefoundry.rb"]);
    let statement: Value = serde_json::from_str(&read(&folder, "kubefoundry-1.2.3.intoto.json")).unwrap();
    let subjects: Vec<&str> =
        statement["subject"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(subjects, [LINUX, "kubefoundry.krew.yaml", "kubefoundry.rb", "images/kubefoundry"]);
    assert_eq!(statement["subject"][3]["digest"]["sha256"], "abc");
    let build = &statement["predicate"]["buildDefinition"];
    assert_eq!(build["externalParameters"]["profile"], "release");
    assert_eq!(build["resolvedDependencies"][0]["digest"]["gitCommit"], COMMIT);
    // The statement is not a subject of itself, and neither are the sums.
    described(&folder).unwrap();
    assert_eq!(read(&folder, "SHA256SUMS"), first);
}

#[test]
fn the_provenance_names_a_tag_only_of_a_tagged_commit() {
    let folder = folder(&[(LINUX, "linux")]);
    let source = |tag| {
        described_as(&folder, tag).unwrap();
        let statement: Value = serde_json::from_str(&read(&folder, "kubefoundry-1.2.3.intoto.json")).unwrap();
        let source = &statement["predicate"]["buildDefinition"]["resolvedDependencies"][0]["uri"];
        source.as_str().unwrap().to_owned()
    };
    assert!(!source(None).contains("refs/"));
    assert!(source(Some("v1.2.3")).ends_with("@refs/tags/v1.2.3"));
}

#[test]
fn an_archive_that_no_manager_would_install_is_refused() {
    let unknown = folder(&[("kubefoundry-1.2.3-sparc-unknown-linux-gnu.tar.gz", "")]);
    assert!(format!("{:?}", described(&unknown)).contains("unknown target \\\"sparc-unknown-linux-gnu\\\""));
    let old = folder(&[("kubefoundry-1.2.2-x86_64-unknown-linux-gnu.tar.gz", "")]);
    assert!(format!("{:?}", described(&old)).contains("no archive of version 1.2.3"));
}

#[test]
fn every_file_of_the_archive_is_installed_once() {
    let files = [
        "LICENSE",
        "NOTICE",
        "README.md",
        "CHANGELOG.md",
        "kubefoundry",
        "man/kubefoundry.1",
        "completions/_kubefoundry",
        "completions/kubefoundry.bash",
        "completions/kubefoundry.fish",
        "sbom/kubefoundry.cdx.json",
    ];
    let folder = folder(&files.map(|file| (file, "")));
    let text = nfpm::configuration(&description(), folder.path(), "arm64", "2026-11-27T00:00:00Z").unwrap();
    let configuration = yaml(&text);
    assert_eq!(configuration["arch"], "arm64");
    let contents = configuration["contents"].as_array().unwrap();
    for packager in ["deb", "rpm"] {
        let installed = |file: &str| {
            let path = folder.path().join(file);
            let is_here = |entry: &&Value| entry["packager"].is_null() || entry["packager"] == packager;
            contents.iter().filter(is_here).filter(|entry| entry["src"] == path.to_str().unwrap()).count()
        };
        let counts: Vec<(&str, usize)> = files.iter().map(|file| (*file, installed(file))).collect();
        assert!(counts.iter().all(|(_, count)| *count == 1), "{packager}: {counts:?}");
    }
    let program = contents.iter().find(|entry| entry["dst"] == "/usr/bin/kubefoundry").unwrap();
    assert_eq!(program["file_info"]["mode"], 0o755);
    let links: Vec<&str> =
        contents.iter().filter(|entry| entry["type"] == "symlink").filter_map(|entry| entry["dst"].as_str()).collect();
    assert_eq!(links, ["/usr/bin/kubectl-kubefoundry", "/usr/bin/kubefoundry-fn"]);
}

#[test]
fn parameters_are_pairs() {
    assert_eq!(pair("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
    assert!(pair("a").is_err());
}

#[test]
fn labels_name_the_version_and_the_commit() {
    let text = labels(&description(), COMMIT);
    assert!(text.contains("org.opencontainers.image.version=1.2.3\n"), "{text}");
    assert!(text.contains(&format!("org.opencontainers.image.revision={COMMIT}\n")), "{text}");
}
