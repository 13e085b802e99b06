/** Something on every page: what a day of use leaves. */
import { inPath } from '../src/places'
import { asAgent, asProgram, made, platform, queried, unique } from './browser'

const environment = `/v1/environments/${platform.envId}`
const organization = `/v1/organizations/${platform.orgId}`
const inEnvironment = `?env_id=${platform.envId}`

const DAY: [path: string, body: unknown][] = [
  [`${environment}/query`, { sql: 'select count(*) from nation', agent_id: 'walker', agent_framework: 'langchain' }],
  [`${environment}/policies`, { name: 'walked over', type: 'row_level_security', enabled: false, rules: [{ table: 'orders', filter: 'o_orderkey > 0', exempt_roles: ['admin'] }] }],
  [`${environment}/abac-policies`, { name: 'not at night', enabled: false, priority: 10, rules: [{ condition: 'TimeOfDay', start: '22:00', end: '06:00', timezone: 'Europe/Berlin', action: 'deny' }] }],
  [
    `${environment}/agent-capabilities`,
    { agent_id: 'walker', expires_at: new Date(Date.now() + 86_400_000).toISOString(), capabilities: { allowed_tables: ['nation'], allowed_operations: ['SELECT'], max_queries_per_hour: 100 } },
  ],
  [`${organization}/agent-memory${inEnvironment}`, { agent_id: 'stroller', content: 'the path along the river is closed in winter' }],
  [`${organization}/triggers${inEnvironment}`, { name: 'closed paths', concept: 'a path that nobody can walk', threshold: 0.6 }],
  [`${organization}/webhooks`, { url: 'http://127.0.0.1:9/nobody', events: ['auth.failed'] }],
  ['/v1/webhooks', { url: 'http://127.0.0.1:9/nobody', secret: 'known-to-nobody-but-to-us', events: ['system.maintenance'] }],
  [`${organization}/federation/providers`, { type: 'gcp_workload_identity', config: { project_id: 'park-prod-1', workload_identity_pool: 'walkers', provider: 'park', subjects: [{ match: '*', role: 'analyst' }] } }],
]

/** A page that only others lead to. */
export interface Place {
  path: string
  title: string
}

/** What was left, and where it is that no link of the side leads to. */
export async function aDayOfUse(): Promise<Place[]> {
  for (const [path, body] of DAY) {
    const answer = await asProgram('POST', path, body)
    // A day that was used before has left some of it.
    if (answer.status >= 300 && answer.status !== 409) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  }
  const branch = await disputed(unique('benches'))
  const thoughts = await thought(unique('route'))
  const { task, artifact, failed } = await work()
  const review = await pending('park')
  return [
    { path: `/branches/${branch.id}`, title: 'Branch' },
    { path: `/reasoning/${inPath(thoughts)}`, title: 'Session' },
    { path: '/audit?table=main.nation&column=n_name', title: 'Audit' },
    { path: '/add-data', title: 'Add data' },
    { path: `/tasks/${task}`, title: 'Task' },
    { path: `/explain/${artifact}`, title: 'Explain' },
    { path: `/explain/${failed}`, title: 'Explain' },
    { path: `/reviews/${review}`, title: 'Review' },
  ]
}

/** What an agent thought before it decided, with the query that it ran; the session. */
export async function thought(name: string): Promise<string> {
  const session_id = `paths/${name}`
  const { body } = await queried('select count(*) from nation')
  const steps = [
    { step_type: 'observation', content: 'Two paths lead to the fountain; one of them is closed in winter.' },
    { step_type: 'action', content: 'Count what is known of them.', output: body['rows'], metadata: { query_id: body['query_id'] } },
    { step_type: 'decision', content: 'Take the one along the wall.', model_name: 'small', token_count: 912, latency_ms: 830, importance: 0.9 },
  ]
  for (const step of steps) await asAgent('log_reasoning_step', { session_id, ...step })
  return session_id
}

/** A branch of which two rows were changed on both sides. */
export async function disputed(name: string): Promise<{ id: string; table: string }> {
  const table = name.replaceAll('-', '_')
  await told(`create table ${table} (sku integer primary key, amount integer, place varchar)`)
  await told(`insert into ${table} values (1, 10, 'A'), (2, 20, 'B'), (3, 30, 'C')`)
  const branch = await made(`${organization}/branches${inEnvironment}`, { agent_id: 'gardener', name, tables: [table], description: 'count them anew' })
  await change(String(branch['id']), table)
  return { id: String(branch['id']), table }
}

