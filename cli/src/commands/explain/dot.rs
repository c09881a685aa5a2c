//! Decisions as a graph for Graphviz.

use std::fmt::Write as _;

use super::graph::{Diagram, Edge, Node, Role, Stage, Way};
use super::label;

/// One graph with a cluster for each diagram.
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
                box_of(&mut out, index, position, node);
            }
            out.push_str("    }\n");
        }
        out.push_str("  }\n");
        for edge in &diagram.edges {
            arrow(&mut out, index, edge);
        }
    }
    out.push_str("}\n");
    out
}

fn box_of(out: &mut String, diagram: usize, position: usize, node: &Node) {
    let style = match node.role {
        Role::Chosen | Role::Main => ", color=\"#1a7f37\", penwidth=2",
        Role::Open => ", color=\"#848d97\"",
        Role::Closed => ", color=\"#cf222e\", style=\"rounded,dashed\"",
        Role::External | Role::Endpoint => ", color=\"#848d97\", style=\"rounded,dashed\"",
        Role::Deployment | Role::Supporting => "",
    };
    // Each line ends with what aligns it to the left.
    let lines = quoted(&label::lines(node), "\\l");
    let _ = writeln!(out, "      d{diagram}n{position} [label={lines}{style}]");
}

fn arrow(out: &mut String, diagram: usize, edge: &Edge) {
    let style = match edge.way {
        Way::Taken => ", penwidth=2, color=\"#1a7f37\"",
        Way::NotTaken => ", style=dashed, color=\"#848d97\"",
        Way::Reference => "",
    };
    let label = quoted(&[label::title(&edge.label)], "");
    let _ = writeln!(out, "  d{diagram}n{} -> d{diagram}n{} [label={label}{style}]", edge.from, edge.to);
}

/// A quoted string whose lines end with an escape sequence.
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
    fn what_graphviz_would_read_is_escaped() {
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
        /// Every quote inside is escaped, and what is escaped is text.
        #[test]
        fn strings_end_where_they_should(text in "\\PC{0,60}") {
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
