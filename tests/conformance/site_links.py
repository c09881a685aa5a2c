"""Checks the links of the built site: every page, file and anchor that a page links to must be in the site, every page must
be in the table of contents, and nothing is loaded from elsewhere.

usage: python site_links.py SITE
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes that make a browser load something, by element; a link (`a`) is followed by a reader only.
LOADED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src", "video": "src", "object": "data"}
# Pages of mdBook's own that are not in the table of contents.
UNLISTED = {"404.html", "toc.html"}


class Page(HTMLParser):
    """The ids of a page, and what it links to and loads."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loads = set(), [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids.update(attrs[name] for name in ("id", "name") if attrs.get(name))
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        if attrs.get(LOADED.get(tag)):
            self.loads.append(attrs[LOADED[tag]])


def read_pages(site):
    """Returns the pages of the site by their paths, without those of the playground."""
    files = (file for file in site.rglob("*.html") if "playground" not in file.relative_to(site).parts)
    return {file.relative_to(site).as_posix(): Page(file.read_text()) for file in sorted(files)}


def problem_of(site, pages, page, link):
    """Returns why a link of a page is wrong, or None."""
    url = urlsplit(link)
    if url.scheme or url.netloc:
        return None if url.scheme in ("https", "http", "mailto") else "an unknown scheme"
    if url.path.startswith("/"):
        return "works only at the root of a host"
    target = (site / page).parent / unquote(url.path) if url.path else site / page
    target = target.resolve()
    if not target.is_relative_to(site):
        return "leads out of the site"
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return "does not exist"
    name = target.relative_to(site).as_posix()
    if url.fragment and name in pages and unquote(url.fragment) not in pages[name].ids:
        return "has no such anchor"
    return None


def check(site):
    """Returns all problems of a site, and how many pages and links it has."""
    pages = read_pages(site)
    problems, count = [], 0
    for name, page in pages.items():
        for link in page.links + page.loads:
            count += 1
            problem = problem_of(site, pages, name, link)
            if problem:
                problems.append(f"{name}: {link} {problem}")
        for loaded in page.loads:
            if urlsplit(loaded).netloc:
                problems.append(f"{name}: loads {loaded}")
    for file in site.rglob("*.css"):
        for loaded in re.findall(r"url\(\s*['\"]?([^'\")]+)", file.read_text()):
            if urlsplit(loaded).netloc:
                problems.append(f"{file.relative_to(site)}: loads {loaded}")
    listed = {link for link in pages["toc.html"].links}
    for name in sorted(set(pages) - UNLISTED):
        if name not in listed:
            problems.append(f"{name} is not in the table of contents")
    return problems, len(pages), count


def main():
    site = Path(sys.argv[1]).resolve()
    problems, pages, links = check(site)
    for problem in problems:
        print(f"FAIL {problem}")
    # A checker that reads nothing would find nothing.
    if pages < 300 or links < 3000:
        sys.exit(f"FAIL {pages} pages and {links} links, expected more")
    if problems:
        sys.exit(1)
    print(f"{pages} pages, {links} links")


if __name__ == "__main__":
    main()
