//! Every unsafe line of Sluice: DuckDB's C API behind types that cannot be misused.
//!
//! Rules that make the blocks below sound:
//!
//! - A handle is made and destroyed in one place: its type's constructor and `Drop`.
//! - A `Prepared` borrows its `Connection` and a `Run` its `Prepared`, so nothing outlives what it points into.
//! - A chunk has its memory to itself, nobody changes it, and columns that point into it keep it.
//! - A connection is used by one thread at a time. The interrupt alone comes from another, under a lock that `Drop`
//!   takes too.
//! - A connection counts with its runs who keeps how rows look (`Rc`): they borrow it, so they are of its thread.

#![expect(unsafe_code, reason = "the one file over the C API; see the rules above")]
#![expect(clippy::undocumented_unsafe_blocks, reason = "one reason covers them all: the rules above")]

#[forbid(unsafe_code)]
mod calls;
#[forbid(unsafe_code)]
mod columns;
#[forbid(unsafe_code)]
mod nulls;
#[forbid(unsafe_code)]
mod workers;

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::marker::PhantomData;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::slice;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use arrow::array::{ArrayRef, RecordBatch, StructArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use columns::ColumnForm;
use duckdb::ffi as c;

use crate::comparison::{Compared, Comparing, Comparison};
use crate::error::{Error, Kind};
use crate::native::{self, ValueLayout};
use crate::types::{Shape, Type};
use crate::value::Value;
use calls::{ConnectionCalls, DatabaseCalls};
pub use workers::WorkerWatch;
use workers::{Beginning, LongRun, LongRuns, goes_on_alone};

/// Takes over a descriptor that the kernel just installed for us (`SCM_RIGHTS`).
pub fn received(descriptor: RawFd) -> OwnedFd {
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

/// Hands back to the kernel what the allocator keeps for later.
pub fn trim() {
    unsafe { nix::libc::malloc_trim(0) };
}

/// An open database; closed when the last connection to it, and its last thread, is gone.
pub struct Database {
    raw: c::duckdb_database,
    long: Mutex<LongRuns>,
    begun: Condvar,
    calls: DatabaseCalls,
}

unsafe impl Send for Database {}
unsafe impl Sync for Database {}

impl Database {
    pub fn open(path: &Path, options: &[(&str, String)]) -> Result<Arc<Self>, Error> {
        let path = terminated(path.as_os_str().as_bytes())?;
        let config = Options::new(options)?;
        let mut database = ptr::null_mut();
        let mut error = ptr::null_mut();
        let state = unsafe { c::duckdb_open_ext(path.as_ptr(), &raw mut database, config.0, &raw mut error) };
        if state == c::DuckDBSuccess {
            let (long, begun, calls) = (Mutex::default(), Condvar::new(), DatabaseCalls::default());
            return Ok(Arc::new(Self { raw: database, long, begun, calls }));
        }
        Err(Error::from_engine(&taken(error).unwrap_or_else(|| "the database cannot be opened".to_owned())))
    }

    pub fn connect(self: &Arc<Self>) -> Result<Connection, Error> {
        let mut raw = ptr::null_mut();
        if unsafe { c::duckdb_connect(self.raw, &raw mut raw) } != c::DuckDBSuccess {
            return Err(Error::internal("no new connection"));
        }
        let interrupter = Arc::new(Interrupter(Mutex::new(Raw(raw))));
        let (calls, layout) = (self.calls.add(), RefCell::default());
        Ok(Connection { raw, interrupter, calls, layout, database: Arc::clone(self) })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        unsafe { c::duckdb_close(&raw mut self.raw) }
    }
}

impl Database {
    /// Runs tasks of its statements, at most so many; it waits for one for 5 ms.
    fn execute_tasks(&self, count: u64) {
        unsafe { c::duckdb_execute_tasks(self.raw, count) }
    }

    /// Hands back the memory that this thread keeps, as the engine does where a thread leaves what has ended.
    fn hand_back(&self) {
        unsafe {
            let ended = c::duckdb_create_task_state(self.raw);
            c::duckdb_finish_execution(ended);
            c::duckdb_execute_tasks_state(ended);
            c::duckdb_destroy_task_state(ended);
        }
    }
}

struct Options(c::duckdb_config);

impl Options {
    fn new(options: &[(&str, String)]) -> Result<Self, Error> {
        let mut config = Self(ptr::null_mut());
        if unsafe { c::duckdb_create_config(&raw mut config.0) } != c::DuckDBSuccess {
            return Err(Error::internal("no configuration"));
        }
        for (name, value) in options {
            let (n, v) = (terminated(name.as_bytes())?, terminated(value.as_bytes())?);
            if unsafe { c::duckdb_set_config(config.0, n.as_ptr(), v.as_ptr()) } != c::DuckDBSuccess {
                return Err(Error::internal(format!("the engine knows no setting {name}")));
            }
        }
        Ok(config)
    }
}

impl Drop for Options {
    fn drop(&mut self) {
        unsafe { c::duckdb_destroy_config(&raw mut self.0) }
    }
}

struct Raw(c::duckdb_connection);

unsafe impl Send for Raw {}

/// Stops what its connection runs; does nothing once that is closed.
pub struct Interrupter(Mutex<Raw>);

impl Interrupter {
    pub fn interrupt(&self) {
        let raw = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !raw.0.is_null() {
            unsafe { c::duckdb_interrupt(raw.0) }
        }
    }
}

pub struct Connection {
    raw: c::duckdb_connection,
    interrupter: Arc<Interrupter>,
    calls: Arc<ConnectionCalls>,
    /// How the last rows looked: the next ones mostly look so too. The settings that decide it are locked.
    layout: RefCell<Option<Rc<Layout>>>,
    database: Arc<Database>,
}

unsafe impl Send for Connection {}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut raw = self.interrupter.0.lock().unwrap_or_else(PoisonError::into_inner);
        raw.0 = ptr::null_mut();
        unsafe { c::duckdb_disconnect(&raw mut self.raw) }
    }
}

