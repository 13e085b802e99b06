/** Keys of tables as they are typed: a line for each, `stock: sku, place`. */
export function keysOf(text: string): Record<string, string[]> {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const key = (line: string): [string, string[]] => {
    const [table = '', ...columns] = line.split(':')
    const named = columns.join(':').split(',').map((column) => column.trim())
    return [table.trim(), named.filter((column) => column !== '')]
  }
  return Object.fromEntries(lines.map(key))
}
