/** A page, and the states that every page has: loading, empty, refused, failed; a form adds stale. */
import { useEffect, useRef, type ReactNode } from 'react'
import { problemOf, type Problem } from '../api/problem'
import { either, rolesWith, type Scope } from '../permissions'
import { useSession } from '../session'

interface PageProps {
  title: string
  lead?: ReactNode
  actions?: ReactNode
  /** What whoever reads the page needs. */
  needs?: Scope
  /** Or who may read it, where no scope says that. */
  roles?: readonly string[]
  children: ReactNode
}

export function Page({ title, lead, actions, needs, roles, children }: PageProps) {
  const { can, is } = useSession()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · Sluice`
    heading.current?.focus()
  }, [title])
  const isAllowed = can(needs) && is(roles)
  return (
    <>
      <header className="page-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {lead && <p className="lead">{lead}</p>}
        </div>
        {isAllowed && actions && <div className="actions">{actions}</div>}
      </header>
      {isAllowed ? children : <NoPermission needs={needs} roles={roles} />}
    </>
  )
}

function NoPermission({ needs, roles = [] }: Pick<PageProps, 'needs' | 'roles'>) {
  return (
    <div className="state" role="status">
      <h2>Your role does not open this page</h2>
      <p>
        It needs{' '}
        {needs && (
          <>
            <code>{needs}</code>:{' '}
          </>
        )}
        the role {needs ? rolesWith(needs) : either(roles)}. An owner or admin changes roles under Users, or lends one for a while under
        Just-in-time access.
      </p>
    </div>
  )
}

export function Skeleton() {
  return (
    <div className="skeleton" role="status" aria-label="Loading">
      <span />
      <span />
      <span />
    </div>
  )
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="state">
      <h2>{title}</h2>
      {children}
    </div>
  )
}

/** What was refused, in the platform's own words, with what support asks for. */
export function Refusal({ problem, retry, scope }: { problem: Problem; retry?: () => void; scope?: Scope | undefined }) {
  return (
    <div className="refusal" role="alert">
      <p>
        <strong>{problem.message}</strong>
      </p>
      {problem.isForbidden && scope && <p>It needs the role {rolesWith(scope)}.</p>}
      <p className="fine">
        {problem.status > 0 ? (
          <a href={`/docs/errors#${problem.ofData ?? problem.stableCode}`} target="_blank" rel="noreferrer">
            {problem.ofData ? `an error in the data, ${problem.ofData}` : problem.stableCode}
          </a>
        ) : (
          problem.code
        )}
        {problem.requestId && (
          <>
            {' · request '}
            <code>{problem.requestId}</code>
          </>
        )}
      </p>
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

export interface Asked<T> {
  data: T | undefined
  error: unknown
  isPending: boolean
  refetch: () => unknown
}

/** What is not there yet is no error: `null`. */
export async function orNothing<T>(asked: Promise<T>): Promise<T | null> {
  return asked.catch((error: unknown) => {
    if (problemOf(error).status === 404) return null
    throw error
  })
}

/** Shows what was asked for, or why there is nothing to show. */
export function Answered<T>({
  of,
  scope,
  isEmpty,
  empty,
  children,
}: {
  of: Asked<T>
  scope?: Scope
  isEmpty?: (data: T) => boolean
  empty?: ReactNode
  children: (data: T) => ReactNode
}) {
  if (of.error) return <Refusal problem={problemOf(of.error)} retry={() => void of.refetch()} scope={scope} />
  if (of.isPending || of.data === undefined) return <Skeleton />
  if (isEmpty?.(of.data)) return empty
  return children(of.data)
}
