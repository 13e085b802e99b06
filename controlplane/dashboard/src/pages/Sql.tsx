/** Statements, and what became of them: rows, what the policies did to them, or why not. */
import { useRef, useState } from 'react'
import type { Shapes } from '../api/client'
import { problemOf, type Problem } from '../api/problem'
import { useCatalogue } from '../catalogue'
import { cell, count, csv, milliseconds } from '../format'
import { Badge } from '../parts/Badge'
import { Download } from '../parts/CodeBlock'
import { Opens } from '../parts/Dialog'
import { Page, Refusal, Skeleton } from '../parts/Page'
import { SqlEditor, type Editor } from '../parts/SqlEditor'
import { ADMINS } from '../permissions'
import { queried } from '../queried'
import { useEnvironment, useSession } from '../session'
import { past, remember } from '../statements'
import { useExplained } from './explained'
import { Place } from './Place'
import { SqlExplain } from './SqlExplain'

type Answer = Shapes['QueryAnswer']
type Outcome = { answer: Answer; sql: string } | { problem: Problem; sql: string } | { explain: string }

/** Types whose values stand to the right. */
const NUMBERS = /^(U?(TINY|SMALL|BIG|HUGE)?INT|INTEGER|DECIMAL|DOUBLE|FLOAT|REAL)/i
const MYSELF = {}
/** As many rows as are drawn; an export has all. */
const SHOWN = 500

export default function Sql() {
  const { env_id } = useEnvironment()
  const editor = useRef<Editor>(null)
  const running = useRef<AbortController>(null)
  const [isRunning, setRunning] = useState(false)
  const [outcome, setOutcome] = useState<Outcome>()
  const catalogue = useCatalogue(env_id)
  const schema = Object.fromEntries((catalogue.data ?? []).map((table) => [table.name, table.columns.map((column) => column.name)]))

  const run = async () => {
    const sql = editor.current?.text().trim()
    if (!sql || running.current) return
    remember(env_id, sql)
    const abort = new AbortController()
    running.current = abort
    setRunning(true)
    setOutcome(undefined)
    try {
      setOutcome({ answer: await queried(env_id, sql, abort.signal), sql })
    } catch (error) {
      setOutcome({ problem: problemOf(error), sql })
    } finally {
      running.current = null
      setRunning(false)
    }
  }

  const explain = () => {
    const sql = editor.current?.text().trim()
    if (sql && !running.current) setOutcome({ explain: sql })
  }

  return (
    <Page
      title="SQL editor"
      needs="query:read"
      lead="Runs as you: what you may not see is not in the result, and not in a condition either."
    >
      <div className="stack">
        <SqlEditor initial={past(env_id)[0] ?? 'select * from '} schema={schema} run={() => void run()} handle={editor} />
        <div className="row">
          <button type="button" className="primary" disabled={isRunning} onClick={() => void run()}>
            Run
          </button>
          <button type="button" disabled={isRunning} onClick={explain}>
            Explain
          </button>
          {isRunning && (
            <button type="button" onClick={() => running.current?.abort()}>
              Cancel
            </button>
          )}
          <Opens label="History" title="Statements of this tab">
            {(close) => <History envId={env_id} take={(sql) => (close(), editor.current?.put(sql))} />}
          </Opens>
          <span className="fine">Ctrl+Enter runs it.</span>
        </div>
      </div>
      <div className="stack" aria-live="polite">
        {isRunning && <Skeleton />}
        {outcome && <Came outcome={outcome} />}
      </div>
    </Page>
  )
}

function Came({ outcome }: { outcome: Outcome }) {
  if ('answer' in outcome) return <Result answer={outcome.answer} sql={outcome.sql} />
  if ('explain' in outcome) return <SqlExplain key={outcome.explain} sql={outcome.explain} />
  return <Failure {...outcome} />
}

function History({ envId, take }: { envId: string; take: (sql: string) => void }) {
  const statements = past(envId)
  if (statements.length === 0) return <p>Nothing was run in this tab yet.</p>
  return (
    <ul className="stack">
      {statements.map((sql) => (
        <li key={sql}>
          <button type="button" className="link sql" onClick={() => take(sql)}>
            {sql}
          </button>
        </li>
      ))}
    </ul>
  )
}

function Failure({ problem, sql }: { problem: Problem; sql: string }) {
  return (
    <>
      <Refusal problem={problem} />
      <Place sql={sql} details={problem.details} />
    </>
  )
}

function Result({ answer, sql }: { answer: Answer; sql: string }) {
  const { is } = useSession()
  const { columns, rows, columns_masked, warnings, error } = answer
  const names = columns.map((column) => column.name)
  return (
    <>
      <div className="row">
        <span>
          {count(answer.row_count)} {answer.row_count === 1 ? 'row' : 'rows'} in {milliseconds(answer.execution_time_ms)}, {count(answer.credits_consumed)} {answer.credits_consumed === 1 ? 'credit' : 'credits'}
        </span>
        {answer.cache_hit && <Badge>kept answer</Badge>}
        {columns_masked.length > 0 ? <Badge tone="warn">{`masked: ${columns_masked.join(', ')}`}</Badge> : <Badge tone="good">nothing masked</Badge>}
        {is(ADMINS) && <Filtered sql={sql} />}
        <Opens label="Why" title="Which policies made it so" className="small">
          {() => <SqlExplain sql={sql} />}
        </Opens>
        {rows.length > 0 && (
          <Download name={`${answer.query_id}.csv`} kind="text/csv" text={() => csv(names, rows)}>
            Export CSV
          </Download>
        )}
      </div>
      {warnings.map((warning, index) => (
        <p key={index} className="notice">
          {worded(warning)}
        </p>
      ))}
      {error && <p className="notice bad">The result ends early: {cell(error)}</p>}
      {columns.length > 0 && <Rows columns={columns} rows={rows} />}
      <p className="fine">
        Query <code>{answer.query_id}</code>
      </p>
    </>
  )
}

/** Which filters took rows away; only who writes policies may know. */
function Filtered({ sql }: { sql: string }) {
  const { env_id } = useEnvironment()
  const { data } = useExplained(env_id, sql, MYSELF)
  const tables = [...new Set(data?.filters?.map((filter) => filter.table))]
  return tables.length > 0 && <Badge tone="warn">{`filtered: ${tables.join(', ')}`}</Badge>
}

/** A warning is a sentence, or has one. */
function worded(warning: unknown): string {
  const message = (warning as { message?: unknown } | null)?.message
  return typeof message === 'string' ? message : cell(warning)
}

function Rows({ columns, rows }: Pick<Answer, 'columns' | 'rows'>) {
  return (
    <>
      <div className="scroll tall result" role="region" aria-label="Result" tabIndex={0}>
        <table>
          <thead>
            <tr>
              {columns.map(({ name, type }, index) => (
                <th key={index} scope="col">
                  {name} <span className="fine">{type.toLowerCase()}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, SHOWN).map((row, index) => (
              <tr key={index}>
                {row.map((value, at) => (
                  <td key={at} className={value === null ? 'null' : NUMBERS.test(columns[at]?.type ?? '') ? 'number' : undefined} title={cell(value)}>
                    {cell(value)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > SHOWN && (
        <p className="fine">
          The first {count(SHOWN)} of {count(rows.length)} rows; the export has all.
        </p>
      )}
    </>
  )
}