impl Connection {
    pub fn interrupter(&self) -> Arc<Interrupter> {
        Arc::clone(&self.interrupter)
    }

    /// Prepares exactly one statement.
    pub fn prepare(&self, sql: &str) -> Result<Prepared<'_>, Error> {
        let text = terminated(sql.as_bytes())?;
        let _call = self.calls.begin();
        let mut extracted = Extracted(ptr::null_mut());
        let count = unsafe { c::duckdb_extract_statements(self.raw, text.as_ptr(), &raw mut extracted.0) };
        match count {
            0 => {
                let error = unsafe { c::duckdb_extract_statements_error(extracted.0) };
                return Err(lent(error)
                    .map_or_else(|| Error::new(Kind::Parser, "no statement"), |text| Error::from_engine(&text)));
            }
            1 => {}
            _ => return Err(Error::new(Kind::Parser, "more than one statement")),
        }
        let mut prepared = Prepared { raw: ptr::null_mut(), connection: self };
        let state = unsafe { c::duckdb_prepare_extracted_statement(self.raw, extracted.0, 0, &raw mut prepared.raw) };
        if state == c::DuckDBSuccess {
            return Ok(prepared);
        }
        let error = lent(unsafe { c::duckdb_prepare_error(prepared.raw) });
        Err(Error::from_engine(&error.unwrap_or_else(|| "the statement cannot be prepared".to_owned())))
    }

    /// Runs one statement without parameters and forgets its rows.
    pub fn execute(&self, sql: &str) -> Result<(), Error> {
        let prepared = self.prepare(sql)?;
        prepared.run(false).map(drop)
    }

    /// The tables a query names, as it names them, without those a `WITH` makes.
    pub fn table_names(&self, sql: &str) -> Result<Vec<String>, Error> {
        let text = terminated(sql.as_bytes())?;
        let list = Owned(unsafe { c::duckdb_get_table_names(self.raw, text.as_ptr(), true) });
        if list.0.is_null() {
            return Err(Error::new(Kind::NotImplemented, "the engine does not name the tables of this statement"));
        }
        let count = unsafe { c::duckdb_get_list_size(list.0) };
        let name = |index| {
            let item = Owned(unsafe { c::duckdb_get_list_child(list.0, index) });
            taken(unsafe { c::duckdb_get_varchar(item.0) }).ok_or_else(|| Error::internal("a table without a name"))
        };
        (0..count).map(name).collect()
    }
}

/// A scalar function before it is registered.
struct Scalar(c::duckdb_scalar_function);

type Call = unsafe extern "C" fn(c::duckdb_function_info, c::duckdb_data_chunk, c::duckdb_vector);

impl Scalar {
    /// `call` must take its extra info for a pointer to a `T`: the state, which threads of the engine share until the
    /// function is gone, and which it drops.
    unsafe fn new<T: Send + Sync + 'static>(
        name: &str,
        parameters: &[&Logical],
        result: &Logical,
        state: T,
        call: Call,
    ) -> Result<Self, Error> {
        let name = terminated(name.as_bytes())?;
        unsafe {
            let scalar = Self(c::duckdb_create_scalar_function());
            c::duckdb_scalar_function_set_name(scalar.0, name.as_ptr());
            for parameter in parameters {
                c::duckdb_scalar_function_add_parameter(scalar.0, parameter.0);
            }
            c::duckdb_scalar_function_set_return_type(scalar.0, result.0);
            let state = Box::into_raw(Box::new(state)).cast();
            c::duckdb_scalar_function_set_extra_info(scalar.0, state, Some(forget::<T>));
            c::duckdb_scalar_function_set_function(scalar.0, Some(call));
            Ok(scalar)
        }
    }

    /// For the whole database, in `system.main`.
    fn register(self, connection: &Connection) -> Result<(), Error> {
        let registered = unsafe { c::duckdb_register_scalar_function(connection.raw, self.0) };
        if registered == c::DuckDBSuccess { Ok(()) } else { Err(Error::internal("a function cannot be registered")) }
    }
}

impl Drop for Scalar {
    fn drop(&mut self) {
        unsafe { c::duckdb_destroy_scalar_function(&raw mut self.0) }
    }
}

unsafe extern "C" fn forget<T>(state: *mut c_void) {
    drop(unsafe { Box::from_raw(state.cast::<T>()) });
}

/// Ends the statement that called the function.
unsafe fn refuse(info: c::duckdb_function_info, message: &str) {
    let message = CString::new(message).unwrap_or_default();
    unsafe { c::duckdb_scalar_function_set_error(info, message.as_ptr()) };
}

/// A function from a text, or null, to a text.
pub type TextFunction = dyn Fn(Option<&str>) -> String + Send + Sync;

impl Connection {
    /// Registers a scalar function for the whole database, in `system.main`. It is called for nulls
    /// too, which is what the crate's own way to register one cannot do.
    pub fn register(&self, name: &str, function: Box<TextFunction>) -> Result<(), Error> {
        let text = Logical::of(c::DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR);
        let scalar = unsafe { Scalar::new(name, &[&text], &text, function, call_text_function) }?;
        unsafe { c::duckdb_scalar_function_set_special_handling(scalar.0) };
        scalar.register(self)
    }
}

/// A question about three texts, or why it cannot be answered.
pub type Predicate = fn(&str, &str, &str) -> Result<bool, &'static str>;

impl Connection {
    /// Registers a predicate for the whole database, in `system.main`; of a null the answer is null.
    pub fn register_predicate(&self, name: &str, predicate: Predicate) -> Result<(), Error> {
        let text = Logical::of(c::DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR);
        let boolean = Logical::of(c::DUCKDB_TYPE_DUCKDB_TYPE_BOOLEAN);
        unsafe { Scalar::new(name, &[&text; 3], &boolean, predicate, call_predicate) }?.register(self)
    }
}

