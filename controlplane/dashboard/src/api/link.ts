/** The header `Link`, by which a bare list leads to its next page. */

/** The cursor of the next page; none after the last. */
export function nextCursor(link: string | null): string | undefined {
  return link?.match(/<[^>]*[?&]cursor=([^>&]+)[^>]*>;\s*rel="next"/)?.[1]
}
