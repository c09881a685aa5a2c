"""The preprocessor with which mdBook makes the site from the Markdown of the repository.

The Markdown must also read well on a code host, so its links are relative to the repository, lead out of docs/, and name
files and folders. mdBook knows only the chapters of docs/SUMMARY.md. This program adds a chapter below them for everything
else that is linked, Markdown or not, and rewrites the links. `.ci/site` checks every link of the result.

    python3 site/repository.py < BOOK         as mdBook calls it (site/book.toml)
    python3 site/repository.py --copy FOLDER  copies the files that pages link to, because they are large or no text
"""

import html
import json
import posixpath
import re
import shutil
import subprocess
import sys
from collections import deque
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUMMARY = "docs/SUMMARY.md"
# What the site has in another form: the front page with the table of contents beside it.
FRONT = ("README.md", SUMMARY)
# Larger files are copied instead of shown, in bytes.
MAX_SHOWN = 32 * 1024
# The part of the front page that is a picture on a code host, and the playground in the site.
PLAYGROUND = re.compile(r"<!-- playground -->.*<!-- /playground -->", re.S)
FRAME = (
    '<iframe class="try" src="playground/index.html" title="Playground: edit a ModelDeployment and see its manifests" '
    'loading="lazy"></iframe>'
)
# Languages as the site's highlighter knows them, by their names or by the extension of a file. mdBook adds lines to Rust.
ALIASES = {"shell-session": "console", "dockerfile": "text"}
EXTENSIONS = {"yaml": "yaml", "yml": "yaml", "json": "json", "toml": "toml", "py": "python", "sh": "bash"}
EXTENSIONS["rs"] = "rust,noplayground"

FENCE = re.compile(r"^([ \t]*(?:[-*>] +)?)(`{3,})([^\n`]*)\n(.*?)^[ \t>]*\2`*[ \t]*$", re.M | re.S)
CODE = re.compile(r"(?<!`)(`+)(?!`)(?:(?!\n\s*\n).)+?(?<!`)\1(?!`)", re.S)
LINK = re.compile(r"\]\(([^()\s]+)\)")


def folder_of(path):
    return posixpath.dirname(path)


def folders_above(path):
    """Yields the folders around a path, the innermost first, without the root."""
    while path := folder_of(path):
        yield path


def is_markdown(path):
    return path.endswith(".md")


def site_path(page):
    """Returns the place of a page in the site: codes/index.md for docs/codes/README.md."""
    path = page.removeprefix("docs/")
    return posixpath.join(folder_of(path), "index.md") if posixpath.basename(path) == "README.md" else path


def split_link(page, link):
    """Splits a link into a path in the repository and an anchor with #, or returns None for one to elsewhere."""
    path, mark, anchor = link.partition("#")
    if not path or re.match(r"[^/]+:", path):
        return None
    return posixpath.normpath(posixpath.join(folder_of(page), path)), mark + anchor


def prose(text, change):
    """Applies a function to the parts of Markdown that are not code, and returns the result."""
    parts, end = [], 0
    for code in CODE.finditer(text):
        parts += [change(text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, change(text[end:])])


def rewrite(text, change_prose, change_block):
    """Applies one function to the prose of Markdown and another to its fenced blocks, and returns the result."""
    parts, end = [], 0
    for block in FENCE.finditer(text):
        parts += [prose(text[end : block.start()], change_prose), change_block(block)]
        end = block.end()
    return "".join([*parts, prose(text[end:], change_prose)])


def links(text):
    """Returns the destinations of all links and pictures, in order."""
    found = []
    # The text of a link may be code, so the brackets of a link need not be in one part.
    rewrite(text, lambda part: found.extend(LINK.findall(part)) or part, lambda block: block[0])
    return found


def title(text):
    """Returns the text of the first heading."""
    heading = re.search(r"^#+ +(.*)$", text, re.M)
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1]).replace("`", "") if heading else None


