/** Recoveries of attempts that failed, and a person's action on one. */
import { useState } from 'react'
import { Link } from 'wouter'
import { api, ask, type Shapes } from '../api/client'
import { time } from '../format'
import { useChanged } from '../lists'
import { Actor } from '../parts/Actor'
import { Badge } from '../parts/Badge'
import { Named } from '../parts/Choice'
import { Opens } from '../parts/Dialog'
import { Form, type Field } from '../parts/Form'
import { Table } from '../parts/Table'
import { WRITERS } from '../permissions'
import { useSession } from '../session'

export function Recoveries({ recoveries }: { recoveries: readonly Shapes['Recovery'][] }) {
  return (
    <Table
      label="Recoveries"
      id={(recovery) => recovery.id}
      rows={recoveries}
      columns={[
        { head: 'When (UTC)', cell: (recovery) => <span className="nowrap">{time(recovery.created_at)}</span> },
        { head: 'Failure', cell: (recovery) => recovery.failure_kind.replaceAll('_', ' ') },
        { head: 'Done', cell: (recovery) => recovery.action_type.replaceAll('_', ' ') },
        { head: 'Level', cell: (recovery) => (recovery.level ? <Badge tone="plain">{recovery.level}</Badge> : '–') },
        { head: 'Model', cell: (recovery) => recovery.model_id ?? '–' },
        { head: 'Why', cell: (recovery) => recovery.override_reason ?? '–' },
        { head: 'By', cell: (recovery) => <Actor of={recovery.executed_by} /> },
        { head: 'Attempt', cell: (recovery) => <Link href={`/explain/${recovery.attempt_id}`}>{recovery.attempt_id.slice(-8)}</Link> },
        { head: '', cell: (recovery) => <Recovering attemptId={recovery.attempt_id} /> },
      ]}
    />
  )
}

type Action = Shapes['RecoveryAction']

const WHY: Field = { name: 'override_reason', label: 'Why', kind: 'textarea' }
const MUST_WHY: Field = { ...WHY, required: true }

/** What each has to come with. */
const ACTIONS: Record<Action, { label: string; fields: readonly Field[] }> = {
  retry: { label: 'try it once more', fields: [WHY] },
  retry_with_model: { label: 'try it with another model', fields: [{ name: 'model_id', label: 'Model', required: true }, WHY] },
  repair: { label: 'have what it made repaired', fields: [WHY] },
  escalate: { label: 'ask a person', fields: [{ name: 'assigned_to', label: 'Whom', initial: 'pm', required: true, hint: 'pm, client, admin or an e-mail address' }, WHY] },
  approve: { label: 'accept what it made', fields: [MUST_WHY] },
  block: { label: 'block it', fields: [MUST_WHY] },
}

export function Recovering({ attemptId }: { attemptId: string }) {
  const { is } = useSession()
  if (!is(WRITERS)) return null
  return (
    <Opens label="Act" title="Do something about the attempt" className="small">
      {(close) => <Acting attemptId={attemptId} close={close} />}
    </Opens>
  )
}

function Acting({ attemptId, close }: { attemptId: string; close: () => void }) {
  const changed = useChanged('recovery-actions', 'active-attempts', 'tasks', 'task', 'explanation', 'reviews')
  const [action, setAction] = useState<Action>('retry')
  return (
    <>
      <Named label="What" value={action} of={ACTIONS} onChange={setAction} />
      <Form
        key={action}
        fields={ACTIONS[action].fields}
        submit="Do it"
        onSubmit={(typed) => {
          const [override_reason, model_id, assigned_to] = [typed.optional('override_reason'), typed.optional('model_id'), typed.optional('assigned_to')]
          const body = { action, ...(override_reason && { override_reason }), ...(model_id && { model_id }), ...(assigned_to && { assigned_to }) }
          return ask(api.POST('/v2/recovery/{attempt_id}', { params: { path: { attempt_id: attemptId } }, body })).then(changed)
        }}
        onDone={close}
      />
    </>
  )
}