unsafe extern "C" fn call_predicate(
    info: c::duckdb_function_info,
    input: c::duckdb_data_chunk,
    output: c::duckdb_vector,
) {
    unsafe {
        let predicate = *c::duckdb_scalar_function_get_extra_info(info).cast::<Predicate>();
        let [one, two, three] = [0, 1, 2].map(|place| c::duckdb_data_chunk_get_vector(input, place));
        let results = c::duckdb_vector_get_data(output).cast::<bool>();
        for row in 0..c::duckdb_data_chunk_get_size(input) {
            let texts = (text_at(one, row), text_at(two, row), text_at(three, row));
            let answer = match &texts {
                (Some(one), Some(two), Some(three)) => predicate(one, two, three).map(Some),
                _ => Ok(None),
            };
            match (answer, usize::try_from(row)) {
                (Ok(Some(answer)), Ok(offset)) => *results.add(offset) = answer,
                (Err(message), _) => {
                    refuse(info, message);
                    return;
                }
                _ => set_null(output, row),
            }
        }
    }
}

unsafe fn set_null(output: c::duckdb_vector, row: c::idx_t) {
    unsafe {
        c::duckdb_vector_ensure_validity_writable(output);
        c::duckdb_validity_set_row_invalid(c::duckdb_vector_get_validity(output), row);
    }
}

unsafe extern "C" fn call_text_function(
    info: c::duckdb_function_info,
    input: c::duckdb_data_chunk,
    output: c::duckdb_vector,
) {
    unsafe {
        let function = &*c::duckdb_scalar_function_get_extra_info(info).cast::<Box<TextFunction>>();
        let vector = c::duckdb_data_chunk_get_vector(input, 0);
        for row in 0..c::duckdb_data_chunk_get_size(input) {
            let made = function(text_at(vector, row).as_deref());
            c::duckdb_vector_assign_string_element_len(output, row, made.as_ptr().cast(), size(made.len()));
        }
    }
}

/// The text of a row; none where it is null. The engine's texts are UTF-8; one that were not is
/// treated as its readable part.
unsafe fn text_at<'v>(vector: c::duckdb_vector, row: c::idx_t) -> Option<Cow<'v, str>> {
    unsafe {
        let offset = usize::try_from(row).ok().filter(|_| is_valid(vector, row))?;
        let text = c::duckdb_vector_get_data(vector).cast::<c::duckdb_string_t>().add(offset);
        Some(String::from_utf8_lossy(bytes_of(text)))
    }
}

/// A text that is no longer stands in its value.
const SHORT_BYTES: usize = 12;

/// The bytes of a text, which the engine must have made, and must keep for as long as they are read.
unsafe fn bytes_of<'v>(text: *const c::duckdb_string_t) -> &'v [u8] {
    unsafe {
        let length = usize::try_from((*text).value.inlined.length).unwrap_or(0);
        let bytes = if length <= SHORT_BYTES {
            (&raw const (*text).value.inlined.inlined).cast::<u8>()
        } else {
            (*text).value.pointer.ptr.cast::<u8>().cast_const()
        };
        slice::from_raw_parts(bytes, length)
    }
}

/// The numbers of a row's array of this size; none where it, or one of them, is null.
unsafe fn numbers_at<'v>(vector: c::duckdb_vector, row: c::idx_t, count: u32) -> Option<&'v [f64]> {
    unsafe {
        let child = c::duckdb_array_vector_get_child(vector);
        let first = row.checked_mul(u64::from(count)).filter(|_| is_valid(vector, row))?;
        if !(first..first + u64::from(count)).all(|place| is_valid(child, place)) {
            return None;
        }
        let numbers = c::duckdb_vector_get_data(child).cast::<f64>().add(usize::try_from(first).ok()?);
        Some(slice::from_raw_parts(numbers, usize::try_from(count).ok()?))
    }
}

unsafe fn is_valid(vector: c::duckdb_vector, row: c::idx_t) -> bool {
    unsafe {
        // None when no row of the vector is null.
        let validity = c::duckdb_vector_get_validity(vector);
        validity.is_null() || c::duckdb_validity_row_is_valid(validity, row)
    }
}

/// The first argument of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    Text,
    Vector,
}

/// How a registered function compares.
struct Registered {
    comparing: Comparing,
    operand: Operand,
}

/// The comparison of one call, shared by its copies in the plan.
type Shared = Arc<Mutex<Box<dyn Comparison>>>;

impl Connection {
    /// Registers a comparison for the whole database, in `system.main`.
    pub fn register_comparison(&self, name: &str, operand: Operand, comparing: Comparing) -> Result<(), Error> {
        let text = Logical::of(c::DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR);
        let number = Logical::of(c::DUCKDB_TYPE_DUCKDB_TYPE_DOUBLE);
        let dimensions = u64::from(comparing.dimensions);
        let vector = Logical(unsafe { c::duckdb_create_array_type(number.0, dimensions) });
        let one = match operand {
            Operand::Text => &text,
            Operand::Vector => &vector,
        };
        let registered = Registered { comparing, operand };
        let scalar = unsafe { Scalar::new(name, &[one, &text], &number, registered, call_comparison) }?;
        unsafe { c::duckdb_scalar_function_set_bind(scalar.0, Some(bind_comparison)) };
        scalar.register(self)
    }
}

unsafe extern "C" fn bind_comparison(info: c::duckdb_bind_info) {
    unsafe {
        let registered = &*c::duckdb_scalar_function_bind_get_extra_info(info).cast::<Registered>();
        let shared: Shared = Arc::new(Mutex::new((registered.comparing.make)()));
        let data = Box::into_raw(Box::new(shared)).cast();
        c::duckdb_scalar_function_set_bind_data(info, data, Some(forget::<Shared>));
        c::duckdb_scalar_function_set_bind_data_copy(info, Some(share_comparison));
    }
}

