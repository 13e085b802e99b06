//! Objects in their stores, compressed: the part of their JSON that differs from an earlier object of their
//! kind.
//!
//! "≤ 30 MiB with 1,000 environments": their objects are nearly all that an operator holds, and all
//! but the few that a reconcile looks at just lie there. A thousand Deployments of one operator are
//! one text with a thousand names in it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use lz4_flex::block::{DecompressError, compress_with_dict, decompress_with_dict};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::objects::child::{Child, Kind};
use crate::objects::source::DeployedSource;

/// The error of unpacking: the text that comes out of a store is not the one that went in.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error("an object cannot be unpacked: {0}")]
    Packing(#[from] DecompressError),
    #[error("an object cannot be read: {0}")]
    Json(#[from] serde_json::Error),
}

/// A group of objects whose texts are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    Environment,
    Secret,
    Child(Kind),
}

/// A text, compressed against a dictionary.
#[derive(Debug, Clone)]
pub struct Packed {
    dictionary: Arc<[u8]>,
    bytes: Arc<[u8]>,
    length: usize,
}

impl Packed {
    pub fn text(&self) -> Result<Vec<u8>, Unreadable> {
        Ok(decompress_with_dict(&self.bytes, self.length, &self.dictionary)?)
    }

    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Unreadable> {
        Ok(serde_json::from_slice(&self.text()?)?)
    }

    /// Bytes that are this one's own.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }
}

/// One text of each shape, against which the others are packed: the longest so far, for it says most.
#[derive(Debug, Default)]
pub struct Dictionaries(Mutex<BTreeMap<Shape, Arc<[u8]>>>);

/// A longer text is nobody's measure.
const LONGEST: usize = 16 * 1024;

impl Dictionaries {
    pub fn pack(&self, shape: Shape, object: &impl Serialize) -> Result<Packed, serde_json::Error> {
        Ok(self.pack_text(shape, &serde_json::to_vec(object)?))
    }

    pub fn pack_text(&self, shape: Shape, text: &[u8]) -> Packed {
        let dictionary = self.fitting(shape, text);
        let bytes = compress_with_dict(text, &dictionary).into();
        Packed { bytes, length: text.len(), dictionary }
    }

    /// A text that is a little longer is no reason to begin anew: what was packed keeps its own.
    fn fitting(&self, shape: Shape, text: &[u8]) -> Arc<[u8]> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.entry(shape).or_default();
        if text.len() > known.len() + known.len() / 16 && text.len() <= LONGEST {
            *known = text.into();
        }
        Arc::clone(known)
    }
}

/// A child of an environment, packed.
#[derive(Debug, Clone)]
pub struct PackedChild {
    kind: Kind,
    text: Packed,
    /// Of a Deployment. The whole fleet is asked for it.
    pub deployed: Option<Arc<DeployedSource>>,
}

impl PackedChild {
    pub fn child(&self) -> Result<Child, Unreadable> {
        Ok(Child::read(self.kind, &self.text.text()?)?)
    }

    pub fn size(&self) -> usize {
        self.text.size()
    }
}

/// A child as a watch brought it, written down but not packed: the list that it comes in may be long.
#[derive(Debug, Clone)]
pub struct ChildText {
    kind: Kind,
    text: Vec<u8>,
    deployed: Option<Arc<DeployedSource>>,
}

impl ChildText {
    pub fn new(child: &Child) -> Result<Self, serde_json::Error> {
        let deployed = match child {
            Child::Deployment(deployment) => DeployedSource::of(deployment).map(Arc::new),
            _ => None,
        };
        Ok(Self { kind: child.kind(), text: child.text()?, deployed })
    }

    pub fn packed(self, dictionaries: &Dictionaries) -> PackedChild {
        let text = dictionaries.pack_text(Shape::Child(self.kind), &self.text);
        PackedChild { kind: self.kind, text, deployed: self.deployed }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize as _;
    use serde_json::{Value, json};

    use super::*;

    fn object(name: &str, more: usize) -> Value {
        let settings: BTreeMap<String, String> =
            (0..40 + more).map(|at| (format!("setting-{at}"), at.to_string())).collect();
        json!({"metadata": {"name": name, "uid": format!("{name}-uid")}, "data": settings})
    }

    #[test]
    fn what_was_packed_is_read_as_it_was_whatever_came_between() {
        let dictionaries = Dictionaries::default();
        let objects: Vec<Value> = (0..30).map(|at| object(&format!("o{at}"), at * 40)).collect();
        let packed: Vec<Packed> =
            objects.iter().map(|object| dictionaries.pack(Shape::Environment, object).unwrap()).collect();
        for (object, packed) in objects.iter().zip(packed) {
            assert_eq!(packed.read::<Value>().unwrap(), *object);
        }
    }

    #[test]
    fn the_second_of_a_kind_costs_only_what_is_its_own() {
        let dictionaries = Dictionaries::default();
        let first = dictionaries.pack(Shape::Environment, &object("one", 0)).unwrap();
        let second = dictionaries.pack(Shape::Environment, &object("other", 0)).unwrap();
        let elsewhere = dictionaries.pack(Shape::Secret, &object("one", 0)).unwrap();
        assert!(second.size() * 10 < first.length, "{} of {}", second.size(), first.length);
        assert!(Arc::ptr_eq(&first.dictionary, &second.dictionary));
        assert!(!Arc::ptr_eq(&first.dictionary, &elsewhere.dictionary));
    }

    /// The children that the golden plan makes, for an environment with this name and uid.
    fn children(name: &str, uid: &str) -> Vec<(Shape, Vec<u8>)> {
        let text = include_str!("../controllers/environment/build/golden/default.yaml");
        let own = |line: &str| match line.split_once("applied-hash: ") {
            Some((before, hash)) => format!("{before}applied-hash: {}{name}\n", hash.chars().rev().collect::<String>()),
            None => {
                format!("{line}\n").replace("acme-sales", name).replace("0c0ffee0-0000-4000-8000-000000000001", uid)
            }
        };
        let text: String = text.lines().map(own).collect();
        let objects = serde_yaml_ng::Deserializer::from_str(&text).map(|it| Value::deserialize(it).unwrap());
        let child = |object: Value| {
            let kind = serde_json::from_value(object.get("kind")?.clone()).unwrap();
            Some((Shape::Child(kind), serde_json::to_vec(&object).unwrap()))
        };
        objects.filter_map(child).collect()
    }

    #[test]
    fn the_children_of_another_environment_are_a_sixth_of_what_they_are() {
        let dictionaries = Dictionaries::default();
        for (shape, text) in children("acme-sales", "0c0ffee0-0000-4000-8000-000000000001") {
            dictionaries.pack_text(shape, &text);
        }
        let others = children("globex-lab", "7d3b91a4-5e2f-4c1d-9b8a-6f0e2d4c8a71");
        let packed: usize = others.iter().map(|(shape, text)| dictionaries.pack_text(*shape, text).size()).sum();
        let texts: usize = others.iter().map(|(_, text)| text.len()).sum();
        assert!(others.len() == 6 && packed * 6 < texts, "{packed} of {texts}");
    }

    #[test]
    fn what_does_not_unpack_is_an_error_and_not_another_object() {
        let dictionaries = Dictionaries::default();
        let packed = dictionaries.pack(Shape::Environment, &object("one", 0)).unwrap();
        let cut = Packed { bytes: packed.bytes.get(..packed.bytes.len() / 2).unwrap().into(), ..packed.clone() };
        assert!(cut.read::<Value>().is_err());
        let without = Packed { dictionary: Arc::default(), ..packed };
        assert!(without.read::<Value>().is_err());
    }
}
