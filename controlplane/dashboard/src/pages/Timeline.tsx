/** Events, in their order. */
import type { Shapes } from '../api/client'
import { time } from '../format'
import { Actor } from '../parts/Actor'
import { Empty } from '../parts/Page'
import { Table } from '../parts/Table'

export function Timeline({ events }: { events: readonly Shapes['WorkflowEvent'][] }) {
  if (events.length === 0) return <Empty title="Nothing happened yet" />
  return (
    <Table
      label="What happened"
      id={(event) => event.id}
      rows={events}
      columns={[
        { head: 'What', cell: (event) => <span className="nowrap">{event.kind.replaceAll('_', ' ')}</span> },
        { head: 'Of', cell: (event) => (event.attempt_id ? 'attempt' : 'task') },
        { head: 'No.', isNumber: true, cell: (event) => event.sequence_num },
        { head: 'When (UTC)', cell: (event) => <span className="nowrap">{time(event.created_at)}</span> },
        { head: 'By', cell: (event) => <span className="nowrap"><Actor of={event.actor} /></span> },
        { head: 'Details', cell: (event) => <code className="wide">{JSON.stringify(event.payload)}</code> },
      ]}
    />
  )
}
