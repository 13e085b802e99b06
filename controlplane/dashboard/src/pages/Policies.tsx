/** Masks of columns and filters of rows. What is saved here rules the next query over every protocol. */
import { useState } from 'react'
import { api, ask, ifMatch, type Shapes } from '../api/client'
import { useCatalogue } from '../catalogue'
import { time } from '../format'
import { useChanged, useList } from '../lists'
import { Confirm, Opens } from '../parts/Dialog'
import { Form, type Field } from '../parts/Form'
import { Empty, Page } from '../parts/Page'
import { ResourceList } from '../parts/ResourceList'
import { useEnvironment, useSession } from '../session'
import { PolicyState } from './PolicyState'
import type { Policy } from './policyRules'
import { ROLES, type Role } from './roles'

type MaskFunction = Shapes['MaskFunction']
/** Each function of the API, in words: the compiler names one that is missing. */
const FUNCTIONS = {
  full: 'nothing of it (full)',
  partial: 'its last characters (partial)',
  hash: 'a hash, the same for the same value',
  null: 'NULL',
} satisfies Record<MaskFunction, string>

export default function Policies() {
  const { can } = useSession()
  const { env_id } = useEnvironment()
  const list = useList(['policies', env_id], (cursor) =>
    ask(api.GET('/v1/environments/{env_id}/policies', { params: { path: { env_id }, query: { limit: 100, ...(cursor && { cursor }) } } })),
  )
  const writes = can('policy:write')
  const actions = writes && (
    <>
      <Opens label="Mask a column" className="primary">
        {(close) => <Masking close={close} />}
      </Opens>
      <Opens label="Filter rows">{(close) => <Filtering close={close} />}</Opens>
    </>
  )
  return (
    <Page title="Policies" needs="policy:read" lead="A masked value never enters a statement, and a filtered row is never counted." actions={actions}>
      <ResourceList
        of={list}
        scope="policy:read"
        empty={<Empty title="No policies yet"><p>Everybody who may query sees every column and every row.</p></Empty>}
        label="Policies"
        id={(policy) => policy.policy_id}
        columns={[
          { head: 'Name', cell: (policy) => policy.name },
          { head: 'What it does', cell: (policy) => <Rules policy={policy} /> },
          { head: 'State', cell: (policy) => <PolicyState policy={policy} /> },
          { head: 'Changed (UTC)', cell: (policy) => <span className="nowrap">{time(policy.updated_at)}</span> },
          { head: '', cell: (policy) => writes && <Acts policy={policy} reload={() => void list.refetch()} /> },
        ]}
      />
    </Page>
  )
}

function Rules({ policy }: { policy: Policy }) {
  return (
    <div className="stack">
      {policy.type === 'column_masking'
        ? policy.rules.map((rule) => (
            <span key={`${rule.table}.${rule.column}`}>
              masks <code>{`${rule.table}.${rule.column}`}</code>: {rule.function}
              {rule.visible_chars != null && `, the last ${rule.visible_chars} shown`}
              <Exempt roles={rule.exempt_roles} />
            </span>
          ))
        : policy.rules.map((rule) => (
            <span key={`${rule.table} ${rule.filter}`}>
              of <code>{rule.table}</code> only <code>{rule.filter}</code>
              {rule.strict && ', strictly'}
              <Exempt roles={rule.exempt_roles} />
            </span>
          ))}
    </div>
  )
}

function Exempt({ roles }: { roles: readonly string[] }) {
  return roles.length > 0 && <span className="fine">, not for {roles.join(', ')}</span>
}

