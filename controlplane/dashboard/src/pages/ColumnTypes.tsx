/** The columns of a file that becomes a table, and the types that they get. */
import { Table } from '../parts/Table'
import { typesBeside, type Loaded } from '../tableFiles'

interface ColumnTypesProps {
  /** With the types that were found. */
  columns: Loaded['columns']
  /** Those that were chosen instead, by column. */
  types: ReadonlyMap<string, string>
  choose: (column: string, type: string) => void
}

export function ColumnTypes({ columns, types, choose }: ColumnTypesProps) {
  return (
    <div className="stack">
      <p className="fine">A value that is not of the type that you choose refuses the file, and its line is named.</p>
      <Table
        label="Types of the columns"
        id={(column) => column.name}
        rows={columns}
        columns={[
          { head: 'Column', cell: ({ name }) => <code>{name}</code> },
          {
            head: 'Type',
            cell: ({ name, type }) => (
              <select aria-label={`Type of ${name}`} value={types.get(name) ?? type} onChange={(event) => choose(name, event.target.value)}>
                {typesBeside(type).map((one) => (
                  <option key={one} value={one}>
                    {one.toLowerCase()}
                  </option>
                ))}
              </select>
            ),
          },
        ]}
      />
    </div>
  )
}
