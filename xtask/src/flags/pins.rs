//! The engine versions that the wheels of Dynamo and Ray releases pin.

use std::collections::BTreeMap;

use kubefoundry_yaml::append_line;

use super::version::Version;

/// The file of pins: `<package> <version> <engine>=<version> … sha256=<hash of the wheel>`, sorted. A wheel that only sets
/// a lower bound has `<engine>>=<version>`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Pins(BTreeMap<(String, Version), String>);

const HEADER: &str = "\
# The engine versions that wheels pin exactly, or after `>=` the oldest that they accept. `cargo xtask flags` writes this
# file; `runtimes.rs` of a provider repeats the versions, unless its images carry others.
";

impl Pins {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut pins = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut parts = line.splitn(3, ' ');
            let (Some(package), Some(version), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
                return Err(format!("expected `<package> <version> <engine>=<version> …`, found {line:?}"));
            };
            pins.0.insert((package.to_owned(), Version::new(version)), rest.to_owned());
        }
        if pins.render() == text { Ok(pins) } else { Err("the lines are not sorted".to_owned()) }
    }

    pub(crate) fn insert(&mut self, package: &str, version: &str, engines: &BTreeMap<String, String>, sha256: &str) {
        let pin = |(engine, version): (&String, &String)| {
            if version.starts_with(">=") { format!("{engine}{version}") } else { format!("{engine}={version}") }
        };
        let mut line: Vec<String> = engines.iter().map(pin).collect();
        line.push(format!("sha256={sha256}"));
        self.0.insert((package.to_owned(), Version::new(version)), line.join(" "));
    }

    /// Returns whether the file has these pins for a release.
    pub(crate) fn contains(
        &self,
        package: &str,
        version: &str,
        engines: &BTreeMap<String, String>,
        sha256: &str,
    ) -> bool {
        let mut other = Self::default();
        other.insert(package, version, engines, sha256);
        other.0.iter().all(|(release, line)| self.0.get(release) == Some(line))
    }

    pub(crate) fn render(&self) -> String {
        self.0.iter().fold(HEADER.to_owned(), |mut text, ((package, version), line)| {
            append_line!(text, "{package} {version} {line}");
            text
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_read_as_they_are_written() {
        let mut pins = Pins::default();
        pins.insert("ray", "2.60.0", &BTreeMap::from([("vllm".to_owned(), "0.29.0".to_owned())]), "1");
        pins.insert("ray", "2.9.0", &BTreeMap::from([("vllm".to_owned(), "0.3.0".to_owned())]), "2");
        let text = pins.render();
        assert!(text.ends_with("ray 2.9.0 vllm=0.3.0 sha256=2\nray 2.60.0 vllm=0.29.0 sha256=1\n"), "{text}");
        assert_eq!(Pins::parse(&text), Ok(pins));
        assert!(Pins::parse(&text.replace("2.9.0", "2.99.0")).is_err(), "lines that are not sorted");
    }
}
