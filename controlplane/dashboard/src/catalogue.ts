/** The tables that whoever is signed in can see, as the catalogue of the environment tells. */
import { useQuery } from '@tanstack/react-query'
import { listed } from './queried'
import { tablesOf } from './tables'

export function useCatalogue(envId: string) {
  return useQuery({
    queryKey: ['catalogue', envId],
    queryFn: async () => tablesOf((await listed(envId)).rows),
    staleTime: 60_000,
  })
}
