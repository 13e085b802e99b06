/** A sentence that says for some seconds that something was saved, wherever the form that saved it has gone. */
import { useEffect, useSyncExternalStore } from 'react'

const SECONDS = 4

let shown: { text: string } | undefined
const listeners = new Set<() => void>()

function show(next: typeof shown): void {
  shown = next
  for (const listener of listeners) listener()
}

export const toast = (text: string) => show({ text })

const listen = (listener: () => void) => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Where toasts are shown; a screen reader reads them out. */
export function Toasts() {
  const current = useSyncExternalStore(listen, () => shown)
  useEffect(() => {
    if (!current) return
    const timer = setTimeout(() => show(undefined), SECONDS * 1000)
    return () => clearTimeout(timer)
  }, [current])
  return (
    <div role="status" aria-label="Saved" className={current ? 'toast' : 'unseen'}>
      {current?.text}
    </div>
  )
}
