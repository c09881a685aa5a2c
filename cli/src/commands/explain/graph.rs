//! Decisions as a graph: what `mermaid`, `dot` and `html` are all written from.
//!
//! One diagram a ModelDeployment, in three stages: the deployment, the candidates with their gates and rules, and the
//! objects it becomes with what they refer to. Texts are what users wrote; each writer escapes them for its format.

use std::collections::{BTreeMap, BTreeSet};

use kubefoundry_compiler::pipeline::OutputRole;
use kubefoundry_compiler::{Compilation, Output};
use kubefoundry_kubernetes::manifest::owner_name;
use kubefoundry_model::select::{CandidateAssessment, Selection};

use super::references::{Reference, references};
use super::{Placed, verdict};

/// The picture of one ModelDeployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Diagram {
    /// `ModelDeployment default/llama-8b`.
    pub(super) title: String,
    /// In reading order; edges name them by their position.
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
    /// The same edges, to find one by: looking through thousands for each further one takes minutes.
    drawn: BTreeSet<Edge>,
}

/// A box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) stage: Stage,
    pub(super) role: Role,
    /// What it is: `Workspace`, `dynamo`.
    pub(super) title: String,
    /// What else is known of it, a line each.
    pub(super) lines: Vec<String>,
    /// Selection rules with what they came to; of candidates only.
    pub(super) rules: Vec<Rule>,
}

/// A selection rule and what it came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) value: RuleOutcome,
    pub(super) priority: i32,
    pub(super) condition: String,
}

/// What became of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleOutcome {
    True,
    False,
    Failed,
}

impl RuleOutcome {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::True => "true",
            Self::False => "false",
            Self::Failed => "failed",
        }
    }
}

/// The clusters of a diagram, in reading order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    Input,
    Candidates,
    Objects,
}

impl Stage {
    pub(super) const ALL: [Self; 3] = [Self::Input, Self::Candidates, Self::Objects];

    /// Its heading.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Input => "Input",
            Self::Candidates => "Candidates",
            Self::Objects => "Objects",
        }
    }
}

/// What a box stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    Deployment,
    /// The candidate that was chosen.
    Chosen,
    /// A candidate that could run it, and was not chosen.
    Open,
    /// A candidate that a gate keeps out.
    Closed,
    /// The object that runs the model.
    Main,
    /// Another generated object.
    Supporting,
    /// What the objects refer to and somebody else makes.
    External,
    /// Where the model answers, made by the provider.
    Endpoint,
}

/// An arrow from one box to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) label: String,
    pub(super) way: Way,
}

/// What an arrow says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    /// The way that was taken: from the deployment to its provider, and on to the objects.
    Taken,
    /// A candidate that was looked at and not chosen.
    NotTaken,
    /// One object refers to another.
    Reference,
}

