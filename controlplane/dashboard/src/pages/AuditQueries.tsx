/** The log of queries, narrowed as the address says: a link to it shows somebody else the same. */
import { useEffect } from 'react'
import { useLocation, useSearch } from 'wouter'
import { api, ask, type Shapes } from '../api/client'
import { count, milliseconds, time } from '../format'
import { useList } from '../lists'
import { usePeople } from '../names'
import { Badge } from '../parts/Badge'
import { Opens } from '../parts/Dialog'
import { Form, type Field } from '../parts/Form'
import { Answered, Empty } from '../parts/Page'
import { More, Table, type Column } from '../parts/Table'
import { useEnvironment } from '../session'
import { Asker } from './Asker'
import { AuditedQuery, Outcome } from './AuditedQuery'
import { askedOf, auditOf, filterOf, NAMES, OUTCOMES, type Filter } from './auditFilter'
import { asksFor, seen } from './seen'
import { TONES, WhoSaw } from './WhoSaw'

type Entry = Shapes['QueryEntry']

const LISTED = 50
/** As many are asked for at once, and in all, where the page itself looks through them. */
const LOOKED_AT_ONCE = 200
const LOOKED_THROUGH = 1_000

export function AuditQueries() {
  const search = useSearch()
  const filter = filterOf(search, Date.now())
  const { column, outcome } = filter
  const list = useQueries(filter)
  return (
    <>
      <Narrowing key={search} filter={filter} />
      <Answered of={list} scope="audit:read">
        {(entries) => {
          const fitting = entries.filter((entry) => fits(entry, filter))
          return (
            <>
              <p className="fine" role="status">
                {column || outcome
                  ? `${count(fitting.length)} of the newest ${count(entries.length)}, of ${queries(list.total)}.`
                  : `${queries(list.total)}. A statement opens to all that is known of it.`}
              </p>
              {column && (
                <p className="fine">
                  Listed is what names <code>{column}</code> or asks for all columns. “Unmasked” was answered with its own values, if it shows them and not
                  only compares them. A view may show it under another name.
                </p>
              )}
              {fitting.length === 0 ? (
                <Empty title="No query fits">
                  <p>What runs from now on is listed here a moment later.</p>
                </Empty>
              ) : (
                <>
                  {column && <WhoSaw entries={fitting} column={column} />}
                  <Table label="Queries" id={(entry) => entry.query_id} rows={fitting} columns={columnsOf(column)} />
                </>
              )}
              <More list={list} />
            </>
          )
        }}
      </Answered>
    </>
  )
}

const queries = (total: number | undefined) => `${count(total)} ${total === 1 ? 'query' : 'queries'}`

const fits = (entry: Entry, { column, outcome }: Filter) => (!outcome || entry.outcome === outcome) && (!column || asksFor(entry.sql, column))

/** What the platform does not narrow by is looked for in more than one page. */
function useQueries(filter: Filter) {
  const { env_id } = useEnvironment()
  const asked = askedOf(filter)
  const isLooked = Boolean(filter.column || filter.outcome)
  const limit = isLooked ? LOOKED_AT_ONCE : LISTED
  const list = useList(['audit-queries', env_id, asked, limit], (cursor) =>
    ask(api.GET('/v1/environments/{env_id}/audit/queries', { params: { path: { env_id }, query: { ...asked, limit, ...(cursor && { cursor }) } } })),
  )
  const { hasNextPage, isFetching, isError, fetchNextPage } = list
  const looksOn = isLooked && hasNextPage && !isFetching && !isError && (list.data?.length ?? 0) < LOOKED_THROUGH
  useEffect(() => {
    if (looksOn) void fetchNextPage()
  }, [looksOn, fetchNextPage])
  return list
}

function columnsOf(column: string | undefined): Column<Entry>[] {
  const saw = (name: string): Column<Entry> => ({
    head: 'Saw it',
    cell: (entry) => {
      const what = seen(entry, name)
      return <Badge tone={TONES[what]}>{what}</Badge>
    },
  })
  return [
    { head: 'When (UTC)', cell: (entry) => <span className="nowrap">{time(entry.timestamp)}</span> },
    { head: 'Who', cell: (entry) => <Asker of={entry} /> },
    { head: 'Statement', cell: (entry) => <Detail entry={entry} /> },
    { head: 'Outcome', cell: (entry) => <Outcome of={entry} /> },
    column ? saw(column) : { head: 'Masked', cell: (entry) => entry.columns_masked.join(', ') || <span className="fine">none</span> },
    { head: 'Rows', isNumber: true, cell: (entry) => count(entry.rows_returned) },
    { head: 'Took', isNumber: true, cell: (entry) => <span className="nowrap">{milliseconds(entry.execution_time_ms)}</span> },
  ]
}

function Narrowing({ filter }: { filter: Filter }) {
  const people = usePeople()
  const [, go] = useLocation()
  return (
    <Form
      isInline
      label="Filter"
      fields={[
        { name: 'start_date', label: 'From', kind: 'date', initial: filter.start_date },
        { name: 'end_date', label: 'To', kind: 'date', initial: filter.end_date },
        { name: 'table', label: 'Table', initial: filter.table },
        { name: 'column', label: 'Column', initial: filter.column },
        who(people, filter.user_id),
        { name: 'agent_id', label: 'Agent', initial: filter.agent_id },
        { name: 'outcome', label: 'Outcome', kind: 'select', options: [{ value: '', label: 'any' }, ...OUTCOMES], initial: filter.outcome },
        { name: 'min_duration_ms', label: 'At least, in ms', kind: 'number', initial: filter.min_duration_ms },
        { name: 'include_dashboard', label: 'With what the dashboard asked for its pages', kind: 'checkbox', initial: filter.include_dashboard === 'true' },
      ]}
      submit="Show"
      onSubmit={async (typed) => {
        const said = Object.fromEntries(NAMES.map((name) => [name, typed.text(name)]))
        go(auditOf({ ...said, include_dashboard: typed.isChecked('include_dashboard') ? 'true' : '' }))
      }}
    />
  )
}

/** One of the people, for whoever may know them; else an id. */
function who(people: ReturnType<typeof usePeople>, initial: string | undefined): Field {
  if (people.length === 0) return { name: 'user_id', label: 'User id', initial }
  const anybody = { value: '', label: 'anybody' }
  const named = people.map(({ id, email }) => ({ value: id, label: email }))
  // Whom a link names is kept, known or not.
  const stranger = initial && !people.some(({ id }) => id === initial) ? [{ value: initial, label: initial.slice(-8) }] : []
  return { name: 'user_id', label: 'Person', kind: 'select', options: [anybody, ...named, ...stranger], initial }
}

function Detail({ entry }: { entry: Entry }) {
  return (
    <>
      <Opens label={entry.sql} title="A query" className="link sql">
        {() => <AuditedQuery queryId={entry.query_id} />}
      </Opens>
      {entry.by_dashboard && <p className="fine">asked by the dashboard for a page, free of charge</p>}
    </>
  )
}