/** A branch of a table without a key that both sides have changed. */
export async function undecidable(name: string): Promise<{ id: string; table: string }> {
  const table = name.replaceAll('-', '_')
  await told(`create table ${table} (name varchar)`)
  await told(`insert into ${table} values ('moss'), ('moss')`)
  const branch = await made(`${organization}/branches${inEnvironment}`, { agent_id: 'gardener', name, tables: [table] })
  await asAgent('branch_query', { branch_id: String(branch['id']), sql: `delete from ${table}` })
  await asAgent('branch_query', { branch_id: String(branch['id']), sql: `insert into ${table} values ('moss'), ('theirs')` })
  await told(`insert into ${table} values ('ours')`)
  return { id: String(branch['id']), table }
}

/** Both sides change the first two rows; the third is added to on the branch alone. */
export async function change(branch_id: string, table: string): Promise<void> {
  await asAgent('branch_query', { branch_id, sql: `update ${table} set amount = amount + 1` })
  await told(`update ${table} set amount = amount + 2 where sku < 3`)
}

async function told(sql: string): Promise<void> {
  const answer = await queried(sql)
  if (answer.status !== 200) throw new Error(`${sql}: ${JSON.stringify(answer.body)}`)
}

/** A task that was done, with all that an agent tells of it, and one that has failed. */
async function work(): Promise<{ task: string; artifact: string; failed: string }> {
  const { id: task } = await made('/v2/runtime/tasks', { kind: 'walk', project_id: 'park', work_item_key: unique('walk') })
  const { id: attempt_id, lease_token } = await made(`/v2/runtime/tasks/${task}/claim`, { agent_id: 'stroller' })
  const { id: decision_id } = await made('/v2/runtime/decisions', { attempt_id, model_id: 'small', routing_reason: 'the path is short', confidence: 0.8 })
  await made('/v2/runtime/invocations', { decision_id, model_id: 'small', input_tokens: 900, output_tokens: 120, cost_usd: 0.0042, latency_ms: 830 })
  const { id: source } = await made('/v2/runtime/artifacts', { attempt_id, kind: 'map', artifact_key: unique('map'), content_hash: `sha256:${'a'.repeat(64)}`, confidence: 0.9 })
  const { id: artifact } = await made('/v2/runtime/artifacts', { attempt_id, kind: 'report', artifact_key: unique('report'), content_hash: `sha256:${'b'.repeat(64)}`, confidence: 0.7, depends_on: [source] })
  await made(`/v2/runtime/artifacts/${artifact}/validations`, { validator_kind: 'spelling', result: 'pass', message: 'nothing is misspelt' })
  await made(`/v2/runtime/attempts/${attempt_id}/complete`, { lease_token, outcome: 'succeeded' }, 'PUT')
  await made('/v2/runtime/tasks', { kind: 'walk', project_id: 'park', work_item_key: unique('next') })
  return { task: String(task), artifact: String(artifact), failed: await strayed() }
}

/** An attempt that has failed. */
export async function strayed(): Promise<string> {
  const { id: task } = await made('/v2/runtime/tasks', { kind: 'walk', project_id: 'park', work_item_key: unique('lost') })
  const { id, lease_token } = await made(`/v2/runtime/tasks/${task}/claim`, { agent_id: 'stroller' })
  await made(`/v2/runtime/attempts/${id}/fail`, { lease_token, failure_kind: 'tool_error', failure_reason: 'the compass broke' })
  return String(id)
}

/** A gate that waits for a person; the id of its review. */
export async function pending(project_id: string): Promise<string> {
  const facts = { proposal: { document_url: 'https://park.example/proposal' } }
  const verdict = await made('/v2/gates/G1/evaluate', { project_id, facts })
  return String(verdict['review_id'])
}

/** An attempt whose holder falls silent at once; its task. */
export async function silent(lease_ttl_secs: number): Promise<string> {
  const { id } = await made('/v2/runtime/tasks', { kind: 'walk', project_id: 'park', work_item_key: unique('silent') })
  await made(`/v2/runtime/tasks/${id}/claim`, { agent_id: 'sleeper', lease_ttl_secs })
  return String(id)
}