/// One diagram for each decision, in their order.
pub(super) fn diagrams(decisions: &[Placed<'_>], compilation: &Compilation) -> Vec<Diagram> {
    let mut outputs: BTreeMap<usize, Vec<&Output>> = BTreeMap::new();
    for output in &compilation.outputs {
        outputs.entry(output.decision).or_default().push(output);
    }
    let none = Vec::new();
    decisions.iter().enumerate().map(|(index, placed)| diagram(placed, outputs.get(&index).unwrap_or(&none))).collect()
}

fn diagram(placed: &Placed<'_>, outputs: &[&Output]) -> Diagram {
    let decision = placed.decision;
    let title = decision.object.to_string();
    let mut diagram = Diagram { title, nodes: Vec::new(), edges: Vec::new(), drawn: BTreeSet::new() };
    let place = format!("{}:{}:{}", placed.file, placed.line, placed.column);
    let mut lines = vec![owner_name(decision.object.namespace.as_deref(), &decision.object.name), place];
    if decision.selection.is_some() && decision.provider().is_none() {
        lines.push("no provider was chosen".to_owned());
    }
    let deployment = diagram.node(Stage::Input, Role::Deployment, &decision.object.kind, lines);
    let mut chosen = deployment;
    for (selection, candidate) in
        decision.selection.iter().flat_map(|it| it.candidates.iter().map(move |one| (it, one)))
    {
        let role = role(candidate, selection);
        let mut lines = vec![verdict(candidate, selection)];
        if role == Role::Chosen {
            lines.extend(selection.reason.clone());
            lines.extend(decision.crd_version.as_ref().map(|version| format!("CRD version {version}")));
            lines.extend(decision.runtime.as_ref().map(|runtime| format!("runtime {runtime}")));
        }
        let node = diagram.node(Stage::Candidates, role, &candidate.provider, lines);
        diagram.add_rules(node, candidate);
        let (way, label) = if role == Role::Chosen { (Way::Taken, "chosen") } else { (Way::NotTaken, "not chosen") };
        diagram.edge(deployment, node, label, way);
        if role == Role::Chosen {
            chosen = node;
        }
    }
    add_objects(&mut diagram, placed, outputs, chosen);
    diagram
}

/// The objects, main object first, with what they refer to and where the model answers.
fn add_objects(diagram: &mut Diagram, placed: &Placed<'_>, outputs: &[&Output], chosen: usize) {
    let Some((main, supporting)) = outputs.split_last() else { return };
    let mut known: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut nodes = Vec::new();
    for (output, role) in
        std::iter::once((main, Role::Main)).chain(supporting.iter().map(|output| (output, Role::Supporting)))
    {
        let identity = &output.identity;
        let api_version = output.object.get("apiVersion").and_then(serde_json::Value::as_str).unwrap_or_default();
        let mut lines = vec![owner_name(identity.namespace.as_deref(), &identity.name), api_version.to_owned()];
        match output.role {
            OutputRole::PassedOn => lines.push("passed on for its provider to render".to_owned()),
            OutputRole::Changed => lines.push("of the input, with additions".to_owned()),
            OutputRole::Generated | OutputRole::Shared => {}
        }
        let node = diagram.node(Stage::Objects, role, &identity.kind, lines);
        known.insert((&identity.kind, &identity.name), node);
        nodes.push((*output, node));
    }
    let main = nodes.first().map_or(chosen, |(_, node)| *node);
    diagram.edge(chosen, main, "renders", Way::Taken);
    let mut external: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for (output, node) in nodes.iter().filter(|(output, _)| output.role != OutputRole::PassedOn) {
        for Reference { kind, name: target, relation } in references(&output.object) {
            let to = known.get(&(kind, target.as_str())).or_else(|| external.get(&(kind, target.clone()))).copied();
            let to = to.unwrap_or_else(|| {
                let lines = vec![owner_name(output.identity.namespace.as_deref(), &target), "not made here".to_owned()];
                diagram.node(Stage::Objects, Role::External, kind, lines)
            });
            if !known.contains_key(&(kind, target.as_str())) {
                external.insert((kind, target), to);
            }
            if to != *node {
                diagram.edge(*node, to, relation, Way::Reference);
            }
        }
    }
    if let Some(endpoint) = &placed.decision.endpoint {
        let answers = format!("answers on port {}", endpoint.port);
        let service = known.get(&("Service", endpoint.service.as_str())).copied();
        let service = service.unwrap_or_else(|| {
            let namespace = placed.decision.object.namespace.as_deref();
            let lines = vec![owner_name(namespace, &endpoint.service), "made by the provider".to_owned()];
            diagram.node(Stage::Objects, Role::Endpoint, "Service", lines)
        });
        diagram.edge(main, service, &answers, Way::Reference);
    }
    // What nothing refers to is drawn as what it is: another object that the provider's translation made.
    let referred: BTreeSet<usize> = diagram.edges.iter().map(|edge| edge.to).collect();
    for (_, node) in nodes.iter().skip(1) {
        if !referred.contains(node) {
            diagram.edge(chosen, *node, "renders", Way::Taken);
        }
    }
}

/// Which box a candidate is.
fn role(candidate: &CandidateAssessment, selection: &Selection) -> Role {
    if selection.provider.as_deref() == Some(&candidate.provider) {
        Role::Chosen
    } else if candidate.closed_gate.is_some() {
        Role::Closed
    } else {
        Role::Open
    }
}

impl Diagram {
    fn node(&mut self, stage: Stage, role: Role, title: &str, lines: Vec<String>) -> usize {
        self.nodes.push(Node { stage, role, title: title.to_owned(), lines, rules: Vec::new() });
        self.nodes.len() - 1
    }

    fn add_rules(&mut self, node: usize, candidate: &CandidateAssessment) {
        let rules = candidate.rules.iter().map(|rule| {
            let value = match rule.value {
                Some(true) => RuleOutcome::True,
                Some(false) => RuleOutcome::False,
                None => RuleOutcome::Failed,
            };
            Rule { value, priority: rule.priority, condition: rule.condition.to_string() }
        });
        if let Some(node) = self.nodes.get_mut(node) {
            node.rules = rules.collect();
        }
    }

    /// Adds an arrow, once.
    fn edge(&mut self, from: usize, to: usize, label: &str, way: Way) {
        let edge = Edge { from, to, label: label.to_owned(), way };
        if self.drawn.insert(edge.clone()) {
            self.edges.push(edge);
        }
    }

    /// The boxes of a stage, each with its position.
    pub(super) fn stage(&self, stage: Stage) -> impl Iterator<Item = (usize, &Node)> {
        self.nodes.iter().enumerate().filter(move |(_, node)| node.stage == stage)
    }
}
