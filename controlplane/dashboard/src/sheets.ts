/** Statements side by side in the editor. They go as what was run does, with the browser's tab and when somebody signs out. */

export interface Sheet {
  id: number
  text: string
}

export interface Sheets {
  all: readonly Sheet[]
  /** The place of the one that is shown. */
  at: number
}

export const SHEETS_MAX = 12
const TITLE_WORDS = 4
const TITLE_CHARS = 28

const place = (own: string) => `sluice.sheets.${own}`

/** Those that were kept; else one with this text. */
export function kept(own: string, text: string): Sheets {
  const found: unknown = JSON.parse(sessionStorage.getItem(place(own)) ?? 'null')
  return isSheets(found) ? found : { all: [{ id: 1, text }], at: 0 }
}

/** What the browser has no room for is there until the page is loaded again. */
export function keep(own: string, sheets: Sheets): void {
  try {
    sessionStorage.setItem(place(own), JSON.stringify(sheets))
  } catch {
    sessionStorage.removeItem(place(own))
  }
}

function isSheets(found: unknown): found is Sheets {
  const { all, at } = (found ?? {}) as Partial<Sheets>
  return Array.isArray(all) && all.every(({ id, text }) => typeof id === 'number' && typeof text === 'string') && typeof at === 'number' && at in all
}

/** Another, empty, after the others. */
export function added({ all, at }: Sheets): Sheets {
  return all.length >= SHEETS_MAX ? { all, at } : { all: [...all, empty(all)], at: all.length }
}

const empty = (others: readonly Sheet[]): Sheet => ({ id: Math.max(...others.map(({ id }) => id)) + 1, text: '' })

/** Without the one at this place; where none is left, an empty one. */
export function closed({ all, at }: Sheets, place: number): Sheets {
  if (all.length === 1) return { all: [empty(all)], at: 0 }
  const left = all.filter((_, index) => index !== place)
  return { all: left, at: Math.min(at > place ? at - 1 : at, left.length - 1) }
}

export function typed({ all, at }: Sheets, id: number, text: string): Sheets {
  return { all: all.map((sheet) => (sheet.id === id ? { id, text } : sheet)), at }
}

/** With one that has this text, which is shown: where it is already, in place of an empty one, or after the others. */
export function opened(sheets: Sheets, text: string): Sheets {
  const same = sheets.all.findIndex((sheet) => sheet.text === text)
  if (same >= 0) return { ...sheets, at: same }
  const isEmpty = sheets.all[sheets.at]?.text.trim() === ''
  const more = isEmpty ? sheets : added(sheets)
  const shown = more.all[more.at]
  return shown ? typed(more, shown.id, text) : more
}

let arrived: string | undefined

/** The editor shows this when it is opened next, and runs it. Only a page leads there so, and no address. */
export function leadTo(own: string, sql: string): void {
  keep(own, opened(kept(own, ''), sql))
  arrived = sql
}

/** The statement that a page has led to, once. */
export function takeArrived(): string | undefined {
  const sql = arrived
  arrived = undefined
  return sql
}

/** Its first words; a comment that comes before is what somebody named it. */
export function titleOf(text: string): string {
  const words = text.replaceAll(/--|\/\*|\*\//g, ' ').trim().split(/\s+/).slice(0, TITLE_WORDS).join(' ')
  if (words === '') return 'New statement'
  return words.length > TITLE_CHARS ? `${words.slice(0, TITLE_CHARS)}…` : words
}