unsafe extern "C" fn share_comparison(data: *mut c_void) -> *mut c_void {
    let shared = unsafe { Arc::clone(&*data.cast::<Shared>()) };
    Box::into_raw(Box::new(shared)).cast()
}

unsafe extern "C" fn call_comparison(
    info: c::duckdb_function_info,
    input: c::duckdb_data_chunk,
    output: c::duckdb_vector,
) {
    unsafe {
        let registered = &*c::duckdb_scalar_function_get_extra_info(info).cast::<Registered>();
        let shared = &*c::duckdb_scalar_function_get_bind_data(info).cast::<Shared>();
        let mut comparison = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let (ones, texts) = (c::duckdb_data_chunk_get_vector(input, 0), c::duckdb_data_chunk_get_vector(input, 1));
        let results = c::duckdb_vector_get_data(output).cast::<f64>();
        for row in 0..c::duckdb_data_chunk_get_size(input) {
            let made = text_at(texts, row).and_then(|text| match registered.operand {
                Operand::Text => text_at(ones, row).map(|one| comparison.compare(Compared::Text(&one), &text)),
                Operand::Vector => numbers_at(ones, row, registered.comparing.dimensions)
                    .map(|one| comparison.compare(Compared::Vector(one), &text)),
            });
            match (made, usize::try_from(row)) {
                (Some(Ok(number)), Ok(offset)) => *results.add(offset) = number,
                (Some(Err(message)), _) => {
                    refuse(info, &message);
                    return;
                }
                _ => set_null(output, row),
            }
        }
    }
}

struct Extracted(c::duckdb_extracted_statements);

impl Drop for Extracted {
    fn drop(&mut self) {
        unsafe { c::duckdb_destroy_extracted(&raw mut self.0) }
    }
}

struct Owned(c::duckdb_value);

impl Drop for Owned {
    fn drop(&mut self) {
        if !self.0.is_null() {
            unsafe { c::duckdb_destroy_value(&raw mut self.0) }
        }
    }
}

/// What a statement does to the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// None: it is a query.
    Query,
    Rows,
    /// None: it begins or ends a transaction.
    Transaction,
    Definitions,
}

/// A type of whole numbers that is narrower than `BIGINT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NarrowNumber {
    TinyInt,
    SmallInt,
    Integer,
}

pub struct Prepared<'c> {
    raw: c::duckdb_prepared_statement,
    connection: &'c Connection,
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        unsafe { c::duckdb_destroy_prepare(&raw mut self.raw) }
    }
}

