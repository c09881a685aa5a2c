//! Wheels of provider packages, as bytes.

use std::io::Write as _;

use rawzip::{CompressionMethod, ZipArchiveWriter};

/// Returns a wheel with a module and its metadata. METADATA is deflated, as in wheels that `pip` builds.
pub(crate) fn wheel(name: &str, version: &str) -> Vec<u8> {
    let info = format!("{name}-{version}.dist-info");
    let metadata =
        format!("Metadata-Version: 2.1\nName: {}\nVersion: {version}\n\nA module.\n", name.replace('_', "-"));
    archive(&[
        (&format!("{name}.py"), ""),
        (&format!("{info}/METADATA"), &metadata),
        (&format!("{info}/WHEEL"), "Wheel-Version: 1.0\n"),
        (&format!("{info}/RECORD"), ""),
    ])
}

/// Returns the wheel of a provider whose package is `acme.vllm`, with requirements.
pub(crate) fn provider_wheel(name: &str, version: &str, requirements: &[&str]) -> Vec<u8> {
    let info = format!("{name}-{version}.dist-info");
    let requirements: String = requirements.iter().map(|line| format!("Requires-Dist: {line}\n")).collect();
    let metadata = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requirements}");
    archive(&[
        ("acme/vllm/provider.py", "def get_provider_spec(): ...\n"),
        (&format!("{info}/METADATA"), &metadata),
        (&format!("{info}/WHEEL"), "Wheel-Version: 1.0\n"),
        (&format!("{info}/RECORD"), ""),
    ])
}

/// Returns a ZIP archive with these members. Their names are written as they are.
pub(crate) fn archive(members: &[(&str, &str)]) -> Vec<u8> {
    let mut output = Vec::new();
    let mut archive = ZipArchiveWriter::new(&mut output);
    for (name, text) in members {
        let name = rawzip::path::EntryPath::verbatim(name.as_bytes());
        let packed = miniz_oxide::deflate::compress_to_vec(text.as_bytes(), 6);
        let (mut entry, config) =
            archive.new_file(name).compression_method(CompressionMethod::DEFLATE).start().unwrap();
        let mut writer = config.wrap(std::io::sink());
        writer.write_all(text.as_bytes()).unwrap();
        let (_, descriptor) = writer.finish().unwrap();
        entry.write_all(&packed).unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    output
}
