/** What models cost, and how sure they were of what they made. */
import { useQuery } from '@tanstack/react-query'
import { api, ask } from '../api/client'
import { count, milliseconds, span } from '../format'
import { Answered, Empty, Page } from '../parts/Page'
import { Table } from '../parts/Table'

export default function Costs() {
  const costs = useQuery({ queryKey: ['costs'], queryFn: () => ask(api.GET('/v2/runtime/views/invocation-costs', {})) })
  const confidence = useQuery({ queryKey: ['confidence'], queryFn: () => ask(api.GET('/v2/runtime/views/confidence-distribution', {})) })
  return (
    <Page title="Costs and confidence" needs="agent:*" lead="Over all invocations and artifacts of the organization.">
      <Answered of={costs} isEmpty={(view) => view.by_model.length === 0} empty={<Empty title="No model was called yet" />}>
        {(view) => (
          <>
            <p>
              {count(view.total_cost_usd)} USD for {count(view.total_invocations)} invocations and {count(view.total_tokens)} tokens.{' '}
              <span className="fine">As of {span(view.freshness.staleness_ms / 1000)} ago.</span>
            </p>
            <Table
              label="By model"
              id={(model) => model.model_id}
              rows={view.by_model}
              columns={[
                { head: 'Model', cell: (model) => <code>{model.model_id}</code> },
                { head: 'USD', isNumber: true, cell: (model) => count(model.cost_usd) },
                { head: 'Invocations', isNumber: true, cell: (model) => count(model.invocations) },
                { head: 'Errors', isNumber: true, cell: (model) => count(model.errors) },
                { head: 'Half are done in', isNumber: true, cell: (model) => milliseconds(model.p50_latency_ms) },
                { head: '99 % in', isNumber: true, cell: (model) => milliseconds(model.p99_latency_ms) },
              ]}
            />
          </>
        )}
      </Answered>
      <Answered of={confidence} isEmpty={(view) => view.total_artifacts === 0} empty={<Empty title="No artifact was made yet" />}>
        {(view) => (
          <dl className="tiles">
            {(
              [
                ['Artifacts', view.total_artifacts],
                ['Low confidence', view.low_confidence],
                ['Medium', view.medium_confidence],
                ['High', view.high_confidence],
                ['Median', view.p50],
              ] as const
            ).map(([name, value]) => (
              <div key={name} className="tile">
                <dt>{name}</dt>
                <dd>{count(value)}</dd>
              </div>
            ))}
          </dl>
        )}
      </Answered>
    </Page>
  )
}
