/** Where files and databases elsewhere are reached, and by which credentials. They are never shown again. */
import { api, ask, ifMatch, type Shapes } from '../api/client'
import { time } from '../format'
import { useChanged, useList } from '../lists'
import { Badge } from '../parts/Badge'
import { Confirm, Opens } from '../parts/Dialog'
import { Form, type Field, type Typed } from '../parts/Form'
import { Empty, Page } from '../parts/Page'
import { ResourceList } from '../parts/ResourceList'
import { ADMINS } from '../permissions'
import { secretKeys } from '../secretKeys'
import { useEnvironment } from '../session'

type Integration = Shapes['StorageIntegration']

/** A folder has none. */
const withCredentials = (type: string) => ({ kind: ['s3', 'azure', 'postgres'], credentials: [type] })

const CREDENTIALS: readonly Field[] = [
  {
    name: 'credentials',
    only: { kind: ['s3', 'azure', 'postgres'] },
    label: 'Credentials',
    kind: 'select',
    initial: 'access_key',
    options: [
      { value: 'access_key', label: 'An access key' },
      { value: 'ambient', label: 'Those of the data plane, where the installation allows it' },
      { value: 'anonymous', label: 'None' },
      { value: 'password', label: 'A user and a password, of a database' },
      { value: 'sas_token', label: 'A shared access signature, of Azure' },
      { value: 'kubernetes_secret', label: 'Those of a Secret, where the installation names it' },
    ],
  },
  { name: 'access_key_id', label: 'Access key id', autoComplete: 'off', hint: 'Of Azure, the name of the storage account.', only: withCredentials('access_key') },
  { name: 'secret_access_key', label: 'Secret access key', kind: 'password', autoComplete: 'new-password', hint: 'It is sealed, and never shown again.', only: withCredentials('access_key') },
  { name: 'secret', label: 'Secret', autoComplete: 'off', hint: 'The name of a Secret of Kubernetes beside the environment.', only: withCredentials('kubernetes_secret') },
  {
    name: 'keys',
    label: 'Keys of the Secret',
    kind: 'textarea',
    hint: 'Left empty, each part is under its own name. Else one in a line, as sas_token=signature; a signature is always named.',
    only: withCredentials('kubernetes_secret'),
  },
  { name: 'sas_token', label: 'Shared access signature', kind: 'password', autoComplete: 'new-password', hint: 'It is sealed, and never shown again.', only: withCredentials('sas_token') },
  { name: 'user', label: 'User', autoComplete: 'off', only: withCredentials('password') },
  { name: 'password', label: 'Password', kind: 'password', autoComplete: 'new-password', hint: 'It is sealed, and never shown again.', only: withCredentials('password') },
]

export default function Storage() {
  const { env_id } = useEnvironment()
  const list = useList(['storage-integrations', env_id], (cursor) =>
    ask(api.GET('/v1/environments/{env_id}/storage-integrations', { params: { path: { env_id }, query: { limit: 100, ...(cursor && { cursor }) } } })),
  )
  return (
    <Page
      title="Storage integrations"
      roles={ADMINS}
      lead="A stage names one to read and write files elsewhere, below the prefixes that are allowed here. The tables of a database are read in a schema of its name."
      actions={<Opens label="New integration" className="primary">{(close) => <Making close={close} />}</Opens>}
    >
      <ResourceList
        of={list}
        empty={<Empty title="No storage integrations yet"><p>With one, a stage can be a bucket of yours.</p></Empty>}
        label="Storage integrations"
        id={(integration) => integration.storage_integration_id}
        columns={[
          { head: 'Name', cell: (integration) => <code>{integration.name}</code> },
          { head: 'Reaches', cell: (integration) => reached(integration) },
          { head: 'Allowed', cell: (integration) => <span className="fine">{integration.allowed_prefixes.join(', ')}</span> },
          { head: 'Blocked', cell: (integration) => <span className="fine">{integration.blocked_prefixes.join(', ') || '–'}</span> },
          {
            head: 'Credentials',
            cell: ({ credentials: { type, since, secret } }) => (
              <span className="fine">{secret?.problem ?? `${secret ? `Secret ${secret.name}` : type.replace('_', ' ')}${since ? ` since ${time(since)}` : ''}`}</span>
            ),
          },
          { head: 'State', cell: (integration) => <Badge>{integration.enabled ? 'enabled' : 'disabled'}</Badge> },
          { head: '', cell: (integration) => <Acts integration={integration} /> },
        ]}
      />
    </Page>
  )
}

function reached({ folder, endpoint, region, account, host, port, database }: Integration): string {
  if (account) return `${account} at ${endpoint ?? 'Azure'}`
  if (host) return `${database ?? ''} at ${host}:${port ?? ''}`
  return folder ?? endpoint ?? `S3 in ${region ?? ''}`
}