impl Prepared<'_> {
    pub fn effect(&self) -> Effect {
        match unsafe { c::duckdb_prepared_statement_type(self.raw) } {
            c::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_SELECT => Effect::Query,
            c::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_INSERT
            | c::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_UPDATE
            | c::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_DELETE
            | c::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_MERGE_INTO => Effect::Rows,
            c::duckdb_statement_type_DUCKDB_STATEMENT_TYPE_TRANSACTION => Effect::Transaction,
            _ => Effect::Definitions,
        }
    }

    /// The columns this would answer with; a type that waits for its parameters is named `UNKNOWN`.
    pub fn columns(&self) -> Vec<(String, Type)> {
        let count = unsafe { c::duckdb_prepared_statement_column_count(self.raw) };
        let column = |index| {
            // The header says `const`, and to free it: it is a copy.
            let name = unsafe { c::duckdb_prepared_statement_column_name(self.raw, index) };
            let kind = unsafe { c::duckdb_prepared_statement_column_logical_type(self.raw, index) };
            Some((taken(name.cast_mut())?, Logical(kind).read()))
        };
        (0..count).filter_map(column).collect()
    }

    /// How its rows would look in Arrow; an error while a type waits for its parameter.
    pub fn schema(&self) -> Result<SchemaRef, Error> {
        let kinds: Vec<Logical> = (0..unsafe { c::duckdb_prepared_statement_column_count(self.raw) })
            .map(|index| Logical(unsafe { c::duckdb_prepared_statement_column_logical_type(self.raw, index) }))
            .collect();
        let mut options = ptr::null_mut();
        unsafe { c::duckdb_connection_get_arrow_options(self.connection.raw, &raw mut options) };
        let names: Vec<String> = self.columns().into_iter().map(|(name, _)| name).collect();
        Ok(Arc::clone(&Layout::new(options, &kinds, names.iter().map(String::as_str))?.schema))
    }

    pub fn parameter_count(&self) -> u64 {
        unsafe { c::duckdb_nparams(self.raw) }
    }

    /// The type of each parameter, in their order; none where only a value would tell.
    pub fn parameters(&self) -> Vec<Option<String>> {
        let type_name = |number| {
            let kind = Logical(unsafe { c::duckdb_param_logical_type(self.raw, number) }).read().to_string();
            Some(kind).filter(|kind| !matches!(kind.as_str(), "UNKNOWN" | "INVALID" | "ANY" | "NULL" | "\"NULL\""))
        };
        (1..=self.parameter_count()).map(type_name).collect()
    }

    /// Binds the parameter of that number, the first being 1.
    pub fn bind(&self, number: u64, value: &Value) -> Result<(), Error> {
        let (p, n) = (self.raw, number);
        let state = unsafe {
            match value {
                Value::Null => c::duckdb_bind_null(p, n),
                Value::Boolean(v) => c::duckdb_bind_boolean(p, n, *v),
                Value::BigInt(v) => c::duckdb_bind_int64(p, n, *v),
                Value::HugeInt(v) => c::duckdb_bind_hugeint(p, n, native::huge(*v)),
                Value::Double(v) => c::duckdb_bind_double(p, n, *v),
                Value::Decimal(v) => c::duckdb_bind_decimal(p, n, native::decimal(v)?),
                Value::Text(v) | Value::Json(v) => {
                    c::duckdb_bind_varchar_length(p, n, v.as_ptr().cast(), size(v.len()))
                }
                Value::Blob(v) => c::duckdb_bind_blob(p, n, v.as_ptr().cast::<c_void>(), size(v.len())),
                Value::Date(days) => c::duckdb_bind_date(p, n, c::duckdb_date { days: *days }),
                Value::Time(micros) => c::duckdb_bind_time(p, n, c::duckdb_time { micros: *micros }),
                Value::Timestamp(micros) => c::duckdb_bind_timestamp(p, n, c::duckdb_timestamp { micros: *micros }),
                Value::TimestampTz(micros) => {
                    c::duckdb_bind_timestamp_tz(p, n, c::duckdb_timestamp { micros: *micros })
                }
                &Value::Interval { months, days, micros } => {
                    c::duckdb_bind_interval(p, n, c::duckdb_interval { months, days, micros })
                }
                Value::Uuid(_) | Value::List(_) => c::duckdb_bind_value(p, n, made(value)?.0),
            }
        };
        if state == c::DuckDBSuccess {
            return Ok(());
        }
        Err(Error::new(Kind::InvalidInput, format!("parameter {number} cannot be bound")))
    }

    /// Which of the parameters are whole numbers narrower than `BIGINT`; to ask before it has run.
    pub fn narrow_numbers(&self) -> Vec<Option<NarrowNumber>> {
        let narrow = |number| match unsafe { c::duckdb_param_type(self.raw, number) } {
            c::DUCKDB_TYPE_DUCKDB_TYPE_TINYINT => Some(NarrowNumber::TinyInt),
            c::DUCKDB_TYPE_DUCKDB_TYPE_SMALLINT => Some(NarrowNumber::SmallInt),
            c::DUCKDB_TYPE_DUCKDB_TYPE_INTEGER => Some(NarrowNumber::Integer),
            _ => None,
        };
        (1..=self.parameter_count()).map(narrow).collect()
    }

    /// Binds a whole number as one of that type; says whether it is one.
    pub fn bind_narrow(&self, number: u64, value: i64, narrow: NarrowNumber) -> bool {
        let (p, n) = (self.raw, number);
        let state = unsafe {
            match narrow {
                NarrowNumber::TinyInt => i8::try_from(value).map(|v| c::duckdb_bind_int8(p, n, v)),
                NarrowNumber::SmallInt => i16::try_from(value).map(|v| c::duckdb_bind_int16(p, n, v)),
                NarrowNumber::Integer => i32::try_from(value).map(|v| c::duckdb_bind_int32(p, n, v)),
            }
        };
        state.is_ok_and(|state| state == c::DuckDBSuccess)
    }

    /// Executes. `lazily`: rows are made as they are fetched; else the statement runs to its end.
    pub fn run(&self, lazily: bool) -> Result<Run<'_>, Error> {
        let failed = |text: Option<String>| {
            text.map_or_else(
                || Error::internal("the statement failed without a reason"),
                |text| Error::from_engine(&text),
            )
        };
        let _call = self.connection.calls.begin();
        let mut pending = Pending(ptr::null_mut());
        let state = if lazily {
            unsafe { c::duckdb_pending_prepared_streaming(self.raw, &raw mut pending.0) }
        } else {
            unsafe { c::duckdb_pending_prepared(self.raw, &raw mut pending.0) }
        };
        if state != c::DuckDBSuccess {
            return Err(failed(pending.error()));
        }
        let began = Beginning::now();
        let _long = loop {
            match unsafe { c::duckdb_pending_execute_task(pending.0) } {
                c::duckdb_pending_state_DUCKDB_PENDING_RESULT_READY => break None,
                c::duckdb_pending_state_DUCKDB_PENDING_ERROR => return Err(failed(pending.error())),
                state if goes_on_alone(state, &began) => {}
                _ => break LongRun::begin(&self.connection.database),
            }
        };
        let mut raw = Box::new(unsafe { std::mem::zeroed::<c::duckdb_result>() });
        let state = unsafe { c::duckdb_execute_pending(pending.0, &raw mut *raw) };
        let mut run = Run {
            raw,
            columns: Vec::new(),
            value_layouts: Arc::default(),
            layout: None,
            ended: false,
            lazily,
            began,
            connection: self.connection,
            prepared: PhantomData,
        };
        if state != c::DuckDBSuccess {
            return Err(failed(run.error_text()));
        }
        run.read_columns();
        Ok(run)
    }
}

/// A statement that has begun, and has no result yet.
struct Pending(c::duckdb_pending_result);

impl Pending {
    fn error(&self) -> Option<String> {
        lent(unsafe { c::duckdb_pending_error(self.0) })
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        unsafe { c::duckdb_destroy_pending(&raw mut self.0) }
    }
}

/// What a statement answered with.
pub struct Run<'p> {
    raw: Box<c::duckdb_result>,
    columns: Vec<(String, Type)>,
    value_layouts: Arc<[ValueLayout]>,
    layout: Option<Rc<Layout>>,
    ended: bool,
    lazily: bool,
    began: Beginning,
    connection: &'p Connection,
    prepared: PhantomData<&'p ()>,
}

/// Rows have no more columns where their connection keeps how they look.
const KEPT_COLUMNS_MAX: usize = 256;
/// The names of these together are no longer.
const KEPT_NAMES_BYTES: usize = 16 << 10;

/// Whether it may be kept how rows of these columns look.
fn are_few(columns: &[(String, Type)]) -> bool {
    let bytes: usize = columns.iter().map(|(name, _)| name.len()).sum();
    columns.len() <= KEPT_COLUMNS_MAX && bytes <= KEPT_NAMES_BYTES
}

/// How its rows look in Arrow.
struct Layout {
    /// The columns that it is of; none where nothing is kept of it.
    columns: Vec<(String, Type)>,
    options: c::duckdb_arrow_options,
    exported: FFI_ArrowSchema,
    schema: SchemaRef,
    /// How its columns are made; none where that is left to the engine.
    forms: Option<Vec<ColumnForm>>,
}

