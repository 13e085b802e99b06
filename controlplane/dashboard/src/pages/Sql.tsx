/** Statements side by side, each with what became of it. */
import { useEffect, useId, useRef, useState } from 'react'
import { AddDataLink } from '../parts/AddDataLink'
import { Page } from '../parts/Page'
import { Heads, panelOf } from '../parts/Tabs'
import { useOwn } from '../session'
import { added, closed, keep, kept, SHEETS_MAX, takeArrived, titleOf, typed } from '../sheets'
import { past } from '../statements'
import { SqlBranch, useSqlBranch } from './SqlBranch'
import { SqlSheet } from './SqlSheet'

export default function Sql() {
  const own = useOwn()
  const id = useId()
  const [sheets, setSheets] = useState(() => kept(own, past(own)[0] ?? 'select * from '))
  const [arrived] = useState(takeArrived)
  const known = useRef(new Set(sheets.all.map((sheet) => sheet.id)))
  useEffect(() => keep(own, sheets), [own, sheets])
  const [branch, choose] = useSqlBranch()
  const close = (place: number) => setSheets((now) => closed(now, place))
  return (
    <Page
      title="SQL editor"
      needs="query:read"
      lead="Runs as you: what you may not see is not in the result, and not in a condition either."
      actions={<AddDataLink />}
    >
      <SqlBranch branch={branch} choose={choose} />
      <div className="sheets">
        <Heads
          id={id}
          label="Statements"
          names={sheets.all.map(({ text }) => titleOf(text))}
          at={sheets.at}
          choose={(at) => setSheets((now) => ({ ...now, at }))}
          drop={close}
        />
        <button type="button" className="small" disabled={sheets.all.length >= SHEETS_MAX} onClick={() => setSheets(added)}>
          New statement
        </button>
        <button type="button" className="small" title="Delete does it too, on its name" onClick={() => close(sheets.at)}>
          Close statement
        </button>
      </div>
      {sheets.all.map((sheet, place) => (
        <div key={sheet.id} {...panelOf(id, place)} className="stack" hidden={place !== sheets.at}>
          <SqlSheet
            branch={branch}
            initial={sheet.text}
            isNew={!known.current.has(sheet.id)}
            runsAtOnce={place === sheets.at && sheet.text === arrived}
            type={(text) => setSheets((now) => typed(now, sheet.id, text))}
          />
        </div>
      ))}
    </Page>
  )
}
