//! The size that one result of a tool may have, for models read all of it: long texts and the tail of a list are cut,
//! and the result says so.

use serde_json::Value;

/// Bytes of a result, in each of its forms; none for the REST surfaces, whose pages have their own limits.
#[derive(Debug, Clone, Copy)]
pub struct ResultBudget(Option<usize>);

/// The part of a budget that one text may have once something has to be cut, and the least that is left of it.
const TEXT_PART: usize = 8;
const TEXT_BYTES_MIN: usize = 256;
/// For a cursor.
const SPARE_BYTES: usize = 512;
/// The member of a result that has the cursor of the rest.
pub const NEXT: &str = "next_cursor";
/// Of a list where there is no budget.
const LIST_BYTES_MAX: usize = 8 << 20;

/// The argument by which the same call goes on, with its value.
pub type Rest = (&'static str, Value);

impl ResultBudget {
    pub const NONE: Self = Self(None);

    pub const fn of(bytes: usize) -> Self {
        Self(Some(bytes))
    }

    /// More than a result may have; none if it may.
    pub fn exceeded_by(self, bytes: usize) -> Option<usize> {
        self.0.filter(|most| bytes > *most)
    }

    /// What is left beside so many other bytes; none where there is no bound.
    pub fn room(self, others: usize) -> Option<usize> {
        self.0.map(|most| most.saturating_sub(others + SPARE_BYTES))
    }

    /// Room for a list that stands among so many other bytes.
    pub fn beside(self, others: usize) -> GatheredItems {
        let most = self.room(others).unwrap_or(LIST_BYTES_MAX);
        let text_most = (self.0.unwrap_or(LIST_BYTES_MAX) / TEXT_PART).max(TEXT_BYTES_MIN);
        GatheredItems { most, text_most, ..GatheredItems::default() }
    }

    /// Cuts what is too much of a result, and says what: first its texts, then the tail of `list`. `rest` tells how the
    /// call goes on behind so many items of it.
    pub fn fit(
        self,
        told: &mut Value,
        list: Option<&'static str>,
        rest: &dyn Fn(usize) -> Option<Rest>,
    ) -> Vec<String> {
        if self.exceeded_by(size(told)).is_none() {
            return Vec::new();
        }
        let items = list.and_then(|name| told.get_mut(name)).and_then(Value::as_array_mut).map(std::mem::take);
        let mut gathered = self.beside(0);
        while self.exceeded_by(size(told) + SPARE_BYTES).is_some() && gathered.text_most > TEXT_BYTES_MIN {
            gathered.shorten(told);
            gathered.text_most /= 2;
        }
        let mut notes: Vec<_> = gathered.texts_note().into_iter().collect();
        let (Some(name), Some(items)) = (list, items) else { return notes };
        let mut gathered = self.beside(size(told));
        for item in items {
            gathered.add(item);
        }
        notes.extend(gathered.texts_note());
        if gathered.full {
            notes.push(gathered.note(name));
            notes.push(continued(told, rest(gathered.items.len())));
        }
        if let Some(list) = told.get_mut(name) {
            *list = Value::Array(gathered.items);
        }
        notes
    }
}

/// How the rest is had, in words.
pub fn behind(argument: &str, value: &Value) -> String {
    format!("the rest: the same call with {argument} {value}")
}

/// How the rest is had; a result that has a member for it says it there too.
fn continued(told: &mut Value, rest: Option<Rest>) -> String {
    let mut put = |name: &str, value: Value| {
        if let Some(member) = told.get_mut(name) {
            *member = value;
        }
    };
    put("truncated", true.into());
    put("has_more", true.into());
    match rest {
        Some((argument, value)) => {
            put(argument, value.clone());
            put(NEXT, value.clone());
            behind(argument, &value)
        }
        None => "ask narrower".to_owned(),
    }
}

/// The first items of a list, as many as there is room for, and how many there were.
#[derive(Debug, Default)]
pub struct GatheredItems {
    most: usize,
    text_most: usize,
    /// There was more than there is room for: long texts are cut.
    is_tight: bool,
    /// The shortest that a text was cut to.
    cut_to: Option<usize>,
    /// Lists or objects within an item were cut.
    is_halved: bool,
    full: bool,
    bytes: usize,
    pub items: Vec<Value>,
    pub seen: u64,
}

impl GatheredItems {
    /// Whether the item has found room. Behind one that has not there is none for any.
    pub fn add(&mut self, mut item: Value) -> bool {
        self.seen += 1;
        if self.full {
            return false;
        }
        if self.is_tight {
            self.shorten(&mut item);
        }
        if !self.has_room(&item) && !self.is_tight {
            self.is_tight = true;
            let mut items = std::mem::take(&mut self.items);
            items.iter_mut().chain([&mut item]).for_each(|item| self.shorten(item));
            self.bytes = items.iter().map(|item| size(item) + 1).sum();
            self.items = items;
        }
        while self.items.is_empty() && !self.has_room(&item) && self.text_most > TEXT_BYTES_MIN {
            self.text_most = (self.text_most / 2).max(TEXT_BYTES_MIN); // of the first as much as there is room for
            self.shorten(&mut item);
        }
        while self.items.is_empty() && !self.has_room(&item) && halve_within(&mut item) {
            self.is_halved = true; // else nobody would ever come behind it
        }
        self.full = !self.has_room(&item);
        if !self.full {
            self.bytes += size(&item) + 1;
            self.items.push(item);
        }
        !self.full
    }

    fn has_room(&self, item: &Value) -> bool {
        self.bytes + size(item) < self.most
    }

    fn shorten(&mut self, value: &mut Value) {
        if shorten(value, self.text_most) {
            self.cut_to = Some(self.text_most);
        }
    }

    /// There was more than there is room for.
    pub fn is_cut(&self) -> bool {
        self.full
    }

    pub fn note(&self, noun: &str) -> String {
        format!("{} of {} {noun} are shown: one result has no room for more", self.items.len(), self.seen)
    }

    /// What was cut of the texts and of other values.
    pub fn texts_note(&self) -> Option<String> {
        let texts = self.cut_to.map(|most| format!("texts of more than {most} bytes are cut, and end in …"));
        let halved = self.is_halved.then(|| "long lists and objects within a value are cut".to_owned());
        let notes: Vec<_> = texts.into_iter().chain(halved).collect();
        (!notes.is_empty()).then(|| notes.join("\n"))
    }
}

/// Its length as JSON.
pub fn size(value: &Value) -> usize {
    value.to_string().len()
}

/// Halves the longest list or object within a value; whether there was one to be halved.
pub fn halve_within(value: &mut Value) -> bool {
    let longest = match value {
        Value::Array(items) => items.iter_mut().max_by_key(|item| size(item)),
        Value::Object(members) => members.values_mut().max_by_key(|member| size(member)),
        _ => None,
    };
    longest.is_some_and(halve)
}

/// Drops the second half of what is long by many parts; of what is long by one of them, that one is looked at.
pub fn halve(value: &mut Value) -> bool {
    let (parts, longest) = match value {
        Value::Array(items) => (items.len(), items.iter().map(size).max()),
        Value::Object(members) => (members.len(), members.values().map(size).max()),
        _ => return false,
    };
    if parts < 2 || longest.unwrap_or_default() * 2 > size(value) {
        return halve_within(value);
    }
    match value {
        Value::Array(items) => items.truncate(parts / 2),
        Value::Object(members) => *members = std::mem::take(members).into_iter().take(parts / 2).collect(),
        _ => {}
    }
    true
}

/// Cuts every text in it that is longer; whether there was one.
pub fn shorten(value: &mut Value, most: usize) -> bool {
    match value {
        Value::String(text) if text.len() > most + '…'.len_utf8() => {
            let mut end = most;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
            text.push('…');
            true
        }
        Value::Array(items) => shorten_each(items.iter_mut(), most),
        Value::Object(members) => shorten_each(members.values_mut(), most),
        _ => false,
    }
}

fn shorten_each<'a>(values: impl Iterator<Item = &'a mut Value>, most: usize) -> bool {
    let mut cut = false;
    for value in values {
        cut |= shorten(value, most);
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[expect(clippy::unnecessary_wraps, reason = "a list may have no way to its rest")]
    fn numbered(shown: usize) -> Option<Rest> {
        Some(("from", json!(shown)))
    }

    fn list(items: usize, text: usize) -> Value {
        let item = |n| json!({"n": n, "text": "ä".repeat(text)});
        json!({"items": (0..items).map(item).collect::<Vec<_>>(), "has_more": false, "from": null})
    }

    #[test]
    fn what_fits_is_left_as_it_is() {
        let told = list(10, 10);
        for budget in [ResultBudget::NONE, ResultBudget::of(size(&told))] {
            let mut fit = told.clone();
            assert_eq!((budget.fit(&mut fit, Some("items"), &numbered), &fit), (vec![], &told));
        }
    }

    /// Lists of any length, of any items, in any budget that has room for something.
    #[test]
    fn what_is_cut_fits_and_says_where_the_rest_begins() {
        for items in [1, 2, 7, 400] {
            for text in [0, 100, 3_000, 50_000] {
                for most in [2_000, 10_000, 51_200] {
                    let mut told = list(items, text);
                    let was_too_much = size(&told) > most;
                    let notes = ResultBudget::of(most).fit(&mut told, Some("items"), &numbered);
                    let about = format!("{items} items with {text} in {most}: {notes:?}");
                    assert!(size(&told) <= most, "{about}: {}", size(&told));
                    assert_eq!(notes.is_empty(), !was_too_much, "{about}");
                    let kept = told["items"].as_array().unwrap().len();
                    assert!(kept > 0 || items == 0, "{about}");
                    assert_eq!(told["has_more"], kept < items, "{about}");
                    assert_eq!(told["from"], if kept < items { json!(kept) } else { Value::Null }, "{about}");
                    assert_eq!(notes.iter().any(|note| note.contains("from")), kept < items, "{about}");
                    let cut = told["items"][0]["text"].as_str().unwrap().ends_with('…');
                    assert_eq!(notes.iter().any(|note| note.contains("texts")), cut, "{about}");
                }
            }
        }
    }

    #[test]
    fn a_result_without_a_list_has_its_texts_cut() {
        let mut told =
            json!({"memory_id": "m1", "content": "x".repeat(60_000), "value": {"deep": ["y".repeat(60_000)]}});
        let notes = ResultBudget::of(10_000).fit(&mut told, None, &|_| None);
        assert!(size(&told) <= 10_000 && notes.len() == 1, "{notes:?}");
        assert!(told["content"].as_str().unwrap().ends_with('…') && told["memory_id"] == "m1");
    }

    #[test]
    fn what_cannot_be_continued_is_asked_narrower() {
        let mut told = json!({"items": vec!["0123456789"; 1_000], "truncated": false});
        let notes = ResultBudget::of(1_000).fit(&mut told, Some("items"), &|_| None);
        assert_eq!((notes.last().map(String::as_str), &told["truncated"]), (Some("ask narrower"), &json!(true)));
    }
    /// Else a call that goes on behind what was shown would never come further.
    #[test]
    fn an_item_that_is_too_long_by_itself_has_its_long_parts_cut() {
        for value in [
            json!((0..9_000).collect::<Vec<_>>()),
            json!({"deep": [{"at": "x"}, (0..9_000).collect::<Vec<_>>()]}),
            json!((0..900).map(|n| (format!("k{n}"), json!(n))).collect::<serde_json::Map<_, _>>()),
        ] {
            let mut told = json!({"items": [{"n": 0, "value": value}, {"n": 1}], "from": null});
            let notes = ResultBudget::of(4_096).fit(&mut told, Some("items"), &numbered);
            assert!(size(&told) <= 4_096 && told["items"][0]["n"] == 0, "{notes:?}");
            assert!(size(&told["items"][0]["value"]) > 1_000, "{told}");
            assert!(notes.iter().any(|note| note.contains("long lists and objects")), "{notes:?}");
        }
    }
}
