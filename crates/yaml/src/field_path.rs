//! Paths of fields in a document, in one notation for all messages: `spec.engine.args["tensor-parallel-size"]`,
//! `spec.env[0].name`.

use std::borrow::Cow;
use std::fmt;

use smallvec::SmallVec;

/// One step into a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    /// A mapping key.
    Key(Cow<'static, str>),
    /// A sequence index, counted from 0.
    Index(usize),
}

impl Segment {
    /// Returns the key, or `None` for an index.
    pub fn as_key(&self) -> Option<&str> {
        match self {
            Self::Key(key) => Some(key),
            Self::Index(_) => None,
        }
    }
}

/// A path from the root of a document to one of its fields, displayed in the notation of Kubernetes.
///
/// ```
/// use kubefoundry_yaml::field_path::FieldPath;
/// let path = FieldPath::parse("spec.env").index(0).key("name");
/// assert_eq!(path.to_string(), "spec.env[0].name");
/// let path = FieldPath::parse("spec.engine.args").key("max-num-seqs".to_owned());
/// assert_eq!(path.to_string(), "spec.engine.args[\"max-num-seqs\"]");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldPath(SmallVec<[Segment; INLINE]>);

/// Number of segments stored without an allocation. Most paths are built, looked up and dropped without a finding.
const INLINE: usize = 5;

impl FieldPath {
    /// Returns the path of the document itself, which has no segments.
    pub fn root() -> Self {
        Self::default()
    }

    /// Parses a path of plain keys joined by dots, as written in code: `FieldPath::parse("spec.model.id")`.
    pub fn parse(dotted: &'static str) -> Self {
        Self(Self::steps(dotted).collect())
    }

    /// Parses the notation that `Display` writes. Returns `None` for any other text.
    ///
    /// ```
    /// use kubefoundry_yaml::field_path::FieldPath;
    /// for text in ["spec.env[0].name", "spec.engine.args[\"max-num-seqs\"]", "[1]", ""] {
    ///     assert_eq!(FieldPath::try_parse(text).unwrap().to_string(), text);
    /// }
    /// assert_eq!(FieldPath::try_parse("spec..a"), None);
    /// assert_eq!(FieldPath::try_parse("spec[a"), None);
    /// ```
    pub fn try_parse(text: &str) -> Option<Self> {
        let mut path = Self::root();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(quoted) = rest.strip_prefix("[\"") {
                // A key may contain `"]`. `Display` escapes its quotes, so a quote after a backslash does not end it.
                let end = quoted
                    .match_indices("\"]")
                    .map(|(at, _)| at)
                    .find(|at| !quoted.get(..*at).is_some_and(|it| it.ends_with('\\')))?;
                let key: String = serde_json::from_str(&format!("\"{}\"", quoted.get(..end)?)).ok()?;
                path = path.key(key);
                rest = quoted.get(end + 2..)?;
            } else if let Some(index) = rest.strip_prefix('[') {
                let (digits, after) = index.split_once(']')?;
                path = path.index(digits.parse().ok()?);
                rest = after;
            } else {
                let key = if path.0.is_empty() { rest } else { rest.strip_prefix('.')? };
                let end = key.find(['.', '[']).unwrap_or(key.len());
                let word = key.get(..end).filter(|word| !word.is_empty())?;
                path = path.key(word.to_owned());
                rest = key.get(end..)?;
            }
        }
        Some(path)
    }

    fn steps(dotted: &'static str) -> impl Iterator<Item = Segment> {
        // Byte by byte: on words this short, `str::split` takes twice as long.
        let mut rest = Some(dotted);
        let parts = std::iter::from_fn(move || {
            let text = rest?;
            let at = text.bytes().position(|byte| byte == b'.');
            let (part, after) = at.and_then(|at| text.split_at_checked(at)).unwrap_or((text, ""));
            rest = after.strip_prefix('.');
            Some(part)
        });
        parts.filter(|part| !part.is_empty()).map(|part| Segment::Key(Cow::Borrowed(part)))
    }

    /// Returns this path extended by a key.
    #[must_use]
    pub fn key(&self, key: impl Into<Cow<'static, str>>) -> Self {
        self.clone().with_key(key)
    }

    /// Returns this path extended by an index.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.clone().with_index(index)
    }

    /// Like [`FieldPath::key`], but moves the path instead of copying it.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<Cow<'static, str>>) -> Self {
        self.0.push(Segment::Key(key.into()));
        self
    }

    /// Like [`FieldPath::index`], but moves the path instead of copying it.
    #[must_use]
    pub fn with_index(mut self, index: usize) -> Self {
        self.0.push(Segment::Index(index));
        self
    }

    /// Returns this path extended by the plain keys of `dotted`.
    #[must_use]
    pub fn join(&self, dotted: &'static str) -> Self {
        let mut path = self.clone();
        path.0.extend(Self::steps(dotted));
        path
    }

    /// Returns the path as a JSON pointer (RFC 6901).
    ///
    /// ```
    /// use kubefoundry_yaml::field_path::FieldPath;
    /// assert_eq!(FieldPath::parse("spec.env").index(0).json_pointer(), "/spec/env/0");
    /// assert_eq!(FieldPath::root().key("a/b~c").json_pointer(), "/a~1b~0c");
    /// ```
    pub fn json_pointer(&self) -> String {
        let step = |segment: &Segment| match segment {
            Segment::Key(key) => format!("/{}", key.replace('~', "~0").replace('/', "~1")),
            Segment::Index(index) => format!("/{index}"),
        };
        self.0.iter().map(step).collect()
    }

    /// Returns the segments, from the root on.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Returns the path without its last segment. The parent of the root is the root.
    #[must_use]
    pub fn parent(&self) -> Self {
        Self(self.0.split_last().map(|(_, init)| init.iter().cloned().collect()).unwrap_or_default())
    }

    /// Whether `self` is `ancestor` or lies below it.
    pub fn starts_with(&self, ancestor: &Self) -> bool {
        self.0.starts_with(&ancestor.0)
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Key(key) if is_plain(key) => {
                    if position > 0 {
                        f.write_str(".")?;
                    }
                    f.write_str(key)?;
                }
                Segment::Key(key) => write!(f, "[{key:?}]")?,
            }
        }
        Ok(())
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
