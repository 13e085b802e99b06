/** Statements that were run in this tab. They go with the tab, and at sign-out: statements hold what people look for. */
const KEPT = 50

const place = (own: string) => `sluice.statements.${own}`

/** Newest first. */
export function past(own: string): string[] {
  const kept: unknown = JSON.parse(sessionStorage.getItem(place(own)) ?? '[]')
  return Array.isArray(kept) ? kept.filter((sql) => typeof sql === 'string') : []
}

export function remember(own: string, sql: string): void {
  const others = past(own).filter((other) => other !== sql)
  sessionStorage.setItem(place(own), JSON.stringify([sql, ...others].slice(0, KEPT)))
}
