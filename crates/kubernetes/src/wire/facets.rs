//! What a field declares of its value beside the value's shape, as data. The reader enforces it ([`crate::check::facets`]),
//! and schemas and the field reference are written from it.

use kubefoundry_diagnostics::Code;

use super::shape::Shape;

/// The form of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Syntax {
    /// A DNS-1123 label.
    DnsLabel,
    /// A DNS-1123 subdomain.
    DnsSubdomain,
    /// A quantity above zero.
    Quantity,
    /// An extended resource, such as `nvidia.com/gpu`.
    ExtendedResource,
    /// A container image reference.
    Image,
    /// The name of an environment variable.
    EnvironmentVariable,
    /// A key of a ConfigMap or a Secret.
    ConfigKey,
    /// The key of a label.
    LabelKey,
    /// An instance type of a cloud provider, such as `g5.4xlarge`.
    InstanceType,
    /// A version of three numbers.
    Version,
}

/// The maximum length of a text that has a [`Syntax`] and no limit of its own. An apiserver needs a limit to estimate the
/// cost of the rules on the text.
const MAX_TEXT: usize = 1024;

/// A kind of facet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Facet {
    /// The field must be there; a text must not be empty.
    Required,
    /// The smallest number.
    Minimum,
    /// The largest number.
    Maximum,
    /// The maximum length of a text, in characters.
    MaxLength,
    /// The maximum number of entries of a list.
    MaxItems,
    /// The maximum number of entries of a mapping with free keys.
    MaxEntries,
    /// The field whose values are unique among the entries of a list.
    ListKey,
    /// The form of a text.
    Syntax,
    /// The allowed words.
    Words,
}

impl Facet {
    /// Every kind.
    pub const ALL: [Self; 9] = [
        Self::Required,
        Self::Minimum,
        Self::Maximum,
        Self::MaxLength,
        Self::MaxItems,
        Self::MaxEntries,
        Self::ListKey,
        Self::Syntax,
        Self::Words,
    ];
}

/// What a field declares of its value beside the value's shape.
///
/// ```
/// use kubefoundry_kubernetes::codes::INVALID_VOLUME;
/// use kubefoundry_kubernetes::wire::{Facet, Facets};
/// let facets = Facets::NONE.max_items(8).checked_by(&INVALID_VOLUME).list_key("name");
/// assert_eq!(facets.max_items, Some(8));
/// assert_eq!(facets.rule_of(Facet::MaxItems).map(|code| code.id), Some("KF0113"));
/// assert!(facets.rule_of(Facet::ListKey).is_none(), "the reader checks it");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Facets {
    /// Whether every object must have the field, whatever else it says.
    pub required: bool,
    /// What an absent field means, as JSON text, where writing that value into the object does not change the result.
    pub default: Option<&'static str>,
    /// The smallest number.
    pub minimum: Option<i64>,
    /// The largest number.
    pub maximum: Option<i64>,
    /// The maximum length of a text, in characters.
    pub max_length: Option<usize>,
    /// The maximum number of entries of a list.
    pub max_items: Option<usize>,
    /// The maximum number of entries of a mapping with free keys.
    pub max_entries: Option<usize>,
    /// The field of a list's entries that tells them apart.
    pub list_key: Option<&'static str>,
    /// The form of a text. An empty text means an absent one.
    pub syntax: Option<Syntax>,
    /// The words that a text must be one of. An empty text means an absent one.
    pub words: Option<&'static [&'static str]>,
    /// The shape of a value that is kept as it is while reading.
    pub shape: Option<Shape>,
    /// Whether the field says what an object is, and not only how it is set up.
    pub identity: bool,
    /// The API groups whose objects do not have the field.
    pub not_in: &'static [&'static str],
    /// For each kind of facet the code of the rule that checks it instead of the reader.
    rules: [Option<&'static Code>; Facet::ALL.len()],
    /// The facet that was declared last.
    last: Option<Facet>,
}

impl Facets {
    /// Nothing is declared.
    pub const NONE: Self = Self {
        required: false,
        default: None,
        minimum: None,
        maximum: None,
        max_length: None,
        max_items: None,
        max_entries: None,
        list_key: None,
        syntax: None,
        words: None,
        shape: None,
        identity: false,
        not_in: &[],
        rules: [None; Facet::ALL.len()],
        last: None,
    };

    /// Every object must have the field.
    #[must_use]
    pub const fn required(self) -> Self {
        Self { required: true, last: Some(Facet::Required), ..self }
    }

    /// What an absent field means, as JSON text.
    #[must_use]
    pub const fn default(self, json: &'static str) -> Self {
        Self { default: Some(json), ..self }
    }

    /// The smallest number.
    #[must_use]
    pub const fn minimum(self, minimum: i64) -> Self {
        Self { minimum: Some(minimum), last: Some(Facet::Minimum), ..self }
    }

