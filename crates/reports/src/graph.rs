//! Converts decisions to graphs, from which the formats of `explain` are written: Mermaid and HTML.
//!
//! Each ModelDeployment has one diagram in three stages: the deployment, the candidates with their gates and selection
//! rules, and the rendered objects with their references. Texts are not escaped; each writer escapes them for its
//! format.

use std::collections::{BTreeMap, BTreeSet};

use kubefoundry_compiler::pipeline::OutputRole;
use kubefoundry_compiler::{Compilation, Output};
use kubefoundry_kubernetes::manifest::owner_name;
use kubefoundry_model::select::{CandidateAssessment, Selection};

use crate::references::{Reference, find_references};
use crate::run::LocatedDecision;

/// How many deployments a page or a picture shows. 2000 make a page of 13 MB, which browsers still open in a second; each
/// more takes 28 kB of memory.
pub const MAX_DEPLOYMENTS: usize = 2000;

/// Returns the note about deployments that are left out, if there are any.
pub fn omission_note(deployments: usize) -> Option<String> {
    (deployments > MAX_DEPLOYMENTS).then(|| {
        format!(
            "kubefoundry: the first {MAX_DEPLOYMENTS} of {deployments} deployments are shown; explain fewer files at once, or \
             use --output json\n"
        )
    })
}

/// The diagram of one ModelDeployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagram {
    /// `ModelDeployment default/llama-8b`.
    pub title: String,
    /// In reading order; edges refer to nodes by index.
    pub nodes: Vec<Node>,
    /// The arrows between the nodes.
    pub edges: Vec<Edge>,
    /// The same edges as a set, because a linear search for duplicates takes minutes with thousands of edges.
    edge_set: BTreeSet<Edge>,
}

/// A box of a diagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Where the box stands.
    pub stage: Stage,
    /// What the box represents.
    pub role: NodeRole,
    /// The kind of an object or the name of a candidate: `Workspace`, `dynamo`.
    pub title: String,
    /// Further facts, one on each line.
    pub lines: Vec<String>,
    /// The evaluated selection rules of a candidate; empty for other nodes.
    pub rules: Vec<EvaluatedRule>,
    /// The rendered object, as an index of the outputs of the compilation.
    pub output: Option<usize>,
}

/// An evaluated selection rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvaluatedRule {
    /// Its result.
    pub value: RuleOutcome,
    /// Its priority.
    pub priority: i32,
    /// Its CEL expression.
    pub condition: String,
}

/// The result of a selection rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleOutcome {
    /// The rule matches.
    True,
    /// The rule does not match.
    False,
    /// The evaluation ended with an error.
    Failed,
}

impl RuleOutcome {
    /// Returns the word for the result.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "true",
            Self::False => "false",
            Self::Failed => "failed",
        }
    }
}

/// The clusters of a diagram, in reading order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The deployment.
    Input,
    /// The providers.
    Candidates,
    /// What is rendered.
    Objects,
}

impl Stage {
    /// All stages, in reading order.
    pub const ALL: [Self; 3] = [Self::Input, Self::Candidates, Self::Objects];

    /// Returns the heading of the stage.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Input => "Input",
            Self::Candidates => "Candidates",
            Self::Objects => "Objects",
        }
    }
}

/// What a node represents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeRole {
    /// What the user wrote.
    Deployment,
    /// The selected candidate.
    Chosen,
    /// A candidate that could run the deployment but was not selected.
    Eligible,
    /// A candidate that a gate excludes.
    NotEligible,
    /// The object that runs the model.
    Main,
    /// Another generated object.
    Supporting,
    /// An object that generated objects refer to, and that the user must create.
    External,
    /// The Service of the model, created by the provider.
    Endpoint,
}

/// An arrow between two nodes, given by their indexes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// Where it begins.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// What the one node does to the other.
    pub label: String,
    /// What it represents.
    pub kind: EdgeKind,
}

/// What an edge represents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EdgeKind {
    /// From the deployment to the selected provider, and from there to the objects.
    Chosen,
    /// From the deployment to a candidate that was not selected.
    NotChosen,
    /// From an object to another that it refers to.
    Reference,
}

