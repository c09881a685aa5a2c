//! What lies beside the metadata: wheels that are there, run on the platform, and do not exclude each other.

use std::collections::BTreeMap;

use super::{ProviderPackage, Wheel};
use kubefoundry_yaml::text::one_line;

/// The directory of a provider's image that holds its wheels, and the folder above it.
const PACKAGES: &str = "packages/";
const ROOT: &str = "/lls-provider/";

/// What lies in a provider's directory (`/lls-provider` in its image).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// Whether there is a directory `packages`.
    pub has_packages: bool,
    /// Every file, relative to the directory, with `/` between names.
    pub files: Vec<String>,
}

/// A provider's wheels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Package {
    /// How messages name the provider: its id, or its directory.
    pub name: String,
    /// Its wheels.
    pub wheels: Vec<Wheel>,
}

impl Contents {
    /// The wheels of `packages`, and the errors: no such directory, no wheel in it, file names that are not a wheel's.
    ///
    /// ```
    /// use kubefoundry_llamastack::package::Contents;
    /// let contents = Contents { has_packages: true, files: vec!["packages/a-1.0-py3-none-any.whl".into()] };
    /// let (wheels, errors) = contents.wheels();
    /// assert_eq!(wheels[0].to_string(), "a==1.0");
    /// assert!(errors.is_empty());
    /// assert_eq!(Contents::default().wheels().1, ["Missing packages/ directory"]);
    /// ```
    pub fn wheels(&self) -> (Vec<Wheel>, Vec<String>) {
        if !self.has_packages {
            return (Vec::new(), vec!["Missing packages/ directory".to_owned()]);
        }
        let (mut wheels, mut errors) = (Vec::new(), Vec::new());
        // As `packages/*.whl` in the script that installs them: of no folder below, and none that is hidden.
        let names = self.files.iter().filter_map(|file| file.strip_prefix(PACKAGES));
        let names =
            names.filter(|name| name.as_bytes().ends_with(b".whl") && !name.contains('/') && !name.starts_with('.'));
        for name in names {
            match Wheel::parse(name) {
                Ok(wheel) => wheels.push(wheel),
                Err(error) => errors.push(error.to_string()),
            }
        }
        if wheels.is_empty() && errors.is_empty() {
            errors.push("No wheel (*.whl) in packages/".to_owned());
        }
        (wheels, errors)
    }

    /// A path that metadata names, relative to the provider's directory: `/lls-provider/packages/a.whl` is
    /// `packages/a.whl`. None for a path that leads out of it.
    ///
    /// ```
    /// use kubefoundry_llamastack::package::Contents;
    /// assert_eq!(Contents::relative("/lls-provider/packages/a.whl").as_deref(), Some("packages/a.whl"));
    /// assert_eq!(Contents::relative("./packages/../packages/a.whl").as_deref(), Some("packages/a.whl"));
    /// assert_eq!(Contents::relative("/etc/passwd"), None);
    /// assert_eq!(Contents::relative("../a.whl"), None);
    /// ```
    pub fn relative(path: &str) -> Option<String> {
        let inside = match path.strip_prefix(ROOT) {
            None if path.starts_with('/') => return None,
            inside => inside.unwrap_or(path),
        };
        let mut names = Vec::new();
        for part in inside.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(names.pop()?),
                name => names.push(name),
            }
        }
        Some(names.join("/"))
    }

    /// Why a path of the metadata is none of a wheel that is installed.
    fn problem(&self, path: &str) -> Option<String> {
        let file = Self::relative(path).filter(|path| self.files.contains(path));
        let Some(file) = file else { return Some(format!("no file {}", one_line(path))) };
        let name = file.rsplit('/').next().unwrap_or(&file);
        match Wheel::parse(name) {
            Err(error) => Some(error.to_string()),
            Ok(_) if file.strip_prefix(PACKAGES) == Some(name) => None,
            Ok(_) => Some(format!("{} is not in packages/, whose wheels are installed", one_line(path))),
        }
    }
}

/// Files that the metadata names and that are not there, or are no wheels of `packages`.
///
/// ```
/// # let text = "{apiVersion: llamastack.io/v1alpha1, kind: ProviderPackage, metadata: {name: a, version: 1.0.0, vendor: b}, \
/// # spec: {packageName: a, providerType: remote::a, api: safety, wheelPath: packages/a-1.0.0-py3-none-any.whl}}";
/// use kubefoundry_llamastack::package::{Contents, check, read};
/// let package = read(text).unwrap().package;
/// let errors = check(&package, &Contents { has_packages: true, files: Vec::new() });
/// assert_eq!(errors, ["spec.wheelPath: no file packages/a-1.0.0-py3-none-any.whl"]);
/// ```
pub fn check(package: &ProviderPackage, contents: &Contents) -> Vec<String> {
    let main = std::iter::once(("spec.wheelPath".to_owned(), &package.wheel_path));
    let others = package.dependency_wheels.iter().enumerate();
    let others = others.map(|(index, path)| (format!("spec.dependencyWheels[{index}]"), path));
    let all = main.chain(others);
    all.filter_map(|(field, path)| Some(format!("{field}: {}", contents.problem(path)?))).collect()
}

