/** Corrections of a query before it ran, and differences between a query and one that is suggested. */

export interface Healed {
  wrong: string
  right: string
}

/** A piece of the statement; `wrong` where it was read as something else. */
export interface Piece {
  text: string
  wrong: boolean
}

/** What a warning tells of, if it tells of healing. */
export function healed(warning: unknown): Healed | null {
  const found = typeof warning === 'string' ? /^healed: (.+) was read as (.+)$/s.exec(warning) : null
  const [, wrong, right] = found ?? []
  return wrong !== undefined && right !== undefined ? { wrong, right } : null
}

/** Literals, comments, quoted names, words, and what stands between them. */
const TOKENS = /'(?:[^']|'')*'|--[^\n]*|\/\*[^]*?\*\/|\$\$[^]*?\$\$|"[^"]*"|[\p{L}\p{N}_]+|[^]/gu

/** The statement in pieces: names are compared as the platform does, literals and comments are left alone. */
export function pieces(sql: string, { wrong }: Healed): Piece[] {
  const all: Piece[] = []
  for (const [token] of sql.matchAll(TOKENS)) {
    const bare = token.startsWith('"') && token.length > 1 ? token.slice(1, -1) : token
    const isWrong = /^["\p{L}\p{N}_]/u.test(token) && bare.toLowerCase() === wrong.toLowerCase()
    const last = all.at(-1)
    if (last && !last.wrong && !isWrong) last.text += token
    else all.push({ text: token, wrong: isWrong })
  }
  return all
}

/** A piece that both texts have, or one that the second has in place of what the first has. */
export interface Difference {
  gone: string
  come: string
}

const tokensOf = (sql: string) => [...sql.matchAll(TOKENS)].map(([token]) => token)

/** From one text to another: what neither begins nor ends alike is replaced, token by token where as many stand there. */
export function difference(sql: string, other: string): Difference[] {
  const [was, is] = [tokensOf(sql), tokensOf(other)]
  if (was.length !== is.length) return replaced(was, is)
  const all: Difference[] = []
  was.forEach((gone, at) => {
    const come = is[at] ?? ''
    const last = all.at(-1)
    if (gone === come && last && last.gone === last.come) all[all.length - 1] = { gone: last.gone + gone, come: last.come + come }
    else all.push({ gone, come })
  })
  return all
}

function replaced(was: readonly string[], is: readonly string[]): Difference[] {
  const most = Math.min(was.length, is.length)
  let head = 0
  while (head < most && was[head] === is[head]) head += 1
  let tail = 0
  while (tail < most - head && was[was.length - 1 - tail] === is[is.length - 1 - tail]) tail += 1
  const same = (text: string) => ({ gone: text, come: text })
  const middle = { gone: was.slice(head, was.length - tail).join(''), come: is.slice(head, is.length - tail).join('') }
  const [before, after] = [was.slice(0, head).join(''), was.slice(was.length - tail).join('')]
  return [same(before), middle, same(after)].filter(({ gone, come }) => gone !== '' || come !== '')
}
