/** How the platform itself is: whether it serves, since when, in which version, and where the rest is told. */
import { useQuery } from '@tanstack/react-query'
import { api, ask } from '../api/client'
import { Problem } from '../api/problem'
import { span } from '../format'
import { Badge } from '../parts/Badge'
import { CodeBlock } from '../parts/CodeBlock'
import { Answered, Page } from '../parts/Page'
import { Table } from '../parts/Table'
import { Tiles } from '../parts/Tiles'

/** What is wrong is seen soon. */
const LIVE = 10_000

/** Readiness is told with 503 as well. */
async function readiness() {
  const { data, error, response } = await api.GET('/ready', {}).catch((cause: unknown) => {
    throw Problem.unreachable(cause)
  })
  const told = data ?? error
  if (!told || !('checks' in told)) throw Problem.read(response, error)
  return told
}

export default function System() {
  const health = useQuery({ queryKey: ['health'], queryFn: () => ask(api.GET('/health', {})), refetchInterval: LIVE })
  const ready = useQuery({ queryKey: ['ready'], queryFn: readiness, refetchInterval: LIVE })
  return (
    <Page title="System" lead="Of the control plane. Each environment’s data plane is told of under Environments.">
      <Answered of={health}>
        {({ version, uptime_seconds: uptime }) => (
          <Tiles
            of={[
              ['Serves', ready.data ? (ready.data.ready ? 'yes' : 'not now') : '–'],
              ['Version', version],
              ['Runs for', span(uptime)],
            ]}
          />
        )}
      </Answered>
      <Answered of={ready}>
        {({ checks }) => (
          <Table
            label="Checks"
            id={(check) => check.name}
            rows={checks}
            columns={[
              { head: 'Check', cell: (check) => CHECKS[check.name] ?? check.name },
              { head: 'Verdict', cell: (check) => <Badge tone={check.ok ? 'good' : 'bad'}>{check.ok ? 'well' : 'failing'}</Badge> },
            ]}
          />
        )}
      </Answered>
      <section className="card" aria-labelledby="more">
        <h2 id="more">Where more is told</h2>
        <ul className="stack">
          <li>
            <a href="/docs">The API</a>, and <a href="/openapi.json">the same for programs</a>.
          </li>
          <li>
            <a href="/docs/errors">What each error code means</a>, and what to do.
          </li>
        </ul>
        <p>For whoever runs it on Kubernetes, from inside of its pod: what it measures, and the level of its log while it runs.</p>
        <CodeBlock label="Metrics and log" text={'curl -s localhost:9090/metrics\ncurl -X PUT -d debug localhost:9090/log'} />
      </section>
    </Page>
  )
}

const CHECKS: Readonly<Record<string, string>> = { database: 'The database answers', running: 'It is not shutting down' }
