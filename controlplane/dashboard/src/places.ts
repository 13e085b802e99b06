/** Ids of others in the path of a page: what they hold must not be taken for the path itself. */

/** The router decodes a path once; slashes and the like have to outlast that. */
export const inPath = (id: string) => encodeURIComponent(encodeURIComponent(id))

/** The id that [`inPath`] has put there, or that somebody has typed. */
export function ofPath(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
