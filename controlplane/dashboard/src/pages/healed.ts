/** What a healed query was made of: the names that do not exist, and those that were taken instead. */

export interface Healed {
  wrong: string
  right: string
}

/** A piece of the statement; `wrong` where another name was taken for it. */
export interface Piece {
  text: string
  wrong: boolean
}

/** What a warning tells of, if it tells of healing. */
export function healed(warning: unknown): Healed | null {
  const found = typeof warning === 'string' ? /^healed: (?:table|column|function) (.+) does not exist, (.+) was taken instead$/s.exec(warning) : null
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
