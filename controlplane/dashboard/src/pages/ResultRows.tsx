/** Rows as they came, under the names and types of their columns. It may be as wide as it likes: it scrolls in itself. */
import { cell, count } from '../format'
import { isNumber } from './charted'

/** As many rows as are drawn; an export has all. */
const SHOWN = 500

interface ResultRowsProps {
  label: string
  columns: readonly { name: string; type: string }[]
  rows: readonly (readonly unknown[])[]
}

export function ResultRows({ label, columns, rows }: ResultRowsProps) {
  return (
    <>
      <div className="scroll tall result" role="region" aria-label={label} tabIndex={0}>
        <table>
          <thead>
            <tr>
              {columns.map(({ name, type }, index) => (
                <th key={index} scope="col" className={isNumber(type) ? 'number' : undefined}>
                  {name} <span className="fine">{type.toLowerCase()}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, SHOWN).map((row, index) => (
              <tr key={index}>
                {row.map((value, at) => (
                  <td key={at} className={value === null ? 'null' : isNumber(columns[at]?.type) ? 'number' : undefined} title={cell(value)}>
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
