/** A file becomes a table, or adds rows to one. */
import { useState } from 'react'
import { Link, useSearch } from 'wouter'
import { ADDERS } from '../parts/AddDataLink'
import { FileDrop } from '../parts/FileDrop'
import { Empty, Page } from '../parts/Page'
import { WRITERS } from '../permissions'
import { useSession } from '../session'
import { ENDINGS } from '../tableFiles'
import { AddFile } from './AddFile'

export default function AddData() {
  const { is } = useSession()
  const [isLent, setLent] = useState(false)
  return (
    <Page title="Add data" needs="query:read" lead="A file becomes a table, or adds rows to one: all of it, or nothing.">
      {is(WRITERS) || isLent ? <Files /> : <ReadOnly lent={() => setLent(true)} />}
    </Page>
  )
}

/** What is lent is not told to the page; the platform knows it, and refuses whoever was lent nothing. */
function ReadOnly({ lent }: { lent: () => void }) {
  return (
    <Empty title="Your role reads data, and adds none">
      <p>
        An {ADDERS} adds data. An owner or admin changes roles under Users, or lends one for a while under{' '}
        <Link href="/jit">Just-in-time access</Link>.
      </p>
      <button type="button" onClick={lent}>
        I was lent such a role
      </button>
    </Empty>
  )
}

function Files() {
  const into = new URLSearchParams(useSearch()).get('table') ?? undefined
  const [taken, setTaken] = useState<{ file: File; nth: number }>()
  return (
    <>
      <FileDrop
        label="File"
        hint="Or drop it here. It is CSV with a header, JSON lines or Parquet. You see its first rows before anything is loaded."
        accept={ENDINGS}
        take={(file) => setTaken((last) => ({ file, nth: (last?.nth ?? 0) + 1 }))}
      />
      {taken && <AddFile key={taken.nth} file={taken.file} into={into} />}
    </>
  )
}
