/** The conditions of a gate, and the facts that it found. */
import type { Shapes } from '../api/client'
import { cell } from '../format'
import { Badge } from '../parts/Badge'
import { Table } from '../parts/Table'

type Condition = Shapes['GateCondition']

/** Of an evaluation that was kept, conditions are documents. */
const listed = (conditions: unknown): Condition[] => (Array.isArray(conditions) ? (conditions as Condition[]) : [])

export function Conditions({ passed, failed }: { passed: unknown; failed: unknown }) {
  const rows = [
    ...listed(failed).map((condition) => ({ ...condition, verdict: 'failed' })),
    ...listed(passed).map((condition) => ({ ...condition, verdict: 'passed' })),
  ]
  if (rows.length === 0) return <p>It asks for nothing.</p>
  return (
    <Table
      label="Conditions"
      id={(condition) => `${condition.key} ${cell(condition.expected)} ${condition.verdict}`}
      rows={rows}
      columns={[
        { head: 'Verdict', cell: (condition) => <Badge tone={condition.verdict === 'passed' ? 'good' : 'bad'}>{condition.verdict}</Badge> },
        { head: 'Says', cell: (condition) => <span className="said">{condition.message.replaceAll('`', '')}</span> },
        { head: 'Found', cell: (condition) => <code>{JSON.stringify(condition.actual)}</code> },
      ]}
    />
  )
}
