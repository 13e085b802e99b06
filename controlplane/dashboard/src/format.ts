/** Values as people read them. Each is a pure function of what it is given. */

const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 2 })

export function count(value: number | null | undefined): string {
  return value == null ? '–' : grouped.format(value)
}

export function percent(share: number | null | undefined): string {
  return share == null ? '–' : `${grouped.format(share)} %`
}

const sizes = ['B', 'kB', 'MB', 'GB']

/** `12.5 MB`. */
export function bytes(value: number): string {
  let [rest, unit] = [value, 0]
  while (rest >= 1000 && unit < sizes.length - 1) [rest, unit] = [rest / 1000, unit + 1]
  return `${grouped.format(Number(rest.toPrecision(3)))} ${sizes[unit]}`
}

/** Money: what is less than one has two digits that say something. */
export function usd(value: number | null | undefined): string {
  return value && Math.abs(value) < 1 ? String(Number(value.toPrecision(2))) : count(value)
}

export function milliseconds(ms: number): string {
  if (ms < 1) return `${(ms * 1000).toFixed(0)} µs`
  if (ms < 1000) return `${Number(ms.toPrecision(3))} ms`
  return `${Number((ms / 1000).toPrecision(3))} s`
}

/** `2026-05-01 12:30:00`, in UTC, as the platform writes times. */
export function time(iso: string | null | undefined): string {
  return iso ? iso.slice(0, 19).replace('T', ' ') : '–'
}

const spans: [number, string][] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
]

/** The two largest units of a length of time: `1 h 5 min`. */
export function span(seconds: number): string {
  let rest = Math.max(0, Math.floor(seconds))
  const parts: string[] = []
  for (const [length, unit] of spans) {
    if (rest >= length && parts.length < 2) {
      parts.push(`${Math.floor(rest / length)} ${unit}`)
      rest %= length
    } else if (parts.length > 0) break
  }
  return parts.join(' ') || '0 s'
}

/** `in 5 min`, `2 h ago`. */
export function relative(iso: string | null | undefined, now: number): string {
  if (!iso) return 'never'
  const seconds = (Date.parse(iso) - now) / 1000
  return seconds >= 0 ? `in ${span(seconds)}` : `${span(-seconds)} ago`
}

/** A cell of a result. */
export function cell(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** RFC 4180: a header row, `\r\n`, NULL empty. */
export function csv(columns: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const field = (value: unknown) => {
    const text = value === null || value === undefined ? '' : cell(value)
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
  }
  const lines = [columns, ...rows].map((row) => row.map(field).join(','))
  return `${lines.join('\r\n')}\r\n`
}

/** Names of columns, of which none is twice. */
function distinct(names: readonly string[]): string[] {
  const taken = new Set<string>()
  return names.map((name) => {
    let own = name
    for (let nth = 2; taken.has(own); nth += 1) own = `${name}_${nth}`
    taken.add(own)
    return own
  })
}

/** A list of objects, one a line, by the names of the columns. */
export function json(columns: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const names = distinct(columns)
  const lines = rows.map((row) => JSON.stringify(Object.fromEntries(names.map((name, at) => [name, row[at] ?? null]))))
  return `[\n${lines.join(',\n')}\n]\n`
}

/** Words of a list that somebody typed: `a, b c`. */
export function words(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '')
}

/** A day as the platform takes it in filters. */
export function daysAgo(days: number, now: number): string {
  return new Date(now - days * 86_400_000).toISOString().slice(0, 10)
}
