//! Checks of the wheels in a provider's package: they must exist, run on the platform, and not conflict with each
//! other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::wheel::normalized_name;
use super::{ProviderPackage, Requirement, Wheel};
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
    /// The provider's own wheel (`spec.wheelPath`), if it is known: its name, as spelled there.
    pub main: Option<String>,
    /// The wheels to install.
    pub wheels: Vec<Bundled>,
}

/// A wheel of a package, and what it requires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundled {
    /// The wheel.
    pub wheel: Wheel,
    /// `Requires-Dist` in its METADATA.
    pub requirements: Vec<Requirement>,
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

/// Returns the path of the module that llama-stack imports from a package, without the ending: `acme/vllm/provider`.
pub fn provider_module(package: &ProviderPackage) -> String {
    package.package_name.replace('.', "/") + "/provider"
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

impl Package {
    /// Returns errors for wheels that exclude each other, and for requirements that no wheel of the package meets. The
    /// pod's pip would refuse them. Requirements that depend on the server's Python are left to it.
    ///
    /// ```
    /// use kubefoundry_llamastack::package::{Bundled, Package, Requirement, Wheel};
    /// let requirements = vec![Requirement::parse("left-out>=3").unwrap()];
    /// let wheels = vec![Bundled { wheel: Wheel::parse("a-1-py3-none-any.whl").unwrap(), requirements }];
    /// let package = Package { name: "a".into(), main: None, wheels };
    /// assert_eq!(package.problems(), ["a==1 requires left-out>=3, but no wheel in packages/ is of left-out"]);
    /// ```
    pub fn problems(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut seen: BTreeMap<String, Vec<&Wheel>> = BTreeMap::new();
        for Bundled { wheel, .. } in &self.wheels {
            let others = seen.entry(wheel.normalized_name()).or_default();
            for other in others.iter().filter(|other| wheel.conflicts_with(other)) {
                found.push(format!("dependency conflict: Cannot install {wheel} because it also brings {other}"));
            }
            others.push(wheel);
        }
        let own = self.by_name();
        found.extend(unmet(&own, own.keys().cloned()).into_iter().map(|unmet| {
            let Unmet { wheel, requirement, found } = unmet;
            let instead = match found {
                Some(other) => format!("packages/ has {other}"),
                None => format!("no wheel in packages/ is of {}", requirement.name()),
            };
            format!("{wheel} requires {}, but {instead}", requirement.text())
        }));
        found
    }

    fn by_name(&self) -> BTreeMap<String, &Bundled> {
        self.wheels.iter().map(|bundled| (bundled.wheel.normalized_name(), bundled)).collect()
    }
}

/// A requirement that installed wheels do not meet.
struct Unmet<'p> {
    wheel: &'p Wheel,
    requirement: &'p Requirement,
    /// The wheel that is installed instead, if there is one.
    found: Option<&'p Wheel>,
}

/// Returns the requirements of some wheels that the installed ones do not meet, with those of the extras that they ask
/// for.
fn unmet<'p>(installed: &BTreeMap<String, &'p Bundled>, names: impl Iterator<Item = String>) -> Vec<Unmet<'p>> {
    let mut pending: VecDeque<(String, String)> = names.map(|name| (name, String::new())).collect();
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    while let Some((name, extra)) = pending.pop_front() {
        let Some(bundled) = installed.get(&name) else { continue };
        for requirement in bundled.requirements.iter().filter(|it| it.applies(&extra) == Some(true)) {
            let needed = installed.get(requirement.name()).map(|bundled| &bundled.wheel);
            if needed.is_some_and(|needed| requirement.accepts(needed.version())) {
                let extras = requirement.extras().iter();
                pending.extend(
                    extras.map(|extra| (requirement.name().to_owned(), extra.clone())).filter(|it| !seen.contains(it)),
                );
            } else if extra.is_empty() || requirement.applies("") != Some(true) {
                found.push(Unmet { wheel: &bundled.wheel, requirement, found: needed });
            }
        }
        seen.insert((name, extra));
    }
    found
}