function Acts({ policy, reload }: { policy: Policy; reload: () => void }) {
  const { env_id } = useEnvironment()
  const changed = useChanged('policies')
  const path = { env_id, policy_id: policy.policy_id }
  return (
    <div className="row">
      <Opens label={policy.enabled ? 'Disable' : 'Enable'} title={`${policy.enabled ? 'Disable' : 'Enable'} ${policy.name}`} className="small">
        {(close) => (
          <Form
            fields={[]}
            submit={policy.enabled ? 'Disable it' : 'Enable it'}
            onSubmit={() =>
              ask(api.PUT('/v1/environments/{env_id}/policies/{policy_id}', { params: { path, header: ifMatch(policy) }, body: { enabled: !policy.enabled } })).then(changed)
            }
            onDone={close}
            reload={() => {
              reload()
              close()
            }}
          >
            <p>{policy.enabled ? 'From the next query on it rules nobody.' : 'It rules from the next query on.'}</p>
          </Form>
        )}
      </Opens>
      <Confirm
        label="Delete"
        question={`Delete “${policy.name}”? What it hid is visible from the next query on.`}
        act={() => ask(api.DELETE('/v1/environments/{env_id}/policies/{policy_id}', { params: { path, header: ifMatch(policy) } })).then(changed)}
      />
    </div>
  )
}

const NAME: Field = { name: 'name', label: 'Name of the policy', required: true }
const EXEMPT: Field = { name: 'exempt_roles', label: 'Roles it does not rule', kind: 'choices', options: ROLES }

const ACCEPT: Field = {
  name: 'accept_missing',
  label: 'Keep it if the table or column is not there yet',
  kind: 'checkbox',
  hint: 'It rules nothing until there is one of that name.',
}

const STRICT: Field = {
  name: 'strict',
  label: 'Strict',
  kind: 'checkbox',
  hint: 'Not even the order of an answer may follow from what is hidden. Each query copies the rows that it may read.',
}

/** Fields that suggest what the catalogue has. */
function useNamed(): { table: Field; column: Field } {
  const { env_id } = useEnvironment()
  const tables = useCatalogue(env_id).data ?? []
  const columns = new Set(tables.flatMap((table) => table.columns.map((column) => column.name)))
  return {
    table: { name: 'table', label: 'Table', required: true, suggestions: tables.map((table) => table.name) },
    column: { name: 'column', label: 'Column', required: true, suggestions: [...columns] },
  }
}

function Masking({ close }: { close: () => void }) {
  const { env_id } = useEnvironment()
  const { table, column } = useNamed()
  const changed = useChanged('policies')
  const [shown, setShown] = useState(4)
  return (
    <Form
      fields={[NAME, table, column, { name: 'function', label: 'What is seen instead', kind: 'select', options: Object.entries(FUNCTIONS).map(([value, label]) => ({ value, label })) }, EXEMPT, ACCEPT]}
      submit="Mask it"
      onSubmit={async (typed) => {
        const masking = typed.choice<MaskFunction>('function')
        const rule = {
          table: typed.text('table'),
          column: typed.text('column'),
          function: masking,
          exempt_roles: typed.all('exempt_roles') as Role[],
          ...(masking === 'partial' && { visible_chars: shown }),
        }
        await ask(
          api.POST('/v1/environments/{env_id}/policies', {
            params: { path: { env_id } },
            body: { name: typed.text('name'), type: 'column_masking', enabled: true, accept_missing: typed.isChecked('accept_missing'), rules: [rule] },
          }),
        ).then(changed)
      }}
      onDone={close}
    >
      <label className="field">
        <span>Characters shown, where it is partial</span>
        <input type="number" min={1} max={64} value={shown} onChange={(event) => setShown(event.target.valueAsNumber)} />
      </label>
    </Form>
  )
}

function Filtering({ close }: { close: () => void }) {
  const { env_id } = useEnvironment()
  const { table } = useNamed()
  const changed = useChanged('policies')
  return (
    <Form
      fields={[NAME, table, { name: 'filter', label: 'Rows that stay', kind: 'textarea', required: true, hint: 'A condition, such as region = {region}, where region is an attribute of whoever asks' }, EXEMPT, STRICT, ACCEPT]}
      submit="Filter them"
      onSubmit={(typed) =>
        ask(
          api.POST('/v1/environments/{env_id}/policies', {
            params: { path: { env_id } },
            body: {
              name: typed.text('name'),
              type: 'row_level_security',
              enabled: true,
              accept_missing: typed.isChecked('accept_missing'),
              rules: [
                {
                  table: typed.text('table'),
                  filter: typed.text('filter'),
                  exempt_roles: typed.all('exempt_roles') as Role[],
                  strict: typed.isChecked('strict'),
                },
              ],
            },
          }),
        ).then(changed)
      }
      onDone={close}
    />
  )
}
