//! Checks of the wheels in a provider's package: they must exist, run on the platform, and not conflict with each
//! other.

use std::collections::BTreeMap;

use super::{ProviderPackage, Wheel};
use kubefoundry_yaml::text::{one_line, one_of};

/// The directory of the wheels, relative to the provider's directory.
const PACKAGES: &str = "packages/";
/// The provider's directory in its image.
const ROOT: &str = "/lls-provider/";

/// The files of a provider's directory (`/lls-provider` in its image).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// Whether the directory `packages` exists.
    pub has_packages: bool,
    /// Paths of all files, relative to the directory and with `/` as separator.
    pub files: Vec<String>,
}

/// A provider's wheels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Package {
    /// The name of the provider in messages: its id or its directory.
    pub name: String,
    /// The wheels to install.
    pub wheels: Vec<Wheel>,
}

impl Contents {
    /// Returns the wheels in `packages`, and errors for a missing directory, a directory without wheels, and invalid
    /// file names.
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
        // Select the same files as the glob `packages/*.whl` in the install script: no subdirectories, no hidden files.
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

    /// Converts a path of the metadata to one relative to the provider's directory: `/lls-provider/packages/a.whl`
    /// becomes
    /// `packages/a.whl`. Returns `None` for a path outside of the directory.
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

    /// Returns why a path of the metadata does not refer to an installed wheel.
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

/// Returns errors for paths of the metadata that do not refer to a wheel in `packages`.
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

/// Returns errors for wheels with native code for another architecture. `platform` is written as for container images
/// (`linux/amd64`, `linux/arm64`) or as in Python (`x86_64`).
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
/// Returns an error for an unknown platform.
pub fn check_platform(wheels: &[Wheel], platform: &str) -> Result<Vec<String>, String> {
    let name = platform.strip_prefix("linux/").unwrap_or(platform);
    let known = ARCHITECTURES.iter().find(|(container, python)| *container == name || *python == name);
    let Some((_, architecture)) = known else {
        let names: Vec<String> = ARCHITECTURES.iter().map(|(container, _)| format!("linux/{container}")).collect();
        return Err(format!("unknown platform {platform:?}, expected {}", one_of(&names)));
    };
    let others = wheels.iter().filter(|wheel| !wheel.runs_on(architecture));
    Ok(others
        .map(|wheel| {
            let (file, found) = (wheel.file(), wheel.platform());
            format!("{file}: native code for another architecture\n  Expected: linux_{architecture}\n  Found: {found}")
        })
        .collect())
}

/// Names of architectures in container images and in Python.
const ARCHITECTURES: [(&str, &str); 7] = [
    ("amd64", "x86_64"),
    ("arm64", "aarch64"),
    ("ppc64le", "ppc64le"),
    ("s390x", "s390x"),
    ("riscv64", "riscv64"),
    ("arm/v7", "armv7l"),
    ("386", "i686"),
];

/// Returns errors for Python distributions of which providers contain different versions, because one would overwrite
/// the other. They are in the order of the providers.
///
/// ```
/// use kubefoundry_llamastack::package::{Package, Wheel, conflicts};
/// let package = |name: &str, file| Package { name: name.into(), wheels: vec![Wheel::parse(file).unwrap()] };
/// let found = conflicts(&[package("a", "numpy-2.0-py3-none-any.whl"), package("b", "numpy-1.26-py3-none-any.whl")]);
/// assert_eq!(found, ["Cannot install numpy==1.26 of b because a brings numpy==2.0"]);
/// ```
pub fn conflicts(packages: &[Package]) -> Vec<String> {
    let mut found = Vec::new();
    // Group by name, which avoids comparing each wheel with all others.
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

    #[test]
    fn reports_two_versions_in_one_package() {
        let package = Package { name: "a".into(), wheels: wheels(&["x-1-py3-none-any.whl", "x-2-py3-none-any.whl"]) };
        assert_eq!(conflicts(&[package]), ["Cannot install x==2 of a because it also brings x==1"]);
    }

    #[test]
    fn accepts_equal_versions() {
        let package = |name: &str, files: &[&str]| Package { name: name.into(), wheels: wheels(files) };
        let a = package("a", &["Typing_Extensions-4.0-py3-none-any.whl"]);
        let b = package("b", &["typing.extensions-4.0.0-py3-none-any.whl"]);
        assert!(conflicts(&[a, b]).is_empty());
    }

    #[test]
    fn ignores_wheels_that_are_not_installed() {
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