/// Wheels with machine code for another architecture than a platform's. The platform is named as container images are
/// (`linux/amd64`, `linux/arm64`), or as Python does (`x86_64`).
///
/// ```
/// use kubefoundry_llamastack::package::{Wheel, check_platform};
/// let wheel = Wheel::parse("a-1-cp311-cp311-linux_aarch64.whl").unwrap();
/// let errors = check_platform(&[wheel], "linux/amd64").unwrap();
/// assert_eq!(errors, ["a-1-cp311-cp311-linux_aarch64.whl: native code for another architecture\n  Expected: linux_x86_64\n  Found: linux_aarch64"]);
/// assert!(check_platform(&[], "linux/z80").is_err());
/// ```
///
/// # Errors
/// When no such platform is known.
pub fn check_platform(wheels: &[Wheel], platform: &str) -> Result<Vec<String>, String> {
    let name = platform.strip_prefix("linux/").unwrap_or(platform);
    let known = ARCHITECTURES.iter().find(|(container, python)| *container == name || *python == name);
    let Some((_, architecture)) = known else {
        let names: Vec<String> = ARCHITECTURES.iter().map(|(container, _)| format!("linux/{container}")).collect();
        return Err(format!("unknown platform {platform:?}, expected one of {}", names.join(", ")));
    };
    let others = wheels.iter().filter(|wheel| !wheel.runs_on(architecture));
    Ok(others
        .map(|wheel| {
            let (file, found) = (wheel.file(), wheel.platform());
            format!("{file}: native code for another architecture\n  Expected: linux_{architecture}\n  Found: {found}")
        })
        .collect())
}

/// Architectures as container images name them, and as Python does.
const ARCHITECTURES: [(&str, &str); 7] = [
    ("amd64", "x86_64"),
    ("arm64", "aarch64"),
    ("ppc64le", "ppc64le"),
    ("s390x", "s390x"),
    ("riscv64", "riscv64"),
    ("arm/v7", "armv7l"),
    ("386", "i686"),
];

/// Distributions of which providers bring different versions: they would be installed over each other. One line each, in
/// the order of the providers.
///
/// ```
/// use kubefoundry_llamastack::package::{Package, Wheel, conflicts};
/// let package = |name: &str, file| Package { name: name.into(), wheels: vec![Wheel::parse(file).unwrap()] };
/// let found = conflicts(&[package("a", "numpy-2.0-py3-none-any.whl"), package("b", "numpy-1.26-py3-none-any.whl")]);
/// assert_eq!(found, ["Cannot install numpy==1.26 of b because a brings numpy==2.0"]);
/// ```
pub fn conflicts(packages: &[Package]) -> Vec<String> {
    let mut found = Vec::new();
    // By name, so that many wheels are not compared one with another.
    let mut seen: BTreeMap<String, Vec<(usize, &Wheel)>> = BTreeMap::new();
    for (position, package) in packages.iter().enumerate() {
        for wheel in &package.wheels {
            let others = seen.entry(wheel.normalized_name()).or_default();
            for (owner, other) in others.iter().filter(|(_, other)| wheel.conflicts_with(other)) {
                let owner = packages.get(*owner).map_or("", |owner| owner.name.as_str());
                let by = if owner == package.name { "it also".to_owned() } else { owner.to_owned() };
                found.push(format!("Cannot install {wheel} of {} because {by} brings {other}", package.name));
            }
            others.push((position, wheel));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wheels(files: &[&str]) -> Vec<Wheel> {
        files.iter().map(|file| Wheel::parse(file).unwrap()).collect()
    }

    /// A package that holds two versions of one distribution cannot be installed, whatever the others hold.
    #[test]
    fn one_package_can_exclude_itself() {
        let package = Package { name: "a".into(), wheels: wheels(&["x-1-py3-none-any.whl", "x-2-py3-none-any.whl"]) };
        assert_eq!(conflicts(&[package]), ["Cannot install x==2 of a because it also brings x==1"]);
    }

    #[test]
    fn equal_versions_are_no_conflict() {
        let package = |name: &str, files: &[&str]| Package { name: name.into(), wheels: wheels(files) };
        let a = package("a", &["Typing_Extensions-4.0-py3-none-any.whl"]);
        let b = package("b", &["typing.extensions-4.0.0-py3-none-any.whl"]);
        assert!(conflicts(&[a, b]).is_empty());
    }

    #[test]
    fn only_wheels_that_are_installed_count() {
        let files = ["packages/.x.whl", "packages/deep/a-1-py3-none-any.whl", "a-1-py3-none-any.whl", "packages/r.txt"];
        let contents = Contents { has_packages: true, files: files.map(str::to_owned).to_vec() };
        assert_eq!(contents.wheels().1, ["No wheel (*.whl) in packages/"]);
        let problem = |path| contents.problem(path).unwrap_or_default();
        assert_eq!(problem("packages/b.whl"), "no file packages/b.whl");
        assert_eq!(problem("../a-1-py3-none-any.whl"), "no file ../a-1-py3-none-any.whl");
        assert!(problem("/lls-provider/packages/r.txt").starts_with("r.txt is not named as a wheel, expected "));
        for path in ["a-1-py3-none-any.whl", "packages/deep/a-1-py3-none-any.whl"] {
            assert_eq!(problem(path), format!("{path} is not in packages/, whose wheels are installed"));
        }
    }
}
