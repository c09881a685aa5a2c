//! Formats decisions as a Graphviz graph.

use std::fmt::Write as _;

use super::label;
use kubefoundry_reports::graph::{Diagram, Edge, EdgeKind, Node, NodeRole, Stage};

/// Formats one graph with a cluster for each diagram.
pub(super) fn dot(diagrams: &[Diagram]) -> String {
    let mut out = String::from(
        "digraph kubefoundry {\n  rankdir=LR\n  graph [fontname=\"Helvetica\", fontsize=12, style=rounded, color=\"#848d97\"]\n  \
         node [fontname=\"Helvetica\", fontsize=11, shape=box, style=rounded]\n  \
         edge [fontname=\"Helvetica\", fontsize=10]\n",
    );
    for (index, diagram) in diagrams.iter().enumerate() {
        let _ = writeln!(
            out,
            "  subgraph cluster_d{index} {{\n    label={}",
            quoted(&[label::title(&diagram.title)], "\\n")
        );
        for (number, stage) in Stage::ALL.into_iter().enumerate() {
            let mut nodes = diagram.stage(stage).peekable();
            if nodes.peek().is_none() {
                continue;
            }
            let _ = writeln!(out, "    subgraph cluster_d{index}s{number} {{\n      label=\"{}\"", stage.title());
            for (position, node) in nodes {
                write_node(&mut out, index, position, node);
            }
            out.push_str("    }\n");
        }
        out.push_str("  }\n");
        for edge in &diagram.edges {
            write_edge(&mut out, index, edge);
        }
    }
    out.push_str("}\n");
    out
}

fn write_node(out: &mut String, diagram: usize, position: usize, node: &Node) {
    let style = match node.role {
        NodeRole::Chosen | NodeRole::Main => ", color=\"#1a7f37\", penwidth=2",
        NodeRole::Eligible => ", color=\"#848d97\"",
        NodeRole::NotEligible => ", color=\"#cf222e\", style=\"rounded,dashed\"",
        NodeRole::External | NodeRole::Endpoint => ", color=\"#848d97\", style=\"rounded,dashed\"",
        NodeRole::Deployment | NodeRole::Supporting => "",
    };
    // `\l` ends a line and aligns it to the left.
    let lines = quoted(&label::lines(node), "\\l");
    let _ = writeln!(out, "      d{diagram}n{position} [label={lines}{style}]");
}

fn write_edge(out: &mut String, diagram: usize, edge: &Edge) {
    let style = match edge.kind {
        EdgeKind::Chosen => ", penwidth=2, color=\"#1a7f37\"",
        EdgeKind::NotChosen => ", style=dashed, color=\"#848d97\"",
        EdgeKind::Reference => "",
    };
    let label = quoted(&[label::title(&edge.label)], "");
    let _ = writeln!(out, "  d{diagram}n{} -> d{diagram}n{} [label={label}{style}]", edge.from, edge.to);
}

/// Quotes a string for Graphviz, with `end` after each line.
fn quoted(lines: &[String], end: &str) -> String {
    let mut out = String::from("\"");
    for line in lines {
        for c in line.chars() {
            match c {
                // Backslashes begin escape sequences (`\N` is the node's name), `&` begins character references.
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '&' => out.push_str("&amp;"),
                c => out.push(c),
            }
        }
        out.push_str(end);
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_graphviz_syntax() {
        for (text, expected) in [
            ("a\"]; x -> y [label=\"", "\"a\\\"]; x -> y [label=\\\"\\l\""),
            ("\\N\\", "\"\\\\N\\\\\\l\""),
            ("&lt;b&gt;", "\"&amp;lt;b&amp;gt;\\l\""),
            ("<b>", "\"<b>\\l\""),
        ] {
            assert_eq!(quoted(&[text.to_owned()], "\\l"), expected);
        }
    }

    proptest! {
        /// No unescaped quote ends the string early, and unescaping yields the original text.
        #[test]
        fn quoted_strings_round_trip(text in "\\PC{0,60}") {
            let string = quoted(std::slice::from_ref(&text), "");
            let inside = string.strip_prefix('"').unwrap().strip_suffix('"').unwrap();
            let mut read = String::new();
            let mut characters = inside.chars();
            while let Some(c) = characters.next() {
                prop_assert_ne!(c, '"');
                read.push(if c == '\\' { characters.next().unwrap() } else { c });
            }
            prop_assert_eq!(read.replace("&amp;", "&"), text);
        }
    }
}