def block_for_site(block):
    """Returns a fenced block as the site shows it: charts as such, and with the name of its file above it."""
    indentation, fence, info, body = block.groups()
    words = info.split()
    language = words[0] if words else ""
    if language == "mermaid":
        return f'<pre class="mermaid">\n{html.escape(body.strip(), quote=False)}\n</pre>\n'
    names = [word.removeprefix("file=") for word in words if word.startswith("file=")]
    last = block[0].rpartition("\n")[2]
    shown = f"{indentation}{fence}{ALIASES.get(language, language)}\n{body}{last}"
    if not names or indentation.strip():
        return shown
    return f'{indentation}<p class="file-name">{html.escape(names[0], quote=False)}</p>\n\n{shown}'


def code_block(language, text):
    """Returns text as a code block. The fence is longer than any in the text."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(longest + 1, 3)
    end = "" if not text or text.endswith("\n") else "\n"
    return f"{fence}{language}\n{text}{end}{fence}\n"


class Contents:
    """What the site contains. All paths are relative to the repository."""

    def __init__(self):
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        self.files = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
        self.folders = {folder for name in self.files for folder in folders_above(name)}
        # Pages, folders and files with a chapter, each with the page below which it belongs.
        self.parents = {split_link(SUMMARY, link)[0]: None for link in links(self.read(SUMMARY))}
        found = {}
        queue = deque(self.parents)
        while queue:
            page = queue.popleft()
            for link in links(self.read(page)):
                target = self.find(page, link)
                if target is None or target in FRONT or target in self.parents:
                    continue
                self.parents[target] = found[target] = page
                if is_markdown(target):
                    queue.append(target)
        for path in [path for path in found if path in self.files and not is_markdown(path) and self.owner(path)]:
            # A file whose folder is shown needs no page of its own.
            del self.parents[path], found[path]
        for path in found:
            self.parents[path] = self.readme_of(path) or found[path]
        self.below = {}
        for path in found:
            self.below.setdefault(self.parents[path], []).append(path)
        for page, inner in self.below.items():
            # In the order in which the page links to them; others come last.
            linked = [self.find(page, link) for link in links(self.read(page))]
            inner.sort(key=lambda path: linked.index(path) if path in linked else len(linked))
        for path in found:
            above = [path]
            while above[-1] is not None and len(above) <= len(found) + 1:
                above.append(self.parents.get(above[-1]))
            if above[-1] is not None:
                sys.exit(f"list {path} in {SUMMARY}: only pages below it link to it")

    def read(self, path):
        return (ROOT / path).read_text()

    def readme_of(self, path):
        """Returns the README above a path that is a page. What is in its folder belongs below it."""
        inside = path.removesuffix("/README.md")
        readmes = (f"{folder}/README.md" for folder in folders_above(inside) if folder != "docs")
        return next((readme for readme in readmes if readme in self.parents), None)

    def find(self, page, link):
        """Returns what has a chapter for a link: a page, a folder or a file that is shown; None for what mdBook copies."""
        target = (split_link(page, link) or ("", ""))[0]
        if f"{target}/README.md" in self.files:
            return f"{target}/README.md"
        if target in self.folders or is_markdown(target) and target in self.files:
            return target
        if target not in self.files or target.startswith("docs/"):
            return None
        # A file is shown with the others of its folder if a README above describes the folder.
        folder = folder_of(target)
        is_described = folder and f"{folder}/README.md" not in self.files
        is_described = is_described and any(f"{above}/README.md" in self.files for above in folders_above(folder))
        return folder if is_described else target

    def owner(self, path):
        """Returns the innermost folder that is shown with this file or folder in it."""
        for folder in folders_above(path):
            if folder in self.parents:
                return folder
            if f"{folder}/README.md" in self.parents:
                return None
        return None

    def place(self, path):
        """Returns the place of a chapter in the site."""
        if is_markdown(path):
            return site_path(path)
        return f"{path}.md" if path in self.files else f"{path}/index.md"

    def resolve(self, page, link):
        """Returns the link in the site for a link of a page."""
        parts = split_link(page, link)
        if parts is None:
            return link
        target, anchor = parts
        start = folder_of(site_path(page)) or "."
        if target in FRONT:
            return posixpath.relpath("index.md", start) + anchor
        is_file = target in self.files and not is_markdown(target)
        chapter = is_file and self.owner(target) or self.find(page, link)
        if chapter in self.parents:
            if chapter not in self.files and target != chapter:
                anchor = "#" + target.removeprefix(f"{chapter}/")
            return posixpath.relpath(self.place(chapter), start) + anchor
        if target.startswith("docs/") and target in self.files:
            return posixpath.relpath(target.removeprefix("docs/"), start) + anchor
        sys.exit(f"{page}: {link} does not exist")

    def shown_text(self, file):
        """Returns the text of a file that a page shows, or None for one that is large or no text."""
        content = (ROOT / file).read_bytes()
        try:
            return content.decode() if len(content) <= MAX_SHOWN else None
        except UnicodeDecodeError:
            return None

    def files_of(self, shown):
        """Returns the files that a page shows: those of a folder without Markdown. What tests have written is last."""
        if shown in self.files:
            return [shown]
        own = [file for file in self.files if file.startswith(f"{shown}/") and not is_markdown(file)]
        own = [file for file in own if self.owner(file) == shown]
        return sorted(own, key=lambda file: (file.endswith(".snap"), file))

    def page_of_files(self, shown):
        text = f"# `{shown}`\n"
        for file in self.files_of(shown):
            name = file.removeprefix(f"{shown}/")
            if shown not in self.files:
                text += f"\n## `{name}` {{#{name}}}\n"
            body = self.shown_text(file)
            if body is None:
                size = -(-(ROOT / file).stat().st_size // 1000)
                link = posixpath.relpath(file, folder_of(self.place(shown)) or ".")
                text += f"\n[Open the file]({link}) ({size} kB).\n"
                continue
            # A snapshot begins with the name of its test. The findings in one are text.
            body = re.sub(r"\A---\nsource:.*?\n---\n", "", body, flags=re.S)
            extension = "yaml" if name.endswith("output.snap") else name.rpartition(".")[2]
            text += "\n" + code_block(EXTENSIONS.get(extension, "text"), body)
        return text

    def prepare(self, chapter, path):
        """Moves a chapter to its place, rewrites its links, and adds those below it."""
        if path == "docs/README.md" and (ROOT / "target/web/index.html").is_file():
            chapter["content"] = PLAYGROUND.sub(FRAME, chapter["content"])
        if is_markdown(path):
            relink = lambda part: LINK.sub(lambda link: f"]({self.resolve(path, link[1])})", part)
            chapter["content"] = rewrite(chapter["content"], relink, block_for_site)
        chapter["path"] = chapter["source_path"] = self.place(path)
        for item in chapter["sub_items"]:
            self.prepare(item["Chapter"], posixpath.normpath(posixpath.join("docs", item["Chapter"]["path"])))
        for inner in self.below.get(path, []):
            content = self.read(inner) if is_markdown(inner) else self.page_of_files(inner)
            name = title(content) if is_markdown(inner) else inner.removeprefix(f"{folder_of(path)}/")
            number = chapter["number"] and [*chapter["number"], len(chapter["sub_items"]) + 1]
            below = {"name": name or inner, "content": content, "number": number, "sub_items": []}
            below["parent_names"] = [*chapter["parent_names"], chapter["name"]]
            self.prepare(below, inner)
            chapter["sub_items"].append({"Chapter": below})


def main():
    match sys.argv[1:]:
        case ["supports", renderer]:
            sys.exit(renderer != "html")
        case ["--copy", folder]:
            contents = Contents()
            shown = [path for path in contents.parents if not is_markdown(path)]
            for file in [file for path in shown for file in contents.files_of(path) if contents.shown_text(file) is None]:
                target = Path(folder) / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / file, target)
        case _:
            book = json.load(sys.stdin)[1]
            contents = Contents()
            for item in book["items"]:
                if isinstance(item, dict) and "Chapter" in item:
                    chapter = item["Chapter"]
                    contents.prepare(chapter, posixpath.normpath(posixpath.join("docs", chapter["path"])))
            json.dump(book, sys.stdout)


main()
