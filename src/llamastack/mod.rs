//! llama-stack servers: a `LlamaStackDistribution` with external providers becomes what a controller in a cluster would
//! have made of it.

pub mod install;
pub mod merge;
pub mod package;
pub mod phase;
pub mod wire;

/// JSON in one line that a YAML reader takes for the same: control characters beyond those of ASCII are escaped, too.
fn json_line(value: &serde_json::Value) -> String {
    let mut line = String::new();
    for c in value.to_string().chars() {
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}') {
            line.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            line.push(c);
        }
    }
    line
}
