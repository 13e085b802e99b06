/** Stages as SHOW STAGES tells them, and the addresses of their files. */
export interface Stage {
  schema: string
  name: string
  comment: string
}

/** The stages in an answer, by the names of its columns. */
export function stagesOf(columns: readonly { name: string }[], rows: readonly (readonly unknown[])[]): Stage[] {
  const place = (name: string) => columns.findIndex((column) => column.name.toLowerCase() === name)
  const [name, schema, comment] = [place('name'), place('schema_name'), place('comment')]
  const text = (row: readonly unknown[], at: number) => String(row[at] ?? '')
  return rows.map((row) => ({ schema: text(row, schema), name: text(row, name), comment: text(row, comment) }))
}

const PLAIN = /^[a-z_][a-z0-9_]*$/i

/** The stage as SQL names it, without the `@`: in quotes only where it needs them. */
export function stageName({ schema, name }: Pick<Stage, 'schema' | 'name'>): string {
  const part = (text: string) => (PLAIN.test(text) ? text : `"${text.replaceAll('"', '""')}"`)
  return `${part(schema)}.${part(name)}`
}

/** Where a file of a stage is: its own path is one part of the address. */
export function fileAddress(envId: string, stage: string, path: string): string {
  return `/v1/environments/${encodeURIComponent(envId)}/stages/${encodeURIComponent(stage)}/files/${encodeURIComponent(path)}`
}

/** A file's own name, without the folders that it is in. */
export const ownName = (path: string) => path.slice(path.lastIndexOf('/') + 1)
