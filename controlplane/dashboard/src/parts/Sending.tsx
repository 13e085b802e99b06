/** How much of a file has left, and a button that ends it. Only the turn from sending to waiting is read out. */
import { bytes, count } from '../format'

interface SendingProps {
  sent: number
  size: number
  /** Rows that have come, as far as that is known; a file of a stage has none. */
  rows?: number | undefined
  cancel: () => void
}

export function Sending({ sent, size, rows, cancel }: SendingProps) {
  const isSent = sent >= size
  return (
    <div className="stack">
      <progress aria-label="Sent" max={Math.max(size, 1)} value={isSent ? undefined : sent} />
      <div className="row">
        <button type="button" onClick={cancel}>
          Cancel
        </button>
        <span className="fine">
          {bytes(Math.min(sent, size))} of {bytes(size)}
        </span>
        {rows !== undefined && <span className="fine">{count(rows)} rows have come.</span>}
        <span className="fine" role="status">
          {isSent ? 'The platform reads the file.' : 'The file is on its way.'}
        </span>
      </div>
    </div>
  )
}
