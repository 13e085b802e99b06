/** A statement and what became of it: rows, what the policies did to them, or why not. */
import { useEffect, useRef, useState } from 'react'
import { api, ask, type Shapes } from '../api/client'
import { problemOf, type Problem } from '../api/problem'
import { useCatalogue } from '../catalogue'
import { span } from '../format'
import { Opens } from '../parts/Dialog'
import { Refusal, Skeleton } from '../parts/Page'
import { SqlEditor, type Editor } from '../parts/SqlEditor'
import { queried } from '../queried'
import { useEnvironment, useOwn } from '../session'
import { past, remember } from '../statements'
import { Place } from './Place'
import { SqlExplain } from './SqlExplain'
import { SqlResult } from './SqlResult'
import { SqlSuggestion } from './SqlSuggestion'

type Answer = Shapes['QueryAnswer']
type Outcome = { answer: Answer; sql: string; branch: string } | { problem: Problem; sql: string } | { explain: string }

interface SheetProps {
  initial: string
  type: (text: string) => void
  isNew: boolean
  /** Somebody was led to it. */
  runsAtOnce: boolean
  /** The branch that it runs on; empty for the mainline. */
  branch: string
}

export function SqlSheet({ initial, type, isNew, runsAtOnce, branch }: SheetProps) {
  const { env_id } = useEnvironment()
  const own = useOwn()
  const editor = useRef<Editor>(null)
  const running = useRef<AbortController>(null)
  const [isRunning, setRunning] = useState(false)
  const [outcome, setOutcome] = useState<Outcome>()
  const catalogue = useCatalogue(env_id)
  const schema = Object.fromEntries((catalogue.data ?? []).map((table) => [table.name, table.columns.map((column) => column.name)]))

  const run = async () => {
    const sql = editor.current?.text().trim()
    if (!sql || running.current) return
    remember(own, sql)
    const abort = new AbortController()
    running.current = abort
    setRunning(true)
    setOutcome(undefined)
    try {
      setOutcome({ answer: await queried(env_id, sql, abort.signal, branch), sql, branch })
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

  const format = async () => {
    const sql = editor.current?.text()
    if (!sql?.trim() || running.current) return
    try {
      const laidOut = await ask(api.POST('/v1/environments/{env_id}/format', { params: { path: { env_id } }, body: { sql } }))
      // What was typed meanwhile stays.
      if (editor.current?.text() === sql) editor.current.put(laidOut.sql)
    } catch (error) {
      setOutcome({ problem: problemOf(error), sql })
    }
  }

  useEffect(() => {
    if (isNew) editor.current?.focus()
    if (runsAtOnce) void run()
    // Only when it is made.
  }, [])

  return (
    <>
      <div className="stack">
        <SqlEditor initial={initial} schema={schema} run={() => void run()} type={type} handle={editor} />
        <div className="row">
          <button type="button" className="primary" disabled={isRunning} onClick={() => void run()}>
            Run
          </button>
          <button type="button" disabled={isRunning} onClick={explain}>
            Explain
          </button>
          <button type="button" disabled={isRunning} onClick={() => void format()}>
            Format
          </button>
          {isRunning && (
            <button type="button" onClick={() => running.current?.abort()}>
              Cancel
            </button>
          )}
          {isRunning && <Runs />}
          <Opens label="History" title="What was run in this tab of the browser">
            {(close) => <History own={own} take={(sql) => (close(), editor.current?.put(sql))} />}
          </Opens>
          <span className="fine">Ctrl+Enter runs it.</span>
        </div>
      </div>
      <div className="stack" aria-live="polite">
        {isRunning && <Skeleton />}
        {outcome && <Came outcome={outcome} take={(sql) => editor.current?.put(sql)} />}
      </div>
    </>
  )
}

/** For how long. Nobody has it read out each second. */
function Runs() {
  const [seconds, setSeconds] = useState(0)
  useEffect(() => {
    const began = Date.now()
    const timer = setInterval(() => setSeconds((Date.now() - began) / 1000), 1000)
    return () => clearInterval(timer)
  }, [])
  return (
    <span className="fine" role="timer">
      It runs for {span(seconds)}.
    </span>
  )
}

interface CameProps {
  outcome: Outcome
  /** Puts a statement in the editor. */
  take: (sql: string) => void
}

function Came({ outcome, take }: CameProps) {
  if ('answer' in outcome) return <SqlResult {...outcome} />
  if ('explain' in outcome) return <SqlExplain key={outcome.explain} sql={outcome.explain} />
  return <Failure {...outcome} take={take} />
}

function History({ own, take }: { own: string; take: (sql: string) => void }) {
  const statements = past(own)
  if (statements.length === 0) return <p>Nothing was run here yet.</p>
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

function Failure({ problem, sql, take }: { problem: Problem; sql: string; take: (sql: string) => void }) {
  const suggestion = problem.details['suggestion']
  return (
    <>
      <Refusal problem={problem} />
      <Place sql={sql} details={problem.details} />
      {typeof suggestion === 'string' && <SqlSuggestion sql={sql} suggestion={suggestion} take={take} />}
    </>
  )
}
