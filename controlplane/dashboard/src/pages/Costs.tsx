/** How models have done, what they cost, and how sure they were of what they made. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ask } from '../api/client'
import { count, milliseconds, percent, span, usd } from '../format'
import { Choice } from '../parts/Choice'
import { Answered, Empty, Page } from '../parts/Page'
import { Table } from '../parts/Table'
import { Tiles } from '../parts/Tiles'

export default function Costs() {
  const costs = useQuery({ queryKey: ['costs'], queryFn: () => ask(api.GET('/v2/runtime/views/invocation-costs', {})) })
  const confidence = useQuery({ queryKey: ['confidence'], queryFn: () => ask(api.GET('/v2/runtime/views/confidence-distribution', {})) })
  return (
    <Page title="Models" needs="agent:*" lead="How they have done, what they cost, and how sure they were: what whoever chooses the next one goes by.">
      <Signals />
      <Answered of={costs} isEmpty={(view) => view.by_model.length === 0} empty={<Empty title="No model was called yet" />}>
        {(view) => (
          <>
            <h2>What they cost</h2>
            <Tiles
              of={[
                ['USD', usd(view.total_cost_usd)],
                ['Invocations', count(view.total_invocations)],
                ['Tokens', count(view.total_tokens)],
                ['Counted', `${span(view.freshness.staleness_ms / 1000)} ago`],
              ]}
            />
            <Table
              label="By model"
              id={(model) => model.model_id}
              rows={view.by_model}
              columns={[
                { head: 'Model', cell: (model) => <code>{model.model_id}</code> },
                { head: 'USD', isNumber: true, cell: (model) => usd(model.cost_usd) },
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
          <>
            <h2>How sure they were</h2>
            <Tiles
              of={[
                ['Artifacts', count(view.total_artifacts)],
                ['Low confidence', count(view.low_confidence)],
                ['Medium', count(view.medium_confidence)],
                ['High', count(view.high_confidence)],
                ['Median', count(view.p50)],
              ]}
            />
          </>
        )}
      </Answered>
    </Page>
  )
}

const WINDOWS = ['1', '7', '30', '90'] as const

function Signals() {
  const [days, setDays] = useState<(typeof WINDOWS)[number]>('7')
  const signals = useQuery({
    queryKey: ['routing-signals', days],
    queryFn: () => ask(api.GET('/v2/routing/signals', { params: { query: { window_days: Number(days) } } })),
  })
  const share = (of: number | null) => percent(of === null ? null : 100 * of)
  return (
    <section className="stack" aria-labelledby="signals">
      <h2 id="signals">How models have done</h2>
      <Choice label="In so many days" value={days} options={WINDOWS} onChange={setDays} />
      <Answered of={signals} isEmpty={(found) => found.models.length === 0} empty={<Empty title="No model was chosen in this time" />}>
        {({ models }) => (
          <Table
            label="Routing signals"
            id={(model) => model.model_id}
            rows={models}
            columns={[
              { head: 'Model', cell: (model) => <code>{model.model_id}</code> },
              { head: 'Chosen', isNumber: true, cell: (model) => count(model.sample_size) },
              { head: 'Succeeded', isNumber: true, cell: (model) => share(model.success_rate) },
              { head: 'Overridden', isNumber: true, cell: (model) => share(model.override_rate) },
              { head: 'Confidence', isNumber: true, cell: (model) => count(model.avg_confidence) },
              { head: 'USD each', isNumber: true, cell: (model) => usd(model.avg_cost_usd) },
              { head: 'USD', isNumber: true, cell: (model) => usd(model.total_cost_usd) },
              { head: 'Half in', isNumber: true, cell: (model) => (model.p50_latency_ms === null ? '–' : milliseconds(model.p50_latency_ms)) },
            ]}
          />
        )}
      </Answered>
    </section>
  )
}
