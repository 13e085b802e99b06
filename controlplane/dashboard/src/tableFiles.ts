/** Files that become tables: what their names say, and where they are sent. */
import type { Shapes } from './api/client'

export type Loaded = Shapes['Loaded']
export type LoadMode = Shapes['LoadMode']
export type LoadFormat = Shapes['LoadFormat']

/** A load, but for the file. */
export interface Load {
  /** As name or schema.name. */
  table: string
  mode: LoadMode
  format: LoadFormat
  isDryRun?: boolean
  /** By column, in place of those that were found. */
  types?: Readonly<Record<string, string>>
}

/** What people choose among; the type that was found stands before them. */
const TYPES = ['VARCHAR', 'BIGINT', 'DOUBLE', 'DECIMAL(18,2)', 'BOOLEAN', 'DATE', 'TIME', 'TIMESTAMP', 'TIMESTAMP WITH TIME ZONE', 'JSON']

export const typesBeside = (found: string): string[] => [found, ...TYPES.filter((type) => type !== found)]

/** Of the types that were chosen those that are not found anyway. */
export function otherTypes(columns: Loaded['columns'], chosen: ReadonlyMap<string, string>): Record<string, string> {
  const others = columns.filter(({ name, type }) => (chosen.get(name) ?? type) !== type)
  return Object.fromEntries(others.map(({ name }) => [name, chosen.get(name) ?? '']))
}

const FORMATS: Readonly<Record<string, LoadFormat>> = { csv: 'csv', jsonl: 'jsonl', ndjson: 'jsonl', json: 'jsonl', parquet: 'parquet', arrow: 'arrow', arrows: 'arrow' }

/** What an `input` offers first. */
export const ENDINGS = Object.keys(FORMATS)
  .map((ending) => `.${ending}`)
  .join(',')

/** As the ending says; none where it says nothing. */
export function formatOf(file: string): LoadFormat | undefined {
  const ending = file.slice(file.lastIndexOf('.') + 1).toLowerCase()
  return Object.hasOwn(FORMATS, ending) ? FORMATS[ending] : undefined
}

/** A table's name for a file: its own without the ending, as a name that needs no quotes in SQL. */
export function tableOf(file: string): string {
  const dot = file.lastIndexOf('.')
  const stem = dot > 0 ? file.slice(0, dot) : file
  const name = stem.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '_').replaceAll(/^_+|_+$/g, '')
  if (name === '') return 'loaded'
  return /^\p{N}/u.test(name) ? `t_${name}` : name
}

/** Whether it is written as name or schema.name, neither of them quoted. */
export const isTable = (table: string) => /^[^.]+([.][^.]+)?$/.test(table)

/** More rows than these nobody looks through. */
const ROWS_SHOWN = 1000

/** A statement that shows a table, by the name that the platform gives it. */
export function selectOf(table: string): string {
  const quoted = table.split('.').map((part) => `"${part.replaceAll('"', '""')}"`)
  return `select * from ${quoted.join('.')} limit ${ROWS_SHOWN}`
}

/** Path and query of a load. */
export function pathOf(envId: string, file: string, { table, mode, format, isDryRun, types = {} }: Load): string {
  const query = new URLSearchParams({ mode, format, file })
  if (isDryRun) query.set('dry_run', 'true')
  if (Object.keys(types).length > 0) query.set('types', JSON.stringify(types))
  return `/v1/environments/${encodeURIComponent(envId)}/tables/${encodeURIComponent(table)}/load?${query.toString()}`
}
