/** A whole statement that would pass in place of one that failed, as what differs. It is run by nobody but who takes it. */
import { difference } from './healed'

export function SqlSuggestion({ sql, suggestion, take }: { sql: string; suggestion: string; take: (sql: string) => void }) {
  return (
    <section className="notice" aria-label="Suggestion">
      <p>Was this meant? It was not run.</p>
      <pre className="healed">
        {difference(sql, suggestion).map(({ gone, come }, at) =>
          gone === come ? (
            gone
          ) : (
            <span key={at}>
              {gone && <del>{gone}</del>} {come && <ins>{come}</ins>}
            </span>
          ),
        )}
      </pre>
      <button type="button" className="small" onClick={() => take(suggestion)}>
        Put it in the editor
      </button>
    </section>
  )
}