function Acts({ integration }: { integration: Integration }) {
  const { env_id } = useEnvironment()
  const changed = useChanged('storage-integrations')
  const path = { env_id, storage_integration_id: integration.storage_integration_id }
  const params = { path, header: ifMatch(integration) }
  const one = '/v1/environments/{env_id}/storage-integrations/{storage_integration_id}'
  return (
    <div className="row">
      <Opens label="Rotate credentials" title={`Rotate the credentials of ${integration.name}`} className="small">
        {(close) => (
          <Form
            fields={CREDENTIALS}
            submit="Rotate them"
            onSubmit={(typed) => ask(api.PUT(one, { params, body: { credentials: credentials(typed) } })).then(changed)}
            onDone={close}
          />
        )}
      </Opens>
      <Confirm
        label={integration.enabled ? 'Disable' : 'Enable'}
        isGentle
        question={integration.enabled ? `Let ${integration.name} reach nothing for now?` : `Let ${integration.name} reach what it names again?`}
        act={() => ask(api.PUT(one, { params, body: { enabled: !integration.enabled } })).then(changed)}
      />
      <Confirm
        label="Delete"
        question={`Delete ${integration.name}? Stages that name it, and tables that it attaches, are reached no more.`}
        act={() => ask(api.DELETE(one, { params })).then(changed)}
      />
    </div>
  )
}

function Making({ close }: { close: () => void }) {
  const { env_id } = useEnvironment()
  const changed = useChanged('storage-integrations')
  return (
    <Form
      fields={[
        { name: 'name', label: 'Name', required: true, hint: 'As a statement writes it: STORAGE_INTEGRATION = name, or the schema of a database.' },
        {
          name: 'kind',
          label: 'Kind',
          kind: 'select',
          initial: 's3',
          options: [
            { value: 's3', label: 'A store that speaks as S3 does' },
            { value: 'file', label: 'A folder, where the installation names one' },
            { value: 'postgres', label: 'A PostgreSQL database' },
            { value: 'azure', label: 'A storage account of Azure' },
          ],
        },
        { name: 'region', label: 'Region', hint: 'Such as eu-central-1.', only: { kind: ['s3'] } },
        { name: 'account', label: 'Storage account', only: { kind: ['azure'] } },
        { name: 'endpoint', label: 'Endpoint', kind: 'url', hint: 'Left empty, AWS in the region, or the public one of the account.', only: { kind: ['s3', 'azure'] } },
        { name: 'path_style', label: 'The bucket or the account is a part of the path', kind: 'checkbox', only: { kind: ['s3', 'azure'] } },
        { name: 'folder', label: 'Folder', hint: 'An absolute path.', only: { kind: ['file'] } },
        { name: 'host', label: 'Host', hint: 'A name or an IPv4 address.', only: { kind: ['postgres'] } },
        { name: 'port', label: 'Port', hint: 'Left empty, 5432.', only: { kind: ['postgres'] } },
        { name: 'database', label: 'Database', hint: 'Its name there.', only: { kind: ['postgres'] } },
        { name: 'allowed_prefixes', label: 'Allowed prefixes', kind: 'textarea', required: true, hint: 'One in a line: s3://bucket/folder/, azure://account.blob.core.windows.net/container/, file:///folder/, postgres://schema/ or *.' },
        { name: 'blocked_prefixes', label: 'Blocked prefixes', kind: 'textarea', hint: 'Of what is allowed, what is not.' },
        ...CREDENTIALS,
      ]}
      submit="Make it"
      onSubmit={(typed) => {
        const kind = typed.choice<'s3' | 'file' | 'postgres' | 'azure'>('kind')
        return ask(
          api.POST('/v1/environments/{env_id}/storage-integrations', {
            params: { path: { env_id } },
            body: {
              name: typed.text('name'),
              kind,
              region: typed.optional('region') ?? null,
              endpoint: typed.optional('endpoint') ?? null,
              path_style: kind === 's3' || kind === 'azure' ? typed.isChecked('path_style') : null,
              account: typed.optional('account') ?? null,
              folder: typed.optional('folder') ?? null,
              host: typed.optional('host') ?? null,
              port: typed.optional('port') ? Number(typed.text('port')) : null,
              database: typed.optional('database') ?? null,
              ssl_mode: null,
              allowed_prefixes: lines(typed, 'allowed_prefixes'),
              blocked_prefixes: lines(typed, 'blocked_prefixes'),
              enabled: true,
              credentials: kind === 'file' ? null : credentials(typed),
            },
          }),
        ).then(changed)
      }}
      onDone={close}
    />
  )
}

function lines(typed: Typed, name: string): string[] {
  return typed
    .text(name)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

function credentials(typed: Typed): Shapes['StorageCredentialsInput'] {
  const type = typed.choice<'access_key' | 'ambient' | 'anonymous' | 'password' | 'sas_token' | 'kubernetes_secret'>('credentials')
  if (type === 'kubernetes_secret') return { type, name: typed.text('secret'), keys: secretKeys(typed.text('keys')) }
  if (type === 'password') return { type, user: typed.text('user'), password: typed.secret('password') }
  if (type === 'sas_token') return { type, sas_token: typed.secret('sas_token') }
  if (type !== 'access_key') return { type }
  return { type, access_key_id: typed.text('access_key_id'), secret_access_key: typed.secret('secret_access_key') }
}
