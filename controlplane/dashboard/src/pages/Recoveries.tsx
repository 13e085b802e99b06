/** What was done about attempts that failed, and what a person does about one. */
import { Link } from 'wouter'
import { api, ask, type Shapes } from '../api/client'
import { time } from '../format'
import { useChanged } from '../lists'
import { Actor } from '../parts/Actor'
import { Badge } from '../parts/Badge'
import { Opens } from '../parts/Dialog'
import { Form } from '../parts/Form'
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

const ACTIONS: Record<Action, string> = {
  retry: 'try it once more',
  retry_with_model: 'try it with another model',
  repair: 'have what it made repaired',
  escalate: 'ask a person',
  approve: 'accept what it made',
  block: 'block it',
}

export function Recovering({ attemptId }: { attemptId: string }) {
  const { is } = useSession()
  const changed = useChanged('recovery-actions', 'active-attempts', 'tasks', 'task', 'explanation', 'reviews')
  if (!is(WRITERS)) return null
  return (
    <Opens label="Act" title="Do something about the attempt" className="small">
      {(close) => (
        <Form
          fields={[
            { name: 'action', label: 'What', kind: 'select', options: Object.entries(ACTIONS).map(([value, label]) => ({ value, label })) },
            { name: 'override_reason', label: 'Why', kind: 'textarea', hint: 'Needed to accept and to block' },
            { name: 'model_id', label: 'Model', hint: 'Needed for another model' },
            { name: 'assigned_to', label: 'Who is asked', hint: 'pm, client, admin or an e-mail address' },
          ]}
          submit="Do it"
          onSubmit={(typed) => {
            const [override_reason, model_id, assigned_to] = [typed.optional('override_reason'), typed.optional('model_id'), typed.optional('assigned_to')]
            const body = {
              action: typed.choice<Action>('action'),
              ...(override_reason && { override_reason }),
              ...(model_id && { model_id }),
              ...(assigned_to && { assigned_to }),
            }
            return ask(api.POST('/v2/recovery/{attempt_id}', { params: { path: { attempt_id: attemptId } }, body })).then(changed)
          }}
          onDone={close}
        />
      )}
    </Opens>
  )
}
