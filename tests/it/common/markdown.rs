//! A reader for the Markdown of this project: headings, and fenced blocks with their attributes.

/// A fenced block: everything between three backticks and a language, and three backticks.
#[derive(Debug)]
pub(crate) struct Block<'t> {
    /// `yaml`, `text`, `console` …
    pub(crate) language: &'t str,
    /// What stands after the language: `findings`, or `file=kubefoundry.yaml`.
    pub(crate) attributes: Vec<&'t str>,
    /// The heading that it stands under, without its marks; empty above the first.
    pub(crate) heading: &'t str,
    /// What stands between it and the block or the heading before.
    pub(crate) lead: &'t str,
    /// What is in it.
    pub(crate) text: &'t str,
    /// The line on which its text starts, from 1.
    pub(crate) line: usize,
}

impl<'t> Block<'t> {
    /// What an attribute is given: `kubefoundry.yaml` for `file`.
    pub(crate) fn attribute(&self, name: &str) -> Option<&'t str> {
        self.attributes.iter().find_map(|it| it.strip_prefix(name)?.strip_prefix('='))
    }
}

/// Every fenced block of a page, in order. One that does not end ends with the page.
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
            // The inside of a block, or prose.
            _ => {}
        }
        offset = end;
    }
    blocks.extend(open.map(|block| Block { text: &page[text_start..], ..block }));
    blocks
}

/// The headings of a page at a level, in order. What is in a block is none.
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

/// Where the links of a page lead, without the place on the page.
pub(crate) fn links(page: &str) -> impl Iterator<Item = &str> {
    let targets = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.map(|target| target.split('#').next().unwrap_or_default())
}
