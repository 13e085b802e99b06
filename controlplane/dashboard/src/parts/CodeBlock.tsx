/** Text to take along. */
import { useEffect, useState } from 'react'
import { saveBlob } from '../saved'

export function CodeBlock({ text, label }: { text: string; label: string }) {
  return (
    <div className="code">
      <pre tabIndex={0} role="region" aria-label={label}>
        {text}
      </pre>
      <Copy text={text} label={label} />
    </div>
  )
}

export function Copy({ text, label }: { text: string; label: string }) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setCopied(false), 2000)
    return () => clearTimeout(timer)
  }, [isCopied])
  return (
    <button type="button" className="small" onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(true))}>
      {isCopied ? 'Copied' : 'Copy'}
      <span className="unseen"> {label}</span>
    </button>
  )
}

/** A file of what the page already has: nothing is asked for. */
export function Download({ name, kind, text, className, children }: { name: string; kind: string; text: () => string; className?: string; children: string }) {
  return (
    <button type="button" className={className} onClick={() => saveBlob(new Blob([text()], { type: kind }), name)}>
      {children}
    </button>
  )
}
