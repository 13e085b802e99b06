/** Who asked what, what was refused, who changed what; and whether the record of it is whole. */
import { api, ask } from '../api/client'
import { time } from '../format'
import { useList } from '../lists'
import { CodeBlock } from '../parts/CodeBlock'
import { Opens } from '../parts/Dialog'
import { Empty, Page } from '../parts/Page'
import { ResourceList } from '../parts/ResourceList'
import { Tabs } from '../parts/Tabs'
import { useEnvironment } from '../session'
import { AuditQueries } from './AuditQueries'
import { Chain } from './Chain'

export default function Audit() {
  return (
    <Page title="Audit" needs="audit:read" lead="Every query, refused ones too; and every change, in a chain of hashes that anybody may check.">
      <Tabs
        label="Logs"
        tabs={[
          { name: 'Queries', panel: () => <AuditQueries /> },
          { name: 'Changes', panel: () => <Changes /> },
        ]}
      />
    </Page>
  )
}

function Changes() {
  const { env_id } = useEnvironment()
  const list = useList(['audit-admin', env_id], (cursor) =>
    ask(api.GET('/v1/environments/{env_id}/audit/admin', { params: { path: { env_id }, query: { limit: 50, ...(cursor && { cursor }) } } })),
  )
  return (
    <>
      <Chain />
      <ResourceList
        of={list}
        scope="audit:read"
        empty={<Empty title="Nothing has been changed yet" />}
        label="Changes"
        id={(event) => event.event_id}
        columns={[
          { head: 'When (UTC)', cell: (event) => <span className="nowrap">{time(event.timestamp)}</span> },
          { head: 'What', cell: (event) => <code>{event.event_type}</code> },
          { head: 'Who', cell: (event) => event.actor_email ?? <code>{event.actor_id}</code> },
          { head: 'On', cell: (event) => <span className="fine">{`${event.resource_type} ${event.resource_id.slice(-8)}`}</span> },
          {
            head: '',
            cell: (event) => (
              <Opens label="Details" title={event.event_type} className="small">
                {() => (
                  <>
                    <CodeBlock label="What changed" text={JSON.stringify(event.changes, null, 2)} />
                    <p className="fine">
                      Hash <code>{event.hash}</code>, after <code>{event.previous_hash}</code>
                    </p>
                  </>
                )}
              </Opens>
            ),
          },
        ]}
      />
    </>
  )
}
