//! Changes of a page: links and the languages of code blocks. All other bytes stay.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};

/// Languages that the site's highlighter knows by another name.
const LANGUAGES: &[(&str, &str)] = &[("shell-session", "console"), ("dockerfile", "text")];

/// Returns the events of a page as mdBook reads it, with their places.
fn events(text: &str) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_HEADING_ATTRIBUTES;
    Parser::new_ext(text, options).into_offset_iter()
}

/// Returns the text of the first heading.
pub(super) fn title(text: &str) -> Option<String> {
    let mut inside =
        events(text).map(|(event, _)| event).skip_while(|event| !matches!(event, Event::Start(Tag::Heading { .. })));
    inside.next()?;
    let words =
        inside.take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_)))).filter_map(|event| match event {
            Event::Text(text) | Event::Code(text) => Some(text.into_string()),
            _ => None,
        });
    Some(words.collect())
}

/// Returns the destinations of all links and pictures, in order.
pub(super) fn links(text: &str) -> Vec<String> {
    events(text)
        .filter_map(|(event, _)| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url.into_string()),
            _ => None,
        })
        .collect()
}

/// Replaces each link by what `resolve` makes of it; `None` keeps it. Shows the attribute `file=NAME` of a code block above
/// the block. Returns all problems.
pub(super) fn rewrite(
    text: &str,
    mut resolve: impl FnMut(&str) -> Result<Option<String>, String>,
) -> Result<String, Vec<String>> {
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut problems = Vec::new();
    for (event, range) in events(text) {
        match event {
            Event::Start(Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. }) => {
                match resolve(&dest_url) {
                    Ok(None) => {}
                    Ok(Some(new)) => {
                        match destination(text, &range, &dest_url).filter(|_| link_type == LinkType::Inline) {
                            Some(place) => edits.push((place, new)),
                            None => problems.push(format!("write the link to {dest_url} as [text]({dest_url})")),
                        }
                    }
                    Err(problem) => problems.push(problem),
                }
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => edits.extend(fence(text, &range, &info)),
            _ => {}
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    // A picture inside of a link begins after it, but its destination comes first.
    edits.sort_by_key(|(range, _)| range.start);
    let mut rewritten = String::with_capacity(text.len());
    let mut end = 0;
    for (range, new) in edits {
        rewritten.push_str(&text[end..range.start]);
        rewritten.push_str(&new);
        end = range.end;
    }
    rewritten.push_str(&text[end..]);
    Ok(rewritten)
}

/// Returns the place of the destination of an inline link.
fn destination(text: &str, link: &Range<usize>, url: &str) -> Option<Range<usize>> {
    let start = link.start + text.get(link.clone())?.rfind("](")? + 2;
    let end = start + url.len();
    (text.get(start..end)? == url).then_some(start..end)
}

/// Returns the edits of a code block with attributes, or in a language with another name.
fn fence(text: &str, block: &Range<usize>, info: &str) -> Vec<(Range<usize>, String)> {
    let language = info.split_whitespace().next().unwrap_or_default();
    let known = LANGUAGES.iter().find(|(name, _)| *name == language).map_or(language, |(_, known)| known);
    let mut edits = Vec::new();
    let line = text[block.clone()].lines().next().unwrap_or_default();
    // mdBook makes a chart of no language, and the highlighter must not see its text.
    if language == "mermaid" {
        let body = text[block.clone()].trim_start_matches(line).trim_end_matches('`').trim();
        return vec![(block.clone(), format!("<pre class=\"mermaid\">\n{}\n</pre>\n", escape(body)))];
    }
    let before = &text[..block.start];
    let indentation = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
    let file = info.split_whitespace().find_map(|word| word.strip_prefix("file="));
    if let Some(file) = file.filter(|_| indentation.trim().is_empty()) {
        let caption = format!("<p class=\"file-name\">{}</p>\n\n{indentation}", escape(file));
        edits.push((block.start..block.start, caption));
    }
    if known != info
        && let Some(at) = line.rfind(info)
    {
        let start = block.start + at;
        edits.push((start..start + info.len(), known.to_owned()));
    }
    edits
}

/// Escapes text for HTML.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Returns text as a code block of a language. The fence is longer than any in the text.
pub(super) fn code_block(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat((longest + 1).max(3));
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(link: &str) -> Result<Option<String>, String> {
        match link {
            "gone.md" => Err("gone.md does not exist".to_owned()),
            _ if link.contains("://") => Ok(None),
            _ => Ok(Some(format!("new/{link}"))),
        }
    }

    #[test]
    fn rewrites_the_destinations_of_links_only() {
        let text = "# A [b](b.md)\n\n`[c](c.md)` and [`d`](d.md#e), [f](https://g.example)\n\n```yaml\n[h](h.md)\n```\n\n\
                    [![i](i.png)](j.md)\n\n| k |\n|---|\n| [l](l.md) |\n";
        let expected = "# A [b](new/b.md)\n\n`[c](c.md)` and [`d`](new/d.md#e), [f](https://g.example)\n\n```yaml\n\
                        [h](h.md)\n```\n\n[![i](new/i.png)](new/j.md)\n\n| k |\n|---|\n| [l](new/l.md) |\n";
        assert_eq!(rewrite(text, moved).unwrap(), expected);
        assert_eq!(links(text), ["b.md", "d.md#e", "https://g.example", "j.md", "i.png", "l.md"]);
        assert_eq!(title("Text\n\n# A `--b` [c](d.md)\n\n# E"), Some("A --b c".to_owned()));
        assert_eq!(title("Text"), None);
    }

    #[test]
    fn reports_every_link_that_it_cannot_rewrite() {
        let text = "[a](gone.md) and [b][c]\n\n[c]: c.md\n";
        let problems = ["gone.md does not exist", "write the link to c.md as [text](c.md)"];
        assert_eq!(rewrite(text, moved).unwrap_err(), problems);
    }

    #[test]
    fn shows_the_name_of_the_file_of_a_block() {
        let text =
            "- a\n\n  ```yaml file=a<b.yaml\n  a: 1\n  ```\n\n```text findings\nb\n```\n\n```shell-session\n$ c\n```\n";
        let expected = "- a\n\n  <p class=\"file-name\">a&lt;b.yaml</p>\n\n  ```yaml\n  a: 1\n  ```\n\n```text\nb\n```\n\n\
                        ```console\n$ c\n```\n";
        assert_eq!(rewrite(text, moved).unwrap(), expected);
    }

    #[test]
    fn charts_are_no_code() {
        let text = "```mermaid\na --> b\n\nc\n```\n\nText\n";
        let expected = "<pre class=\"mermaid\">\na --&gt; b\n\nc\n</pre>\n\n\nText\n";
        assert_eq!(rewrite(text, moved).unwrap(), expected);
    }

    #[test]
    fn no_text_ends_its_block() {
        assert_eq!(code_block("text", "a\n````\nb"), "`````text\na\n````\nb\n`````\n");
        assert_eq!(code_block("yaml", ""), "```yaml\n```\n");
    }
}
