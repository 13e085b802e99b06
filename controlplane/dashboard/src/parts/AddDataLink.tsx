/** Leads to where a file becomes a table. Whoever may not add data is told who may. */
import { Link } from 'wouter'
import { either, WRITERS } from '../permissions'
import { useSession } from '../session'

const PAGE = '/add-data'

/** The same for rows of one table, as schema.name. */
export const addDataTo = (table: string) => `${PAGE}?table=${encodeURIComponent(table)}`

/** `owner, admin, developer or service account`. */
export const ADDERS = either(WRITERS)

export function AddDataLink() {
  const { is } = useSession()
  return (
    <>
      {!is(WRITERS) && <span className="fine">An {ADDERS} adds data.</span>}
      <Link className="button" href={PAGE}>
        Add data
      </Link>
    </>
  )
}
