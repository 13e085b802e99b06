/** Agents that asked here: who they are, and what they did. */
import { useQuery } from '@tanstack/react-query'
import { api, ask } from '../api/client'
import { count, milliseconds, relative, time } from '../format'
import { useList } from '../lists'
import { Badge } from '../parts/Badge'
import { Opens } from '../parts/Dialog'
import { Answered, Empty, Page } from '../parts/Page'
import { ResourceList } from '../parts/ResourceList'
import { useEnvironment } from '../session'

export default function Agents() {
  const { env_id } = useEnvironment()
  const list = useList(['agents', env_id], (cursor) =>
    ask(api.GET('/v1/environments/{env_id}/agents', { params: { path: { env_id }, query: { limit: 100, ...(cursor && { cursor }) } } })),
  )
  const now = Date.now()
  return (
    <Page title="Fleet" needs="audit:read" lead="An agent is known here from the first query that names it.">
      <ResourceList
        of={list}
        scope="audit:read"
        empty={<Empty title="No agent has asked yet"><p>Connect says how: over MCP, or with <code>agent_id</code> at any door.</p></Empty>}
        label="Agents"
        id={(agent) => agent.agent_id}
        columns={[
          { head: 'Agent', cell: (agent) => <Opens label={agent.agent_id} className="link">{() => <Activity agentId={agent.agent_id} />}</Opens> },
          { head: 'Framework', cell: (agent) => agent.framework ?? '–' },
          { head: 'State', cell: (agent) => <Badge>{agent.status}</Badge> },
          { head: 'Trust', cell: (agent) => agent.trust_level },
          { head: 'Queries', isNumber: true, cell: (agent) => count(agent.total_queries) },
          { head: 'Capabilities', isNumber: true, cell: (agent) => count(agent.capability_grants) },
          { head: 'Last here', cell: (agent) => <span className="nowrap">{relative(agent.last_active, now)}</span> },
        ]}
      />
    </Page>
  )
}

function Activity({ agentId }: { agentId: string }) {
  const { env_id } = useEnvironment()
  const report = useQuery({
    queryKey: ['agent', env_id, agentId],
    queryFn: () => ask(api.GET('/v1/environments/{env_id}/agents/{agent_id}/activity', { params: { path: { env_id, agent_id: agentId } } })),
  })
  return (
    <Answered of={report}>
      {({ activity, policy_summary: policies }) => (
        <dl className="facts">
          <dt>Queries today</dt>
          <dd>{count(activity.queries_today)}, {count(activity.queries_this_hour)} of them this hour</dd>
          <dt>A query takes</dt>
          <dd>{milliseconds(activity.avg_execution_time_ms)} on average</dd>
          <dt>Credits today</dt>
          <dd>{count(activity.credits_consumed_today)}</dd>
          <dt>Tables</dt>
          <dd>{activity.tables_accessed.join(', ') || 'none'}</dd>
          <dt>Last query</dt>
          <dd>{time(activity.last_query_at)}</dd>
          <dt>Policies</dt>
          <dd>
            {count(policies.queries_allowed)} queries allowed, {count(policies.queries_denied)} denied; {count(policies.columns_masked)} columns masked,{' '}
            {count(policies.rows_filtered)} times rows filtered
          </dd>
        </dl>
      )}
    </Answered>
  )
}
