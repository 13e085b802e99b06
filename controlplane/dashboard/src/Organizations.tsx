/** For whoever belongs to several: which of them the session is in. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { api, ask, enter } from './api/client'
import { problemOf, type Problem } from './api/problem'
import { Refusal } from './parts/Page'
import { useArrival, useSession } from './session'

export function Organizations() {
  const { orgId } = useSession()
  const { data } = useQuery({ queryKey: ['memberships'], queryFn: () => ask(api.GET('/v1/auth/organizations')), staleTime: Infinity })
  const [problem, setProblem] = useState<Problem>()
  const arrive = useArrival()
  const [, go] = useLocation()
  const memberships = data?.data ?? []
  if (memberships.length < 2) return null
  const move = async (to: string) => {
    setProblem(undefined)
    try {
      await enter(to)
      // What the page shows is of the organization that was left.
      go('/')
      await arrive()
    } catch (error) {
      setProblem(problemOf(error))
    }
  }
  return (
    <>
      <label className="field">
        <span className="fine">Organization</span>
        <select value={orgId} onChange={(event) => void move(event.target.value)}>
          {memberships.map(({ org_id, name, role }) => (
            <option key={org_id} value={org_id}>
              {name} ({role.replaceAll('_', ' ')})
            </option>
          ))}
        </select>
      </label>
      {problem && <Refusal problem={problem} />}
    </>
  )
}
