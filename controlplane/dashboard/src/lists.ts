/** Lists of the API: a page after another, and what a change has made old. */
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'

export interface ListPage<T> {
  data: T[]
  pagination: { cursor: string | null; has_more: boolean; total: number }
}

/** Every list by the cursor of the page before; asked again `every` so many milliseconds, if that is said. */
export function useList<T>(key: readonly unknown[], page: (cursor: string | undefined) => Promise<ListPage<T>>, every?: number) {
  const list = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => page(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => (last.pagination.has_more ? (last.pagination.cursor ?? undefined) : undefined),
    ...(every && { refetchInterval: every }),
  })
  return { ...list, data: list.data?.pages.flatMap((one) => one.data), total: list.data?.pages[0]?.pagination.total }
}

/** The lists of the runtime are pages where they are asked for as such. */
export const asPage = <T>(list: ListPage<T> | T[]): ListPage<T> =>
  Array.isArray(list) ? { data: list, pagination: { cursor: null, has_more: false, total: list.length } } : list

/** What was changed is asked for again, wherever it is shown. */
export function useChanged(...keys: readonly string[]) {
  const queries = useQueryClient()
  return () => Promise.all(keys.map((key) => queries.invalidateQueries({ queryKey: [key] })))
}
