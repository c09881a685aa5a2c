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
        let authority = rest.split_once(['/', '?', '#']).map_or(rest, |(authority, _)| authority);
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

/// Whether an address is certainly that of a Service of the cluster. Anything that programs may read in different ways is
/// not, and a name such as `queue.team` may be a domain of the Internet.
pub(super) fn is_in_cluster(address: &str) -> bool {
    let rest = address.strip_prefix("http://").or_else(|| address.strip_prefix("https://")).unwrap_or(address);
    let authority = rest.split_once('/').map_or(rest, |(authority, _)| authority);
    let (host, port) = authority.split_once(':').unwrap_or((authority, "0"));
    let is_name = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    let name = host.strip_suffix(".svc.cluster.local").or_else(|| host.strip_suffix(".svc"));
    let labels = name.unwrap_or(host);
    let is_number = !labels.contains(|c: char| !c.is_ascii_digit() && c != '.');
    port.parse::<u16>().is_ok()
        && !rest.contains('\\')
        && labels.split('.').all(is_name)
        && (name.is_some() || !labels.contains('.') && !is_number && !labels.starts_with("0x"))
}

#[cfg(test)]
mod tests {
    use super::{Url, is_in_cluster};

    #[test]
    fn services_are_in_the_cluster() {
        for address in ["queue", "queue.team.svc:5672", "http://gateway.asya.svc.cluster.local/x", "https://q:443"] {
            assert!(is_in_cluster(address), "{address}");
        }
        for address in [
            "queue.team",
            "198.51.100.7",
            "3325256711",
            "0xc6336407",
            "[::1]",
            "queue.svc@198.51.100.7",
            "http://user:a@queue.svc",
            "http://198.51.100.7\\@queue.svc",
            "http://queue.svc.example.com",
            "amqp://queue.svc",
            "queue.svc?x",
            "queue.svc#x",
            "//queue.svc",
            "Queue.svc.",
            "",
        ] {
            assert!(!is_in_cluster(address), "{address}");
        }
    }

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
