/** Whether the record of changes is whole: every hash is computed again from what the database holds. */
import { useState } from 'react'
import { api, ask, type Shapes } from '../api/client'
import { problemOf, type Problem } from '../api/problem'
import { count, time } from '../format'
import { Refusal } from '../parts/Page'
import { useEnvironment } from '../session'

export function Chain() {
  const { env_id } = useEnvironment()
  const [verdict, setVerdict] = useState<Shapes['ChainVerification']>()
  const [problem, setProblem] = useState<Problem>()
  const [isBusy, setBusy] = useState(false)
  const verify = async () => {
    setProblem(undefined)
    setVerdict(undefined)
    setBusy(true)
    try {
      setVerdict(await ask(api.GET('/v1/environments/{env_id}/audit/admin/verify-chain', { params: { path: { env_id } } })))
    } catch (error) {
      setProblem(problemOf(error))
    } finally {
      setBusy(false)
    }
  }
  return (
    <>
      <div>
        <button type="button" className="primary" disabled={isBusy} onClick={() => void verify()}>
          Verify the chain
        </button>
      </div>
      <div aria-live="polite">
        {problem && <Refusal problem={problem} />}
        {verdict && <Verdict of={verdict} />}
      </div>
    </>
  )
}

function Verdict({ of }: { of: Shapes['ChainVerification'] }) {
  if (!('break_detected_at' in of)) {
    return (
      <div className="verdict good">
        <strong>The chain is whole.</strong>
        <p>{count(of.events_verified)} events were checked; none was changed, left out or put in.</p>
      </div>
    )
  }
  const { event_id, timestamp, actual_hash, expected_hash } = of.break_detected_at
  return (
    <div className="verdict bad">
      <strong>The chain is broken.</strong>
      <p>
        Event <code>{event_id}</code> of {time(timestamp)} is not what was written: its hash is <code>{actual_hash}</code>, and should be{' '}
        <code>{expected_hash}</code>.{` ${count(of.events_verified)} events before it are whole.`}
      </p>
    </div>
  )
}
