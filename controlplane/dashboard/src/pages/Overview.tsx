/** Where one arrives: how it stands, and what to do first. */
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { api, ask } from '../api/client'
import { count, percent } from '../format'
import { asPage } from '../lists'
import { AddDataLink } from '../parts/AddDataLink'
import { Badge } from '../parts/Badge'
import { Answered, orNothing, Page } from '../parts/Page'
import { Tiles } from '../parts/Tiles'
import { ADMINS, type Scope } from '../permissions'
import { useSession } from '../session'
import { Chain } from './Chain'

const STEPS: { path: string; title: string; says: string; needs?: Scope }[] = [
  { path: '/connect', title: 'Connect', says: 'A line for psql, Python, dbt or an agent, with a key in it', needs: 'environment:read' },
  { path: '/add-data', title: 'Bring a file', says: 'CSV, JSON lines or Parquet becomes a table that the policies rule', needs: 'query:read' },
  { path: '/sql', title: 'Ask something', says: 'The SQL editor runs as you, and says what was masked', needs: 'query:read' },
  { path: '/policies', title: 'Hide something', says: 'Mask a column; it rules from the next query on', needs: 'policy:write' },
  { path: '/audit', title: 'See who asked', says: 'Every query is written down, refused ones as well', needs: 'audit:read' },
  { path: '/users', title: 'Invite somebody', says: 'With a role that says what they see', needs: 'user:write' },
]

export default function Overview() {
  const { orgId, can, environment, environments } = useSession()
  const organization = useQuery({
    queryKey: ['organization', orgId],
    queryFn: () => ask(api.GET('/v1/organizations/{org_id}', { params: { path: { org_id: orgId } } })),
  })
  return (
    <Page title="Overview" actions={environment && can('query:read') && <AddDataLink />}>
      <Answered of={organization}>
        {({ name, tier, status, quotas }) => (
          <>
            <p className="lead">
              {name} <Badge>{status}</Badge> <Badge>{tier}</Badge>
            </p>
            <Tiles
              of={[
                ['Credits this period', count(quotas.used)],
                ...(quotas.monthly_credit_limit == null ? [] : [[`Of the limit of ${count(quotas.monthly_credit_limit)}`, percent((100 * quotas.used) / quotas.monthly_credit_limit)] as const]),
                ['Environments', count(environments.length)],
                ['Queries at a time', quotas.max_concurrent_queries == null ? 'no limit' : count(quotas.max_concurrent_queries)],
              ]}
            />
          </>
        )}
      </Answered>
      <Undecided />
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
      {environment && can('audit:read') && (
        <section className="card" aria-labelledby="record">
          <h2 id="record">Is the record whole?</h2>
          <p>Every change of a key, policy, role or setting is written down in a chain of hashes. What was altered afterwards shows.</p>
          <Chain />
        </section>
      )}
    </Page>
  )
}

/** What waits for an owner or admin; nothing, where nothing does. */
function Undecided() {
  const { can, is, environment } = useSession()
  const env_id = environment?.env_id ?? ''
  const requests = useQuery({
    queryKey: ['jit', env_id, 'waiting'],
    queryFn: () => ask(api.GET('/v1/environments/{env_id}/jit-access', { params: { path: { env_id }, query: { limit: 200 } } })),
    enabled: is(ADMINS) && env_id !== '',
  })
  const failing = useQuery({
    queryKey: ['deliveries', 'failing'],
    queryFn: () => ask(api.GET('/v1/webhooks/deliveries', { params: { query: { status: 'failed', limit: 1 } } })),
    enabled: can('webhook:read'),
  })
  const pending = requests.data?.data.filter((request) => request.status === 'pending').length ?? 0
  const failed = failing.data?.pagination.total ?? 0
  if (pending + failed === 0) return null
  return (
    <section className="card" aria-labelledby="undecided">
      <h2 id="undecided">Waits for you</h2>
      <ul className="stack">
        {pending > 0 && (
          <li>
            <Link href="/jit">Requests for a role</Link>: {count(pending)}
          </li>
        )}
        {failed > 0 && (
          <li>
            <Link href="/webhooks">Notices that nobody took</Link>: {count(failed)}
          </li>
        )}
      </ul>
    </section>
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
