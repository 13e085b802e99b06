/** Reviews that people are asked to decide. */
import { useState } from 'react'
import { Link } from 'wouter'
import { api, ask } from '../api/client'
import { relative, time } from '../format'
import { asPage, useList } from '../lists'
import { Badge } from '../parts/Badge'
import { Choice } from '../parts/Choice'
import { Empty, Page } from '../parts/Page'
import { ResourceList } from '../parts/ResourceList'

const STATES = ['', 'pending', 'in_review', 'deferred', 'approved', 'rejected'] as const
const URGENCIES = ['', 'critical', 'high', 'medium', 'low'] as const

export default function Reviews() {
  const [status, setStatus] = useState<(typeof STATES)[number]>('')
  const [urgency, setUrgency] = useState<(typeof URGENCIES)[number]>('')
  const list = useList(['reviews', status, urgency], async (cursor) => {
    const query = { limit: 50, ...(status && { status }), ...(urgency && { urgency }), ...(cursor && { cursor }) }
    return asPage(await ask(api.GET('/v2/reviews', { params: { query } })))
  })
  const now = Date.now()
  return (
    <Page title="Reviews" needs="agent:*" lead="Whoever it is assigned to decides, and nobody over what they have made themselves.">
      <div className="row">
        <Choice label="State" value={status} options={STATES} onChange={setStatus} />
        <Choice label="Urgency" value={urgency} options={URGENCIES} onChange={setUrgency} />
      </div>
      <ResourceList
        of={list}
        empty={<Empty title="No review is here"><p>A gate that waits for a person asks for one, and so does a failure that is left to people.</p></Empty>}
        label="Reviews"
        id={(review) => review.id}
        columns={[
          { head: 'What', cell: (review) => <Link className="said" href={`/reviews/${review.id}`}>{review.reason || review.id}</Link> },
          { head: 'About', cell: (review) => review.entity_type.replaceAll('_', ' ') },
          { head: 'Project', cell: (review) => review.project_id },
          { head: 'Urgency', cell: (review) => <Badge>{review.urgency}</Badge> },
          { head: 'For', cell: (review) => review.assigned_to },
          { head: 'State', cell: (review) => <Badge>{review.status}</Badge> },
          { head: 'Due', cell: (review) => <span className="nowrap">{review.due_at ? relative(review.due_at, now) : '–'}</span> },
          { head: 'Asked (UTC)', cell: (review) => <span className="nowrap">{time(review.requested_at)}</span> },
        ]}
      />
    </Page>
  )
}
