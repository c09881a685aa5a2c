//! The formula for Homebrew.

use kubefoundry_yaml::{append, append_line};

use super::{Archive, Description};

pub(super) fn formula(description: &Description, archives: &[Archive]) -> String {
    let mut text = String::from("# Written by `cargo xtask packages`.\n");
    append_line!(text, "class {} < Formula", class_name(&description.name));
    for (field, value) in [
        ("desc", &description.summary),
        ("homepage", &description.repository),
        ("version", &description.version),
        ("license", &description.license),
    ] {
        append_line!(text, "  {field} {}", literal(value));
    }
    for system in ["on_macos", "on_linux"] {
        let of_system: Vec<(&str, &Archive)> = archives
            .iter()
            .filter_map(|archive| {
                let [block, processor] = archive.platform.homebrew?;
                (block == system).then_some((processor, archive))
            })
            .collect();
        if of_system.is_empty() {
            continue;
        }
        append!(text, "\n  {system} do\n");
        for (processor, archive) in of_system {
            let url = literal(&description.address(&archive.file));
            let sha256 = literal(&archive.sha256);
            append!(text, "    {processor} do\n      url {url}\n      sha256 {sha256}\n    end\n");
        }
        text.push_str("  end\n");
    }
    let name = &description.name;
    append!(
        text,
        r##"
  def install
    bin.install Dir["{name}*"]
    bin.install_symlink "{name}" => "kubectl-{name}"
    bin.install_symlink "{name}" => "{name}-fn"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/{name}.bash" => "{name}"
    zsh_completion.install "completions/_{name}"
    fish_completion.install "completions/{name}.fish"
    doc.install "README.md", "CHANGELOG.md", "NOTICE", Dir["sbom/*"]
  end

  test do
    assert_equal "{name} #{{version}}\n", shell_output("#{{bin}}/{name} --version")
  end
end
"##
    );
    text
}

/// Returns the class of a formula: the name in camel case.
fn class_name(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let mut characters = word.chars();
        characters.next().into_iter().flat_map(char::to_uppercase).chain(characters).collect::<String>()
    });
    words.collect()
}

/// Returns a text as a string literal of Ruby. `#` could begin an interpolation.
fn literal(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\"").replace('#', "\\#"))
}
