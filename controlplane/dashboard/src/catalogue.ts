/** The tables that whoever is signed in can see, as the catalogue of the environment tells. */
import { useQuery } from '@tanstack/react-query'
import { queried } from './queried'
import { tablesOf } from './tables'

const COLUMNS = `select table_schema, table_name, column_name, data_type
from information_schema.columns
where table_schema not in ('information_schema', 'pg_catalog')
order by table_schema, table_name, ordinal_position`

export function useCatalogue(envId: string) {
  return useQuery({
    queryKey: ['catalogue', envId],
    queryFn: async () => tablesOf((await queried(envId, COLUMNS)).rows),
    staleTime: 60_000,
  })
}
