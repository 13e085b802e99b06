/** The statement that was run in place of one that failed. */
import { pieces, type Healed } from './healed'

export function SqlHealed({ sql, healed }: { sql: string; healed: Healed }) {
  return (
    <section className="notice" aria-label="Healed">
      <p>
        <code>{healed.wrong}</code> was read as <code>{healed.right}</code>. This was run:
      </p>
      <pre className="healed">
        {pieces(sql, healed).map(({ text, wrong }, at) =>
          wrong ? (
            <span key={at}>
              <del>{text}</del> <ins>{healed.right}</ins>
            </span>
          ) : (
            text
          ),
        )}
      </pre>
    </section>
  )
}
