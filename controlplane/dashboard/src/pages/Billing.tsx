/** Credits of the billing period: used, by whom, and when to warn. */
import { useQuery } from '@tanstack/react-query'
import { api, ask, type Shapes } from '../api/client'
import { atItsEnd } from '../forecast'
import { count, percent } from '../format'
import { useChanged } from '../lists'
import { Form } from '../parts/Form'
import { Answered, Page } from '../parts/Page'
import { Table } from '../parts/Table'
import { Tiles } from '../parts/Tiles'
import { useSession } from '../session'

export default function Billing() {
  const { orgId } = useSession()
  const usage = useQuery({
    queryKey: ['usage', orgId],
    queryFn: () => ask(api.GET('/v1/organizations/{org_id}/billing/usage', { params: { path: { org_id: orgId } } })),
  })
  const quotas = useQuery({
    queryKey: ['quotas', orgId],
    queryFn: () => ask(api.GET('/v1/organizations/{org_id}/billing/quotas', { params: { path: { org_id: orgId } } })),
  })
  return (
    <Page title="Billing" needs="billing:read" lead="Credits are spent by queries. A refused one costs none.">
      <Answered of={usage} scope="billing:read">{(answer) => <Used usage={answer} />}</Answered>
      <Answered of={quotas} scope="billing:read">{(answer) => <Warnings quotas={answer} />}</Answered>
    </Page>
  )
}

function Used({ usage }: { usage: Shapes['Usage'] }) {
  const { credits, breakdown, billing_period: period } = usage
  const days = breakdown.by_day
  const forecast = atItsEnd(credits.used, Date.parse(period.start), Date.parse(period.end), Date.now())
  return (
    <>
      <Tiles
        of={[
          ['Credits used', count(credits.used)],
          ['Limit', credits.limit == null ? 'none' : count(credits.limit)],
          ...(credits.limit == null ? [] : [['Used of it', percent(credits.usage_percent)] as const]),
          ['At this pace, by the end', forecast === undefined ? 'too early to say' : count(Math.round(forecast))],
          ['Queries', count(breakdown.queries.total)],
          ['Asked by this dashboard, free', count(breakdown.queries.dashboard)],
          ['Tier', usage.tier],
        ]}
      />
      {forecast !== undefined && credits.limit != null && credits.used <= credits.limit && forecast > credits.limit && (
        <p className="notice">At this pace the limit is reached before the period ends; queries are refused from then on.</p>
      )}
      <p className="fine">
        From {period.start.slice(0, 10)} to {period.end.slice(0, 10)}.
      </p>
      {days.length > 0 && (
        <section className="card" aria-labelledby="by-day">
          <h2 id="by-day">Credits a day</h2>
          <Bars days={days} />
        </section>
      )}
      <Table
        label="By environment"
        id={(one) => one.env_id}
        rows={breakdown.by_environment}
        columns={[
          { head: 'Environment', cell: (one) => one.name },
          { head: 'Credits', isNumber: true, cell: (one) => count(one.credits_used) },
          { head: 'Queries', isNumber: true, cell: (one) => count(one.query_count) },
        ]}
      />
    </>
  )
}

/** A bar a day; what it says in words is its title, and the list below for who cannot see it. */
function Bars({ days }: { days: Shapes['UsageOverTime'][] }) {
  const most = Math.max(...days.map((day) => day.credits_used), 1)
  const [width, height] = [100 / days.length, 100]
  return (
    <>
      <svg className="bars" viewBox={`0 0 100 ${height}`} preserveAspectRatio="none" aria-hidden="true">
        {days.map((day, index) => {
          const tall = (day.credits_used / most) * height
          return (
            <rect key={day.date} x={index * width + width * 0.1} y={height - tall} width={Math.min(width * 0.8, 12)} height={tall}>
              <title>{`${day.date.slice(0, 10)}: ${count(day.credits_used)} credits`}</title>
            </rect>
          )
        })}
      </svg>
      <p className="fine">
        {days[0]?.date.slice(0, 10)} to {days.at(-1)?.date.slice(0, 10)}; at most {count(most)} credits a day.
      </p>
      <ul className="unseen">
        {days.map((day) => (
          <li key={day.date}>{`${day.date.slice(0, 10)}: ${count(day.credits_used)} credits, ${count(day.query_count)} queries`}</li>
        ))}
      </ul>
    </>
  )
}

function Warnings({ quotas }: { quotas: Shapes['BillingQuotas'] }) {
  const { orgId, can } = useSession()
  const changed = useChanged('quotas')
  const { alerts, quotas: limits } = quotas
  return (
    <section className="card" aria-labelledby="warnings">
      <h2 id="warnings">Limits and warnings</h2>
      <dl className="facts">
        <dt>Queries at a time</dt>
        <dd>{limits.max_concurrent_queries ?? 'no limit'}</dd>
        <dt>Rows a query</dt>
        <dd>{limits.max_rows_per_query == null ? 'no limit' : count(limits.max_rows_per_query)}</dd>
        <dt>Environments</dt>
        <dd>{limits.max_environments ?? 'no limit'}</dd>
        <dt>Users</dt>
        <dd>{limits.max_users ?? 'no limit'}</dd>
      </dl>
      {can('billing:write') && (
        <Form
          isInline
          label="Warnings"
          fields={[
            { name: 'credit_warning_threshold', label: 'Warn at the share', kind: 'number', initial: alerts.credit_warning_threshold, required: true },
            { name: 'credit_critical_threshold', label: 'Alarm at the share', kind: 'number', initial: alerts.credit_critical_threshold, required: true },
          ]}
          submit="Save"
          says="Saved"
          onSubmit={(typed) =>
            ask(
              api.PUT('/v1/organizations/{org_id}/billing/quotas', {
                params: { path: { org_id: orgId } },
                body: {
                  alerts: {
                    credit_warning_threshold: typed.number('credit_warning_threshold') ?? null,
                    credit_critical_threshold: typed.number('credit_critical_threshold') ?? null,
                  },
                },
              }),
            ).then(changed)
          }
        />
      )}
    </section>
  )
}