impl Layout {
    /// Takes the options over.
    fn new<'n>(
        options: c::duckdb_arrow_options,
        kinds: &[Logical],
        names: impl Iterator<Item = &'n str>,
    ) -> Result<Self, Error> {
        let (exported, schema) = (FFI_ArrowSchema::empty(), Arc::new(Schema::empty()));
        let mut layout = Self { columns: Vec::new(), options, exported, schema, forms: None };
        let names = names.map(|name| terminated(name.as_bytes())).collect::<Result<Vec<_>, _>>()?;
        let mut kind_pointers: Vec<_> = kinds.iter().map(|kind| kind.0).collect();
        let mut name_pointers: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
        failed(unsafe {
            c::duckdb_to_arrow_schema(
                layout.options,
                kind_pointers.as_mut_ptr(),
                name_pointers.as_mut_ptr(),
                size(kinds.len()),
                (&raw mut layout.exported).cast(),
            )
        })?;
        layout.schema = Arc::new(Schema::try_from(&layout.exported).map_err(Error::internal)?);
        Ok(layout)
    }

    /// Columns of any kind, as the engine makes them for Arrow.
    fn exported_columns(&self, chunk: &Chunk) -> Result<Vec<ArrayRef>, Error> {
        let mut array = FFI_ArrowArray::empty();
        failed(unsafe { c::duckdb_data_chunk_to_arrow(self.options, chunk.raw, (&raw mut array).cast()) })?;
        let data = unsafe { from_ffi(array, &self.exported) }.map_err(Error::internal)?;
        let (_, columns, _) = StructArray::from(data).into_parts();
        columns.into_iter().map(nulls::cleared).collect()
    }
}

impl Drop for Layout {
    fn drop(&mut self) {
        unsafe { c::duckdb_destroy_arrow_options(&raw mut self.options) }
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        unsafe { c::duckdb_destroy_result(&raw mut *self.raw) }
    }
}

impl Run<'_> {
    fn error(&mut self) -> Option<Error> {
        self.error_text().map(|text| Error::from_engine(&text))
    }

    fn error_text(&mut self) -> Option<String> {
        lent(unsafe { c::duckdb_result_error(&raw mut *self.raw) })
    }

    fn read_columns(&mut self) {
        let raw = &raw mut *self.raw;
        let count = unsafe { c::duckdb_column_count(raw) };
        let column = |index| {
            let name = lent(unsafe { c::duckdb_column_name(raw, index) }).unwrap_or_default();
            let kind = Logical(unsafe { c::duckdb_column_logical_type(raw, index) });
            ((name, kind.read()), kind.value_layout())
        };
        let (columns, value_layouts): (Vec<_>, Vec<_>) = (0..count).map(column).unzip();
        (self.columns, self.value_layouts) = (columns, value_layouts.into());
    }

    /// How many rows it changed, when it answered with that instead of rows.
    pub fn changed(&mut self) -> Option<u64> {
        match unsafe { c::duckdb_result_return_type(*self.raw) } {
            c::duckdb_result_type_DUCKDB_RESULT_TYPE_CHANGED_ROWS => {
                Some(unsafe { c::duckdb_rows_changed(&raw mut *self.raw) })
            }
            c::duckdb_result_type_DUCKDB_RESULT_TYPE_NOTHING => Some(0),
            _ => None,
        }
    }

    pub fn columns(&self) -> &[(String, Type)] {
        &self.columns
    }

    pub fn schema(&mut self) -> Result<SchemaRef, Error> {
        Ok(Arc::clone(&self.layout()?.schema))
    }

    fn layout(&mut self) -> Result<&Layout, Error> {
        if self.layout.is_none() {
            self.layout = Some(self.read_layout()?);
        }
        self.layout.as_deref().ok_or_else(|| Error::internal("no layout"))
    }

    fn read_layout(&mut self) -> Result<Rc<Layout>, Error> {
        let mut last = self.connection.layout.borrow_mut();
        if let Some(last) = last.as_ref().filter(|last| last.columns == self.columns) {
            return Ok(Rc::clone(last));
        }
        let raw = &raw mut *self.raw;
        let kinds: Vec<Logical> = (0..size(self.columns.len()))
            .map(|index| Logical(unsafe { c::duckdb_column_logical_type(raw, index) }))
            .collect();
        let options = unsafe { c::duckdb_result_get_arrow_options(raw) };
        let mut layout = Layout::new(options, &kinds, self.columns.iter().map(|(name, _)| name.as_str()))?;
        layout.forms = columns::forms(&self.columns, &layout.schema);
        // without forms, names of its types may not tell all of them
        if layout.forms.is_none() || !are_few(&self.columns) {
            return Ok(Rc::new(layout));
        }
        layout.columns.clone_from(&self.columns);
        let layout = Rc::new(layout);
        *last = Some(Rc::clone(&layout));
        Ok(layout)
    }

    /// Whether it has gone on for long, and makes rows yet: those that are made need nobody.
    fn is_long(&self) -> bool {
        let is_made = || unsafe { c::duckdb_execution_is_finished(self.connection.raw) };
        self.lazily && self.began.is_long() && !is_made()
    }

    /// The next rows, up to 2048 of them, or nothing after the last.
    pub fn next(&mut self) -> Result<Option<RecordBatch>, Error> {
        if self.ended {
            return Ok(None);
        }
        let Some(chunk) = self.fetch() else {
            self.ended = true;
            return self.error().map_or(Ok(None), Err);
        };
        let layout = self.layout()?;
        let by_forms = layout.forms.as_deref().and_then(|forms| columns::by_forms(&chunk, forms, &layout.schema));
        let columns = by_forms.map_or_else(|| layout.exported_columns(&chunk), Ok)?;
        RecordBatch::try_new(Arc::clone(&layout.schema), columns).map(Some).map_err(Error::internal)
    }

    fn fetch(&mut self) -> Option<Arc<Chunk>> {
        let long = if self.is_long() { LongRun::begin(&self.connection.database) } else { None };
        let call = self.connection.calls.begin();
        let raw = unsafe { c::duckdb_fetch_chunk(*self.raw) };
        drop((call, long));
        if raw.is_null() {
            return None;
        }
        let rows = usize::try_from(unsafe { c::duckdb_data_chunk_get_size(raw) }).unwrap_or(0);
        let value_layouts = Arc::clone(&self.value_layouts);
        let chunk = Chunk { raw, rows, value_layouts, _database: Arc::clone(&self.connection.database) };
        (rows > 0).then(|| Arc::new(chunk))
    }
}

