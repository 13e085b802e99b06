/** The tables that whoever is signed in can see, as the catalogue of the environment tells. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import { listed } from './queried'
import { tablesOf } from './tables'

const catalogueOf = (envId: string) =>
  queryOptions({
    queryKey: ['catalogue', envId],
    queryFn: async () => {
      const { rows, warnings } = await listed(envId)
      return { tables: tablesOf(rows), warnings: warnings.flatMap((one) => (typeof one === 'string' ? [one] : [])) }
    },
    staleTime: 60_000,
  })

export function useCatalogue(envId: string) {
  return useQuery({ ...catalogueOf(envId), select: ({ tables }) => tables })
}

/** What is told of the list, such as that an attached database did not answer and its tables are as they were. */
export function useCatalogueWarnings(envId: string) {
  return useQuery({ ...catalogueOf(envId), select: ({ warnings }) => warnings }).data ?? []
}
