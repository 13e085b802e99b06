/** A result as bars. The table under its heads says in words what the bars show. */
import { useState } from 'react'
import type { Shapes } from '../api/client'
import { cell, count } from '../format'
import { Choice } from '../parts/Choice'
import { bars, drawable } from './charted'

type Answer = Shapes['QueryAnswer']

/** More bars than these are none that somebody compares. */
const DRAWN = 60

export function SqlChart({ columns, rows }: Pick<Answer, 'columns' | 'rows'>) {
  const { names, numbers } = drawable(columns)
  const [name, setName] = useState(String(names[0]))
  const [number, setNumber] = useState(String(numbers.find((place) => String(place) !== name) ?? numbers[0]))
  const labels = Object.fromEntries(columns.map((column, place) => [String(place), { label: column.name }]))
  const drawn = bars(rows.slice(0, DRAWN), (row) => cell(row[Number(name)]), Number(number))
  return (
    <div className="stack">
      <div className="row">
        <Choice label="Each bar is" value={name} options={names.map(String)} names={labels} onChange={setName} />
        <Choice label="As long as" value={number} options={numbers.map(String)} names={labels} onChange={setNumber} />
      </div>
      <div className="scroll tall" role="region" aria-label="Chart" tabIndex={0}>
        <table className="chart">
          <thead>
            <tr>
              <th scope="col">{labels[name]?.label}</th>
              <th scope="col" className="number">
                {labels[number]?.label}
              </th>
              <th scope="col">
                <span className="unseen">Bar</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {drawn.map((bar, index) => (
              <tr key={index}>
                <td>{bar.name}</td>
                <td className="number">{count(bar.value)}</td>
                <td>
                  <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
                    <rect x={bar.from} width={bar.width} height={6} />
                  </svg>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > DRAWN && (
        <p className="fine">
          The first {count(DRAWN)} of {count(rows.length)} rows.
        </p>
      )}
    </div>
  )
}