/// Rows that the engine has made, with a vector of values for each column.
pub struct Chunk {
    raw: c::duckdb_data_chunk,
    rows: usize,
    /// Those of the types of the answer that it is a part of, and so of its vectors.
    value_layouts: Arc<[ValueLayout]>,
    /// Its memory may be given back to it.
    _database: Arc<Database>,
}

// SAFETY: nothing changes a chunk once it is fetched, and any thread may give it back.
unsafe impl Send for Chunk {}
// SAFETY: as above; what can be called with it reads alone.
unsafe impl Sync for Chunk {}

impl Drop for Chunk {
    fn drop(&mut self) {
        unsafe { c::duckdb_destroy_data_chunk(&raw mut self.raw) }
    }
}

impl Chunk {
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// None where there is no such column, or it has no values.
    pub fn column(&self, index: usize) -> Option<ColumnVector<'_>> {
        let (layout, rows) = (*self.value_layouts.get(index)?, self.rows);
        // SAFETY: a chunk that is fetched is flat: each of its vectors has a value for each row, and a word of validity
        // for each 64 of them, or no words at all. Both stay where they are for as long as the chunk is there.
        let (values, words) = unsafe {
            let vector = c::duckdb_data_chunk_get_vector(self.raw, size(index));
            let validity = c::duckdb_vector_get_validity(vector);
            let words = (!validity.is_null()).then(|| slice::from_raw_parts(validity, rows.div_ceil(nulls::WORD_ROWS)));
            (NonNull::new(c::duckdb_vector_get_data(vector))?, words)
        };
        let nulls = words.and_then(|words| nulls::of(words, rows));
        Some(ColumnVector { values, layout, rows, nulls, chunk: PhantomData })
    }
}

/// A column of a chunk. Only values that are not null can be read of it: at other places may be those of other rows.
pub struct ColumnVector<'c> {
    values: NonNull<c_void>,
    layout: ValueLayout,
    rows: usize,
    nulls: Option<NullBuffer>,
    chunk: PhantomData<&'c Chunk>,
}

impl<'c> ColumnVector<'c> {
    pub fn layout(&self) -> ValueLayout {
        self.layout
    }

    /// None where none is.
    pub fn nulls(&self) -> Option<&NullBuffer> {
        self.nulls.as_ref()
    }

    /// The bytes of all values; none where one is null, or where they are not one behind the other.
    pub fn whole(&self) -> Option<&'c [u8]> {
        let ValueLayout::Fixed(width) = self.layout else { return None };
        let values = self.values.cast::<u8>().as_ptr();
        // SAFETY: each row has a value of this width, and the engine has written all of them.
        self.nulls.is_none().then(|| unsafe { slice::from_raw_parts(values, self.rows * width) })
    }

    /// Copies the bytes of all values to where they stand in `place`, and leaves what is there for those that are null.
    pub fn copy_to(&self, place: &mut [u8]) {
        let (ValueLayout::Fixed(width), Some(nulls)) = (self.layout, &self.nulls) else {
            let whole = self.whole().unwrap_or_default();
            if let Some(part) = place.get_mut(..whole.len()) {
                part.copy_from_slice(whole);
            }
            return;
        };
        for (from, to) in nulls.valid_slices() {
            if let Some(part) = place.get_mut(from * width..to * width) {
                // SAFETY: the rows are some of the vector's, have values of this width, and none of these is null.
                let found = unsafe { self.values.cast::<u8>().add(from * width) };
                part.copy_from_slice(unsafe { slice::from_raw_parts(found.as_ptr(), part.len()) });
            }
        }
    }

    /// The text of a row, or its bytes; none where it is null, or no text.
    pub fn text(&self, row: usize) -> Option<&'c [u8]> {
        let is_null = self.nulls.as_ref().is_some_and(|nulls| row < self.rows && nulls.is_null(row));
        if self.layout != ValueLayout::Texts || row >= self.rows || is_null {
            return None;
        }
        // SAFETY: the row is one of the vector's and has a text, which the chunk keeps.
        Some(unsafe { bytes_of(self.values.cast::<c::duckdb_string_t>().add(row).as_ptr()) })
    }
}

fn failed(mut data: c::duckdb_error_data) -> Result<(), Error> {
    if data.is_null() {
        return Ok(());
    }
    let error = unsafe { c::duckdb_error_data_has_error(data) }
        .then(|| lent(unsafe { c::duckdb_error_data_message(data) }).unwrap_or_default());
    unsafe { c::duckdb_destroy_error_data(&raw mut data) }
    error.map_or(Ok(()), |text| Err(Error::from_engine(&text)))
}

struct Logical(c::duckdb_logical_type);

impl Drop for Logical {
    fn drop(&mut self) {
        unsafe { c::duckdb_destroy_logical_type(&raw mut self.0) }
    }
}

impl Logical {
    fn of(id: c::duckdb_type) -> Self {
        Self(unsafe { c::duckdb_create_logical_type(id) })
    }

    fn read(&self) -> Type {
        if self.0.is_null() {
            return Type { alias: None, shape: Shape::Plain("UNKNOWN") };
        }
        let alias = taken(unsafe { c::duckdb_logical_type_get_alias(self.0) }).filter(|alias| !alias.is_empty());
        Type { alias, shape: self.shape() }
    }