/// Returns errors for providers that cannot be installed together, in this order. Of a Python distribution that two
/// providers bring, the first version stays. The second provider is refused if that version is not enough for it.
///
/// ```
/// use kubefoundry_llamastack::package::{Bundled, Package, Requirement, Wheel, conflicts};
/// let bundled = |file, requires: &[&str]| Bundled {
///     wheel: Wheel::parse(file).unwrap(),
///     requirements: requires.iter().map(|line| Requirement::parse(line).unwrap()).collect(),
/// };
/// let package = |name: &str, main, requires, numpy| Package {
///     name: name.into(), main: Some(name.into()), wheels: vec![bundled(main, &[requires]), bundled(numpy, &[])],
/// };
/// let a = package("a", "a-1-py3-none-any.whl", "numpy", "numpy-2.0-py3-none-any.whl");
/// let b = package("b", "b-1-py3-none-any.whl", "numpy>=1", "numpy-1.26-py3-none-any.whl");
/// let c = package("c", "c-1-py3-none-any.whl", "numpy<2", "numpy-1.26-py3-none-any.whl");
/// assert!(conflicts(&[a.clone(), b]).is_empty());
/// let expected = "Cannot install numpy==1.26 of c because a brings numpy==2.0, and c==1 requires numpy<2";
/// assert_eq!(conflicts(&[a, c]), [expected]);
/// ```
pub fn conflicts(packages: &[Package]) -> Vec<String> {
    let mut errors = Vec::new();
    // Each with the provider that brings it.
    let mut installed: BTreeMap<String, (&str, &Bundled)> = BTreeMap::new();
    for package in packages {
        let own = package.by_name();
        let before = installed.iter().map(|(name, (_, bundled))| (name.clone(), *bundled));
        let mut together: BTreeMap<String, &Bundled> = before.collect();
        // The names of which another version stays, each with the reason against the package.
        let mut kept: BTreeMap<&str, String> = BTreeMap::new();
        for (name, bundled) in &own {
            match installed.get(name) {
                Some((owner, before)) if before.wheel.conflicts_with(&bundled.wheel) => {
                    let (new, old) = (&bundled.wheel, &before.wheel);
                    let refusal = format!("Cannot install {new} of {} because {owner} brings {old}", package.name);
                    kept.insert(name, refusal);
                }
                Some(_) => {}
                None => {
                    together.insert(name.clone(), bundled);
                }
            }
        }
        let main = package.main.as_deref().map(normalized_name);
        let mut problems: Vec<String> = main.and_then(|main| kept.get(main.as_str()).cloned()).into_iter().collect();
        let names = own.keys().filter(|name| !kept.contains_key(name.as_str())).cloned();
        for Unmet { wheel, requirement, .. } in unmet(&together, names) {
            // What the package itself lacks is reported for it alone.
            if let Some(refusal) = kept.get(requirement.name()) {
                problems.push(format!("{refusal}, and {wheel} requires {}", requirement.text()));
            }
        }
        if problems.is_empty() {
            for (name, bundled) in &own {
                installed.entry(name.clone()).or_insert((package.name.as_str(), *bundled));
            }
        }
        errors.extend(problems);
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A package whose main wheel has the first file and requires the lines; the others require nothing.
    fn package(name: &str, files: &[&str], requires: &[&str]) -> Package {
        let bundled = |(index, file): (usize, &&str)| Bundled {
            wheel: Wheel::parse(file).unwrap(),
            requirements: requires
                .iter()
                .filter(|_| index == 0)
                .map(|line| Requirement::parse(line).unwrap())
                .collect(),
        };
        let wheels: Vec<Bundled> = files.iter().enumerate().map(bundled).collect();
        Package { name: name.to_owned(), main: Some(wheels[0].wheel.name().to_owned()), wheels }
    }

    #[test]
    fn reports_two_versions_in_one_package() {
        let package = package("a", &["x-1-py3-none-any.whl", "x-2-py3-none-any.whl"], &[]);
        assert_eq!(package.problems(), ["dependency conflict: Cannot install x==2 because it also brings x==1"]);
    }

    #[test]
    fn accepts_equal_versions() {
        let a = package("a", &["a-1-py3-none-any.whl", "Typing_Extensions-4.0rc1-py3-none-any.whl"], &[]);
        let b = package(
            "b",
            &["b-1-py3-none-any.whl", "typing.extensions-4.0.0rc1-py3-none-any.whl"],
            &["typing-extensions==4rc1"],
        );
        assert!(conflicts(&[a, b]).is_empty());
    }

    /// The provider's own wheel is never replaced by one of another provider.
    #[test]
    fn the_main_wheel_must_have_its_version() {
        let a = package("a", &["a-1-py3-none-any.whl", "b-1-py3-none-any.whl"], &["b"]);
        let b = package("b", &["b-2-py3-none-any.whl"], &[]);
        assert_eq!(conflicts(&[a, b]), ["Cannot install b==2 of b because a brings b==1"]);
    }

    #[test]
    fn follows_the_extras_that_are_asked_for() {
        let lib = |file: &str| Bundled {
            wheel: Wheel::parse(file).unwrap(),
            requirements: vec![Requirement::parse("tls>=2; extra == 'secure'").unwrap()],
        };
        let mut a = package("a", &["a-1-py3-none-any.whl"], &["lib[secure]"]);
        a.wheels.push(lib("lib-1-py3-none-any.whl"));
        assert_eq!(a.problems(), ["lib==1 requires tls>=2, but no wheel in packages/ is of tls"]);
        let mut b = package("b", &["b-1-py3-none-any.whl"], &["lib"]);
        b.wheels.push(lib("lib-1-py3-none-any.whl"));
        assert!(b.problems().is_empty());
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
