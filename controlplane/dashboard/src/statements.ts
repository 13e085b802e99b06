/** What was run in this tab. It goes with the tab: statements hold what people look for. */
const KEPT = 50

const place = (envId: string) => `sluice.statements.${envId}`

/** Newest first. */
export function past(envId: string): string[] {
  const kept: unknown = JSON.parse(sessionStorage.getItem(place(envId)) ?? '[]')
  return Array.isArray(kept) ? kept.filter((sql) => typeof sql === 'string') : []
}

export function remember(envId: string, sql: string): void {
  const others = past(envId).filter((other) => other !== sql)
  sessionStorage.setItem(place(envId), JSON.stringify([sql, ...others].slice(0, KEPT)))
}
