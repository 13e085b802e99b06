/** A result as a Parquet file. The platform writes it, so that columns keep their types: the statement is run once more. */
import { useState } from 'react'
import { problemOf, type Problem } from '../api/problem'
import { parquet } from '../queried'
import { saveBlob } from '../saved'
import { useEnvironment } from '../session'

interface ExportParquetProps {
  sql: string
  /** The branch that it ran on; empty for the mainline. */
  branch: string
  /** Of the file. */
  name: string
  /** Says why there is no file; nothing once it is asked for again. */
  fail: (problem: Problem | undefined) => void
}

export function ExportParquet({ sql, branch, name, fail }: ExportParquetProps) {
  const { env_id } = useEnvironment()
  const [isWritten, setWritten] = useState(false)
  const save = async () => {
    setWritten(true)
    fail(undefined)
    try {
      saveBlob(await parquet(env_id, sql, branch), name)
    } catch (error) {
      fail(problemOf(error))
    } finally {
      setWritten(false)
    }
  }
  return (
    <button
      type="button"
      className="small"
      disabled={isWritten}
      title="Its columns keep their types. It is run once more for that, and billed again."
      onClick={() => void save()}
    >
      Export Parquet
    </button>
  )
}
