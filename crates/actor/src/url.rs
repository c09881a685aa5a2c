//! Host and port of HTTP addresses.

/// The host and port of an HTTP address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Url<'u> {
    host: &'u str,
    port: u16,
}

impl<'u> Url<'u> {
    /// Parses `http://host:port/path`. Returns `None` if the text is not an HTTP address.
    pub(super) fn parse(text: &'u str) -> Option<Self> {
        if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return None;
        }
        let (rest, default) = text
            .strip_prefix("http://")
            .map(|rest| (rest, 80))
            .or(text.strip_prefix("https://").map(|rest| (rest, 443)))?;
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let address = authority.rsplit_once('@').map_or(authority, |(_, address)| address);
        let (host, port) = match address.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, rest)) => (host, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) }),
            None => address.split_once(':').map_or((address, None), |(host, port)| (host, Some(port))),
        };
        let port = match port {
            None => default,
            Some(port) => port.parse().ok().filter(|port| *port > 0)?,
        };
        (!host.is_empty()).then_some(Self { host, port })
    }

    /// Returns the port if the address refers to the pod itself.
    pub(super) fn port_in_pod(self) -> Option<u16> {
        let own = matches!(self.host, "localhost" | "::1" | "0.0.0.0") || self.host.starts_with("127.");
        own.then_some(self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::Url;

    #[test]
    fn parses_host_and_port() {
        for (text, expected) in [
            ("http://localhost:8080", Some(("localhost", 8080, Some(8080)))),
            ("http://127.0.0.1/v1", Some(("127.0.0.1", 80, Some(80)))),
            ("https://model.team.svc/v1?x=1", Some(("model.team.svc", 443, None))),
            ("http://[::1]:9000/x", Some(("::1", 9000, Some(9000)))),
            ("http://user:word@model:5000", Some(("model", 5000, None))),
            ("http://model:0", None),
            ("http://model:70000", None),
            ("http://:80", None),
            ("http://", None),
            ("model:80", None),
            ("http://a b", None),
            ("grpc://model:1", None),
            ("http://[::1]x", None),
        ] {
            let parsed = Url::parse(text).map(|url| (url.host, url.port, url.port_in_pod()));
            assert_eq!(parsed, expected, "{text}");
        }
    }
}
