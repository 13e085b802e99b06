/** Who is signed in, and the environment they look at. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, useContext, useState, type ReactNode } from 'react'
import { api, ask, csrf, type Shapes } from './api/client'
import { Problem } from './api/problem'
import { may, type Scope } from './permissions'

export type Me = Shapes['Me']
export type Environment = Shapes['Environment']

const CHOSEN = 'sluice.environment'

export interface Session {
  me: Me
  orgId: string
  environments: readonly Environment[]
  environment: Environment | undefined
  choose: (envId: string) => void
  can: (scope: Scope | undefined) => boolean
  /** Whether the role is one of these, where no scope says who may. */
  is: (roles: readonly string[] | undefined) => boolean
}

const SessionContext = createContext<Session | undefined>(undefined)

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (!session) throw new Error('only a page of somebody who is signed in asks who that is')
  return session
}

/** The environment of a page that is only shown where there is one. */
export function useEnvironment(): Environment {
  const { environment } = useSession()
  if (!environment) throw new Error('the page needs an environment')
  return environment
}

/** Under this the browser keeps what is of one person, in one environment. */
export function useOwn(): string {
  const { me } = useSession()
  return `${me.user_id}.${useEnvironment().env_id}`
}

/** Nobody is signed in: `null`. */
export function useMe() {
  return useQuery({
    queryKey: ['me'],
    queryFn: async (): Promise<Me | null> => {
      // Its cookie lasts as long as a session can be refreshed.
      if (!csrf(document.cookie)) return null
      try {
        return await ask(api.GET('/v1/auth/me'))
      } catch (error) {
        if (error instanceof Problem && error.status === 401) return null
        throw error
      }
    },
    staleTime: Infinity,
    // Somebody may have signed in on another page meanwhile.
    refetchOnWindowFocus: (query) => (query.state.data === null ? 'always' : false),
  })
}

/** Whoever comes or goes sees nothing of who was here before: all is forgotten, and asked again. */
export function useArrival() {
  const queries = useQueryClient()
  return () => queries.resetQueries()
}

/** Says why nobody is signed in although the platform said yes. */
export function keptSession(): void {
  if (!csrf(document.cookie)) throw Problem.typed('session', NOT_KEPT)
}

const NOT_KEPT = 'the browser has not kept the session: it does so over HTTPS or on localhost, and where cookies are allowed'


export function SessionProvider({ me, children }: { me: Me; children: ReactNode }) {
  const [chosen, setChosen] = useState(() => sessionStorage.getItem(CHOSEN))
  const { data } = useQuery({
    queryKey: ['environments', me.org_id],
    queryFn: () => ask(api.GET('/v1/organizations/{org_id}/environments', { params: { path: { org_id: me.org_id } } })),
  })
  // Of one that was deleted nothing can be asked any more.
  const environments = (data?.data ?? []).filter((one) => one.status !== 'decommissioning')
  const session: Session = {
    me,
    orgId: me.org_id,
    environments,
    environment: environments.find((environment) => environment.env_id === chosen) ?? environments[0],
    choose: (envId) => {
      sessionStorage.setItem(CHOSEN, envId)
      setChosen(envId)
    },
    can: (scope) => may(me, scope),
    is: (roles) => roles === undefined || roles.includes(me.role),
  }
  return <SessionContext value={session}>{children}</SessionContext>
}
