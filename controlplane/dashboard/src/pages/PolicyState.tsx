/** Whether a policy rules, and whether there is anything that it could rule. */
import type { Shapes } from '../api/client'
import { Badge } from '../parts/Badge'

type Stated = Pick<Shapes['Policy'], 'enabled' | 'binding' | 'unbound' | 'rules'> | Pick<Shapes['AbacPolicy'], 'enabled' | 'binding' | 'unbound' | 'rules'>

const MARKS: Record<Shapes['PolicyBinding'], [word: string, tone: 'bad' | 'warn'] | null> = {
  bound: null,
  rules_nothing: ['rules nothing yet', 'bad'],
  not_yet_bound: ['not yet bound', 'warn'],
}

export function PolicyState({ policy }: { policy: Stated }) {
  const mark = MARKS[policy.binding]
  return (
    <div className="stack">
      <span>
        <Badge>{policy.enabled ? 'enabled' : 'disabled'}</Badge> {mark && <Badge tone={mark[1]}>{mark[0]}</Badge>}
      </span>
      {policy.binding === 'not_yet_bound' && <span className="fine">The data plane has not said yet whether its tables are there.</span>}
      {policy.unbound.map((rule) => (
        <span key={rule.field} className="fine">
          {policy.rules.length > 1 && `Rule ${String(rule.rule + 1)}: `}
          {rule.message}
        </span>
      ))}
    </div>
  )
}
