/** Where the rows of a file go. */
import { useState } from 'react'
import { Problem } from '../api/problem'
import { useCatalogue } from '../catalogue'
import { useChanged } from '../lists'
import { useLoad } from '../loading'
import { Named } from '../parts/Choice'
import { Form } from '../parts/Form'
import { Sending } from '../parts/Sending'
import { useEnvironment } from '../session'
import { isTable, otherTypes, tableOf, type LoadFormat, type LoadMode, type Loaded } from '../tableFiles'
import { ColumnTypes } from './ColumnTypes'

const MODES: Record<LoadMode, { label: string; says: string }> = {
  create: { label: 'A new table', says: 'No table of that name may be there.' },
  append: { label: 'Rows added to a table', says: 'Its columns are found by their names, and keep their types.' },
  replace: { label: 'A table made anew', says: 'What is in the table now is given up.' },
}

interface LoadFormProps {
  file: File
  format: LoadFormat
  /** With the types that were found. */
  columns: Loaded['columns']
  /** The table that rows are to be added to. */
  into: string | undefined
  done: (loaded: Loaded) => void
}

export function LoadForm({ file, format, columns, into, done }: LoadFormProps) {
  const { env_id } = useEnvironment()
  const [mode, setMode] = useState<LoadMode>(into ? 'append' : 'create')
  const [types, setTypes] = useState<ReadonlyMap<string, string>>(new Map())
  const { sent, rows, start, cancel } = useLoad(file)
  const catalogue = useCatalogue(env_id)
  const changed = useChanged('catalogue')
  const tables = catalogue.data?.map(({ schema, name }) => `${schema}.${name}`)
  return (
    <Form
      label="Load the file"
      fields={[
        { name: 'name', label: 'Table', required: true, initial: into ?? tableOf(file.name), hint: 'As name or schema.name', ...(tables && { suggestions: tables }) },
      ]}
      submit="Load it"
      onSubmit={async (typed) => {
        const table = typed.text('name')
        if (!isTable(table)) throw Problem.typed('name', 'a table is written as name or schema.name')
        // Of one that was cancelled late only the catalogue knows.
        done(await start({ table, mode, format, ...(mode !== 'append' && { types: otherTypes(columns, types) }) }).finally(changed))
      }}
    >
      <div className="field">
        <Named label="It becomes" value={mode} of={MODES} onChange={setMode} />
        <p className="fine">{MODES[mode].says}</p>
      </div>
      {mode !== 'append' && <ColumnTypes columns={columns} types={types} choose={(name, type) => setTypes((now) => new Map(now).set(name, type))} />}
      {sent !== undefined && <Sending sent={sent} size={file.size} rows={rows} cancel={cancel} />}
    </Form>
  )
}
