/** The snippet of each client. Pure, so that a test can read it. */
import type { Shapes } from '../api/client'

type Info = Pick<Shapes['ConnectionInfo'], 'env_id' | 'host' | 'port' | 'database' | 'sslmode' | 'flight' | 'mcp'>

export interface Snippet {
  name: string
  text: string
  note?: string
}

const PLACE = 'YOUR_KEY'
const QUESTION = 'select 1'

export function snippets(info: Info, apiKey: string | undefined, origin: string): Snippet[] {
  const { host, port, database, sslmode, env_id } = info
  const key = apiKey ?? PLACE
  const url = `postgresql://agent:${key}@${host}:${port}/${database}?sslmode=${sslmode}`
  const rest = [
    { name: 'psql', text: `psql '${url}' -c '${QUESTION}'` },
    {
      name: 'Python',
      text: `import psycopg  # pip install psycopg[binary]\n\nwith psycopg.connect("${url}") as connection:\n    print(connection.execute("${QUESTION}").fetchall())`,
    },
    {
      name: 'Node',
      text: `import pg from 'pg' // npm install pg\n\nconst client = new pg.Client('${url}')\nawait client.connect()\nconsole.log((await client.query('${QUESTION}')).rows)\nawait client.end()`,
    },
    { name: 'JDBC', text: `jdbc:postgresql://${host}:${port}/${database}?user=agent&password=${key}&sslmode=${sslmode}` },
    {
      name: 'dbt',
      text: [
        'sluice:',
        '  target: dev',
        '  outputs:',
        '    dev:',
        '      type: postgres',
        `      host: ${host}`,
        `      port: ${port}`,
        '      user: agent',
        `      password: ${key}`,
        `      dbname: ${database}`,
        '      schema: main',
        `      sslmode: ${sslmode}`,
        '      threads: 4',
      ].join('\n'),
    },
    {
      name: 'curl',
      text: `curl -sS ${origin}/v1/environments/${env_id}/query \\\n  -H 'Authorization: ApiKey ${key}' -H 'Content-Type: application/json' \\\n  -d '{"sql": "${QUESTION}"}'`,
    },
  ]
  const mcp = info.mcp && {
    name: 'MCP',
    text: JSON.stringify({ mcpServers: { sluice: { type: 'http', url: info.mcp, headers: { Authorization: `ApiKey ${key}` } } } }, null, 2),
    note: 'For Claude, Cursor and VS Code: the place of the file differs, its content does not.',
  }
  const flight = info.flight && {
    name: 'ADBC',
    text: `import adbc_driver_flightsql.dbapi as flight  # pip install adbc-driver-flightsql pyarrow\n\nwith flight.connect("${info.flight}", db_kwargs={"adbc.flight.sql.authorization_header": "Bearer ${key}"}) as connection:\n    with connection.cursor() as cursor:\n        cursor.execute("${QUESTION}")\n        print(cursor.fetch_arrow_table())`,
  }
  return [...rest, ...(mcp ? [mcp] : []), ...(flight ? [flight] : [])]
}
