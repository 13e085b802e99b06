/** Something on every page: what a day of use leaves. */
import { asProgram, platform } from './browser'

const environment = `/v1/environments/${platform.envId}`
const organization = `/v1/organizations/${platform.orgId}`

const DAY: [path: string, body: unknown][] = [
  [`${environment}/query`, { sql: 'select count(*) from nation', agent_id: 'walker', agent_framework: 'langchain' }],
  [`${environment}/policies`, { name: 'walked over', type: 'row_level_security', enabled: false, rules: [{ table: 'orders', filter: 'o_orderkey > 0', exempt_roles: ['admin'] }] }],
  [`${environment}/abac-policies`, { name: 'not at night', enabled: false, priority: 10, rules: [{ condition: 'TimeOfDay', start: '22:00', end: '06:00', timezone: 'Europe/Berlin', action: 'deny' }] }],
  [
    `${environment}/agent-capabilities`,
    { agent_id: 'walker', expires_at: new Date(Date.now() + 86_400_000).toISOString(), capabilities: { allowed_tables: ['nation'], allowed_operations: ['SELECT'], max_queries_per_hour: 100 } },
  ],
  [`${organization}/agent-memory?env_id=${platform.envId}`, { agent_id: 'stroller', content: 'the path along the river is closed in winter' }],
  [`${organization}/webhooks`, { url: 'http://127.0.0.1:9/nobody', events: ['auth.failed'] }],
  ['/v1/webhooks', { url: 'http://127.0.0.1:9/nobody', secret: 'known-to-nobody-but-to-us', events: ['system.maintenance'] }],
  ['/v2/runtime/tasks', { kind: 'walk', project_id: 'park', work_item_key: `walk-${Date.now()}` }],
]

export async function aDayOfUse(): Promise<void> {
  for (const [path, body] of DAY) {
    const answer = await asProgram('POST', path, body)
    // A day that was used before has left some of it.
    if (answer.status >= 300 && answer.status !== 409) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  }
}
