/** How much of a file has left, and a button that ends it. Only the turn from sending to waiting is read out. */
import { bytes } from '../format'

export function Sending({ sent, size, cancel }: { sent: number; size: number; cancel: () => void }) {
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
        <span className="fine" role="status">
          {isSent ? 'The platform reads the file.' : 'The file is on its way.'}
        </span>
      </div>
    </div>
  )
}