/// Builds one diagram for each decision, in the same order.
pub fn build_diagrams(decisions: &[LocatedDecision<'_>], compilation: &Compilation) -> Vec<Diagram> {
    let mut outputs: BTreeMap<usize, Vec<(usize, &Output)>> = BTreeMap::new();
    for (position, output) in compilation.outputs.iter().enumerate() {
        outputs.entry(output.decision).or_default().push((position, output));
    }
    let none = Vec::new();
    decisions
        .iter()
        .enumerate()
        .map(|(index, located)| build_diagram(located, outputs.get(&index).unwrap_or(&none)))
        .collect()
}

fn build_diagram(located: &LocatedDecision<'_>, outputs: &[(usize, &Output)]) -> Diagram {
    let decision = located.decision;
    let title = decision.object.to_string();
    let mut diagram = Diagram { title, nodes: Vec::new(), edges: Vec::new(), edge_set: BTreeSet::new() };
    let place = format!("{}:{}:{}", located.file, located.line, located.column);
    let mut lines = vec![owner_name(decision.object.namespace.as_deref(), &decision.object.name), place];
    if decision.selection.is_some() && decision.provider().is_none() {
        lines.push("no provider was selected".to_owned());
    }
    let deployment = diagram.add_node(Stage::Input, NodeRole::Deployment, &decision.object.kind, lines);
    // Index of the node from which the objects are rendered; without a provider, the deployment itself.
    let mut chosen = deployment;
    for (selection, candidate) in
        decision.selection.iter().flat_map(|it| it.candidates.iter().map(move |candidate| (it, candidate)))
    {
        let role = candidate_role(candidate, selection);
        let mut lines = vec![verdict(candidate, selection)];
        if role == NodeRole::Chosen {
            lines.extend(selection.reason.clone());
            lines.extend(decision.crd_version.as_ref().map(|version| format!("CRD version {version}")));
            lines.extend(decision.runtime.as_ref().map(|runtime| format!("runtime {runtime}")));
        }
        let node = diagram.add_node(Stage::Candidates, role, &candidate.provider, lines);
        diagram.add_rules(node, candidate);
        let (kind, label) = if role == NodeRole::Chosen {
            (EdgeKind::Chosen, "selected")
        } else {
            (EdgeKind::NotChosen, "not selected")
        };
        diagram.add_edge(deployment, node, label, kind);
        if role == NodeRole::Chosen {
            chosen = node;
        }
    }
    add_objects(&mut diagram, located, outputs, chosen);
    diagram
}

/// Adds the rendered objects (the main object first), the objects that they refer to, and the endpoint.
fn add_objects(diagram: &mut Diagram, located: &LocatedDecision<'_>, outputs: &[(usize, &Output)], chosen: usize) {
    // Objects are rendered in the order in which they must be applied, so the main object comes last.
    let Some((main, supporting)) = outputs.split_last() else { return };
    let mut known: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut nodes = Vec::new();
    for ((position, output), role) in
        std::iter::once((main, NodeRole::Main)).chain(supporting.iter().map(|output| (output, NodeRole::Supporting)))
    {
        let identity = &output.identity;
        let api_version = output.object.get("apiVersion").and_then(serde_json::Value::as_str).unwrap_or_default();
        let mut lines = vec![owner_name(identity.namespace.as_deref(), &identity.name), api_version.to_owned()];
        match output.role {
            OutputRole::PassedOn => lines.push("left for its provider to render".to_owned()),
            OutputRole::Changed => lines.push("from the input, with additions".to_owned()),
            OutputRole::Generated | OutputRole::Shared => {}
        }
        let node = diagram.add_node(Stage::Objects, role, &identity.kind, lines);
        if let Some(node) = diagram.nodes.get_mut(node) {
            node.output = Some(*position);
        }
        known.insert((&identity.kind, &identity.name), node);
        nodes.push((*output, node));
    }
    let main = nodes.first().map_or(chosen, |(_, node)| *node);
    diagram.add_edge(chosen, main, "renders", EdgeKind::Chosen);
    let mut external: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for (output, node) in nodes.iter().filter(|(output, _)| output.role != OutputRole::PassedOn) {
        for Reference { kind, name: target, relation } in find_references(&output.object) {
            let to = known.get(&(kind, target.as_str())).or_else(|| external.get(&(kind, target.clone()))).copied();
            let to = to.unwrap_or_else(|| {
                let lines = vec![owner_name(output.identity.namespace.as_deref(), &target), "not generated".to_owned()];
                diagram.add_node(Stage::Objects, NodeRole::External, kind, lines)
            });
            if !known.contains_key(&(kind, target.as_str())) {
                external.insert((kind, target), to);
            }
            if to != *node {
                diagram.add_edge(*node, to, relation, EdgeKind::Reference);
            }
        }
    }
    if let Some(endpoint) = &located.decision.endpoint {
        let answers = format!("answers on port {}", endpoint.port);
        let existing = known.get(&("Service", endpoint.service.as_str())).copied();
        let service = existing.unwrap_or_else(|| {
            let namespace = located.decision.object.namespace.as_deref();
            let lines = vec![owner_name(namespace, &endpoint.service), "created by the provider".to_owned()];
            diagram.add_node(Stage::Objects, NodeRole::Endpoint, "Service", lines)
        });
        diagram.add_edge(main, service, &answers, EdgeKind::Reference);
    }
    // An object without references would have no arrow; connect it to the provider that renders it.
    let referenced: BTreeSet<usize> = diagram.edges.iter().map(|edge| edge.to).collect();
    for (_, node) in nodes.iter().skip(1) {
        if !referenced.contains(node) {
            diagram.add_edge(chosen, *node, "renders", EdgeKind::Chosen);
        }
    }
}

/// Describes whether a candidate is eligible, and its priority.
pub fn verdict(candidate: &CandidateAssessment, selection: &Selection) -> String {
    match (&candidate.closed_gate, candidate.score) {
        (Some(gate), _) => format!("not eligible: {gate}"),
        (None, Some(score)) => format!("eligible, priority {score}"),
        (None, None) if selection.explicit => "eligible".to_owned(),
        (None, None) if candidate.rules.is_empty() => "eligible, but only if selected by name".to_owned(),
        (None, None) => "eligible, but none of its rules is true".to_owned(),
    }
}

/// Returns the role that the node of a candidate has in the graph.
fn candidate_role(candidate: &CandidateAssessment, selection: &Selection) -> NodeRole {
    if selection.provider.as_deref() == Some(&candidate.provider) {
        NodeRole::Chosen
    } else if candidate.closed_gate.is_some() {
        NodeRole::NotEligible
    } else {
        NodeRole::Eligible
    }
}

impl Diagram {
    fn add_node(&mut self, stage: Stage, role: NodeRole, title: &str, lines: Vec<String>) -> usize {
        self.nodes.push(Node { stage, role, title: title.to_owned(), lines, rules: Vec::new(), output: None });
        self.nodes.len() - 1
    }

    fn add_rules(&mut self, node: usize, candidate: &CandidateAssessment) {
        let rules = candidate.rules.iter().map(|rule| {
            let value = match rule.value {
                Some(true) => RuleOutcome::True,
                Some(false) => RuleOutcome::False,
                None => RuleOutcome::Failed,
            };
            EvaluatedRule { value, priority: rule.priority, condition: rule.condition.to_string() }
        });
        if let Some(node) = self.nodes.get_mut(node) {
            node.rules = rules.collect();
        }
    }

    /// Adds an edge unless it exists.
    fn add_edge(&mut self, from: usize, to: usize, label: &str, kind: EdgeKind) {
        let edge = Edge { from, to, label: label.to_owned(), kind };
        if self.edge_set.insert(edge.clone()) {
            self.edges.push(edge);
        }
    }

    /// Returns the nodes of a stage with their indexes in the graph.
    pub fn stage(&self, stage: Stage) -> impl Iterator<Item = (usize, &Node)> {
        self.nodes.iter().enumerate().filter(move |(_, node)| node.stage == stage)
    }
}
