/** A file that was chosen: how it is written, what is in it, and what became of it. */
import { useEffect, useId, useReducer, useRef, useState } from 'react'
import { Link } from 'wouter'
import { problemOf, type Problem } from '../api/problem'
import { bytes, count } from '../format'
import { useLoad } from '../loading'
import { Choice } from '../parts/Choice'
import { Refusal } from '../parts/Page'
import { Sending } from '../parts/Sending'
import { useOwn } from '../session'
import { leadTo } from '../sheets'
import { formatOf, selectOf, tableOf, type LoadFormat, type Loaded } from '../tableFiles'
import { LoadForm } from './LoadForm'
import { ResultRows } from './ResultRows'

const FORMATS: Record<LoadFormat, { label: string }> = {
  csv: { label: 'CSV with a header' },
  jsonl: { label: 'JSON lines' },
  parquet: { label: 'Parquet' },
  arrow: { label: 'Arrow' },
}
const KNOWN = Object.keys(FORMATS) as LoadFormat[]

interface FileProps {
  file: File
  /** The table that rows are to be added to. */
  into: string | undefined
}

export function AddFile({ file, into }: FileProps) {
  const id = useId()
  const [format, setFormat] = useState(formatOf(file.name))
  const [loaded, setLoaded] = useState<Loaded>()
  if (loaded) return <Added loaded={loaded} />
  return (
    <section className="card" aria-labelledby={id}>
      <h2 id={id}>
        {file.name} <span className="fine">{bytes(file.size)}</span>
      </h2>
      <Choice<LoadFormat | ''>
        label="It is written as"
        value={format ?? ''}
        options={format ? KNOWN : ['', ...KNOWN]}
        names={{ '': { label: 'choose one' }, ...FORMATS }}
        onChange={(chosen) => setFormat(chosen || undefined)}
      />
      {format ? <Preview key={format} file={file} format={format} into={into} done={setLoaded} /> : <p className="notice">Its name does not say how it is written: choose it.</p>}
    </section>
  )
}

type Seen = { told: Loaded } | { problem: Problem }

function Preview({ file, format, into, done }: FileProps & { format: LoadFormat; done: (loaded: Loaded) => void }) {
  const { sent, rows, start, cancel } = useLoad(file)
  const [seen, setSeen] = useState<Seen>()
  const [nth, again] = useReducer((times: number) => times + 1, 0)
  useEffect(() => {
    let isLeft = false
    const see = (now: Seen) => {
      if (!isLeft) setSeen(now)
    }
    setSeen(undefined)
    void start({ table: tableOf(file.name), mode: 'create', format, isDryRun: true }).then(
      (told) => see({ told }),
      (error: unknown) => see({ problem: problemOf(error) }),
    )
    return () => {
      isLeft = true
      cancel()
    }
  }, [nth])
  const told = seen && 'told' in seen ? seen.told : undefined
  return (
    <>
      {/* It stands here before it says anything, so that a screen reader reads it out. */}
      <p className="fine" role="status">
        {told && `${count(told.columns.length)} columns; the first rows, and the types that were found:`}
      </p>
      {!seen && <Sending sent={sent ?? file.size} size={file.size} rows={rows} cancel={cancel} />}
      {seen && 'problem' in seen && <Refusal problem={seen.problem} retry={again} />}
      {told && <ResultRows label="First rows" columns={told.columns} rows={told.rows ?? []} />}
      {told && <LoadForm file={file} format={format} columns={told.columns} into={into} done={done} />}
    </>
  )
}

function Added({ loaded: { table, rows_loaded } }: { loaded: Loaded }) {
  const own = useOwn()
  const id = useId()
  const link = useRef<HTMLAnchorElement>(null)
  useEffect(() => link.current?.focus(), [])
  return (
    <div className="verdict good">
      <p id={id}>
        {count(rows_loaded)} {rows_loaded === 1 ? 'row was' : 'rows were'} loaded into <code>{table}</code>.
      </p>
      <Link ref={link} className="button primary" href="/sql" aria-describedby={id} onClick={() => leadTo(own, selectOf(table))}>
        Show it in the editor
      </Link>
    </div>
  )
}
