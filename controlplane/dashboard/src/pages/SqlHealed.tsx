/** What was run in place of a statement that names what is not there. */
import { pieces, type Healed } from './healed'

export function SqlHealed({ sql, healed }: { sql: string; healed: Healed }) {
  return (
    <section className="notice" aria-label="Healed">
      <p>
        <code>{healed.wrong}</code> does not exist; <code>{healed.right}</code> was taken instead. This was run:
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