    /// The largest number.
    #[must_use]
    pub const fn maximum(self, maximum: i64) -> Self {
        Self { maximum: Some(maximum), last: Some(Facet::Maximum), ..self }
    }

    /// The maximum length of a text, in characters.
    #[must_use]
    pub const fn max_length(self, max: usize) -> Self {
        Self { max_length: Some(max), last: Some(Facet::MaxLength), ..self }
    }

    /// The maximum number of entries of a list.
    #[must_use]
    pub const fn max_items(self, max: usize) -> Self {
        Self { max_items: Some(max), last: Some(Facet::MaxItems), ..self }
    }

    /// The maximum number of entries of a mapping with free keys.
    #[must_use]
    pub const fn max_entries(self, max: usize) -> Self {
        Self { max_entries: Some(max), last: Some(Facet::MaxEntries), ..self }
    }

    /// The field of a list's entries that tells them apart.
    #[must_use]
    pub const fn list_key(self, field: &'static str) -> Self {
        Self { list_key: Some(field), last: Some(Facet::ListKey), ..self }
    }

    /// The form of a text. Its length is limited, too ([`Facets::max_text_length`]).
    #[must_use]
    pub const fn syntax(self, syntax: Syntax) -> Self {
        Self { syntax: Some(syntax), last: Some(Facet::Syntax), ..self }
    }

    /// The words that a text must be one of.
    #[must_use]
    pub const fn words(self, words: &'static [&'static str]) -> Self {
        Self { words: Some(words), last: Some(Facet::Words), ..self }
    }

    /// The shape of a value that is kept as it is while reading.
    #[must_use]
    pub const fn shape(self, shape: Shape) -> Self {
        Self { shape: Some(shape), ..self }
    }

    /// The field says what the object is: with another value the operator deletes what was made of it, and makes it again
    /// (docs/specification.md, OP-3.1).
    #[must_use]
    pub const fn identity(self) -> Self {
        Self { identity: true, ..self }
    }

    /// Objects of these API groups do not have the field: there the reader refuses it, and schemas leave it out.
    #[must_use]
    pub const fn not_in(self, groups: &'static [&'static str]) -> Self {
        Self { not_in: groups, ..self }
    }

    /// A rule checks the facet before this one instead of the reader, and reports `code`: where the specification says
    /// what the message is, or where the check needs more than the field.
    #[must_use]
    pub const fn checked_by(self, code: &'static Code) -> Self {
        let mut rules = self.rules;
        if let Some(facet) = self.last {
            #[expect(clippy::indexing_slicing, reason = "the array has a place for every kind")]
            {
                rules[facet as usize] = Some(code);
            }
        }
        Self { rules, ..self }
    }

    /// The code of the rule that checks a facet instead of the reader.
    #[must_use]
    pub const fn rule_of(&self, facet: Facet) -> Option<&'static Code> {
        #[expect(clippy::indexing_slicing, reason = "the array has a place for every kind")]
        self.rules[facet as usize]
    }

    /// Whether the field declares a facet of this kind.
    #[must_use]
    pub const fn declares(&self, facet: Facet) -> bool {
        match facet {
            Facet::Required => self.required,
            Facet::Minimum => self.minimum.is_some(),
            Facet::Maximum => self.maximum.is_some(),
            Facet::MaxLength => self.max_length.is_some(),
            Facet::MaxItems => self.max_items.is_some(),
            Facet::MaxEntries => self.max_entries.is_some(),
            Facet::ListKey => self.list_key.is_some(),
            Facet::Syntax => self.syntax.is_some(),
            Facet::Words => self.words.is_some(),
        }
    }

    /// The maximum length of a text, in characters: the declared one, or the one that every text with a syntax has.
    #[must_use]
    pub const fn max_text_length(&self) -> Option<usize> {
        match (self.max_length, self.syntax) {
            (None, Some(_)) => Some(MAX_TEXT),
            (declared, _) => declared,
        }
    }

    /// Whether the reader checks a facet. A rule that checks the syntax of a text checks its length as well, unless that
    /// is declared.
    #[must_use]
    pub const fn is_read(&self, facet: Facet) -> bool {
        match facet {
            Facet::MaxLength if self.max_length.is_none() => self.is_read(Facet::Syntax),
            _ => self.declares(facet) && self.rule_of(facet).is_none(),
        }
    }

    /// Whether the reader checks anything of a value that is there.
    #[must_use]
    pub const fn has_read_checks(&self) -> bool {
        let mut index = 1;
        while index < Facet::ALL.len() {
            #[expect(clippy::indexing_slicing, reason = "the index is below the length")]
            if self.is_read(Facet::ALL[index]) {
                return true;
            }
            index += 1;
        }
        false
    }
}