    fn value_layout(&self) -> ValueLayout {
        if self.0.is_null() {
            return ValueLayout::Other;
        }
        match unsafe { c::duckdb_get_type_id(self.0) } {
            c::DUCKDB_TYPE_DUCKDB_TYPE_DECIMAL => ValueLayout::of(unsafe { c::duckdb_decimal_internal_type(self.0) }),
            id => ValueLayout::of(id),
        }
    }

    fn shape(&self) -> Shape {
        let (raw, boxed) = (self.0, |kind| Box::new(Logical(kind).read()));
        unsafe {
            match c::duckdb_get_type_id(raw) {
                c::DUCKDB_TYPE_DUCKDB_TYPE_DECIMAL => {
                    Shape::Decimal { width: c::duckdb_decimal_width(raw), scale: c::duckdb_decimal_scale(raw) }
                }
                c::DUCKDB_TYPE_DUCKDB_TYPE_ENUM => {
                    let count = u64::from(c::duckdb_enum_dictionary_size(raw));
                    Shape::Enum((0..count).filter_map(|i| taken(c::duckdb_enum_dictionary_value(raw, i))).collect())
                }
                c::DUCKDB_TYPE_DUCKDB_TYPE_LIST => Shape::List(boxed(c::duckdb_list_type_child_type(raw))),
                c::DUCKDB_TYPE_DUCKDB_TYPE_ARRAY => {
                    Shape::Array(boxed(c::duckdb_array_type_child_type(raw)), c::duckdb_array_type_array_size(raw))
                }
                c::DUCKDB_TYPE_DUCKDB_TYPE_MAP => {
                    Shape::Map(boxed(c::duckdb_map_type_key_type(raw)), boxed(c::duckdb_map_type_value_type(raw)))
                }
                c::DUCKDB_TYPE_DUCKDB_TYPE_STRUCT => {
                    let field = |i| {
                        let kind = Logical(c::duckdb_struct_type_child_type(raw, i)).read();
                        (taken(c::duckdb_struct_type_child_name(raw, i)).unwrap_or_default(), kind)
                    };
                    Shape::Struct((0..c::duckdb_struct_type_child_count(raw)).map(field).collect())
                }
                c::DUCKDB_TYPE_DUCKDB_TYPE_UNION => {
                    let member = |i| {
                        let kind = Logical(c::duckdb_union_type_member_type(raw, i)).read();
                        (taken(c::duckdb_union_type_member_name(raw, i)).unwrap_or_default(), kind)
                    };
                    Shape::Union((0..c::duckdb_union_type_member_count(raw)).map(member).collect())
                }
                id => native::simple(id),
            }
        }
    }
}

fn terminated(bytes: &[u8]) -> Result<CString, Error> {
    CString::new(bytes).map_err(|_| Error::new(Kind::InvalidInput, "a text with a zero byte"))
}

/// The value as the engine's own object.
fn made(value: &Value) -> Result<Owned, Error> {
    let made = unsafe {
        match value {
            Value::Null => c::duckdb_create_null_value(),
            Value::Boolean(v) => c::duckdb_create_bool(*v),
            Value::BigInt(v) => c::duckdb_create_int64(*v),
            Value::HugeInt(v) => c::duckdb_create_hugeint(native::huge(*v)),
            Value::Double(v) => c::duckdb_create_double(*v),
            Value::Decimal(v) => c::duckdb_create_decimal(native::decimal(v)?),
            Value::Text(v) | Value::Json(v) => c::duckdb_create_varchar_length(v.as_ptr().cast(), size(v.len())),
            Value::Blob(v) => c::duckdb_create_blob(v.as_ptr(), size(v.len())),
            Value::Date(days) => c::duckdb_create_date(c::duckdb_date { days: *days }),
            Value::Time(micros) => c::duckdb_create_time(c::duckdb_time { micros: *micros }),
            Value::Timestamp(micros) => c::duckdb_create_timestamp(c::duckdb_timestamp { micros: *micros }),
            Value::TimestampTz(micros) => c::duckdb_create_timestamp_tz(c::duckdb_timestamp { micros: *micros }),
            &Value::Interval { months, days, micros } => {
                c::duckdb_create_interval(c::duckdb_interval { months, days, micros })
            }
            Value::Uuid(text) => c::duckdb_create_uuid(native::uuid(text)?),
            Value::List(items) => return list(items),
        }
    };
    Ok(Owned(made))
}

/// A list has the type of its first item that is not null; the others become that.
fn list(items: &[Value]) -> Result<Owned, Error> {
    let bad = || Error::new(Kind::InvalidInput, "a list parameter has items of one type, none of which is a list");
    if items.iter().any(|item| matches!(item, Value::List(_))) {
        return Err(bad());
    }
    let owned: Vec<Owned> = items.iter().map(made).collect::<Result<_, _>>()?;
    let typed = items.iter().zip(&owned).find(|(item, _)| **item != Value::Null);
    let mut raw: Vec<_> = owned.iter().map(|value| value.0).collect();
    // Both kinds of type are this call's to free, except that of a value, which the value keeps.
    let made = unsafe {
        let nothing = Logical::of(c::DUCKDB_TYPE_DUCKDB_TYPE_SQLNULL);
        let item = typed.map_or(nothing.0, |(_, value)| c::duckdb_get_value_type(value.0));
        c::duckdb_create_list_value(item, raw.as_mut_ptr(), size(raw.len()))
    };
    if made.is_null() { Err(bad()) } else { Ok(Owned(made)) }
}

/// A copy of a text that the engine keeps.
fn lent(text: *const c_char) -> Option<String> {
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// A copy of a text that the engine gave away; the original is freed.
fn taken(text: *mut c_char) -> Option<String> {
    let copy = lent(text);
    unsafe { c::duckdb_free(text.cast()) }
    copy
}

fn size(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[forbid(unsafe_code)]
mod tests;
