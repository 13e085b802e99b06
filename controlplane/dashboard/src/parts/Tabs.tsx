/** One of several panels. Arrows move between the heads. */
import { useId, useState, type KeyboardEvent, type ReactNode } from 'react'

export interface Tab {
  name: string
  panel: () => ReactNode
}

export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  const id = useId()
  const [at, setAt] = useState(0)
  return (
    <div className="stack">
      <Heads id={id} label={label} names={tabs.map(({ name }) => name)} at={at} choose={setAt} />
      <div className="stack" {...panelOf(id, at)} key={at}>
        {tabs[at]?.panel()}
      </div>
    </div>
  )
}

interface HeadsProps {
  id: string
  label: string
  names: readonly string[]
  at: number
  choose: (at: number) => void
  /** What the key Delete does on a head. */
  drop?: (at: number) => void
}

export function Heads({ id, label, names, at, choose, drop }: HeadsProps) {
  const focus = (place: number) => document.getElementById(`${id}-${place}`)?.focus()
  const move = (event: KeyboardEvent<HTMLDivElement>) => {
    if (event.key === 'Delete' && drop) {
      focus(Math.max(0, Math.min(at, names.length - 2)))
      drop(at)
    }
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (!by) return
    const next = (at + by + names.length) % names.length
    choose(next)
    focus(next)
  }
  return (
    <div className="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {names.map((name, place) => (
        <button
          key={place}
          type="button"
          role="tab"
          id={`${id}-${place}`}
          aria-selected={place === at}
          aria-controls={place === at ? `${id}-panel-${place}` : undefined}
          tabIndex={place === at ? 0 : -1}
          onClick={() => choose(place)}
        >
          {name}
        </button>
      ))}
    </div>
  )
}

/** What makes an element the panel under a head. */
export const panelOf = (id: string, place: number) => ({ role: 'tabpanel', id: `${id}-panel-${place}`, 'aria-labelledby': `${id}-${place}` }) as const
