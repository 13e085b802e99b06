import { expect, it } from 'vitest'
import { snippets } from './snippets'

const info = { env_id: 'e1', host: 'db.example', port: 5439, database: 'demo', sslmode: 'require', flight: null, mcp: 'https://m/mcp' }

it('every client is given the host, and the key where there is one', () => {
  for (const { name, text } of snippets(info, 'svc_live_x', 'https://sluice.example')) {
    expect(text, name).toContain('svc_live_x')
    expect(text, name).not.toContain('YOUR_KEY')
  }
  expect(snippets(info, undefined, '').every(({ text }) => text.includes('YOUR_KEY'))).toBe(true)
})

it('a protocol that the environment does not have is not shown', () => {
  const names = snippets(info, undefined, '').map(({ name }) => name)
  expect(names).toContain('MCP')
  expect(names).not.toContain('ADBC')
})

it('what a tool reads as JSON is JSON', () => {
  const mcp = snippets(info, 'k', '').find(({ name }) => name === 'MCP')
  expect(JSON.parse(mcp?.text ?? '')).toMatchObject({ mcpServers: { sluice: { url: 'https://m/mcp' } } })
})
