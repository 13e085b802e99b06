/** What happened, in its order. */
import type { Shapes } from '../api/client'
import { time } from '../format'
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
        { head: 'No.', isNumber: true, cell: (event) => event.sequence_num },
        { head: 'When (UTC)', cell: (event) => <span className="nowrap">{time(event.created_at)}</span> },
        { head: 'What', cell: (event) => <span className="nowrap">{event.kind.replaceAll('_', ' ')}</span> },
        { head: 'By', cell: (event) => <code>{event.actor}</code> },
        { head: 'Details', cell: (event) => <code>{JSON.stringify(event.payload)}</code> },
      ]}
    />
  )
}
