/** One of several panels. Arrows move between the heads. */
import { useId, useState, type KeyboardEvent, type ReactNode } from 'react'

export interface Tab {
  name: string
  panel: () => ReactNode
}

export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  const id = useId()
  const [at, setAt] = useState(0)
  const move = (event: KeyboardEvent<HTMLDivElement>) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (!by) return
    const next = (at + by + tabs.length) % tabs.length
    setAt(next)
    document.getElementById(`${id}-${next}`)?.focus()
  }
  return (
    <div className="stack">
      <div className="tabs" role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map((tab, index) => (
          <button
            key={tab.name}
            type="button"
            role="tab"
            id={`${id}-${index}`}
            aria-selected={index === at}
            aria-controls={`${id}-panel`}
            tabIndex={index === at ? 0 : -1}
            onClick={() => setAt(index)}
          >
            {tab.name}
          </button>
        ))}
      </div>
      <div className="stack" role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${at}`} key={at}>
        {tabs[at]?.panel()}
      </div>
    </div>
  )
}
