/** Where one arrives: how it stands, and what to do first. */
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { api, ask } from '../api/client'
import { count, percent } from '../format'
import { asPage } from '../lists'
import { Badge } from '../parts/Badge'
import { Answered, orNothing, Page } from '../parts/Page'
import { useSession } from '../session'
import type { Scope } from '../permissions'

const STEPS: { path: string; title: string; says: string; needs?: Scope }[] = [
  { path: '/connect', title: 'Connect', says: 'A line for psql, Python, dbt or an agent, with a key in it', needs: 'environment:read' },
  { path: '/sql', title: 'Ask something', says: 'The SQL editor runs as you, and says what was masked', needs: 'query:read' },
  { path: '/policies', title: 'Hide something', says: 'Mask a column; it rules from the next query on', needs: 'policy:write' },
  { path: '/audit', title: 'See who asked', says: 'Every query is written down, refused ones as well', needs: 'audit:read' },
  { path: '/users', title: 'Invite somebody', says: 'With a role that says what they see', needs: 'user:write' },
]

export default function Overview() {
  const { orgId, can, environments } = useSession()
  const organization = useQuery({
    queryKey: ['organization', orgId],
    queryFn: () => ask(api.GET('/v1/organizations/{org_id}', { params: { path: { org_id: orgId } } })),
  })
  return (
    <Page title="Overview">
      <Answered of={organization}>
        {({ name, tier, status, quotas }) => (
          <>
            <p className="lead">
              {name} <Badge>{status}</Badge> <Badge>{tier}</Badge>
            </p>
            <dl className="tiles">
              <div className="tile">
                <dt>Credits this period</dt>
                <dd>
                  {count(quotas.used)}
                  {quotas.monthly_credit_limit != null && <span className="fine"> of {count(quotas.monthly_credit_limit)}</span>}
                </dd>
              </div>
              {quotas.monthly_credit_limit != null && (
                <div className="tile">
                  <dt>Used of the limit</dt>
                  <dd>{percent((100 * quotas.used) / quotas.monthly_credit_limit)}</dd>
                </div>
              )}
              <div className="tile">
                <dt>Environments</dt>
                <dd>{count(environments.length)}</dd>
              </div>
              <div className="tile">
                <dt>Queries at a time</dt>
                <dd>{quotas.max_concurrent_queries ?? 'no limit'}</dd>
              </div>
            </dl>
          </>
        )}
      </Answered>
      <Waiting />
      <section className="card" aria-labelledby="first">
        <h2 id="first">Get started</h2>
        <ul className="stack">
          {STEPS.filter((step) => can(step.needs)).map((step) => (
            <li key={step.path}>
              <Link href={step.path}>{step.title}</Link>. <span className="fine">{step.says}.</span>
            </li>
          ))}
          <li>
            <a href="/docs">Read the API</a>, or <a href="/docs/errors">what an error code means</a>.
          </li>
        </ul>
      </section>
    </Page>
  )
}

/** What of the runtime waits for somebody, where it is switched on. */
function Waiting() {
  const { can } = useSession()
  const enabled = can('agent:*')
  const pending = useQuery({
    queryKey: ['reviews', 'waiting'],
    queryFn: () => orNothing(ask(api.GET('/v2/reviews/pending', { params: { query: { limit: 1 } } })).then(asPage)),
    enabled,
  })
  const active = useQuery({ queryKey: ['active-attempts', 'overview'], queryFn: () => orNothing(ask(api.GET('/v2/runtime/views/active-attempts', {}))), enabled })
  if (!pending.data || !active.data) return null
  return (
    <section className="card" aria-labelledby="waiting">
      <h2 id="waiting">Agents at work</h2>
      <ul className="stack">
        <li>
          <Link href="/reviews">Reviews that nobody has looked at</Link>: {count(pending.data.pagination.total)}
        </li>
        <li>
          <Link href="/recovery">Attempts that run</Link>: {count(active.data.total_running)}; blocked: {count(active.data.total_blocked)}
        </li>
      </ul>
    </section>
  )
}
