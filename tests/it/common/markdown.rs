//! A parser for the Markdown of this project: headings, links, and fenced blocks with attributes.

/// A fenced block.
#[derive(Debug)]
pub(crate) struct Block<'t> {
    /// The language: `yaml`, `text`, `console` …
    pub(crate) language: &'t str,
    /// The words after the language: `findings`, or `file=kubefoundry.yaml`.
    pub(crate) attributes: Vec<&'t str>,
    /// The text of the heading above the block; empty before the first heading.
    pub(crate) heading: &'t str,
    /// The text between the block and the previous block or heading.
    pub(crate) lead: &'t str,
    /// The content.
    pub(crate) text: &'t str,
    /// The line on which the content starts, from 1.
    pub(crate) line: usize,
}

impl<'t> Block<'t> {
    /// Returns the value of an attribute: `kubefoundry.yaml` for `file`.
    pub(crate) fn attribute(&self, name: &str) -> Option<&'t str> {
        self.attributes.iter().find_map(|it| it.strip_prefix(name)?.strip_prefix('='))
    }
}

/// Returns every fenced block of a page, in order. An unterminated block ends with the page.
pub(crate) fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut heading = "";
    let mut open: Option<Block<'_>> = None;
    let (mut start, mut text_start) = (0, 0);
    let mut offset = 0;
    for (index, line) in page.split_inclusive('\n').enumerate() {
        let end = offset + line.len();
        let content = line.trim_end();
        match (&mut open, content.strip_prefix("```")) {
            (Some(_), Some("")) => {
                let block = open.take().unwrap();
                blocks.push(Block { text: &page[text_start..offset], ..block });
                start = end;
            }
            (None, Some(info)) => {
                let mut words = info.split_whitespace();
                let language = words.next().unwrap_or_default();
                let attributes = words.collect();
                let lead = &page[start..offset];
                open = Some(Block { language, attributes, heading, lead, text: "", line: index + 2 });
                text_start = end;
            }
            (None, None) if content.starts_with('#') => {
                heading = content.trim_start_matches('#').trim();
                start = end;
            }
            // Content of a block, or prose.
            _ => {}
        }
        offset = end;
    }
    blocks.extend(open.map(|block| Block { text: &page[text_start..], ..block }));
    blocks
}

/// Returns the headings of a level, in order, without lines inside blocks.
pub(crate) fn headings(page: &str, level: usize) -> Vec<&str> {
    let mut fenced = false;
    let mut headings = Vec::new();
    for line in page.lines() {
        fenced ^= line.starts_with("```");
        let title = line.trim_start_matches('#');
        if !fenced && line.len() - title.len() == level && title.starts_with(' ') {
            headings.push(title.trim());
        }
    }
    headings
}

/// Returns the destinations of the links of a page, without anchors.
pub(crate) fn links(page: &str) -> impl Iterator<Item = &str> {
    let targets = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.map(|target| target.split('#').next().unwrap_or_default())
}
