/** One branch: what it has changed, what stands against it on the mainline, and its end. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { api, ask, type Shapes } from '../api/client'
import { count, relative, time } from '../format'
import { useChanged } from '../lists'
import { Badge } from '../parts/Badge'
import { CodeBlock } from '../parts/CodeBlock'
import { Confirm } from '../parts/Dialog'
import { Answered, Page } from '../parts/Page'
import { either, WRITERS } from '../permissions'
import { useSession } from '../session'
import { Changes } from './BranchChanges'
import { Merging } from './BranchMerge'
import { useBranch } from './branchPlace'

type One = Shapes['WarnedBranch']

export default function Branch() {
  const params = useBranch()
  const { is } = useSession()
  const [merged, setMerged] = useState<Shapes['MergedBranch']>()
  const branch = useQuery({
    queryKey: ['branch', params],
    queryFn: () => ask(api.GET('/v1/organizations/{org_id}/branches/{branch_id}', { params })),
  })
  return (
    <Page title="Branch" needs="agent:*" lead={<Link href="/branches">All branches</Link>}>
      {merged && (
        <p className="notice good" role="status">
          Merged: {count(merged.rows_affected)} {merged.rows_affected === 1 ? 'row' : 'rows'} of the mainline changed.
        </p>
      )}
      <Answered of={branch}>
        {(one) => (
          <>
            <About branch={one} />
            {one.status === 'active' && (
              <>
                <Changes />
                {is(WRITERS) ? <Merging merged={setMerged} /> : <p className="fine">The role {either(WRITERS)} merges it.</p>}
              </>
            )}
          </>
        )}
      </Answered>
    </Page>
  )
}

function About({ branch }: { branch: One }) {
  const params = useBranch()
  const { is } = useSession()
  const changed = useChanged('branch', 'branches')
  const isOpen = branch.status === 'active'
  return (
    <section className="card" aria-labelledby="about">
      <h2 id="about">
        {branch.name} <Badge>{branch.status}</Badge>
      </h2>
      <dl className="facts">
        {branch.description && (
          <>
            <dt>What for</dt>
            <dd>{branch.description}</dd>
          </>
        )}
        <dt>Agent</dt>
        <dd>
          <code>{branch.agent_id}</code>
        </dd>
        <dt>Tables</dt>
        <dd>
          <code>{branch.tables.join(', ')}</code>
        </dd>
        <dt>Since (UTC)</dt>
        <dd>{time(branch.created_at)}</dd>
        {isOpen && (
          <>
            <dt>Given up</dt>
            <dd>{relative(branch.expires_at, Date.now())}</dd>
          </>
        )}
      </dl>
      {branch.warnings.map((warning) => (
        <p key={warning} className="notice">
          {warning}
        </p>
      ))}
      {isOpen && (
        <>
          <p>
            <Link href={`/sql?branch=${branch.id}`}>Work on it in the SQL editor</Link>
          </p>
          <p className="fine">To work on it over psql; agents name it as <code>branch_id</code>:</p>
          <CodeBlock label="On the branch" text={`set search_path to ${branch.schema_name};`} />
          {is(WRITERS) && (
            <div>
              <Confirm
                label="Discard"
                question={`Discard “${branch.name}”? All that was changed on it is lost; the mainline stays as it is.`}
                act={() => ask(api.DELETE('/v1/organizations/{org_id}/branches/{branch_id}', { params })).then(changed)}
              />
            </div>
          )}
        </>
      )}
    </section>
  )
}
