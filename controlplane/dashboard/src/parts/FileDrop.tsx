/** A file that is chosen, or dropped on it. */
import { useId, useState, type DragEvent } from 'react'

interface FileDropProps {
  label: string
  hint: string
  /** Endings that are offered first. */
  accept: string
  take: (file: File) => void
}

export function FileDrop({ label, hint, accept, take }: FileDropProps) {
  const id = useId()
  const [isOver, setOver] = useState(false)
  const taken = (file: File | null | undefined) => {
    setOver(false)
    if (file) take(file)
  }
  const over = (event: DragEvent) => {
    event.preventDefault()
    setOver(true)
  }
  const dropped = (event: DragEvent) => {
    event.preventDefault()
    taken(event.dataTransfer.files[0])
  }
  return (
    <div className={isOver ? 'drop over' : 'drop'} onDragOver={over} onDragLeave={() => setOver(false)} onDrop={dropped}>
      <div className="field">
        <label htmlFor={id}>{label}</label>
        <input
          id={id}
          type="file"
          accept={accept}
          aria-describedby={`${id}-about`}
          // The same file again is another: it may have been mended meanwhile.
          onClick={(event) => (event.currentTarget.value = '')}
          onChange={(event) => taken(event.target.files?.[0])}
        />
      </div>
      <p id={`${id}-about`} className="fine">
        {hint}
      </p>
    </div>
  )
}
