/** Where the branch of the page is, as each of its endpoints wants it. */
import { useParams } from 'wouter'
import { useEnvironment, useSession } from '../session'

export function useBranch() {
  const { orgId } = useSession()
  const { env_id } = useEnvironment()
  const { branch_id } = useParams<{ branch_id: string }>()
  return { path: { org_id: orgId, branch_id }, query: { env_id } }
}
