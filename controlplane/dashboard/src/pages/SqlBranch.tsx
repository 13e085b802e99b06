/** Where statements run: on the mainline, or on a branch that is open. The address says it, so that a branch links here. */
import { useQuery } from '@tanstack/react-query'
import { Link, useLocation, useSearch } from 'wouter'
import { api, ask } from '../api/client'
import { Choice } from '../parts/Choice'
import { useEnvironment, useSession } from '../session'

const MAINLINE = ''

/** The id of the branch, empty for the mainline; and what chooses another. */
export function useSqlBranch(): [branch: string, choose: (branch: string) => void] {
  const [, go] = useLocation()
  const branch = new URLSearchParams(useSearch()).get('branch') ?? MAINLINE
  return [branch, (chosen) => go(chosen === MAINLINE ? '/sql' : `/sql?branch=${encodeURIComponent(chosen)}`, { replace: true })]
}

export function SqlBranch({ branch, choose }: { branch: string; choose: (branch: string) => void }) {
  const { can, orgId } = useSession()
  const { env_id } = useEnvironment()
  const { data } = useQuery({
    queryKey: ['branches', env_id, 'active'],
    queryFn: () => ask(api.GET('/v1/organizations/{org_id}/branches', { params: { path: { org_id: orgId }, query: { env_id, status: 'active' } } })),
    enabled: can('agent:*'),
  })
  const open = data ?? []
  if (open.length === 0 && branch === MAINLINE) return null
  const names = Object.fromEntries([
    [MAINLINE, { label: 'the mainline' }],
    // One that has ended stands here too: its statements are refused, not run elsewhere.
    [branch, { label: branch === MAINLINE ? 'the mainline' : branch }],
    ...open.map(({ id, name }) => [id, { label: name }] as const),
  ])
  return (
    <div className="row">
      <Choice label="Run on" value={branch} options={Object.keys(names)} names={names} onChange={choose} />
      {branch !== MAINLINE && <Link href={`/branches/${encodeURIComponent(branch)}`}>What it has changed, and its merge</Link>}
    </div>
  )
}
