/** Attempts that run now, and recoveries of those that failed. */
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { api, ask } from '../api/client'
import { count, relative, span } from '../format'
import { Answered, Empty, Page } from '../parts/Page'
import { Table } from '../parts/Table'
import { Tiles } from '../parts/Tiles'
import { Recoveries } from './Recoveries'

/** Leases end while somebody looks. */
const LIVE = 5_000

export default function Recovery() {
  return (
    <Page title="Recovery" needs="agent:*" lead="A failure is dealt with by rule: once more, a stronger model, a repair, a person. Whoever decides may do otherwise.">
      <Active />
      <History />
    </Page>
  )
}

function Active() {
  const active = useQuery({ queryKey: ['active-attempts'], queryFn: () => ask(api.GET('/v2/runtime/views/active-attempts', {})), refetchInterval: LIVE })
  const now = Date.now()
  return (
    <Answered of={active}>
      {(view) => (
        <section className="stack" aria-labelledby="active">
          <h2 id="active">Attempts now</h2>
          <Tiles
            of={[
              ['Running', count(view.total_running)],
              ['Pending', count(view.total_pending)],
              ['Blocked', count(view.total_blocked)],
              ['Oldest', view.oldest_attempt_age_secs == null ? '–' : span(view.oldest_attempt_age_secs)],
              ['Leases about to end', count(view.lease_expiry_warnings)],
            ]}
          />
          {view.expiring.length > 0 && (
            <Table
              label="Leases about to end"
              id={(lease) => lease.attempt_id}
              rows={view.expiring}
              columns={[
                { head: 'Attempt', cell: (lease) => <Link href={`/explain/${lease.attempt_id}`}>{lease.attempt_id.slice(-8)}</Link> },
                { head: 'Agent', cell: (lease) => lease.agent_id ?? '–' },
                { head: 'Expires', cell: (lease) => relative(lease.lease_expires_at, now) },
              ]}
            />
          )}
        </section>
      )}
    </Answered>
  )
}

function History() {
  const recoveries = useQuery({ queryKey: ['recovery-actions'], queryFn: () => ask(api.GET('/v2/runtime/views/recovery-actions', {})) })
  return (
    <Answered of={recoveries} isEmpty={(view) => view.total === 0} empty={<Empty title="Nothing has failed yet" />}>
      {(view) => (
        <section className="stack" aria-labelledby="done">
          <h2 id="done">What was done</h2>
          <Tiles of={[...Object.entries(view.by_kind), ...Object.entries(view.by_level).map(([level, times]) => [`of level ${level}`, times] as const)].map(([name, times]) => [name.replaceAll('_', ' '), count(times)] as const)} />
          <Recoveries recoveries={view.recent} />
        </section>
      )}
    </Answered>
  )
}
