//! Parsing of the file names of Python wheels.
//!
//! Source: <https://packaging.python.org/en/latest/specifications/binary-distribution-format/>, "File name convention".

use std::fmt;
use std::str::FromStr as _;

use pep440_rs::Version;

/// The parsed file name of a wheel: `NAME-VERSION[-BUILD]-PYTHON-ABI-PLATFORM.whl`.
///
/// ```
/// use kubefoundry_llamastack::package::Wheel;
/// let wheel = Wheel::parse("My_Pkg-1.0.0-cp311-cp311-manylinux2014_x86_64.whl").unwrap();
/// assert_eq!((wheel.name(), wheel.version()), ("My_Pkg", "1.0.0"));
/// assert!(wheel.runs_on("x86_64") && !wheel.runs_on("aarch64"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wheel {
    file: String,
    name: String,
    version: String,
    platform: String,
}

/// A file name that is not valid for a wheel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not named as a wheel, expected NAME-VERSION-PYTHON-ABI-PLATFORM.whl")]
pub struct WheelNameError(pub String);

impl Wheel {
    /// Parses a file name.
    ///
    /// # Errors
    /// Returns an error if the file name does not have the parts of a wheel's.
    pub fn parse(file: &str) -> Result<Self, WheelNameError> {
        let not_a_wheel = || WheelNameError(kubefoundry_yaml::text::one_line(file));
        let parts: Vec<&str> = file.strip_suffix(".whl").ok_or_else(not_a_wheel)?.split('-').collect();
        let ([name, version, _, _, platform] | [name, version, _, _, _, platform]) = parts[..] else {
            return Err(not_a_wheel());
        };
        if parts.iter().any(|part| part.is_empty()) {
            return Err(not_a_wheel());
        }
        Ok(Self { file: file.to_owned(), name: name.into(), version: version.into(), platform: platform.into() })
    }

    /// Returns the whole file name.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the name of the distribution as spelled in the file name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the version as spelled in the file name.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the platform tags, separated by dots: `any`, `manylinux_2_17_x86_64.manylinux2014_x86_64`.
    pub fn platform(&self) -> &str {
        &self.platform
    }

    /// Returns whether the wheel runs on Linux on an architecture, with its name in Python: `x86_64`, `aarch64`.
    pub fn runs_on(&self, architecture: &str) -> bool {
        self.platform.split('.').any(|tag| {
            tag == "any"
                || (tag.starts_with("linux_") || tag.starts_with("manylinux") || tag.starts_with("musllinux"))
                    && tag.strip_suffix(architecture).is_some_and(|rest| rest.ends_with('_'))
        })
    }

    /// Returns whether the wheel is a release of a distribution, however the name and version are spelled.
    ///
    /// ```
    /// use kubefoundry_llamastack::package::Wheel;
    /// let wheel = Wheel::parse("my_pkg-1.0-py3-none-any.whl").unwrap();
    /// assert!(wheel.is_release("My.Pkg", "1.0.0"));
    /// assert!(!wheel.is_release("my-pkg", "1.1"));
    /// ```
    pub fn is_release(&self, name: &str, version: &str) -> bool {
        self.normalized_name() == normalized_name(name) && self.has_version(version)
    }

    /// Returns the normalized name, by which names are compared (PEP 503).
    pub fn normalized_name(&self) -> String {
        normalized_name(&self.name)
    }

    /// Returns whether the wheel has a version, however it is spelled (PEP 440).
    ///
    /// ```
    /// use kubefoundry_llamastack::package::Wheel;
    /// let wheel = Wheel::parse("a-1.0rc1-py3-none-any.whl").unwrap();
    /// assert!(wheel.has_version("1.0.0-rc.1") && !wheel.has_version("1.0"));
    /// ```
    pub fn has_version(&self, version: &str) -> bool {
        // A version in a file name has `_` for `-` (PEP 427).
        match (Version::from_str(&self.version.replace('_', "-")), Version::from_str(&version.replace('_', "-"))) {
            (Ok(own), Ok(other)) => own == other,
            _ => self.version == version.replace('-', "_"),
        }
    }

    /// Returns whether another wheel is a different version of the same distribution.
    ///
    /// ```
    /// use kubefoundry_llamastack::package::Wheel;
    /// let wheel = |file| Wheel::parse(file).unwrap();
    /// let numpy = wheel("numpy-2.0.0-py3-none-any.whl");
    /// assert!(numpy.conflicts_with(&wheel("NumPy-1.26.4-py3-none-any.whl")));
    /// assert!(!numpy.conflicts_with(&wheel("numpy-2.0-py3-none-any.whl")));
    /// ```
    pub fn conflicts_with(&self, other: &Self) -> bool {
        self.normalized_name() == other.normalized_name() && !self.has_version(&other.version)
    }
}

/// Returns the form of a name in which names are compared (PEP 503).
pub(super) fn normalized_name(name: &str) -> String {
    let parts: Vec<&str> = name.split(['-', '_', '.']).filter(|part| !part.is_empty()).collect();
    parts.join("-").to_ascii_lowercase()
}

/// Writes `name==version` as spelled in the file name.
impl fmt::Display for Wheel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}=={}", self.name, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requires_five_or_six_parts() {
        let wheel = Wheel::parse("a-1.0-2-py3-none-any.whl").unwrap();
        assert_eq!((wheel.to_string().as_str(), wheel.platform()), ("a==1.0", "any"));
        for file in ["a-1.0.whl", "a-1-py3-none-any.zip", "a--py3-none-any.whl", "a-1-b-c-py3-none-any.whl", ".whl", ""]
        {
            assert!(Wheel::parse(file).is_err(), "{file}");
        }
    }

    /// `x86_64` must not match as the suffix `_64` of another name, and wheels of other systems do not run in
    /// containers.
    #[test]
    fn matches_platform_tags() {
        let wheel = |platform: &str| Wheel::parse(&format!("a-1-cp311-cp311-{platform}.whl")).unwrap();
        assert!(wheel("linux_x86_64").runs_on("x86_64"));
        assert!(wheel("manylinux_2_17_aarch64.manylinux2014_aarch64").runs_on("aarch64"));
        assert!(wheel("musllinux_1_2_s390x").runs_on("s390x"));
        assert!(wheel("any").runs_on("riscv64"));
        for platform in ["macosx_11_0_x86_64", "win_amd64", "linux_xx86_64", "linux_aarch64"] {
            assert!(!wheel(platform).runs_on("x86_64"), "{platform}");
        }
    }
}
