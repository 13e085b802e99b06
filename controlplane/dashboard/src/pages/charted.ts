/** The columns of a result that can be drawn: one column names the bars, another is their length. */

/** Types whose values stand to the right, and have a length. */
const NUMBERS = /^(U?(TINY|SMALL|BIG|HUGE)?INT|INTEGER|DECIMAL|DOUBLE|FLOAT|REAL)/i

export const isNumber = (type: string | undefined) => NUMBERS.test(type ?? '')

export interface Bar {
  name: string
  value: number
  /** From 0 to 100, of the whole width. */
  from: number
  width: number
}

/** The places of columns: those that name, and those that are numbers. Where all are numbers, any may name. */
export function drawable(columns: readonly { type: string }[]): { names: number[]; numbers: number[] } {
  const places = columns.map((_, place) => place)
  const numbers = places.filter((place) => isNumber(columns[place]?.type))
  const words = places.filter((place) => !numbers.includes(place))
  return { names: words.length > 0 ? words : places, numbers }
}

/** Bars from zero, all to one scale; what has no length is left out. */
export function bars(rows: readonly (readonly unknown[])[], named: (row: readonly unknown[]) => string, at: number): Bar[] {
  const drawn = rows.map((row) => ({ name: named(row), value: row[at] === null ? Number.NaN : Number(row[at]) })).filter(({ value }) => Number.isFinite(value))
  const values = drawn.map(({ value }) => value)
  const [least, most] = [Math.min(0, ...values), Math.max(0, ...values)]
  const scale = most > least ? 100 / (most - least) : 0
  return drawn.map(({ name, value }) => ({ name, value, from: (Math.min(0, value) - least) * scale, width: Math.abs(value) * scale }))
}
