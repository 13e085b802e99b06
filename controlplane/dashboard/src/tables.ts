/** Tables out of the rows that the catalogue answers. */
export interface CatalogueColumn {
  schema: string
  table: string
  name: string
  type: string
}

export interface CatalogueTable {
  schema: string
  name: string
  columns: readonly CatalogueColumn[]
}

/** Rows of schema, table, column and type, by table. */
export function tablesOf(rows: readonly (readonly unknown[])[]): CatalogueTable[] {
  const tables = new Map<string, { schema: string; name: string; columns: CatalogueColumn[] }>()
  for (const [schema, table, name, type] of rows.map((row) => row.map(String))) {
    if (schema === undefined || table === undefined || name === undefined || type === undefined) continue
    const id = `${schema}.${table}`
    const known = tables.get(id) ?? { schema, name: table, columns: [] }
    known.columns.push({ schema, table, name, type })
    tables.set(id, known)
  }
  return [...tables.values()]
}
