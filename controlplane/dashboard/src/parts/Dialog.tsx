/** A question in front of the page. The browser keeps the focus in it, and Escape closes it. */
import { useEffect, useId, useRef, useState, type ReactNode } from 'react'
import { problemOf, type Problem } from '../api/problem'
import { Refusal } from './Page'

export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const opened = dialog.current
    opened?.showModal()
    return () => opened?.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <button type="button" className="quiet" aria-label="Close" onClick={onClose}>
          ✕
        </button>
      </header>
      {children}
    </dialog>
  )
}

/** A button that opens a dialog; what is in it closes it. */
export function Opens({
  label,
  title = label,
  className,
  onClosed,
  children,
}: {
  label: string
  title?: string
  className?: string
  onClosed?: () => unknown
  children: (close: () => void) => ReactNode
}) {
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const close = () => {
    setOpen(false)
    button.current?.focus()
    onClosed?.()
  }
  return (
    <>
      <button type="button" ref={button} className={className} onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen && (
        <Dialog title={title} onClose={close}>
          {children(close)}
        </Dialog>
      )}
    </>
  )
}

interface Asked {
  label: string
  question: ReactNode
  act: () => Promise<unknown>
  /** It takes nothing away from anybody. */
  isGentle?: boolean
}

/** A button that asks before it does what somebody will notice. */
export function Confirm(asked: Asked) {
  return (
    <Opens label={asked.label} className={asked.isGentle ? 'small' : 'small danger'}>
      {(close) => <Question {...asked} close={close} />}
    </Opens>
  )
}

function Question({ label, question, act, isGentle, close }: Asked & { close: () => void }) {
  const [problem, setProblem] = useState<Problem>()
  const [isBusy, setBusy] = useState(false)
  const go = async () => {
    setBusy(true)
    try {
      await act()
      close()
    } catch (error) {
      setProblem(problemOf(error))
      setBusy(false)
    }
  }
  return (
    <>
      <p>{question}</p>
      {problem && <Refusal problem={problem} />}
      <footer>
        <button type="button" onClick={close}>
          Leave it
        </button>
        <button type="button" className={isGentle ? 'primary' : 'danger'} disabled={isBusy} onClick={() => void go()}>
          {label}
        </button>
      </footer>
    </>
  )
}
