/** The answer of a statement: rows, the effect of policies on them, and warnings. */
import { useState } from 'react'
import type { Shapes } from '../api/client'
import type { Problem } from '../api/problem'
import { cell, count, csv, json, milliseconds } from '../format'
import { Badge } from '../parts/Badge'
import { Download } from '../parts/CodeBlock'
import { Opens } from '../parts/Dialog'
import { Refusal } from '../parts/Page'
import { ADMINS } from '../permissions'
import { useEnvironment, useSession } from '../session'
import { drawable } from './charted'
import { useExplained } from './explained'
import { ExportParquet } from './ExportParquet'
import { healed } from './healed'
import { ResultRows } from './ResultRows'
import { SqlChart } from './SqlChart'
import { SqlExplain } from './SqlExplain'
import { SqlHealed } from './SqlHealed'

type Answer = Shapes['QueryAnswer']

const MYSELF = {}

interface SqlResultProps {
  answer: Answer
  sql: string
  /** The branch that it ran on; empty for the mainline. */
  branch: string
}

export function SqlResult({ answer, sql, branch }: SqlResultProps) {
  const { is } = useSession()
  const [unsaved, setUnsaved] = useState<Problem>()
  const { columns, rows, columns_masked, warnings } = answer
  const names = columns.map((column) => column.name)
  return (
    <>
      <div className="row">
        <span>
          {count(answer.row_count)} {answer.row_count === 1 ? 'row' : 'rows'} in {milliseconds(answer.execution_time_ms)}, {count(answer.credits_consumed)} {answer.credits_consumed === 1 ? 'credit' : 'credits'}
        </span>
        {answer.cache_hit && <Badge>kept answer</Badge>}
        {columns_masked.length > 0 ? <Badge tone="warn" hasNames>{`masked: ${columns_masked.join(', ')}`}</Badge> : <Badge tone="good">nothing masked</Badge>}
        {is(ADMINS) && <Filtered sql={sql} />}
        <Opens label="Why" title="Which policies made it so" className="small">
          {() => <SqlExplain sql={sql} />}
        </Opens>
        {rows.length > 0 && drawable(columns).numbers.length > 0 && (
          <Opens label="Chart" className="small">
            {() => <SqlChart columns={columns} rows={rows} />}
          </Opens>
        )}
        {rows.length > 0 && (
          <Download name={`${answer.query_id}.csv`} kind="text/csv" className="small" text={() => csv(names, rows)}>
            Export CSV
          </Download>
        )}
        {rows.length > 0 && (
          <Download name={`${answer.query_id}.json`} kind="application/json" className="small" text={() => json(names, rows)}>
            Export JSON
          </Download>
        )}
        {rows.length > 0 && <ExportParquet sql={sql} branch={branch} name={`${answer.query_id}.parquet`} fail={setUnsaved} />}
      </div>
      {unsaved && <Refusal problem={unsaved} />}
      {warnings
        .filter((warning) => !isOfMasks(warning))
        .map((warning, index) => (
          <Warning key={index} warning={warning} sql={sql} />
        ))}
      {columns.length > 0 && <ResultRows label="Result" columns={columns} rows={rows} />}
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
  return tables.length > 0 && <Badge tone="warn" hasNames>{`filtered: ${tables.join(', ')}`}</Badge>
}

function Warning({ warning, sql }: { warning: unknown; sql: string }) {
  const change = healed(warning)
  return change ? <SqlHealed sql={sql} healed={change} /> : <p className="notice">{worded(warning)}</p>
}

/** The badge says as much, without a code. */
const isOfMasks = (warning: unknown) => typeof warning === 'string' && warning.startsWith('SVC_ERR_403_COLUMN_MASKED')

/** A warning is a sentence, or has one. */
function worded(warning: unknown): string {
  const message = (warning as { message?: unknown } | null)?.message
  return typeof message === 'string' ? message : cell(warning)
}
