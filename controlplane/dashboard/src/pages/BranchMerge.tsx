/** A branch is merged: who is right where both sides have changed the same is decided before. */
import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { api, ask, type Shapes } from '../api/client'
import { problemOf, type Problem } from '../api/problem'
import { count } from '../format'
import { useChanged } from '../lists'
import { Badge } from '../parts/Badge'
import { Opens } from '../parts/Dialog'
import { Form } from '../parts/Form'
import { Answered, Refusal } from '../parts/Page'
import { useBranch } from './branchPlace'
import { areDecidable, cellsOf, inOrder, isDecided, isOfTable, rowOf, SIDES, strategies, type Conflict, type Side, type Strategy } from './conflicts'

type Merged = Shapes['MergedBranch']
type Taken = Readonly<Record<string, Side>>

const LABELS: Readonly<Record<Strategy, string>> = {
  fail_on_conflict: 'nobody: then nothing is merged',
  manual: 'what is chosen above',
  branch_wins: 'the branch',
  main_wins: 'the mainline',
}

export function Merging({ merged }: { merged: (merged: Merged) => void }) {
  const params = useBranch()
  const found = useQuery({
    queryKey: ['branch-conflicts', params],
    queryFn: () => ask(api.GET('/v1/organizations/{org_id}/branches/{branch_id}/conflicts', { params })),
  })
  return <Answered of={found}>{(conflicts) => <Resolver found={conflicts} merged={merged} />}</Answered>
}

function Resolver({ found, merged }: { found: Shapes['BranchConflicts']; merged: (merged: Merged) => void }) {
  const { conflicts, total } = found
  const [taken, setTaken] = useState<Taken>({})
  const [strategy, setStrategy] = useState<Strategy>('fail_on_conflict')
  const take = (conflict: Conflict, side: Side) => {
    setTaken({ ...taken, [conflict.conflict_id]: side })
    setStrategy('manual')
  }
  const isDecidable = total > 0 && areDecidable(conflicts, total)
  return (
    <>
      <section className="stack" aria-labelledby="conflicts">
        <h2 id="conflicts">Conflicts</h2>
        <p role="status">
          {total === 0 && 'Nothing that was changed here was changed on the mainline too.'}
          {isDecidable && `${count(conflicts.filter((conflict) => taken[conflict.conflict_id]).length)} of ${count(total)} are decided.`}
          {total > 0 && !isDecidable && `There are ${count(total)}. They cannot be decided one by one here. ${conflicts.some(isOfTable) ? 'Bring the rows of the branch nearer to the mainline’s, so that there are fewer.' : 'Say below who is right.'}`}
        </p>
        {inOrder(conflicts).map((conflict) => (
          <One
            key={`${conflict.table} ${conflict.conflict_id}`}
            conflict={conflict}
            taken={taken[conflict.conflict_id]}
            {...(isDecidable && { take: (side: Side) => take(conflict, side) })}
          />
        ))}
      </section>
      <Bringing found={found} taken={taken} strategy={strategy} choose={setStrategy} merged={merged} />
    </>
  )
}

function One({ conflict, taken, take }: { conflict: Conflict; taken: Side | undefined; take?: (side: Side) => void }) {
  const id = useId()
  const title = (
    <h3 id={id}>
      <code>{conflict.table}</code> {rowOf(conflict)} <Badge tone="warn">{conflict.kind}</Badge>
    </h3>
  )
  if (conflict.kind === 'schema') {
    return (
      <div className="card">
        {title}
        <p>The table has another shape on the mainline now. Only the mainline can be right: what was changed here is given up, or kept elsewhere before.</p>
      </div>
    )
  }
  return (
    <div className="card" role="radiogroup" aria-labelledby={id}>
      {title}
      {isOfTable(conflict) && <p>Both sides have changed it, and no key tells its rows apart: one side’s rows are taken whole, and what the other has changed is lost.</p>}
      <div className="scroll conflict" role="region" aria-label={`Cells of ${rowOf(conflict)}`} tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Column</th>
              {SIDES.map(({ side, label }) => (
                <th key={side} scope="col">
                  {take ? (
                    <label className="check">
                      <input type="radio" name={id} checked={taken === side} onChange={() => take(side)} /> {label}
                    </label>
                  ) : (
                    label
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {cellsOf(conflict).map(({ column, values, differs }) => (
              <tr key={column}>
                <td>
                  <code>{column}</code>
                  {differs && <div className="fine">differs</div>}
                </td>
                {SIDES.map(({ side }) => (
                  <td key={side} className={taken === side && differs ? 'mono taken' : 'mono'}>
                    {values[side]}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  )
}

interface BringingProps {
  found: Shapes['BranchConflicts']
  taken: Taken
  strategy: Strategy
  choose: (strategy: Strategy) => void
  merged: (merged: Merged) => void
}

function Bringing({ found, taken, strategy, choose, merged }: BringingProps) {
  const params = useBranch()
  const changed = useChanged('branch', 'branches', 'branch-diff', 'branch-conflicts')
  const [tried, setTried] = useState<Merged>()
  const [problem, setProblem] = useState<Problem>()
  const asked = (dry_run: boolean) => {
    const resolutions = Object.entries(taken).map(([conflict_id, take]) => ({ conflict_id, take }))
    const body = { strategy, dry_run, ...(strategy === 'manual' && { resolutions }) }
    return ask(api.POST('/v1/organizations/{org_id}/branches/{branch_id}/merge', { params, body }))
  }
  const attempt = async () => {
    setProblem(undefined)
    try {
      setTried(await asked(true))
    } catch (error) {
      setProblem(problemOf(error))
    }
  }
  const merge = async () => {
    const done = await asked(false)
    setTried(done)
    if (done.status === 'merged') merged(done)
    await changed()
  }
  return (
    <section className="card" aria-labelledby="merge">
      <h2 id="merge">Merge</h2>
      {found.total > 0 && (
        <label className="field choice">
          <span>Where both sides changed the same, take</span>
          <select value={strategy} onChange={(event) => choose(event.target.value as Strategy)}>
            {strategies(found.conflicts, found.total).map((one) => (
              <option key={one} value={one}>
                {LABELS[one]}
              </option>
            ))}
          </select>
        </label>
      )}
      <div className="row">
        <button type="button" onClick={() => void attempt()}>
          Dry run
        </button>
        {isDecided(strategy, found.conflicts, taken) ? (
          <Opens label="Merge" className="primary" title="Merge the branch">
            {(close) => (
              <Form fields={[]} submit="Merge it" onSubmit={merge} onDone={close}>
                <p>What was changed on the branch becomes the mainline’s, in one transaction, and the branch ends.</p>
              </Form>
            )}
          </Opens>
        ) : (
          <span className="fine">Decide every conflict above, or say who is right.</span>
        )}
      </div>
      {problem && <Refusal problem={problem} />}
      {tried && <Outcome tried={tried} />}
    </section>
  )
}

function Outcome({ tried }: { tried: Merged }) {
  const tables = tried.tables_merged.join(', ')
  return (
    <p role="status" className={tried.status === 'conflicts' ? 'notice' : undefined}>
      {tried.status === 'conflicts' && `Nothing was merged: there are ${count(tried.conflicts)} conflicts.`}
      {tried.status === 'dry_run' &&
        (tables ? `It would bring the changes of ${tables}, with ${count(tried.conflicts)} conflicts. Nothing was changed.` : 'There is nothing to bring: the branch has changed nothing.')}
    </p>
  )
}
