/** Which models were chosen, and what calling them took. */
import type { Shapes } from '../api/client'
import { count, milliseconds, time, usd } from '../format'
import { Badge } from '../parts/Badge'
import { Table } from '../parts/Table'

export function Choices({ decisions }: { decisions: readonly Shapes['Decision'][] }) {
  return (
    <Table
      label="Decisions"
      id={(decision) => decision.id}
      rows={decisions}
      columns={[
        { head: 'When (UTC)', cell: (decision) => <span className="nowrap">{time(decision.created_at)}</span> },
        { head: 'Model', cell: (decision) => <code>{decision.model_id}</code> },
        { head: 'Why', cell: (decision) => decision.routing_reason ?? '–' },
        { head: 'Confidence', isNumber: true, cell: (decision) => count(decision.confidence) },
        { head: 'Fallback', cell: (decision) => (decision.fallback_used ? <Badge tone="warn">yes</Badge> : 'no') },
      ]}
    />
  )
}

export function Calls({ invocations }: { invocations: readonly Shapes['Invocation'][] }) {
  if (invocations.length === 0) return null
  return (
    <Table
      label="Invocations"
      id={(call) => call.id}
      rows={invocations}
      columns={[
        { head: 'When (UTC)', cell: (call) => <span className="nowrap">{time(call.created_at)}</span> },
        { head: 'Model', cell: (call) => <code>{call.model_id}</code> },
        { head: 'Tokens in', isNumber: true, cell: (call) => count(call.input_tokens) },
        { head: 'Out', isNumber: true, cell: (call) => count(call.output_tokens) },
        { head: 'USD', isNumber: true, cell: (call) => usd(call.cost_usd) },
        { head: 'Took', isNumber: true, cell: (call) => milliseconds(call.latency_ms) },
        { head: 'Error', cell: (call) => call.error ?? '–' },
      ]}
    />
  )
}
