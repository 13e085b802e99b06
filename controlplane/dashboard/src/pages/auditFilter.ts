/** The filter of the log of queries, as the address of the page has it: a link takes it along. */
import { daysAgo } from '../format'

/** What the platform narrows by, and in what it then answers the page looks on. */
export const NAMES = ['start_date', 'end_date', 'table', 'user_id', 'agent_id', 'min_duration_ms', 'column', 'outcome', 'include_dashboard'] as const
export const OUTCOMES = ['completed', 'failed', 'refused', 'cancelled', 'interrupted', 'running'] as const
const WEEK_DAYS = 7

export type Filter = { [name in (typeof NAMES)[number]]?: string }

/** Since a week ago, if nothing is said. */
export function filterOf(search: string, now: number): Filter {
  const said = new URLSearchParams(search)
  const filter: Filter = { start_date: daysAgo(WEEK_DAYS, now) }
  for (const name of NAMES) {
    const text = said.get(name)?.trim()
    if (text) filter[name] = text
  }
  return filter
}

/** The page with this filter; what is empty is left out. */
export function auditOf(filter: Filter): string {
  const said = new URLSearchParams()
  for (const name of NAMES) {
    const text = filter[name]
    if (text) said.set(name, text)
  }
  const search = said.toString()
  return search ? `/audit?${search}` : '/audit'
}

/** What the platform is asked. Who saw a column is told of the dashboard's own previews too. */
export function askedOf({ column, outcome: _, min_duration_ms, include_dashboard, ...texts }: Filter) {
  const least = Number(min_duration_ms)
  return {
    ...texts,
    ...(min_duration_ms && Number.isFinite(least) && { min_duration_ms: least }),
    ...((include_dashboard === 'true' || column) && { include_dashboard: true }),
  }
}
